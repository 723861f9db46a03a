//! Files and directories: one frame a path, with the bytes that really went by.

use rstest::rstest;
use serde_json::{Value, json};

use crate::proxy::support::{Channel, hash, send_request, sha};

fn path(frame: &Value) -> &str {
    frame["input"]["path"].as_str().unwrap()
}

fn pair(path: &str, content: &str) -> String {
    let metadata = json!({"path": path}).to_string();
    format!(
        "--b\r\nContent-Disposition: form-data; name=\"metadata\"; filename=\"m\"\r\n\r\n{metadata}\r\n\
         --b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\n{content}\r\n"
    )
}

fn upload(channel: &Channel, body: &str) -> u16 {
    let kind = "Content-Type: multipart/form-data; boundary=b\r\n";
    send_request(channel.proxy.address, "POST", "/files/upload", kind, body.as_bytes()).status
}

#[test]
fn an_upload_is_told_and_written() {
    let channel = Channel::start();
    let file = channel.path("a.txt");
    assert_eq!(upload(&channel, &format!("{}--b--\r\n", pair(&file, "hello execd\n"))), 200);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "hello execd\n");
    let frame = &channel.frames(1)[0];
    assert_eq!(frame["action_type"], "filesystem.file.create");
    let content = "sha256:bff8a0fda9aeea4b41b8163c2f58311000b5a46df148c0e69c82bc29cdb360f1";
    assert_eq!(frame["input"], json!({"path": file, "content_hash": content}));
    assert_eq!(
        hash(&frame["output"]),
        "sha256:adc813ea9e43dcf49762d83ab836741a2fe367b72930af3399ccb878a8342aad"
    );
    assert_eq!(frame["target_resource"], file);
    assert_eq!(frame.get("correlation_id"), None);
}

#[test]
fn the_sheets_value_for_a_path_and_its_content() {
    let channel = Channel::start();
    let kind = "Content-Type: text/plain\r\n";
    send_request(channel.proxy.address, "POST", "/files?path=a.txt", kind, b"hello execd\n");
    let frame = &channel.frames(1)[0];
    assert_eq!(
        hash(&frame["input"]),
        "sha256:17e208e7df6735c7977f8fa4dc85b52082d6c2cac6f04e63c2caa068ef5c9a74"
    );
}

#[test]
fn two_pairs_are_two_frames_of_one_request() {
    let channel = Channel::start();
    let (one, two) = (channel.path("1"), channel.path("sub/2"));
    let large = "z".repeat(300_000);
    let body = format!("{}{}--b--\r\nepilogue", pair(&one, "a"), pair(&two, &large));
    assert_eq!(upload(&channel, &body), 200);
    let frames = channel.frames(2);
    assert_eq!([path(&frames[0]), path(&frames[1])], [one, two]);
    assert_eq!(frames[1]["input"]["content_hash"], sha(large.as_bytes()));
    assert_eq!(frames[1]["output"], json!({"bytes_written": 300_000}));
    assert!(frames[0]["correlation_id"].is_string());
    assert_eq!(frames[0]["correlation_id"], frames[1]["correlation_id"]);
}

#[rstest]
#[case::twice("{\"path\":\"@\",\"path\":\"x\"}", "")]
#[case::case_alone("{\"path\":\"@\",\"Path\":\"x\"}", "")]
#[case::no_path("{}", "")]
#[case::encoded("{\"path\":\"@\"}", "Content-Transfer-Encoding: quoted-printable\r\n")]
fn an_unclear_upload_writes_nothing(#[case] metadata: &str, #[case] header: &str) {
    let channel = Channel::start();
    let file = channel.path("never");
    let body = pair(&file, &"z".repeat(200_000))
        .replace(&json!({"path": file}).to_string(), &metadata.replace('@', &file))
        .replace("filename=\"f\"\r\n", &format!("filename=\"f\"\r\n{header}"));
    assert_eq!(upload(&channel, &format!("{body}--b--\r\n")), 400);
    let frame = &channel.frames(1)[0];
    assert_eq!(frame["decision"], "denied");
    assert_eq!(frame["action_type"], "filesystem.file.create");
    assert!(!std::fs::exists(&file).unwrap());
}

#[test]
fn an_upload_without_an_end_writes_nothing() {
    let channel = Channel::start();
    let file = channel.path("never");
    assert_eq!(upload(&channel, &pair(&file, "abc")), 400);
    assert_eq!(channel.frames(1)[0]["decision"], "denied");
    assert!(!std::fs::exists(&file).unwrap());
}

#[rstest]
#[case::whole("", "", "1\n2\n3\n4\n")]
#[case::range("", "Range: bytes=2-4\r\n", "2\n3")]
#[case::lines("&offset=2&limit=2", "", "2\n3\n")]
fn a_read_is_told_by_what_came(#[case] query: &str, #[case] header: &str, #[case] content: &str) {
    let channel = Channel::start();
    let file = channel.path("a");
    std::fs::write(&file, "1\n2\n3\n4\n").unwrap();
    let target = format!("/files/download?path={file}{query}");
    let answer = send_request(channel.proxy.address, "GET", &target, header, b"");
    assert_eq!(answer.text(), content);
    let frame = &channel.frames(1)[0];
    assert_eq!(frame["action_type"], "filesystem.file.read");
    assert_eq!(frame["input"], json!({"path": file}));
    assert_eq!(frame["output"], json!({"content_hash": sha(content.as_bytes())}));
}

