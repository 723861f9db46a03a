//! Every limit of a frame, from both sides.

use rstest::rstest;
use serde_json::{Value, json};

use super::*;

fn frame(with: &Value) -> Vec<u8> {
    let mut frame = json!({"v": "1", "ts_emit": "2026-11-27T21:52:01.402830000Z", "session_id": "s",
        "channel": "opensandbox_execd", "tool": {"name": "command"}, "decision": "allowed"});
    for (name, value) in with.as_object().unwrap() {
        frame[name] = value.clone();
    }
    frame.to_string().into_bytes()
}

fn text(length: usize) -> String {
    "x".repeat(length)
}

#[rstest]
#[case(json!({"v": ""}), "v:")]
#[case(json!({"v": "2"}), "v:")]
#[case(json!({"v": 1}), "string")]
#[case(json!({"ts_emit": "yesterday"}), "ts_emit:")]
#[case(json!({"session_id": ""}), "session_id:")]
#[case(json!({"channel": ""}), "channel:")]
#[case(json!({"tool": {"name": ""}}), "tool.name:")]
#[case(json!({"tool": {}}), "missing field `name`")]
#[case(json!({"decision": "Allowed"}), "unknown variant")]
#[case(json!({"drop_count": -1}), "drop_count:")]
#[case(json!({"drop_count": 1.5}), "floating point")]
#[case(json!({"coverage": []}), "coverage:")]
#[case(json!({"issuer_name": text(257)}), "issuer_name:")]
#[case(json!({"issuer_model": text(257)}), "issuer_model:")]
#[case(json!({"operator_id": text(257)}), "operator_id:")]
#[case(json!({"operator_id": "o", "operator_name": text(257)}), "operator_name:")]
#[case(json!({"idempotency_key": text(257)}), "idempotency_key:")]
#[case(json!({"correlation_id": text(257)}), "correlation_id:")]
#[case(json!({"agent_id": text(257)}), "agent_id:")]
#[case(json!({"agent_type": text(257)}), "agent_type:")]
#[case(json!({"model": text(257)}), "model:")]
#[case(json!({"capture_method": text(257)}), "capture_method:")]
#[case(json!({"target_system": text(257), "target_resource": "r"}), "target_system:")]
#[case(json!({"target_system": "s", "target_resource": text(4097)}), "target_resource:")]
#[case(json!({"target_system": "s"}), "go together")]
#[case(json!({"target_resource": "r"}), "go together")]
#[case(json!({"operator_name": "o"}), "operator_name:")]
#[case(json!({"action_type": "unknown"}), "needs target_system")]
#[case(json!({"agent_id": "a/b"}), "agent_id:")]
#[case(json!({"agent_id": "a\0b"}), "agent_id:")]
#[case(json!({"usage": []}), "expected a map")]
#[case(json!({"sandbox_id": ""}), "sandbox_id:")]
#[case(json!({"sandbox_id": "a/b"}), "sandbox_id:")]
#[case(json!({"sandbox_id": text(129)}), "sandbox_id:")]
#[case(json!({"binding": {"sandbox_id": "a"}}), "needs sandbox_id")]
#[case(json!({"sandbox_id": "a", "binding": {"sandbox_id": "b"}}), "binding.sandbox_id:")]
#[case(json!({"sandbox_id": "a", "binding": {"sandbox_id": "a", "endpoint": "/x"}}), "binding.endpoint:")]
fn refused(#[case] with: Value, #[case] says: &str) {
    let error = accept(&frame(&with)).unwrap_err();
    assert!(error.contains(says), "{error}");
}

#[rstest]
#[case(json!({}), ChainSelector::Root)]
#[case(json!({"ts_emit": "2026-11-27T21:52:01+01:00"}), ChainSelector::Root)]
#[case(json!({"issuer_name": text(256), "correlation_id": text(256)}), ChainSelector::Root)]
#[case(json!({"target_system": text(256), "target_resource": text(4096)}), ChainSelector::Root)]
#[case(json!({"target_system": "", "target_resource": "", "correlation_id": ""}), ChainSelector::Root)]
#[case(json!({"from_a_later_version": 1}), ChainSelector::Root)]
#[case(json!({"agent_id": "a1"}), ChainSelector::Below("agent/a1".to_owned()))]
#[case(json!({"sandbox_id": text(128)}), ChainSelector::Below(format!("sandbox/{}", text(128))))]
#[case(json!({"sandbox_id": "A.b_c-1", "agent_id": "x"}), ChainSelector::Below("sandbox/A.b_c-1".to_owned()))]
fn accepted(#[case] with: Value, #[case] place: ChainSelector) {
    assert_eq!(accept(&frame(&with)).unwrap().place, place);
}

#[test]
fn no_payload_is_no_hash_and_an_empty_one_is() {
    let event = accept(&frame(&json!({"input": null, "output": {}}))).unwrap();
    assert_eq!(event.parameters_hash, None);
    let empty = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
    assert_eq!(event.response_hash.as_deref(), Some(empty));
    assert!(event.frame.output.is_none());
}

#[rstest]
#[case("1e400")]
#[case(r#"{"a":1,"a":2}"#)]
fn a_payload_that_means_two_things_is_refused(#[case] input: &str) {
    let text = String::from_utf8(frame(&json!({"input": "HERE"}))).unwrap();
    accept(text.replace("\"HERE\"", input).as_bytes()).unwrap_err();
}

#[test]
fn nulls_of_open_objects_are_dropped_before_signing() {
    let with = json!({"usage": {"a": null, "b": {"c": null}}, "coverage": {"x": null}});
    let event = accept(&frame(&with)).unwrap();
    assert_eq!(Value::from(event.frame.usage.unwrap()), json!({"b": {}}));
    assert_eq!(event.frame.coverage.unwrap(), json!({}));
}

#[path = "../../../../harness/tests/support/byte_mutator.rs"]
mod byte_mutator;

/// What is accepted once is accepted as the same again.
#[test]
fn any_bytes_are_a_frame_or_refused() {
    let usage = json!({"n": 9_007_199_254_740_991_u64, "x": [1.5, null, {"y": "\u{10400}"}]});
    let seeds = [
        frame(&json!({})),
        frame(&json!({"input": usage, "output": "text", "usage": {"tokens": 3}})),
        frame(&json!({"sandbox_id": "s", "binding": {"sandbox_id": "s", "endpoint": "/command"}})),
    ];
    byte_mutator::feed("frames", &seeds, 3000, |bytes| {
        let accepted = accept(bytes).map(|event| event.parameters_hash);
        assert_eq!(accepted, accept(bytes).map(|event| event.parameters_hash));
    });
}

/// A line of a store is a receipt or none.
#[test]
fn any_bytes_are_a_receipt_or_refused() {
    let line = json!({"@context": ["https://www.w3.org/ns/credentials/v2"], "type": ["VerifiableCredential"],
        "credentialSubject": {"chain": {"sequence": 1, "chain_id": "c", "previous_receipt_hash": null}},
        "proof": {"type": "Ed25519Signature2020", "proofValue": "z1"}});
    byte_mutator::feed("receipts", &[line.to_string().into_bytes()], 3000, |bytes| {
        drop(crate::parsed_receipt::read(bytes));
    });
}
