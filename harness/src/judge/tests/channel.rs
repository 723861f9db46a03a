//! Channels, and what is concluded of each: one that is good, spoilt in one way at a time.

use std::collections::BTreeMap;

use boxproof_cases::case::{ChainEdit, ReceiptMember, VerifyStep};
use boxproof_reports::Verdict;
use ed25519_dalek::SigningKey;
use rstest::rstest;
use serde_json::json;

use crate::channel_observation::{ChannelAnswer, ChannelObservation, MarkerAction};
use crate::execution::{ArmRecord, ArmSet, CaseExecution};
use crate::judge::{Judgement, Reason, judge};
use crate::receipts::canonical;
use crate::receipts::sign::{self, SigningKeys};
use crate::testing::case;

/// The reasons that this table reaches.
pub(super) const REACHED: [Reason; 8] = [
    Reason::Marker,
    Reason::Receipts,
    Reason::Receipt,
    Reason::Chain,
    Reason::Answer,
    Reason::Altered,
    Reason::Disclosed,
    Reason::Unmet,
];

const CASE: &str = "needs: [receipts.actions]
act: {receipts: {steps: [{request: {path: /command, json: {command: a}}}]}}
expect: {receipts: {receipts: [{type: system.command.execute, input: {command: a}, drops: 0}],
  same_as_direct: true, absent: [hunter2], answers: {'1': {status: [200]}}}}
";

fn key() -> SigningKey {
    SigningKey::from_bytes(&[3; 32])
}

/// A good chain: the receipt of the step, and the marker's, with these further changes.
fn lines(edits: Vec<ChainEdit>) -> Vec<String> {
    let hash = |text: &str| canonical::hash(&json!({ "command": text })).unwrap();
    let parameters = |at, text| make(at, "/credentialSubject/action/parameters_hash", hash(text));
    let edits = [vec![parameters(0, "a"), parameters(1, "marker")], edits].concat();
    let step = VerifyStep { length: 2, edits, ..VerifyStep::default() };
    sign::chain(&step, &SigningKeys { own: key(), other: SigningKey::from_bytes(&[4; 32]) })
        .unwrap()
        .lines
}

fn make(at: usize, member: &str, value: impl Into<serde_json::Value>) -> ChainEdit {
    ChainEdit::Make(ReceiptMember {
        at,
        member: member.to_owned(),
        value: Some(value.into()),
        null: false,
    })
}

fn good_observation() -> ChannelObservation {
    let answer =
        ChannelAnswer { status: Some(200), sha256: "a".to_owned(), ..ChannelAnswer::default() };
    let hash = canonical::hash(&json!({ "command": "marker" })).unwrap();
    let key = key().verifying_key().to_bytes();
    ChannelObservation {
        answers: BTreeMap::from([(1, vec![answer])]),
        lines: lines(Vec::new()),
        key: key.iter().map(|byte| format!("{byte:02x}")).collect(),
        markers: vec![MarkerAction { hash, by: "the proxy".to_owned(), arrived: true }],
        ..ChannelObservation::default()
    }
}

fn judged(text: &str, spoil: fn(&mut ChannelObservation, &mut ChannelObservation)) -> Judgement {
    let (mut control, mut confined) = (good_observation(), good_observation());
    (control.lines, control.markers) = (Vec::new(), Vec::new());
    spoil(&mut confined, &mut control);
    judge_channel(text, Some(control), confined)
}

fn judge_channel(
    text: &str,
    control: Option<ChannelObservation>,
    confined: ChannelObservation,
) -> Judgement {
    let done = |seen| ArmRecord::Done(Box::new(seen));
    let arms = ArmSet { control: control.map(done), twin: None, confined: done(confined) };
    judge(&case(text), &CaseExecution::Channel(arms))
}

type Spoil = fn(&mut ChannelObservation, &mut ChannelObservation);

