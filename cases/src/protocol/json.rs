//! Reading one JSON text of the protocol ([`from_json`]), with errors that name line and member.

use serde::de::{DeserializeOwned, IgnoredAny};
use thiserror::Error;

use super::ObjectsOnly;

/// The reason why a text is not what it has to be.
#[derive(Debug, Error)]
#[error("{at}{message}")]
pub struct JsonError {
    /// The line, from 1.
    pub line: usize,
    /// The member it was met in, such as `policy.env: `; empty where the whole text is meant.
    at: String,
    message: String,
}

/// Reads `text`, one JSON value, as a `T`; no list stands for an object.
///
/// ```
/// use boxproof_cases::protocol::{RunResult, from_json};
///
/// let text = br#"{"protocol": 1, "started": true, "success": false, "exit_code": 3}"#;
/// assert_eq!(from_json::<RunResult>(text).unwrap().exit_code, Some(3));
/// let error = from_json::<RunResult>(br#"{"protocol": 1, "sucess": true}"#).unwrap_err();
/// assert!(error.to_string().contains("sucess"));
/// ```
///
/// # Errors
/// The first thing that does not fit.
pub fn from_json<T: DeserializeOwned>(text: &[u8]) -> Result<T, JsonError> {
    let mut track = serde_path_to_error::Track::new();
    let mut json = serde_json::Deserializer::from_slice(text);
    let read = {
        let tracked = serde_path_to_error::Deserializer::new(&mut json, &mut track);
        T::deserialize(ObjectsOnly(tracked))
    };
    let fault = |error: &serde_json::Error, at: String| JsonError {
        line: error.line(),
        message: if at.is_empty() { error.to_string() } else { worded(&error.to_string()) },
        at,
    };
    let value = read.map_err(|error| match track.path().to_string() {
        path if path == "." || !is_json(text) => fault(&error, String::new()),
        path => fault(&error, format!("{path}: ")),
    })?;
    json.end().map_err(|error| fault(&error, String::new()))?;
    Ok(value)
}

/// Whether `text` is JSON of any kind: otherwise what is wrong is no member's fault.
fn is_json(text: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(text).is_ok()
}

/// Serde's message in the words of JSON.
fn worded(message: &str) -> String {
    message
        .replace("expected a sequence", "expected a list: […]")
        .replace("unit variant, expected struct variant", "a word, expected an object: {…}")
        .replace("unit variant, expected newtype variant", "a word, expected an object: {…}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{
        CheckRequest, CompileRequest, ProfileRequest, RunRequest, RunResult, SettingsRunRequest,
    };
    use rstest::rstest;

    /// A run request with `part` in place of `whole`.
    fn request(whole: &str, part: &str) -> String {
        let text = r#"{"protocol": 1,
 "policy": {"workspace": "/w",
  "env": {"scrub": true},
  "network": {"host": {}}},
 "run": {"command": {"argv": ["true"]}, "cwd": "/w"}}"#;
        assert!(text.contains(whole), "{whole}");
        text.replace(whole, part)
    }

    #[rstest]
    #[case::whole(&request("", ""), None)]
    #[case::env(r#"{"scrub": true}"#, Some((3, "policy.env: ")))]
    #[case::network(r#"{"host": {}}"#, Some((4, "policy.network: ")))]
    #[case::grant("{}", Some((4, "policy.network.host: ")))]
    #[case::command(r#"{"argv": ["true"]}"#, Some((5, "run.command: ")))]
    fn no_list_stands_for_an_object(#[case] part: &str, #[case] at: Option<(usize, &str)>) {
        let Some((line, member)) = at else {
            from_json::<RunRequest>(part.as_bytes()).unwrap();
            return;
        };
        for list in ["[]", "[true]", "[[]]"] {
            let error = from_json::<RunRequest>(request(part, list).as_bytes()).unwrap_err();
            assert_eq!(error.line, line, "{error}");
            assert!(error.to_string().starts_with(member), "{error}");
        }
    }

    #[rstest]
    #[case::run(refusal::<RunRequest>)]
    #[case::profile(refusal::<ProfileRequest>)]
    #[case::settings(refusal::<SettingsRunRequest>)]
    #[case::check(refusal::<CheckRequest>)]
    #[case::compile(refusal::<CompileRequest>)]
    #[case::result(refusal::<RunResult>)]
    fn no_document_is_a_list(#[case] refusal: fn(&str) -> String) {
        let said = refusal("\n[1, []]");
        assert!(said.contains("this is a list, and has to be an object"), "{said}");
        assert!(said.contains("line 2"), "{said}");
    }

    fn refusal<T: DeserializeOwned>(text: &str) -> String {
        from_json::<T>(text.as_bytes()).err().unwrap().to_string()
    }

    #[rstest]
    #[case::word(
        r#"{"host": {}}"#,
        r#""host""#,
        "policy.network.host: invalid type: a word, expected an object"
    )]
    #[case::truth(r#"{"host": {}}"#, "true", "policy.network: expected one of `none`, ")]
    #[case::unknown(r#""scrub""#, r#""scrubs""#, "policy.env.scrubs: unknown field `scrubs`")]
    #[case::path(r#""workspace": "/w""#, r#""workspace": ["L3c="]"#, "policy.workspace: ")]
    #[case::twice(r#""cwd": "/w""#, r#""cwd": "/w", "cwd": "/x""#, "duplicate field `cwd`")]
    #[case::more("\"/w\"}}", "\"/w\"}} x", "trailing characters at line 5")]
    #[case::cut("\"/w\"}}", "\"/w\"", "EOF while parsing")]
    fn what_is_wrong_is_told(#[case] whole: &str, #[case] part: &str, #[case] said: &str) {
        let error = from_json::<RunRequest>(request(whole, part).as_bytes()).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }
}
