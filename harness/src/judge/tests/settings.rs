//! What settings come to and what becomes of a command under them: the answers, and the verdicts.

use boxproof_cases::protocol::{AskBy, AskDecision, DocumentAnswer, EffectiveSettings, Permission};
use rstest::rstest;

use super::question::{answered, concluded_of};

const ASK: &str = "needs: [dialect.caliban]
policy: {caliban: {settings: ''}}
act: {decide: ask, command: ls}
";
/// The command is asked for, and runs in the sandbox.
const HELD: &str = "{ask: {decision: ask, by: rules, sandboxed: true}}";
/// The command is asked for, and a pattern takes it out of the sandbox.
const OUT: &str = "{ask: {decision: ask, sandboxed: false, bypassed_by: git}}";

fn asked(decision: Permission, sandboxed: bool) -> AskDecision {
    let bypassed_by = (!sandboxed).then(|| "git".to_owned());
    AskDecision { decision, by: AskBy::Rules, sandboxed, bypassed_by }
}

fn decision(decision: Permission, sandboxed: bool) -> DocumentAnswer {
    DocumentAnswer::Asks(vec![asked(decision, sandboxed)])
}

fn by_another_pattern() -> DocumentAnswer {
    let bypassed_by = Some("ls".to_owned());
    DocumentAnswer::Asks(vec![AskDecision { bypassed_by, ..asked(Permission::Ask, false) }])
}

fn by_auto_allow() -> DocumentAnswer {
    DocumentAnswer::Asks(vec![AskDecision { by: AskBy::AutoAllow, ..asked(Permission::Ask, true) }])
}

#[rstest]
#[case::as_promised(HELD, decision(Permission::Ask, true), "pass")]
#[case::wider(HELD, decision(Permission::Allow, true), "under-block decision")]
#[case::narrower(HELD, decision(Permission::Deny, true), "over-block decision")]
#[case::let_out(HELD, decision(Permission::Ask, false), "under-block decision")]
#[case::let_out_and_denied(HELD, decision(Permission::Deny, false), "under-block decision")]
#[case::out_as_promised(OUT, decision(Permission::Ask, false), "pass")]
#[case::held_against_the_promise(OUT, decision(Permission::Ask, true), "over-block decision")]
#[case::by_another_pattern(OUT, by_another_pattern(), "contract rule")]
#[case::by_another_basis(HELD, by_auto_allow(), "contract rule")]
#[case::no_answer(HELD, DocumentAnswer::Asks(Vec::new()), "inconclusive untrusted-record")]
#[case::two(
    HELD,
    DocumentAnswer::Asks(vec![asked(Permission::Ask, true), asked(Permission::Ask, true)]),
    "inconclusive untrusted-record"
)]
#[case::of_another_kind(HELD, DocumentAnswer::Valid {}, "inconclusive untrusted-record")]
#[case::an_error(
    "{invalid: {contains: [x]}}",
    decision(Permission::Allow, true),
    "under-block decision"
)]
#[case::a_denial_for_an_error(
    "{invalid: {contains: [x]}}",
    decision(Permission::Deny, true),
    "contract decision"
)]
fn a_command_is_decided_as_promised(
    #[case] wanted: &str,
    #[case] told: DocumentAnswer,
    #[case] verdict: &str,
) {
    assert_eq!(concluded_of(ASK, wanted, answered(told)), verdict);
}

const SETTINGS: &str = "needs: [dialect.caliban]
policy: {caliban: {settings: ''}}
act: {decide: settings}
";

fn settings(active: bool, warnings: &[&str]) -> DocumentAnswer {
    let warnings = warnings.iter().map(|text| (*text).to_owned()).collect();
    let network =
        boxproof_cases::protocol::EffectiveNetwork { http_proxy_port: 7, ..Default::default() };
    let settings = EffectiveSettings { active, warnings, network, ..Default::default() };
    DocumentAnswer::Settings(Box::new(settings))
}

#[rstest]
#[case::as_promised("{values: {active: true}}", settings(true, &["w"]), "pass")]
#[case::off("{values: {active: true}}", settings(false, &[]), "under-block decision")]
#[case::on("{values: {active: false}}", settings(true, &[]), "contract rule")]
#[case::off_as_promised("{values: {active: false}}", settings(false, &[]), "pass")]
#[case::a_member("{values: {enabled: true}}", settings(false, &[]), "contract rule")]
#[case::a_member_within(
    "{values: {network: {http_proxy_port: 7}}}",
    settings(true, &[]),
    "pass"
)]
#[case::another_within(
    "{values: {network: {http_proxy_port: 8}}}",
    settings(true, &[]),
    "contract rule"
)]
#[case::no_warning("{values: {}, warns: []}", settings(true, &[]), "pass")]
#[case::a_warning("{values: {}, warns: []}", settings(true, &["w"]), "contract rule")]
#[case::the_warning("{values: {}, warns: [w]}", settings(true, &["v", "a w"]), "pass")]
#[case::another_warning("{values: {}, warns: [w]}", settings(true, &["v"]), "contract rule")]
#[case::of_another_kind("{values: {}, warns: []}", DocumentAnswer::Valid {}, "inconclusive untrusted-record")]
#[case::taken("{invalid: {contains: [x]}}", settings(true, &[]), "under-block decision")]
fn settings_come_to_what_is_promised(
    #[case] wanted: &str,
    #[case] told: DocumentAnswer,
    #[case] verdict: &str,
) {
    let wanted = match wanted.starts_with("{values") {
        true => format!("{{settings: {wanted}}}"),
        false => wanted.to_owned(),
    };
    assert_eq!(concluded_of(SETTINGS, &wanted, answered(told)), verdict);
}
