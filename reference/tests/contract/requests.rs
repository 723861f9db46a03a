//! The environment of a command, and what stays as it was.

use std::time::{Duration, Instant};

use boxproof_reference::process::{
    ProcessEnvironment, ProcessOutput, ProcessRequest, Unsandboxed, run_process,
};
use rstest::rstest;

use crate::{run, sh};

fn only(pairs: &[(&str, &str)]) -> ProcessEnvironment {
    ProcessEnvironment::ClearAndSet(pairs.iter().map(|(n, v)| (n.into(), v.into())).collect())
}

#[test]
fn e26_a_cleared_environment_holds_what_was_set_the_last_of_each() {
    let environment = only(&[("A", "1"), ("A", "2")]);
    let result = run(ProcessRequest { environment, ..ProcessRequest::new("env") });
    assert_eq!(result.stdout_text(), "A=2\n");
}

#[test]
fn e26_a_program_is_looked_for_where_the_commands_path_says() {
    let environment = only(&[("PATH", "/nowhere")]);
    let request = ProcessRequest { environment, ..ProcessRequest::new("env") };
    let error = run_process(request, &Unsandboxed).unwrap_err().to_string();
    assert!(error.ends_with("failed to spawn `env`: No such file or directory (os error 2)"));
}

#[test]
fn an_inherited_environment_is_ours() {
    let result = run(sh("echo $CARGO_MANIFEST_DIR"));
    let ours = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    assert_eq!(result.stdout_text(), format!("{ours}\n"));
}

#[test]
fn the_working_directory_is_ours_or_the_one_asked_for() {
    let here = std::env::current_dir().unwrap();
    assert_eq!(run(sh("pwd -P")).stdout_text(), format!("{}\n", here.display()));
    let there = ProcessRequest { current_dir: Some("/usr".into()), ..sh("pwd -P") };
    assert_eq!(run(there).stdout_text(), "/usr\n");
}

#[test]
fn what_is_passed_through_is_not_captured() {
    let output = ProcessOutput::PassThrough;
    let result = run(ProcessRequest { output, ..sh("printf '' ; exit 6") });
    assert_eq!((result.exit_code, result.stdout.len(), result.stderr.len()), (Some(6), 0, 0));
}

#[rstest]
#[case::clean("sleep 0.3", 300)]
fn the_duration_is_from_spawn_to_return(#[case] line: &str, #[case] least: u64) {
    let begun = Instant::now();
    let result = run(sh(line));
    let whole = begun.elapsed();
    assert!(result.duration >= Duration::from_millis(least) && result.duration <= whole);
}
