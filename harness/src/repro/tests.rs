//! Scripts: the cases that have one, and the reasons why the others have none.

use rstest::rstest;

use super::obstacle;
use crate::testing::{bare, case};

#[rstest]
#[case("act: {sh: 'true'}\nexpect: {allowed: {}}", None)]
#[case("launcher: {tty: true}\nact: {sh: 'true'}\nexpect: {allowed: {}}", Some("terminal"))]
#[case("repeat: 3\nact: {sh: 'true'}\nexpect: {allowed: {}}", Some("many runs"))]
#[case("parallel: 2\nact: {sh: 'true'}\nexpect: {allowed: {}}", Some("many runs"))]
#[case(
    "fixture: {f: x}\nlauncher: {inherit: {12: {path: f}}}\nact: {sh: 'true'}\nexpect: {allowed: {}}",
    Some("up to 9")
)]
#[case(
    "during: [{when: ready, signal: TERM, to: group}]\nact: {sh: 'true'}\nexpect: {allowed: {}}",
    None
)]
#[case(
    "during: [{when: ready, signal: TERM}, {when: {during: 1}, signal: KILL}]\nact: {sh: 'true'}\nexpect: {allowed: {}}",
    Some("more than one signal")
)]
fn what_a_shell_cannot_do_is_said(#[case] text: &str, #[case] why: Option<&str>) {
    let found = obstacle(&case(text), &bare("box"));
    match why {
        None => assert_eq!(found, None),
        Some(why) => assert!(found.as_ref().is_some_and(|found| found.contains(why)), "{found:?}"),
    }
}
