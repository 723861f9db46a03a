//! Answers and their outcomes, cut at any place.

use rstest::rstest;

use super::*;

fn outcome(shows: OutcomeSource, status: u16, answer: &str, size: usize) -> ActionOutcome {
    let mut reader = OutcomeReader::new(shows, false);
    reader.begins(status);
    for piece in answer.as_bytes().chunks(size) {
        reader.feed(piece);
    }
    reader.end(AnswerEnd::Whole)
}

fn exit(code: i64, error: Option<&str>) -> ActionOutcome {
    let output = Some(json!({"exit_code": code}));
    ActionOutcome { output, error: error.map(str::to_owned), ..ActionOutcome::default() }
}

const INIT: &str = "{\"type\":\"init\",\"text\":\"ab\"}\n\n";
const PING: &str = "{\"type\":\"ping\",\"text\":\"pong\"}\n\n";
const END: &str = "{\"type\":\"execution_complete\",\"execution_time\":3}\n\n";

fn failure(ename: &str, evalue: &str) -> String {
    format!(
        "{{\"type\":\"error\",\"error\":{{\"ename\":\"{ename}\",\"evalue\":\"{evalue}\"}}}}\n\n"
    )
}

#[rstest]
#[case::complete(format!("{INIT}{PING}{END}"), exit(0, None))]
#[case::exit(failure("CommandExecError", "3"), exit(3, Some("exit code 3")))]
#[case::killed(failure("CommandExecError", "-1"), exit(-1, Some("exit code -1")))]
#[case::not_started(failure("CommandExecError", "fork: no"), failed("the command was not started"))]
#[case::other_error(failure("Other", "3"), failed("the command was not started"))]
#[case::no_end(INIT.to_owned(), failed("the stream ended without an end of the command"))]
#[case::an_error_counts_before_an_end(format!("{}{END}", failure("CommandExecError", "4")), exit(4, Some("exit code 4")))]
fn exit_codes(#[case] stream: String, #[case] wanted: ActionOutcome) {
    for size in 1..=stream.len() {
        assert_eq!(outcome(OutcomeSource::Exit, 200, &stream, size), wanted, "{size}");
    }
}

fn line(kind: &str, text: &str) -> String {
    format!("{}\n\n", json!({"type": kind, "text": text}))
}

#[test]
fn kernels_are_hashed_alike_in_either_framing() {
    let (out, err) = (line("stdout", "\u{e9}\u{1f980}\n"), line("stderr", "b"));
    let result = "{\"type\":\"result\",\"results\":{\"text\":\"2\",\"a\":1.0}}\n\n";
    let bare = format!("{INIT}{out}{PING}{result}{err}{END}");
    let framed =
        bare.replace("{\"type\"", "data: {\"type\"").replace("{\"execution", "data: {\"ex");
    let results = hex(Sha256::new_with_prefix("{\"a\":1,\"text\":\"2\"}\n"));
    let logs = "{\"t\":\"stdout\",\"x\":\"\u{e9}\u{1f980}\\n\"}\n{\"t\":\"stderr\",\"x\":\"b\"}\n";
    let output = json!({"result_hash": results, "logs_hash": hex(Sha256::new_with_prefix(logs))});
    for stream in [bare, framed] {
        for size in [1, 2, 3, 5, 7, 64, 4096] {
            assert_eq!(
                outcome(OutcomeSource::Results, 200, &stream, size),
                done(output.clone()),
                "{size}"
            );
        }
    }
}

#[test]
fn no_events_are_the_hash_of_nothing() {
    let nothing = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let output = json!({"result_hash": nothing, "logs_hash": nothing});
    assert_eq!(outcome(OutcomeSource::Results, 200, END, 9), done(output));
}

#[test]
fn an_unreadable_event_has_no_hash() {
    let seen = outcome(OutcomeSource::Results, 200, &format!("not json\n\n{END}"), 100);
    assert_eq!((seen.output, seen.error.is_some()), (None, true));
}

#[rstest]
#[case::content(OutcomeSource::Content, "hello execd\n", json!({"content_hash": "sha256:bff8a0fda9aeea4b41b8163c2f58311000b5a46df148c0e69c82bc29cdb360f1"}))]
#[case::nothing_else(OutcomeSource::Done, "", json!({}))]
#[case::entries(OutcomeSource::Entries, "[ {\"b\":1.0,\"a\":\"x\"} ]", json!({"entries_hash": hex(Sha256::new_with_prefix("[{\"a\":\"x\",\"b\":1}]"))}))]
fn other_answers(#[case] shows: OutcomeSource, #[case] answer: &str, #[case] output: Value) {
    for size in 1..=answer.len().max(1) {
        assert_eq!(outcome(shows, 200, answer, size), done(output.clone()));
    }
}

#[rstest]
#[case::in_the_last_event(AnswerEnd::Cut, END.trim_end())]
#[case::behind_more(AnswerEnd::Cut, &format!("{END}data: {{"))]
#[case::before_the_last_event(AnswerEnd::Cut, "{\"type\":\"stdout\",\"text\":\"a\"}\n\n")]
#[case::left(AnswerEnd::Left, END)]
#[case::stopped(AnswerEnd::Stopped, END)]
#[case::unreachable(AnswerEnd::Unreachable, END)]
fn what_did_not_end_has_no_output(#[case] ended: AnswerEnd, #[case] stream: &str) {
    let mut reader = OutcomeReader::new(OutcomeSource::Exit, false);
    reader.begins(200);
    reader.feed(stream.as_bytes());
    let outcome = reader.end(ended);
    assert_eq!((outcome.output, outcome.error.is_some()), (None, true));
}

#[test]
fn a_stream_that_is_cut_behind_its_last_event_is_whole() {
    let mut reader = OutcomeReader::new(OutcomeSource::Exit, false);
    reader.begins(200);
    reader.feed(END.as_bytes());
    assert_eq!(reader.end(AnswerEnd::Cut), done(json!({"exit_code": 0})));
}

#[rstest]
#[case(404)]
#[case(500)]
fn an_error_is_no_content(#[case] status: u16) {
    let outcome = outcome(OutcomeSource::Content, status, "{}", 1);
    assert_eq!((outcome.output, outcome.error), (None, Some(format!("execd answered {status}"))));
}

#[test]
fn worked_exit_codes() {
    let hash = |code| {
        let text = serde_json_canonicalizer::to_vec(&exit(code, None).output.unwrap()).unwrap();
        hex(Sha256::new_with_prefix(text))
    };
    assert_eq!(
        [hash(0), hash(-1)],
        [
            "sha256:e81bc160c0843ee56f31f12997bb3aff50528d596002d4866676cb8a1b19195a",
            "sha256:d5628c66dcaaa49f62de85bfd8a9a2bf17ad9d3fc980f4ccb628b2e51224ac3b"
        ]
    );
}
