//! One profile after the other: what is said, what is done, and that they agree.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::actor::{Deed, spelt};
use crate::bed::{Done, NAMESPACES, ORDINARY, TestBed};
use crate::generate::{Dice, Forest, Thing};
use crate::rules::Rules;

/// Profiles that are tried by each kind of user, unless the environment says more.
const PROFILES: u64 = 20;

pub(crate) fn trials() -> Vec<Trial> {
    let one = |who, user| {
        Trial::test(format!("what_is_decided_is_enforced::{user}"), move || {
            all(who);
            Ok(())
        })
    };
    vec![one(NAMESPACES, "self"), one(ORDINARY, "ordinary")]
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The number of comparisons in which both sides agreed, by result.
#[derive(Debug, Default)]
struct Count {
    allowed: usize,
    denied: usize,
    /// Denied by a stated limit although the rules allow it.
    limited: usize,
    /// Profiles that were refused because of a link.
    refused: usize,
}

fn all(who: &'static str) {
    let profiles = number("BOXPROOF_PROFILES").unwrap_or(PROFILES);
    let first = number("BOXPROOF_SEED").unwrap_or(1) + u64::from(who == ORDINARY) * 1_000_000;
    let mut count = Count::default();
    for seed in first..first + profiles {
        one(who, seed, &mut count);
    }
    let Count { allowed, denied, limited, refused } = count;
    let compared = allowed + denied + limited;
    println!(
        "{compared} operations under {profiles} profiles from seed {first}: {allowed} allowed, {denied} denied, {limited} denied by a stated limit, {refused} profiles refused"
    );
    assert!(compared as u64 > 50 * profiles && allowed > compared / 20 && denied > compared / 20);
}

fn one(who: &'static str, seed: u64, count: &mut Count) {
    let mut dice = Dice::new(seed);
    let bed = TestBed::new(who);
    let forest = Forest::grow(&mut dice, &bed.ws(""), seed.is_multiple_of(4));
    let policy = forest.policy(&mut dice);
    let fixture = ComparedWorkspace { bed, forest, policy, seed };
    let deeds = fixture.forest.deeds();
    let done = fixture.run(&deeds);
    if done.code == Some(126) {
        fixture.expect_refusal(&done);
        count.refused += 1;
        return;
    }
    done.expect(0);
    let outcomes: Vec<&str> = done.out.lines().collect();
    assert_eq!(outcomes.len(), deeds.len(), "{}", done.err);
    let said = fixture.said(&deeds);
    for ((deed, path), outcome) in deeds.iter().zip(outcomes) {
        let [rules, limits] = said.expected(*deed, path);
        let context =
            || format!("seed {seed}: {deed:?} {path:?} gave {outcome}\n{}", fixture.policy);
        match (rules && limits, outcome) {
            (true, "done") => count.allowed += 1,
            (false, "EACCES" | "EPERM" | "EROFS" | "ENOENT") if rules => count.limited += 1,
            (false, "EACCES" | "EPERM" | "EROFS" | "ENOENT") => count.denied += 1,
            _ => panic!("{} although the rules say {rules} and the limits {limits}", context()),
        }
    }
}

struct ComparedWorkspace {
    bed: TestBed,
    forest: Forest,
    policy: Value,
    seed: u64,
}

/// The rules' decisions about paths.
struct Said {
    read: BTreeMap<String, bool>,
    modify: BTreeMap<String, bool>,
}

impl Said {
    /// Returns the decisions of the rules about a deed, under the stated limits: an unreadable path
    /// cannot be modified, and nothing is created in an unreadable directory.
    fn expected(&self, deed: Deed, path: &str) -> [bool; 2] {
        let (read, modify) = (self.read[path], self.modify[path]);
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        match deed {
            Deed::Read => [read, true],
            Deed::Write => [modify, read],
            _ => [modify, read && self.read[directory]],
        }
    }
}

impl ComparedWorkspace {
    fn run(&self, deeds: &[(Deed, String)]) -> Done {
        let actor = self.bed.out("actor");
        let copied = std::process::Command::new("cp")
            .arg(std::env::current_exe().unwrap())
            .arg(&actor)
            .status();
        assert!(copied.unwrap().success());
        let stdin = json!({"bytes_b64": STANDARD.encode(spelt(deeds))});
        let request = json!({
            "protocol": 1,
            "dialect": "orbit",
            "documents": [{"name": "policy.yaml", "text": self.policy.to_string()}],
            "profile": "p",
            "workspace": self.bed.ws(""),
            "run": {
                "command": {"argv": [actor, "act"]},
                "cwd": self.bed.ws(""),
                "stdin": stdin,
                "mechanism": "namespaces",
            },
        });
        std::fs::write(self.bed.request_file(), request.to_string()).unwrap();
        let output = self.bed.refbox().output().unwrap();
        self.bed.done(&output)
    }

    fn said(&self, deeds: &[(Deed, String)]) -> Said {
        let paths = || deeds.iter().map(|(_, path)| path.as_str()).chain([""]);
        let table = |rules: &Rules| {
            let both = |path: &str| rules.allow(path) && rules.allow(&self.real(path));
            paths().map(|path| (path.to_owned(), both(path))).collect()
        };
        let read = Rules::from_policy(&self.policy, "read", "denyRead");
        let modify = Rules::from_policy(&self.policy, "modify", "denyModify");
        Said { read: table(&read), modify: table(&modify) }
    }

    /// Returns the target of a link at `path`; every other path itself.
    fn real(&self, path: &str) -> String {
        let link = std::fs::read_link(self.bed.ws(path));
        link.map_or_else(|_| path.to_owned(), |to| to.to_str().unwrap().to_owned())
    }

    /// A profile is refused only where it decides otherwise on a link than on what that leads to.
    fn expect_refusal(&self, done: &Done) {
        let links = self.forest.things.iter().filter(|(_, thing)| *thing == Thing::Link);
        let message = done.result["error"]["message"].as_str().unwrap();
        let link = links.map(|(path, _)| path).next();
        let link = link.unwrap_or_else(|| panic!("seed {}: {message}\n{}", self.seed, self.policy));
        assert!(message.contains("symbolic link") && message.contains(link.as_str()), "{message}");
        let said = self.said(&[(Deed::Write, link.clone())]);
        assert!(!said.read[link] || !said.modify[link], "{message}");
    }
}
