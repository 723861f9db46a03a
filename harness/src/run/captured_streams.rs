//! Streams that a native backend captured into its result: taken out of it, and checked against
//! its own text of them.

use base64::Engine as _;
use boxproof_cases::protocol::RunResult;
use boxproof_reports::record::StreamText;

/// Takes stdout and stderr out of `result`, as they are heavy.
///
/// # Errors
/// The reason why a stream cannot be decoded.
pub(super) fn take(result: &mut RunResult) -> Result<(Vec<u8>, Vec<u8>), String> {
    if !result.started {
        return Ok((Vec::new(), Vec::new()));
    }
    let out = bytes("stdout", result.stdout_b64.take(), result.stdout.take())?;
    let err = bytes("stderr", result.stderr_b64.take(), result.stderr.take())?;
    Ok((out, err))
}

/// The most bytes of a result besides the streams.
const BESIDES_LIMIT: usize = 1 << 20;

/// Takes out of `result` the streams that it has without being asked for them, and bounds the error's
/// message, which the record keeps as evidence.
///
/// # Errors
/// Returns an error when it says much besides.
pub(super) fn lighten(result: &mut RunResult) -> Result<(), String> {
    for stream in
        [&mut result.stdout, &mut result.stderr, &mut result.stdout_b64, &mut result.stderr_b64]
    {
        *stream = None;
    }
    if let Some(error) = &mut result.error {
        error.message = StreamText::from_bytes(error.message.as_bytes()).text;
    }
    match serde_json::to_vec(result).map_or(usize::MAX, |text| text.len()) {
        0..=BESIDES_LIMIT => Ok(()),
        size => Err(format!("the result has {size} bytes besides the streams")),
    }
}

fn bytes(name: &str, base64: Option<String>, text: Option<String>) -> Result<Vec<u8>, String> {
    let (Some(base64), Some(text)) = (base64, text) else {
        return Err(format!("the result lacks {name} or {name}_b64, which were to be captured"));
    };
    let bytes = base64::engine::general_purpose::STANDARD.decode(base64);
    let bytes = bytes.map_err(|error| format!("{name}_b64 is no base64: {error}"))?;
    if String::from_utf8_lossy(&bytes) != text {
        return Err(format!("{name} is not the text of {name}_b64"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use boxproof_reports::record::STREAM_LIMIT;
    use rstest::rstest;

    fn result(members: &str) -> RunResult {
        let text = format!(
            r#"{{"protocol": 1, "started": true, "success": true, "exit_code": 0,
                "stderr": "", "stderr_b64": ""{members}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn raw_bytes_are_taken_and_their_text_is_lossy() {
        let mut result = result(r#", "stdout": "a\ufffdb", "stdout_b64": "Yf9i""#);
        assert_eq!(take(&mut result).unwrap(), (b"a\xffb".to_vec(), Vec::new()));
        assert_eq!((result.stdout, result.stdout_b64, result.stderr_b64), (None, None, None));
    }

    #[test]
    fn what_a_result_says_besides_streams_is_bounded() {
        let text = "x".repeat(BESIDES_LIMIT);
        let mut streams = result(&format!(r#", "stdout": "{text}", "stdout_b64": "{text}""#));
        assert_eq!(lighten(&mut streams), Ok(()));
        assert_eq!((streams.stdout, streams.stdout_b64), (None, None));
        let message = format!(r#", "error": {{"kind": "unavailable", "message": "{text}"}}"#);
        let mut wordy = result(&message);
        assert_eq!(lighten(&mut wordy), Ok(()));
        assert_eq!(wordy.error.unwrap().message.len(), STREAM_LIMIT);
        let mut words = result(&format!(r#", "annotations": ["{text}"]"#));
        assert!(lighten(&mut words).unwrap_err().contains("besides the streams"));
    }

    #[rstest]
    #[case::nothing("", "lacks stdout")]
    #[case::text_alone(r#", "stdout": "a""#, "lacks stdout")]
    #[case::no_base64(r#", "stdout": "a", "stdout_b64": "?""#, "no base64")]
    #[case::another_text(r#", "stdout": "b", "stdout_b64": "YQ==""#, "is not the text")]
    fn what_is_not_whole_is_a_fault(#[case] members: &str, #[case] fault: &str) {
        let error = take(&mut result(members)).unwrap_err();
        assert!(error.contains(fault), "{error}");
    }
}
