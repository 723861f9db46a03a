//! The decoder against honest, broken and forged streams.

use rstest::rstest;

use super::{FoundRecords, encode, encode_event, events, find};
use crate::record::{ActOutcome, DetailValue, ProbeEvent, ProbeRecord, RecordDetail};

const NONCE: &str = "n-1";

fn record(outcome: ActOutcome) -> ProbeRecord {
    ProbeRecord { probe: "write".into(), outcome, detail: RecordDetail::new() }
}

fn refused() -> ProbeRecord {
    record(ActOutcome::Refused { errno: "EROFS".into(), call: "openat".into() })
}

fn raw(nonce: &str, json: &str) -> Vec<u8> {
    format!("\x1eboxproof {nonce} {json}\n").into_bytes()
}

#[test]
fn the_line_is_exactly_the_documented_one() {
    let expected = raw(NONCE, r#"{"probe":"write","outcome":"succeeded"}"#);
    assert_eq!(encode(NONCE, &record(ActOutcome::Succeeded)), expected);
    assert_eq!(encode_event(NONCE, &ProbeEvent::Ready), raw(NONCE, r#"{"event":"ready"}"#));
}

#[rstest]
#[case::succeeded(ActOutcome::Succeeded)]
#[case::refused(ActOutcome::Refused { errno: "EACCES".into(), call: "unlink".into() })]
#[case::killed(ActOutcome::Killed { signal: "SIGSYS".into() })]
fn what_is_written_is_read(#[case] outcome: ActOutcome) {
    let mut record = record(outcome);
    record.detail.insert("data".into(), DetailValue::Text("\x1eboxproof n-1 {}\n".into()));
    record.detail.insert("size".into(), DetailValue::Number(u64::MAX));
    record.detail.insert("names".into(), DetailValue::Names(vec!["a".into(), "b".into()]));
    assert_eq!(find(NONCE, &encode(NONCE, &record)), FoundRecords::One(record));
}

#[test]
fn garbage_around_does_not_matter() {
    let mut bytes = b"\xff\x00noise without newline".to_vec();
    bytes.extend(encode(NONCE, &refused()));
    bytes.extend(b"\x1eboxproof tail");
    assert_eq!(find(NONCE, &bytes), FoundRecords::One(refused()));
}

#[rstest]
#[case::other("n-2")]
#[case::longer("n-11")]
#[case::shorter("n-")]
#[case::empty("")]
fn a_forged_nonce_is_not_seen(#[case] nonce: &str) {
    assert_eq!(find(NONCE, &encode(nonce, &refused())), FoundRecords::None);
}

#[test]
fn a_forged_record_next_to_the_true_one_spoils_both() {
    let mut bytes = encode(NONCE, &refused());
    bytes.extend(encode(NONCE, &record(ActOutcome::Succeeded)));
    assert_eq!(find(NONCE, &bytes), FoundRecords::Several);
    bytes.extend(encode(NONCE, &refused()));
    assert_eq!(find(NONCE, &bytes), FoundRecords::Several);
}

#[test]
fn every_truncation_is_malformed_or_nothing() {
    let whole = encode(NONCE, &refused());
    let prefix = super::prefix(NONCE).len();
    for cut in 0..whole.len() {
        let expected = if cut < prefix { FoundRecords::None } else { FoundRecords::Malformed };
        assert_eq!(find(NONCE, &whole[..cut]), expected, "cut at {cut}");
    }
}

#[rstest]
#[case::not_json("succeeded")]
#[case::empty("")]
#[case::nothing("{}")]
#[case::unknown_member(r#"{"probe":"w","outcome":"succeeded","verdict":"pass"}"#)]
#[case::unknown_outcome(r#"{"probe":"w","outcome":"denied"}"#)]
#[case::no_errno(r#"{"probe":"w","outcome":"refused","call":"openat"}"#)]
#[case::no_call(r#"{"probe":"w","outcome":"refused","errno":"EROFS"}"#)]
#[case::errno_number(r#"{"probe":"w","outcome":"refused","errno":"30","call":"openat"}"#)]
#[case::errno_of_success(r#"{"probe":"w","outcome":"succeeded","errno":"EROFS"}"#)]
#[case::killed_by_nothing(r#"{"probe":"w","outcome":"killed"}"#)]
#[case::duplicate(r#"{"probe":"w","outcome":"succeeded","outcome":"succeeded"}"#)]
#[case::two_in_a_line(r#"{"probe":"w","outcome":"succeeded"}{"probe":"w","outcome":"succeeded"}"#)]
#[case::unknown_event(r#"{"event":"done"}"#)]
#[case::mark_without_a_name(r#"{"event":"mark"}"#)]
#[case::event_with_more(r#"{"event":"ready","probe":"w"}"#)]
fn what_is_not_whole_is_malformed(#[case] json: &str) {
    assert_eq!(find(NONCE, &raw(NONCE, json)), FoundRecords::Malformed);
    let mut after_truth = encode(NONCE, &refused());
    after_truth.extend(raw(NONCE, json));
    assert_eq!(find(NONCE, &after_truth), FoundRecords::Malformed);
}

#[test]
fn a_prefix_inside_a_line_does_not_hide_it() {
    let mut bytes = super::prefix(NONCE);
    bytes.extend(encode(NONCE, &refused()));
    assert_eq!(find(NONCE, &bytes), FoundRecords::Malformed);
}

#[test]
fn a_mark_has_its_name() {
    let mark = ProbeEvent::Mark("term".to_owned());
    let bytes = encode_event(NONCE, &mark);
    assert_eq!(bytes, raw(NONCE, r#"{"event":{"mark":"term"}}"#));
    assert_eq!((events(NONCE, &bytes), find(NONCE, &bytes)), (vec![mark], FoundRecords::None));
}

#[test]
fn events_come_apart_from_the_record() {
    let mut bytes = encode_event(NONCE, &ProbeEvent::Ready);
    bytes.extend(encode(NONCE, &refused()));
    bytes.extend(encode_event("n-2", &ProbeEvent::Ready));
    assert_eq!(events(NONCE, &bytes), [ProbeEvent::Ready]);
    assert_eq!(find(NONCE, &bytes), FoundRecords::One(refused()));
    assert_eq!(find(NONCE, &encode_event(NONCE, &ProbeEvent::Ready)), FoundRecords::None);
}
