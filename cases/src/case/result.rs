//! The expected result of a native backend: [`ResultExpect`].

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::EventsExpect;
use crate::capability::Capability;
use crate::protocol::ErrorKind;

/// The expected result; members that are left out are not compared. It is judged if the backend
/// gives a result.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResultExpect {
    /// True if the result may be lost, because the command takes its place away.
    #[serde(default, skip_serializing_if = "super::launcher::is_false")]
    pub lost: bool,
    /// True if the command was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<bool>,
    /// True if the command ended cleanly with 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success: Option<bool>,
    /// The exit code, or null for none.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schemars(with = "Option<i32>")]
    pub exit_code: Option<Option<i32>>,
    /// The signal the command died of, its name without SIG, or null for none.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schemars(with = "Option<String>")]
    pub signal: Option<Option<String>>,
    /// True if the time limit was reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<bool>,
    /// The signal that ended the run, its name without SIG, or null for none.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schemars(with = "Option<String>")]
    pub interrupted_by: Option<Option<String>>,
    /// All annotations, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Vec<String>>,
    /// All limits, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Vec<String>>,
    /// The grants inferred from the command's line, in any order; an empty list for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inferred: Option<Vec<String>>,
    /// Capabilities that the result lists as enforced, at any level.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub enforced: Vec<Capability>,
    /// True if captured output was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
    /// The error, or null for none.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schemars(with = "Option<ErrorExpect>")]
    pub error: Option<Option<ErrorExpect>>,
    /// The operations that the result says were refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<EventsExpect>,
    /// The duration of the run by the backend's own clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<DurationExpect>,
}

/// An error of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorExpect {
    /// The kind of the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ErrorKind>,
    /// Texts in its message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contains: Vec<String>,
}

/// Bounds on the duration a result gives, in milliseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DurationExpect {
    /// The minimum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<u64>,
    /// The maximum, to which the tolerance that the README states is added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<u64>,
}

/// Reads a member that is present, null included: only an absent member is not compared.
fn given<'de, D, T>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("{}")]
    #[case("{exit_code: null, signal: TERM, timed_out: true, success: false}")]
    #[case("{exit_code: 7, signal: null, interrupted_by: null, error: null}")]
    #[case("{annotations: [process timed out], truncated: true, started: true}")]
    #[case("{inferred: []}")]
    #[case("{enforced: [fs.write]}")]
    #[case("{lost: true, started: true}")]
    #[case("{events: {given: [{path: ws/f, errno: [EACCES]}], alone: true, at_least: 1}}")]
    #[case("{error: {kind: stdin, contains: [failed]}, duration: {not_before: 5, within: 9}}")]
    fn survives_a_round_trip(#[case] yaml: &str) {
        let expect: ResultExpect = crate::load::fragment(yaml).unwrap();
        let json = serde_json::to_value(&expect).unwrap();
        assert_eq!(serde_json::from_value::<ResultExpect>(json).unwrap(), expect);
    }

    #[test]
    fn null_is_a_promise_and_silence_is_none() {
        let expect: ResultExpect = crate::load::fragment("{exit_code: null}").unwrap();
        assert_eq!((expect.exit_code, &expect.signal), (Some(None), &None));
        let again = serde_json::to_string(&expect).unwrap();
        assert_eq!(again, r#"{"exit_code":null}"#);
    }

    #[rstest]
    #[case("{exitcode: 0}", "unknown field `exitcode`")]
    #[case("{error: {kind: lost}}", "unknown variant `lost`")]
    #[case("{exit_code: zero}", "invalid type")]
    fn refuses(#[case] yaml: &str, #[case] message: &str) {
        let error = crate::load::fragment::<ResultExpect>(yaml).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
