//! `refbox status`: which backend is in effect is found by trying this host.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::process::Command;

use rstest::rstest;
use serde_json::Value;

/// Returns the status of a block in a workspace of its own, with `bwrap` for the program of that
/// name.
fn status(block: &str, bwrap: Option<&str>) -> (i32, Value) {
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("config.yaml");
    fs::write(&config, format!("sandbox: {{{block}}}\n")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_refbox"));
    command.args(["status", "--format", "json", "--config"]).arg(config);
    command.arg("--workspace").arg(directory.path()).env_remove("REFBOX_BWRAP");
    command.envs(bwrap.map(|bwrap| ("REFBOX_BWRAP", bwrap)));
    let ran = command.output().unwrap();
    let said = serde_json::from_slice(&ran.stdout);
    let said = said.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&ran.stderr)));
    (ran.status.code().unwrap(), said)
}

/// Returns the mechanism that capabilities names, or `none` if `named` does not work here.
fn found(named: Option<&str>) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_refbox"));
    command.arg("capabilities").args(named.iter().flat_map(|name| ["--mechanism", name]));
    let ran = command.env_remove("REFBOX_BWRAP").output().unwrap();
    let said: Value = serde_json::from_slice(&ran.stdout).unwrap_or_default();
    said["mechanism"].as_str().unwrap_or("none").to_owned()
}

#[rstest]
#[case("mode: workspace_write", None)]
#[case("mode: read_only", None)]
#[case("mode: read_only, backend: linux_bubblewrap", Some("bubblewrap"))]
fn the_backend_in_effect_is_one_that_works(#[case] block: &str, #[case] named: Option<&str>) {
    let due = found(named);
    let (code, said) = status(block, None);
    assert_eq!(said["effective_backend"], due.as_str(), "{said}");
    let (runs, due) = if due == "none" { ("refused", 1) } else { ("confined", 0) };
    assert_eq!((code, said["runs"].as_str()), (due, Some(runs)));
}

#[rstest]
#[case("true", "refused", 1)]
#[case("false", "unconfined", 0)]
fn a_backend_that_does_not_work_is_none(
    #[case] closed: &str,
    #[case] runs: &str,
    #[case] due: i32,
) {
    let block =
        format!("mode: workspace_write, backend: linux_bubblewrap, fail_if_unavailable: {closed}");
    let (code, said) = status(&block, Some("/no/such/bwrap"));
    assert_eq!((code, &said["runs"]), (due, &runs.into()), "{said}");
    assert_eq!(said["effective_backend"], "none");
    assert!(said["reason"].as_str().unwrap().contains("/no/such/bwrap"), "{said}");
    assert_eq!(said["writable_roots"].as_array().unwrap().len(), 0);
}

#[test]
fn where_nothing_is_to_be_confined_nothing_is_tried() {
    let (code, said) = status("mode: off, backend: linux_bubblewrap", Some("/no/such/bwrap"));
    assert_eq!((code, &said["runs"]), (0, &"unconfined".into()));
    assert_eq!((&said["effective_backend"], said.get("reason")), (&"none".into(), None));
}

#[rstest]
#[case::twice("sandbox: {}\nsandbox: {}\n", "duplicate mapping key: sandbox")]
#[case::documents("sandbox: {}\n---\nsandbox: {}\n", "multiple YAML documents")]
fn what_is_said_of_a_file_is_about_the_file(#[case] text: &str, #[case] due: &str) {
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("config.yaml");
    fs::write(&config, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_refbox"));
    command.arg("status").arg("--config").arg(config).arg("--workspace").arg(directory.path());
    let ran = command.output().unwrap();
    let said = String::from_utf8(ran.stderr).unwrap();
    assert!(said.contains(due), "{said}");
    assert!(!said.contains("Options") && !said.contains("from_str"), "{said}");
}
