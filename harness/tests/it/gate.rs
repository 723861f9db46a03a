//! `boxproof gate`: real runs of a backend before and after it forgot one deny, and evidence that is
//! none.

use rstest::rstest;

use crate::support::{BOXPROOF, Place, Ran, WORKS, has};

/// Reading a denied file is refused.
const SECRET: &str = "purpose: Reading a denied file is refused.
requirement: R-test-not
needs: [fs.read_deny]
fixture: {secret: $CANARY}
policy: {deny_read: [secret]}
act: {probe: read, path: secret}
expect: {denied: {errno: [EACCES, EPERM, ENOENT]}, oracle: [{undisclosed: $CANARY}]}
twin: {deny_read: []}
rows:
  one: {}
  two: {}
";

/// The reference, which forgets what is not to be read once `spoilt` is there.
const TOOL: &str = "#!/bin/sh
if [ -e PLACE/spoilt ] && [ \"$1\" = run ]; then
    sed 's/\"deny_read\": *\\[[^]]*\\]/\"deny_read\":[]/' \"$3\" >\"$3.new\" && mv \"$3.new\" \"$3\"
fi
exec BOXPROOF reference \"$@\"
";

const POLICY: &str = "[baseline]\nrecord = \"base.ndjson\"\n";

/// A place with a backend, a corpus, a policy, and the record of a run as the baseline.
fn place() -> Place {
    let place = Place::with(&[("exec/works", WORKS), ("fs/secret", SECRET)]);
    let root = place.arg(".");
    place.program("tool", &TOOL.replace("PLACE", &root).replace("BOXPROOF", BOXPROOF));
    place.write("boxproof.toml", POLICY);
    run(&place, &["--report", &place.arg("base.ndjson"), "--commit", "abc"]).exits(0);
    place
}

fn run(place: &Place, args: &[&str]) -> Ran {
    let tool = place.arg("tool");
    let fixed = ["--backend", tool.as_str()];
    place.boxproof("run", &[&fixed[..], args].concat())
}

fn gate(place: &Place, args: &[&str]) -> Ran {
    let policy = place.arg("boxproof.toml");
    place.run(&[&["gate", "--policy", policy.as_str()][..], args].concat())
}

/// The lines that say why it is red, and an exit code of 5.
fn red(ran: &Ran) -> Vec<String> {
    let lines = ran.exits(5).stdout.lines().filter_map(|line| line.strip_prefix("red: "));
    lines.map(str::to_owned).collect()
}

#[test]
fn a_deny_that_is_forgotten_is_named_by_its_cases_alone() {
    let place = place();
    let (base, now) = (place.arg("base.ndjson"), place.arg("now.ndjson"));
    let same = gate(&place, &[&base, "--commit", "abc"]);
    assert_eq!(same.exits(0).stdout, "gate: green, 3 cases compared\n");

    place.write("spoilt", "");
    run(&place, &["--report", &now, "--commit", "abd"]).exits(1);
    let line = |row: &str| {
        format!("newly open: tool: fs/secret/{row} (must): pass → under-block (oracle)")
    };
    let ran = gate(&place, &[&now]);
    assert_eq!(red(&ran), [line("one"), line("two")]);
    assert_eq!(ran.last_line(), "gate: red, 2 reasons, 3 cases compared");
    // The same words as diff.
    has(&place.run(&["diff", &base, &now]).exits(1).stdout, "newly open (2)");

    let accept = "[[accept]]\ncase = \"fs/secret/one\"\nchange = \"newly open\"\nreason = \"r\"\n\
                  link = \"https://example.invalid/1\"\nexpires = \"2999-01-01\"\n";
    place.write("boxproof.toml", &format!("{POLICY}{accept}"));
    assert_eq!(red(&gate(&place, &[&now])), [line("two")]);
}

#[test]
fn evidence_that_is_none_is_red_for_its_own_reason() {
    let place = place();
    let base = place.arg("base.ndjson");
    let one = |ran: &Ran| {
        let lines = red(ran);
        assert_eq!(lines.len(), 1, "{lines:?}");
        lines[0].clone()
    };
    has(&one(&gate(&place, &[&base, "--commit", "abd"])), "is of commit abc, not of abd");
    let program = format!("tool={BOXPROOF}");
    has(&one(&gate(&place, &[&base, "--program", &program])), "was made with a program of sha256");
    let missing = one(&gate(&place, &[&place.arg("no.ndjson")]));
    has(&missing, "evidence: ");
    has(&missing, "no.ndjson: No such file");
    let text = std::fs::read_to_string(&base).unwrap();
    let cut = text.lines().take(2).map(|line| format!("{line}\n")).collect::<String>();
    place.write("cut.ndjson", &cut);
    has(&one(&gate(&place, &[&place.arg("cut.ndjson")])), "the record has no footer");
    std::fs::remove_file(&base).unwrap();
    place.write("now.ndjson", &text);
    let ran = gate(&place, &[&place.arg("now.ndjson")]);
    has(&one(&ran), "baseline: ");
    assert_eq!(ran.last_line(), "gate: red, 1 reasons, 0 cases compared");
}

#[rstest]
#[case(
    "[baseline]\nrecord = \"b\"\nage = 3\n",
    "boxproof.toml:3: baseline.age: ",
    "unknown field `age`, expected one of"
)]
#[case("[evidence]\n", "boxproof.toml", "missing field `baseline`")]
#[case("[baseline]\nrecord = 3\n", "boxproof.toml:2: baseline.record: ", "invalid type: integer")]
#[case("[baseline\n", "boxproof.toml:1: ", "expected `]`")]
#[case(
    "[baseline]\nrecord = \"b\"\n[conformance.newly-open]\nlevels = [\"high\"]\n",
    "boxproof.toml:4: conformance.newly-open.levels[0]: ",
    "expected one of `must`, `should`, `may`"
)]
#[case(
    "[baseline]\nrecord = \"b\"\n[[accept]]\ncase = \"a\"\nchange = \"b\"\nreason = \"r\"\n\
     link = \"https://x\"\nexpires = \"2999-01-01\"\n",
    "accept number 1",
    "none of: newly open"
)]
fn a_policy_that_means_nothing_is_2(#[case] text: &str, #[case] place: &str, #[case] why: &str) {
    let here = Place::new();
    here.write("boxproof.toml", text);
    let ran = gate(&here, &["none.ndjson"]);
    has(&ran.exits(2).stderr, place);
    has(&ran.stderr, why);
    assert_eq!(ran.stdout, "");
}
