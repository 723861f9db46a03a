//! The actor's side, and how tests have it act.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::Trial;
use nix::errno::Errno;
use serde_json::{Value, json};

use crate::bed::{BUBBLEWRAP, NAMESPACES, ORDINARY, TestBed};
use crate::{denied, deputy, faithful, killed, races, sockets};

/// Acts by name.
pub(crate) fn run(name: &str, words: &[String]) {
    match name {
        "denied" => denied::act(),
        "deputy" => deputy::act(),
        "hidden" => deputy::act_hidden(),
        "faithful" => faithful::act(),
        "storm" => faithful::act_storm(words[0] == "restart"),
        "waiting" => faithful::act_waiting(),
        "race" => races::act(&words[0], words[1].parse().unwrap()),
        "loop" => killed::act(),
        "reach" => sockets::act_reach(words),
        "exchange" => sockets::act_exchange(),
        other => panic!("no act {other}"),
    }
}

/// Prints what an attempt gave.
pub(crate) fn tell<T>(label: &str, result: Result<T, Errno>) {
    match result {
        Ok(_) => println!("{label}: done"),
        Err(errno) => println!("{label}: {errno:?}"),
    }
}

/// The errno of a failed call of the standard library.
pub(crate) fn errno(error: &std::io::Error) -> Errno {
    Errno::from_raw(error.raw_os_error().unwrap_or(0))
}

/// One test by each kind of user, and by each mechanism that decides about names.
pub(crate) fn both(name: &str, test: fn(&'static str)) -> [Trial; 3] {
    [NAMESPACES, ORDINARY, BUBBLEWRAP].map(|who| {
        let user = match who {
            ORDINARY => "ordinary",
            BUBBLEWRAP => "bubblewrap",
            _ => "self",
        };
        Trial::test(format!("{name}::{user}"), move || {
            test(who);
            Ok(())
        })
    })
}

/// A bed with the actor where every user gets to it.
pub(crate) fn stage(mechanism: &'static str) -> (TestBed, PathBuf) {
    let bed = TestBed::new(mechanism);
    let actor = bed.out("actor");
    let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&actor).status();
    assert!(copied.unwrap().success());
    (bed, actor)
}

/// Returns the output of the actor in a sandbox under `policy`.
#[track_caller]
pub(crate) fn confined(bed: &TestBed, actor: &Path, words: &[&str], policy: &Value) -> Vec<String> {
    let argv: Vec<&str> = [actor.to_str().unwrap(), "act"].iter().chain(words).copied().collect();
    let done = bed.go(policy, json!({"argv": argv}), &json!({}));
    done.expect(0).out.lines().map(str::to_owned).collect()
}

/// Returns the output of the actor without a sandbox, by the same user, in an empty directory of
/// its own.
#[track_caller]
pub(crate) fn open(bed: &TestBed, actor: &Path, words: &[&str]) -> Vec<String> {
    let directory = bed.out("open");
    fs::create_dir(&directory).unwrap();
    let mut command = bed.as_user(actor);
    command.arg("act").args(words).current_dir(&directory);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}