#[test]
fn a_read_of_nothing_has_no_content() {
    let channel = Channel::start();
    assert_eq!(channel.send("GET", "/files/download?path=/absent/file", "").status, 404);
    let frame = &channel.frames(1)[0];
    assert_eq!((frame.get("output"), &frame["error"]), (None, &json!("execd answered 404")));
}

#[test]
fn paths_are_told_as_they_were_sent() {
    let channel = Channel::start();
    for sent in ["~%2Fx", "$HOME/../a", "%C3%A9", "a%00b"] {
        channel.send("GET", &format!("/files/download?path={sent}"), "");
    }
    let frames = channel.frames(4);
    let paths: Vec<&str> = frames.iter().map(path).collect();
    assert_eq!(paths, ["~/x", "$HOME/../a", "\u{e9}", "a\0b"]);
}

#[test]
fn the_sheets_value_for_a_path() {
    let channel = Channel::start();
    channel.send("GET", "/files?path=a.txt", "");
    assert_eq!(
        hash(&channel.frames(1)[0]["input"]),
        "sha256:5aff422311aaf6f4983b3d9ae0b75826621e553375d62a2f03fa5578e5e64be1"
    );
}

#[rstest]
#[case("/files/download?path=a&path=b")]
#[case("/files/download?path=a;b")]
#[case("/files/download?path=%ff")]
fn an_unclear_query_is_refused_and_told(#[case] target: &str) {
    let channel = Channel::start();
    assert_eq!(channel.send("GET", target, "").status, 400);
    assert_eq!(channel.frames(1)[0]["decision"], "denied");
}

#[test]
fn three_deletions_of_which_the_second_fails() {
    let channel = Channel::start();
    let [one, two, three] = ["1", "2", "3"].map(|name| channel.path(name));
    std::fs::write(&one, "").unwrap();
    std::fs::create_dir(&two).unwrap();
    std::fs::write(&three, "").unwrap();
    let target = format!("/files?path={one}&path={two}&path={three}");
    assert_eq!(channel.send("DELETE", &target, "").status, 500);
    channel.send("POST", "/command", r#"{"command":"true"}"#);
    let frames = channel.frames(3);
    assert_eq!([path(&frames[0]), path(&frames[1])], [&one, &two]);
    assert_eq!((&frames[0]["output"], frames[0].get("error")), (&json!({}), None));
    assert_eq!((frames[1].get("output"), frames[1]["error"].is_string()), (None, true));
    // The third was not tried, and the next frame is of something else.
    assert_eq!(frames[2]["action_type"], "system.command.execute");
    assert!(!std::fs::exists(&one).unwrap() && std::fs::exists(&three).unwrap());
}

#[test]
fn changes_moves_and_rights() {
    let channel = Channel::start();
    let (one, two) = (channel.path("1"), channel.path("2"));
    std::fs::write(&one, "old").unwrap();
    let replace = json!({&one: {"old": "old", "new": "new"}}).to_string();
    assert_eq!(channel.send("POST", "/files/replace", replace).status, 200);
    let rights = json!({&one: {"mode": 600}}).to_string();
    assert_eq!(channel.send("POST", "/files/permissions", rights).status, 200);
    let mv = json!([{"src": one, "dest": two}]).to_string();
    assert_eq!(channel.send("POST", "/files/mv", mv).status, 200);
    assert_eq!(std::fs::read_to_string(&two).unwrap(), "new");
    let frames = channel.frames(3);
    let kinds: Vec<&str> = frames.iter().map(|f| f["action_type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["filesystem.file.modify", "filesystem.file.modify", "filesystem.file.move"]);
    assert!(frames.iter().all(|frame| path(frame) == one && frame.get("error").is_none()));
    assert_eq!(frames[2]["input"]["destination"], two);
}

#[test]
fn the_literal_verbs_of_the_record() {
    let channel = Channel::start();
    channel.send("PUT", "/files?path=a", "new");
    channel.send("GET", "/directories?path=a", "");
    let frames = channel.frames(2);
    assert_eq!(frames[0]["action_type"], "filesystem.file.modify");
    assert_eq!(frames[0]["input"]["content_hash"], sha(b"new"));
    assert_eq!(frames[1]["action_type"], "filesystem.directory.list");
}

#[test]
fn directories() {
    let channel = Channel::start();
    let directory = channel.path("dir");
    let (two, one) = (format!("{directory}/b"), format!("{directory}/a"));
    // In the body's order, not in that of the names.
    let body = format!("{{\"{two}\":{{}},\"{one}\":{{}}}}");
    assert_eq!(channel.send("POST", "/directories", body).status, 200);
    let listed = channel.send("GET", &format!("/directories/list?path={directory}&depth=2"), "");
    let gone = channel.send("DELETE", &format!("/directories?path={directory}"), "");
    assert_eq!(gone.status, 200);
    let frames = channel.frames(4);
    let kinds: Vec<&str> = frames.iter().map(|f| f["action_type"].as_str().unwrap()).collect();
    let create = "filesystem.directory.create";
    assert_eq!(kinds, [create, create, "filesystem.directory.list", "filesystem.directory.delete"]);
    assert_eq!([path(&frames[0]), path(&frames[1])], [two, one]);
    assert_eq!(frames[0]["output"], json!({}));
    let entries: Value = serde_json::from_slice(&listed.body).unwrap();
    assert_eq!(entries.as_array().unwrap().len(), 2);
    assert_eq!(frames[2]["output"], json!({"entries_hash": hash(&entries)}));
    assert_eq!(frames[3]["output"], json!({}));
}
