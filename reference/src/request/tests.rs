//! Requests that must be accepted or refused, and the words of the refusal.

use super::*;
use boxproof_cases::protocol::ErrorKind;
use rstest::rstest;

/// A host without any program.
struct NoPrograms;

impl HostInspector for NoPrograms {
    fn is_program(&self, _path: &Path) -> bool {
        false
    }

    fn version(&self, _path: &Path) -> Option<Vec<u8>> {
        None
    }

    fn can_confine(&self, _path: &Path) -> bool {
        false
    }

    fn own(&self) -> Option<String> {
        None
    }
}

/// A request whose policy and run hold these further members.
fn text(policy: &str, run: &str) -> String {
    format!(
        r#"{{"protocol":1,"policy":{{"workspace":"/w"{policy}}},
        "run":{{"command":{{"argv":["true"]}},"cwd":"/w"{run}}}}}"#
    )
}

fn verdict(text: &str) -> Result<RunJob, Refusal> {
    parse(text, &NoPrograms).and_then(|request| check(&request).map(|()| request))
}

#[rstest]
#[case::defaults("", "")]
#[case::grant(r#","grants":["git_metadata_write"]"#, "")]
#[case::strong_grant(r#","grants":["git_config_write"]"#, "")]
#[case::sockets(r#","unix_sockets":["/s","@a"]"#, "")]
#[case::mechanism("", r#","mechanism":"bubblewrap""#)]
#[case::namespaces("", r#","mechanism":"namespaces""#)]
#[case::stdin("", r#","stdin":{"bytes_b64":"aGk="}"#)]
#[case::debug("", r#","capture":true,"debug":true"#)]
fn good_requests_pass(#[case] policy: &str, #[case] run: &str) {
    assert_eq!(verdict(&text(policy, run)).map(|order| order.protocol), Ok(1));
}

#[rstest]
#[case::unknown_member(r#","denyRead":[]"#, "", "unknown field `denyRead`")]
#[case::unknown_mode(r#","mode":"full""#, "", "unknown variant `full`")]
#[case::relative_root(r#","writable":["x"]"#, "", "policy.writable: \"x\" is not an absolute path")]
#[case::relative_deny(r#","deny_read":["x"]"#, "", "policy.deny_read: \"x\"")]
#[case::relative_socket(r#","unix_sockets":["x"]"#, "", "policy.unix_sockets: \"x\"")]
#[case::list_for_env(r#","env":[]"#, "", "policy.env: this is a list, and has to be an object")]
#[case::list_for_network(
    r#","network":{"proxy":[3128]}"#,
    "",
    "policy.network.proxy: this is a list"
)]
#[case::word_for_network(r#","network":"none""#, "", "policy.network.none: invalid type: a word")]
#[case::truth_for_protect(
    r#","protect":true"#,
    "",
    "policy.protect: expected one of `none`, `metadata`"
)]
#[case::list_for_path(r#","writable":[["L3c="]]"#, "", "policy.writable[0]: a path is a string")]
#[case::env_name(r#","env":{"set":{"A=B":"1"}}"#, "", "policy.env: \"A=B\" is no variable name")]
#[case::env_empty(r#","env":{"pass":[""]}"#, "", "policy.env: \"\" is no variable name")]
#[case::mechanism(
    "",
    r#","mechanism":"magic""#,
    "run.mechanism: \"magic\" is unknown; known: auto"
)]
#[case::stdin("", r#","stdin":{"bytes_b64":"*"}"#, "run.stdin: not base64")]
#[case::stdin_word("", r#","stdin":"tty""#, "unknown variant `tty`")]
#[case::no_time("", r#","timeout_ms":0"#, "run.timeout_ms: 0 leaves no time")]
fn bad_requests_are_named(#[case] policy: &str, #[case] run: &str, #[case] message: &str) {
    let refusal = verdict(&text(policy, run)).unwrap_err();
    assert_eq!(refusal.kind, ErrorKind::InvalidRequest);
    assert!(refusal.message.contains(message), "{refusal}");
}

#[rstest]
#[case::grant(r#","grants":["everything"]"#, "", "policy.grants: \"everything\" is unknown")]
fn what_cannot_be_done_is_unsupported(
    #[case] policy: &str,
    #[case] run: &str,
    #[case] message: &str,
) {
    let refusal = verdict(&text(policy, run)).unwrap_err();
    assert_eq!(refusal.kind, ErrorKind::Unsupported);
    assert!(refusal.message.contains(message), "{refusal}");
}

#[rstest]
#[case::protocol("\"protocol\":1", "\"protocol\":2", "protocol: 2 is unknown; use 1")]
#[case::workspace("\"workspace\":\"/w\"", "\"workspace\":\"w\"", "policy.workspace: \"w\"")]
#[case::cwd("\"cwd\":\"/w\"", "\"cwd\":\"w\"", "run.cwd: \"w\"")]
#[case::argv("[\"true\"]", "[]", "run.command: argv is empty")]
fn required_members_are_checked(#[case] from: &str, #[case] to: &str, #[case] message: &str) {
    let refusal = verdict(&text("", "").replace(from, to)).unwrap_err();
    assert!(refusal.message.contains(message), "{refusal}");
}

#[test]
fn a_syntax_error_has_its_line() {
    let refusal = parse("{\"protocol\": 1,\n \"policy\": ?}", &NoPrograms).unwrap_err();
    assert_eq!(refusal.line, Some(2));
}

#[rstest]
#[case::neutral("[1,{\"workspace\":\"/w\"},{\"command\":{\"argv\":[\"true\"]},\"cwd\":\"/w\"}]")]
#[case::orbit(r#"{"protocol":1,"dialect":"orbit","documents":[[]],"workspace":"/w","run":[]}"#)]
#[case::caliban(r#"{"protocol":1,"dialect":"caliban","documents":[[]],"workspace":"/w","run":[]}"#)]
#[case::inferoa(r#"{"protocol":1,"dialect":"inferoa","documents":[[]],"workspace":"/w","run":[]}"#)]
fn no_list_stands_for_an_object_in_any_dialect(#[case] text: &str) {
    let refusal = parse(text, &NoPrograms).unwrap_err();
    assert!(refusal.message.contains("this is a list, and has to be an object"), "{refusal}");
    assert_eq!((refusal.kind, refusal.line), (ErrorKind::InvalidRequest, Some(1)));
}
