//! The check of a proxy's post, which becomes a frame that names the certificate's sandbox; pure.

use boxproof_cases::protocol::ObjectsOnly;
use serde::Deserialize as _;

use crate::frame::EventFrame;
use crate::ijson;
use crate::strict::{self, OrderedJson};

/// The reason why a body is no frame of this sandbox.
#[derive(Debug, PartialEq)]
pub(super) enum FrameRejection {
    /// It is no frame.
    Bad(String),
    /// It says that it comes from another sandbox.
    Claim(String),
}

/// The frame with the sandbox of the certificate in it, as one JSON text.
pub(super) fn frame(body: &[u8], sandbox: &str) -> Result<Vec<u8>, FrameRejection> {
    let json = strict::read(body).map_err(FrameRejection::Bad)?;
    ijson::check(body).map_err(FrameRejection::Bad)?;
    let bad = |error: serde_json::Error| FrameRejection::Bad(format!("no frame: {error}"));
    EventFrame::deserialize(ObjectsOnly(json.value())).map_err(bad)?;
    let OrderedJson::Members(members) = json else {
        return Err(FrameRejection::Bad("no frame: not an object".to_owned()));
    };
    let mut frame = Vec::with_capacity(members.len() + 2);
    let mut binding = Vec::new();
    for (name, value) in members {
        match (name.as_str(), value) {
            ("sandbox_id", claim) => same(&claim, sandbox)?,
            ("binding", OrderedJson::Members(said)) => binding = said,
            ("binding", _) => {}
            (_, value) => frame.push((name, value)),
        }
    }
    for (name, value) in &binding {
        if name == "sandbox_id" {
            same(value, sandbox)?;
        }
    }
    binding.retain(|(name, _)| name != "sandbox_id");
    let id = || ("sandbox_id".to_owned(), OrderedJson::Text(sandbox.to_owned()));
    binding.insert(0, id());
    frame.push(("binding".to_owned(), OrderedJson::Members(binding)));
    frame.push(id());
    serde_json::to_vec(&OrderedJson::Members(frame)).map_err(bad)
}

fn same(claim: &OrderedJson, sandbox: &str) -> Result<(), FrameRejection> {
    match claim {
        OrderedJson::Null => Ok(()),
        OrderedJson::Text(claim) if claim == sandbox => Ok(()),
        _ if fault!("receipts.claims-unchecked") => Ok(()),
        other => Err(FrameRejection::Claim(format!(
            "the frame says {other:?}, the certificate {sandbox:?}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    const FRAME: &str = r#"{"v":"1","ts_emit":"2026-01-01T00:00:00Z","session_id":"s","channel":"c",
        "tool":{"name":"t"},"decision":"allowed","drop_count":3,"later":[1.5,{"a":null}]"#;

    fn checked(more: &str) -> Result<Value, FrameRejection> {
        frame(format!("{FRAME}{more}}}").as_bytes(), "s1")
            .map(|text| serde_json::from_slice(&text).unwrap())
    }

    #[rstest]
    #[case("")]
    #[case(r#","sandbox_id":"s1""#)]
    #[case(r#","sandbox_id":null,"binding":null"#)]
    #[case(r#","binding":{"sandbox_id":"s1"}"#)]
    fn the_certificate_names_the_sandbox(#[case] more: &str) {
        let frame = checked(more).unwrap();
        assert_eq!(frame["sandbox_id"], "s1");
        assert_eq!(frame["binding"], json!({"sandbox_id": "s1"}));
        assert_eq!(
            (&frame["drop_count"], &frame["later"]),
            (&json!(3), &json!([1.5, {"a": null}]))
        );
    }

    #[test]
    fn the_rest_of_a_binding_stays() {
        let frame = checked(r#","binding":{"endpoint":"/pty","sandbox_id":"s1"}"#).unwrap();
        assert_eq!(frame["binding"], json!({"sandbox_id": "s1", "endpoint": "/pty"}));
    }

    #[rstest]
    #[case(r#","sandbox_id":"s2""#)]
    #[case(r#","sandbox_id":7"#)]
    #[case(r#","binding":{"sandbox_id":"s2"}"#)]
    fn another_sandbox_is_not_taken(#[case] more: &str) {
        let wrong = checked(more).unwrap_err();
        // A claim of another type is no frame at all.
        assert!(matches!(wrong, FrameRejection::Claim(_)) || more.contains('7'), "{wrong:?}");
    }

    #[rstest]
    #[case::twice(r#","v":"1""#)]
    #[case::overflow(r#","input":1e400"#)]
    #[case::trailing("} x")]
    #[case::decision(r#","agent_id":5"#)]
    fn no_frames(#[case] more: &str) {
        assert!(matches!(checked(more), Err(FrameRejection::Bad(_))));
    }
}
