//! Terminal sessions: paired by sandbox and correlator, never by count alone.

use rstest::rstest;
use serde_json::json;

use crate::support::Forge;

/// `o` opens, `c` closes; then sandbox and correlator, a character each.
#[rstest]
#[case("oax cax", &[], false)]
#[case("oax oay cay cax", &[], false)]
#[case("oax", &["incomplete_session 1"], true)]
#[case("oax cay", &["incomplete_session 1", "orphan_close 2"], false)]
#[case("oax cbx", &["incomplete_session 1", "orphan_close 2"], false)]
#[case("cax", &["orphan_close 1"], true)]
#[case("cax oax", &["close_before_open 1"], false)]
#[case("oax oax cax", &["duplicate_open 2"], true)]
#[case("oax cax cax", &["duplicate_close 3"], true)]
#[case("oax oax cax cax", &["duplicate_open 2", "duplicate_close 4"], false)]
fn sessions(#[case] story: &str, #[case] expected: &[&str], #[case] by_count: bool) {
    let mut forge = Forge::new();
    for word in story.split(' ') {
        let kind = if word.starts_with('o') { "system.pty.open" } else { "system.pty.close" };
        forge.add(json!({"/credentialSubject/action/type": kind,
            "/credentialSubject/correlation_id": &word[2..],
            "/issuer/runtime": {"binding": {"sandbox_id": &word[1..2]}}}));
    }
    let report = forge.report(false);
    let found: Vec<String> = report
        .sessions
        .iter()
        .map(|session| format!("{} {}", session.name, session.line))
        .collect();
    assert_eq!(found, expected);
    assert_eq!(report.chains[0].incomplete_session, by_count);
    assert!(report.valid, "an advisory");
}
