//! Captured runs and their explanations: rows of `explained.tsv`, each with a policy, a shell line and the
//! rule that is its cause, or `none`. Nothing is asked of `run.events`.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::bed::{BUBBLEWRAP, Bed, Done, ORDINARY};

/// The columns of one row: the rule, the policy, and the line.
fn columns(row: &str) -> [&str; 3] {
    row.split('\t').collect::<Vec<_>>().try_into().unwrap()
}

fn furnished(mechanism: &'static str) -> Bed {
    let bed = Bed::new(mechanism);
    for name in ["secret/k", "keep/k", "a"] {
        fs::create_dir_all(bed.ws(name).parent().unwrap()).unwrap();
        fs::write(bed.ws(name), "text\n").unwrap();
    }
    fs::write(bed.out("f"), "text\n").unwrap();
    let mut git = Command::new("git");
    let made = git.args(["init", "-q"]).arg(bed.ws("")).env("HOME", bed.out("")).status();
    assert!(made.unwrap().success());
    bed
}

fn go(bed: &Bed, policy: &str, line: &str, run: &Value) -> Done {
    let placed = |text: &str| {
        let text = text.replace("$W", bed.ws("").to_str().unwrap());
        text.replace("$O", bed.out("").to_str().unwrap())
    };
    let mut policy: Value = serde_json::from_str(&placed(policy)).unwrap();
    policy["env"]["set"]["HOME"] = bed.out("").to_str().unwrap().into();
    let command = json!({"argv": ["bash", "-c", placed(line)]});
    let mut members = json!({"capture": true});
    members.as_object_mut().unwrap().extend(run.as_object().unwrap().clone());
    bed.go(&policy, command, &members)
}

fn explain_rows(mechanism: &'static str) {
    let mut wrong = Vec::new();
    let rows: Vec<&str> = include_str!("explained.tsv").lines().collect();
    assert!(rows.len() >= 40, "{} rows", rows.len());
    for row in rows {
        let [rule, policy, line] = columns(row);
        let done = go(&furnished(mechanism), policy, line, &json!({}));
        let found = done.result["blocked"]["rule"].as_str().unwrap_or("none");
        if found != rule || done.code == Some(0) {
            wrong.push(format!("{found} instead of {rule}: {line}: {}", done.result));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn captured_runs_are_explained() {
    explain_rows(ORDINARY);
}

#[test]
fn captured_runs_are_explained_under_bubblewrap() {
    explain_rows(BUBBLEWRAP);
}

/// A captured run has the events of all calls; one that says which it wants has those, and one that passes its
/// streams through the default ones.
#[test]
fn a_captured_run_looks_at_all_calls_unless_told() {
    let line = "mkdir $O/d 2>/dev/null; exit 1";
    let made = |run: Value| {
        let done = go(&furnished(ORDINARY), "{}", line, &run);
        done.result["events"].as_array().is_some_and(|events| {
            events
                .iter()
                .any(|event| event["source"] == "kernel" && event["system_call"] == "mkdir")
        })
    };
    assert!(made(json!({})));
    assert!(made(json!({"capture": false, "events": "all"})));
    assert!(!made(json!({"events": "light"})));
    assert!(!made(json!({"events": "mediated"})));
    assert!(!made(json!({"capture": false})));
}

/// Refusals beyond the events that are kept are counted once, the one that is explained too.
#[test]
fn an_explained_refusal_is_counted_once() {
    let line = "for i in {1..300}; do mkdir $O/d$i 2>/dev/null; done; exit 1";
    let done = go(&furnished(ORDINARY), "{}", line, &json!({}));
    assert_eq!(
        done.result["blocked"]["path"].as_str().map(|path| path.ends_with("d300")),
        Some(true)
    );
    assert_eq!(done.result["events"].as_array().map(Vec::len), Some(256));
    assert_eq!(done.result["events_cut"], 44);
}

/// A move into a directory is refused once, at the name that it would have made.
#[test]
fn a_move_into_a_directory_is_one_event() {
    let bed = furnished(ORDINARY);
    let done = go(&bed, "{}", "mv a $O/", &json!({}));
    let events = done.result["events"].as_array().unwrap();
    let paths: Vec<&str> = events.iter().filter_map(|event| event["path"].as_str()).collect();
    assert!(!paths.is_empty());
    assert!(paths.iter().all(|path| Some(*path) == bed.out("a").to_str()), "{paths:?}");
}
