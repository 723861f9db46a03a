//! The explanations of recorded runs (`tests/explain`): precision and recall are printed, and must be whole.

use boxproof_cases::protocol::{Command, Policy};
use rstest::rstest;
use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Recorded {
    label: String,
    policy: Policy,
    locale: String,
    argv: Vec<String>,
    exit: Option<i32>,
    signal: Option<i32>,
    stdout: String,
    stderr: String,
}

/// What the host that they were recorded on had, of what the runs speak of.
const HOST_HAS: [&str; 9] = [
    "/w",
    "/w/a",
    "/o",
    "/o/f",
    "/dev/kmsg",
    "/dev/kvm",
    "/dev/loop0",
    "/dev/net/tun",
    "/dev/fuse",
];

fn rule_of(run: &Recorded) -> String {
    let command = Command::Argv(run.argv.clone());
    let finished = Finished {
        policy: &run.policy,
        law: None,
        command: &command,
        original: None,
        cwd: "/w".as_ref(),
        exit_code: run.exit,
        signal: run.signal,
        stdout: run.stdout.as_bytes(),
        stderr: Some(run.stderr.as_bytes()),
        refused: &[],
        secrets: &[],
    };
    let look = Look {
        link: &|path| (path == Path::new("/w/link")).then(|| "/o".into()),
        there: &|path| HOST_HAS.iter().any(|there| path == Path::new(there)),
    };
    explain(&finished, look).map_or("none".to_owned(), |blocked| blocked.rule)
}

#[rstest]
#[case::table(include_str!("../../tests/explain/table.jsonl"), 120)]
#[case::others(include_str!("../../tests/explain/others.jsonl"), 40)]
#[case::third(include_str!("../../tests/explain/third.jsonl"), 120)]
fn recorded_runs_are_explained(#[case] table: &str, #[case] least: usize) {
    let runs: Vec<Recorded> =
        table.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(runs.len() >= least, "{} runs", runs.len());
    let (mut right, mut given, mut due) = (0, 0, 0);
    let mut wrong = Vec::new();
    for run in &runs {
        let rule = rule_of(run);
        given += usize::from(rule != "none");
        due += usize::from(run.label != "none");
        right += usize::from(rule != "none" && rule == run.label);
        if rule != run.label {
            wrong.push(format!("{rule} instead of {}: {:?} ({})", run.label, run.argv, run.locale));
        }
    }
    println!("{} runs: precision {right}/{given}, recall {right}/{due}", runs.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