/// The spoilt part, the spoiling, and the conclusion.
type Row = (&'static str, Spoil, Verdict, Option<Reason>);

fn gone_wrong() -> Vec<Row> {
    vec![
        ("good", |_, _| {}, Verdict::Pass, None),
        (
            "leak",
            |seen, _| seen.leaks.push("process 7".into()),
            Verdict::Leak,
            Some(Reason::LeftBehind),
        ),
        (
            "disclosed",
            |seen, _| seen.disclosed.push("x".into()),
            Verdict::UnderBlock,
            Some(Reason::Disclosed),
        ),
        (
            "unmet",
            |seen, _| seen.unmet.push("the relay ended".into()),
            Verdict::Contract,
            Some(Reason::Unmet),
        ),
        (
            "fault",
            |seen, _| seen.fault = Some("not ready".into()),
            Verdict::Inconclusive,
            Some(Reason::Marker),
        ),
    ]
}

fn absent() -> Vec<Row> {
    vec![
        (
            "no_marker",
            |seen, _| seen.markers[0].arrived = false,
            Verdict::Inconclusive,
            Some(Reason::Marker),
        ),
        (
            "no_marker_and_no_receipt",
            |seen, _| {
                seen.lines.clear();
                seen.markers[0].arrived = false;
            },
            Verdict::Inconclusive,
            Some(Reason::Marker),
        ),
        (
            "nothing_exported",
            |seen, _| {
                seen.lines.clear();
                seen.markers.clear();
            },
            Verdict::Inconclusive,
            Some(Reason::Marker),
        ),
        (
            "silent",
            |seen, _| {
                seen.lines = lines(vec![ChainEdit::Drop(1)]);
                seen.markers[0].hash = hash_of("a");
            },
            Verdict::UnderBlock,
            Some(Reason::Receipts),
        ),
    ]
}

fn wrong_receipts() -> Vec<Row> {
    vec![
        (
            "one_too_many",
            |seen, _| seen.markers[0].hash = hash_of("other"),
            Verdict::Contract,
            Some(Reason::Receipts),
        ),
        (
            "other_input",
            |seen, _| {
                seen.lines =
                    lines(vec![make(0, "/credentialSubject/action/parameters_hash", hash_of("b"))]);
            },
            Verdict::Contract,
            Some(Reason::Receipt),
        ),
        (
            "other_type",
            |seen, _| {
                seen.lines = lines(vec![make(
                    0,
                    "/credentialSubject/action/type",
                    "filesystem.file.delete",
                )]);
            },
            Verdict::Contract,
            Some(Reason::Receipt),
        ),
        (
            "forged",
            |seen, _| seen.lines = lines(vec![ChainEdit::Forge(0)]),
            Verdict::Contract,
            Some(Reason::Chain),
        ),
        ("swapped", |seen, _| seen.lines.swap(0, 1), Verdict::Contract, Some(Reason::Chain)),
    ]
}

fn wrong_answers() -> Vec<Row> {
    vec![
        (
            "refused",
            |seen, _| seen.answers.get_mut(&1).unwrap()[0].status = Some(502),
            Verdict::OverBlock,
            Some(Reason::Answer),
        ),
        (
            "not_answered",
            |seen, _| seen.answers.get_mut(&1).unwrap()[0].status = None,
            Verdict::OverBlock,
            Some(Reason::Answer),
        ),
        (
            "altered",
            |seen, _| seen.answers.get_mut(&1).unwrap()[0].sha256 = "b".into(),
            Verdict::OverBlock,
            Some(Reason::Altered),
        ),
        (
            "other_header",
            |seen, _| seen.answers.get_mut(&1).unwrap()[0].headers.push(("x".into(), "y".into())),
            Verdict::OverBlock,
            Some(Reason::Altered),
        ),
        ("no_key", |seen, _| seen.key.clear(), Verdict::Error, Some(Reason::Harness)),
        (
            "control_unmet",
            |_, control| control.unmet.push("x".into()),
            Verdict::Inconclusive,
            Some(Reason::ControlFailed),
        ),
        (
            "control_fault",
            |_, control| control.fault = Some("x".into()),
            Verdict::Inconclusive,
            Some(Reason::ControlFailed),
        ),
    ]
}

#[test]
fn each_spoilt_channel_gets_its_verdict() {
    let rows = [gone_wrong(), absent(), wrong_receipts(), wrong_answers()];
    for (name, spoil, verdict, reason) in rows.into_iter().flatten() {
        let judgement = judged(CASE, spoil);
        let word = reason.map_or("", Reason::code);
        let found = (judgement.verdict, judgement.reason.as_str());
        assert_eq!(found, (verdict, word), "{name}: {judgement:?}");
    }
}

fn hash_of(text: &str) -> String {
    canonical::hash(&json!({ "command": text })).unwrap()
}

const NEVER: &str = "needs: [receipts.actions]
act: {receipts: {steps: [{request: {path: /ping, method: GET}}]}}
expect: {receipts: {receipts: []}}
";

#[test]
fn an_absence_counts_only_beside_the_marker() {
    let rows: Vec<(Spoil, Verdict)> = vec![
        (
            |seen, _| {
                seen.lines = lines(vec![ChainEdit::Drop(1)]);
                seen.markers[0].hash = hash_of("a");
            },
            Verdict::Pass,
        ),
        (|_, _| {}, Verdict::UnderBlock),
        (
            |seen, _| {
                seen.lines.clear();
                seen.markers[0].arrived = false;
            },
            Verdict::Inconclusive,
        ),
    ];
    for (spoil, verdict) in rows {
        let judgement = judged(NEVER, spoil);
        assert_eq!(judgement.verdict, verdict, "{judgement:?}");
    }
}

const REFUSED: &str = "needs: [receipts.relay]
act: {receipts: {steps: [{post: {certificate: none}}]}}
expect: {receipts: {receipts: [], answers: {'1': {status: [403], or_no_connection: true}}}}
";

#[rstest]
#[case(Some(403), Verdict::Pass)]
#[case(None, Verdict::Pass)]
#[case(Some(202), Verdict::UnderBlock)]
#[case(Some(500), Verdict::OverBlock)]
fn a_refusal_is_the_one_meant(#[case] status: Option<u16>, #[case] verdict: Verdict) {
    let mut confined = good_observation();
    confined.lines = lines(vec![ChainEdit::Drop(1)]);
    confined.markers[0].hash = hash_of("a");
    confined.answers.get_mut(&1).unwrap()[0].status = status;
    let judgement = judge_channel(REFUSED, None, confined);
    assert_eq!(judgement.verdict, verdict, "{judgement:?}");
}

/// Judges one step whose answer is to be like `wanted`, with `more` expected of the channel.
fn stepped(wanted: &str, more: &str, spoil: fn(&mut ChannelObservation)) -> String {
    let text = format!(
        "needs: [receipts.actions]
act: {{receipts: {{steps: [{{request: {{path: /command, json: {{command: a}}}}}}, {{request: {{path: /ping}}}}]}}}}
expect: {{receipts: {{answers: {{'1': {wanted}}}{more}}}}}
"
    );
    let mut confined = good_observation();
    spoil(&mut confined);
    let judgement = judge_channel(&text, Some(good_observation()), confined);
    format!("{} {}", judgement.verdict.keyword(), judgement.reason).trim().to_owned()
}

fn answer(seen: &mut ChannelObservation) -> &mut ChannelAnswer {
    &mut seen.answers.get_mut(&1).unwrap()[0]
}

#[rstest]
#[case::any("{}", |_: &mut ChannelObservation| {}, "pass")]
#[case::bad_request_is_no_success("{status: [403]}", |s: &mut ChannelObservation| answer(s).status = Some(400), "over-block answer")]
#[case::a_redirect_is_one("{status: [403]}", |s: &mut ChannelObservation| answer(s).status = Some(399), "under-block answer")]
#[case::the_exit("{exit: 3}", |s: &mut ChannelObservation| answer(s).exit = Some(3), "pass")]
#[case::a_failure_that_succeeds("{exit: 3}", |s: &mut ChannelObservation| answer(s).exit = Some(0), "under-block exit")]
#[case::a_success_that_fails("{exit: 0}", |s: &mut ChannelObservation| answer(s).exit = Some(1), "over-block exit")]
#[case::an_exit_that_is_not_compared("{}", |s: &mut ChannelObservation| answer(s).exit = Some(1), "pass")]
#[case::the_words("{contains: [b]}", |s: &mut ChannelObservation| answer(s).body = "abc".into(), "pass")]
#[case::other_words("{contains: [d]}", |s: &mut ChannelObservation| answer(s).body = "abc".into(), "contract answer")]
#[case::no_such_words("{lacks: [d]}", |s: &mut ChannelObservation| answer(s).body = "abc".into(), "pass")]
#[case::such_words("{lacks: [b]}", |s: &mut ChannelObservation| answer(s).body = "abc".into(), "contract answer")]
#[case::unanswered("{}", |s: &mut ChannelObservation| s.answers.clear(), "inconclusive no-record")]
#[case::unanswered_by_a_fault("{}", |s: &mut ChannelObservation| { s.answers.clear(); s.fault = Some("not ready".into()) }, "inconclusive marker")]
fn an_answer_is_as_promised_or_not(
    #[case] wanted: &str,
    #[case] spoil: fn(&mut ChannelObservation),
    #[case] verdict: &str,
) {
    assert_eq!(stepped(wanted, "", spoil), verdict);
}

#[test]
fn a_slow_answer_counts_beside_one_that_a_fault_kept_away() {
    let slow = |seen: &mut ChannelObservation| {
        answer(seen).ms = 10.5;
        seen.fault = Some("not ready".into());
    };
    assert_eq!(stepped("{}, '2': {}", ", within_ms: 10", slow), "contract timing");
}

#[rstest]
#[case::in_time("within_ms: 10", |s: &mut ChannelObservation| answer(s).ms = 10.0, "pass")]
#[case::late("within_ms: 10", |s: &mut ChannelObservation| answer(s).ms = 10.5, "contract timing")]
#[case::reached("reaches_execd: [a]", |s: &mut ChannelObservation| s.reached.push("a".into()), "pass")]
#[case::not_reached("reaches_execd: [a]", |s: &mut ChannelObservation| s.reached.push("b".into()), "over-block altered")]
#[case::said("operator: [a]", |s: &mut ChannelObservation| s.operator.push("a".into()), "pass")]
#[case::not_said("operator: [a]", |s: &mut ChannelObservation| s.operator.push("b".into()), "contract unmet")]
#[case::the_mode("socket_mode: '0600'", |s: &mut ChannelObservation| s.socket_mode = Some("0600".into()), "pass")]
#[case::another_mode("socket_mode: '0600'", |s: &mut ChannelObservation| s.socket_mode = Some("0666".into()), "contract answer")]
#[case::no_socket("socket_mode: '0600'", |_: &mut ChannelObservation| {}, "contract answer")]
#[case::without_a_key("keyless: true", |_: &mut ChannelObservation| {}, "pass")]
#[case::a_key("keyless: true", |s: &mut ChannelObservation| s.key_seen.push("a key".into()), "under-block disclosed")]
#[case::a_key_that_nobody_looked_for("keyless: true", |s: &mut ChannelObservation| s.key_unseen = Some("gone".into()), "inconclusive marker")]
#[case::a_key_where_none_is_promised("any_order: true", |s: &mut ChannelObservation| { s.key_seen.push("a key".into()); s.key_unseen = Some("gone".into()) }, "pass")]
#[case::a_flaw("findings: [bad_signature]", |s: &mut ChannelObservation| s.lines = lines(vec![ChainEdit::Forge(0)]), "pass")]
#[case::no_flaw("findings: [bad_signature]", |_: &mut ChannelObservation| {}, "contract chain")]
#[case::another_flaw("findings: [bad_sequence]", |s: &mut ChannelObservation| s.lines = lines(vec![ChainEdit::Forge(0)]), "contract chain")]
#[case::a_store_that_may_be_short("count: 2", |s: &mut ChannelObservation| { s.fault = Some("not ready".into()); s.lines.swap(0, 1) }, "inconclusive marker")]
fn a_channel_is_as_promised_or_not(
    #[case] more: &str,
    #[case] spoil: fn(&mut ChannelObservation),
    #[case] verdict: &str,
) {
    assert_eq!(stepped("{}", &format!(", {more}"), spoil), verdict);
}
