//! Several paths in one request, and the one at which execd stopped.

use rstest::rstest;
use serde_json::json;

use super::*;

fn ending_rows(paths: &[&str], message: &str) -> Vec<(Option<String>, bool, bool)> {
    let items: Vec<ActionItem> = paths.iter().map(|path| ActionItem::path(*path, None)).collect();
    let said = json!({"code": "RUNTIME_ERROR", "message": message}).to_string();
    let outcome = ActionOutcome {
        error: Some("execd answered 500".to_owned()),
        said: Some(said.into_bytes()),
        ..ActionOutcome::default()
    };
    let told = tellings("filesystem.file.delete", Some(EndpointFamily::Files), &items, &outcome);
    let path = |told: &ActionRecord| told.target.clone().map(|(_, path)| path);
    told.iter().map(|told| (path(told), told.output.is_some(), told.error.is_some())).collect()
}

fn path(path: &str, done: bool) -> (Option<String>, bool, bool) {
    (Some(path.to_owned()), done, !done)
}

#[rstest]
#[case::the_second(&["a", "b", "c"], "error removing file b. it is a directory", &[("a", true), ("b", false)])]
#[case::the_first(&["a", "b"], "error removing directory a. no", &[("a", false)])]
#[case::not_said(&["a", "b"], "something else", &[("a", false), ("b", false)])]
#[case::either(&["a", "a"], "error removing file a. no", &[("a", false), ("a", false)])]
#[case::a_longer_name(&["a", "a. b"], "error removing file a. b. no", &[("a", false), ("a. b", false)])]
#[case::one(&["a"], "error removing file a. no", &[("a", false)])]
fn never_a_success_that_was_not(
    #[case] paths: &[&str],
    #[case] message: &str,
    #[case] wanted: &[(&str, bool)],
) {
    let wanted: Vec<_> = wanted.iter().map(|(name, done)| path(name, *done)).collect();
    assert_eq!(ending_rows(paths, message), wanted);
}
