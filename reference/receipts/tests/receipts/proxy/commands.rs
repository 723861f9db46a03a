//! Commands and code: what is told of them, and when.

use rstest::rstest;
use serde_json::{Value, json};

use crate::proxy::support::{Channel, begin, hang_up, hash, send_request, sha, unserved, until};

fn command(channel: &Channel, body: &Value) {
    assert_eq!(channel.send("POST", "/command", body.to_string()).status, 200);
}

#[test]
fn a_command_is_told_with_its_exit_code() {
    let channel = Channel::start();
    command(&channel, &json!({"command": "true"}));
    let frame = &channel.frames(1)[0];
    assert_eq!(frame["action_type"], "system.command.execute");
    assert_eq!((&frame["decision"], &frame["error"]), (&json!("allowed"), &Value::Null));
    assert_eq!(frame["input"], json!({"command": "true"}));
    assert_eq!(
        hash(&frame["output"]),
        "sha256:e81bc160c0843ee56f31f12997bb3aff50528d596002d4866676cb8a1b19195a"
    );
    assert_eq!(frame["binding"], json!({"sandbox_id": "s1", "endpoint": "/command"}));
    assert_eq!(frame["sandbox_id"], "s1");
    assert_eq!(frame["tool"], json!({"name": "command", "server": "execd"}));
    assert_eq!(
        (&frame["v"], &frame["channel"], frame.get("drop_count")),
        (&json!("1"), &json!("opensandbox_execd"), None)
    );
}

#[rstest]
#[case::exit_3(json!({"command": "exit 3"}), json!({"exit_code": 3}), "exit code 3")]
#[case::signal(json!({"command": "kill -9 $$"}), json!({"exit_code": -1}), "exit code -1")]
#[case::not_started(json!({"command": "true", "cwd": "/absent/directory"}), Value::Null, "not started")]
#[case::refused(json!({"command": "true", "gid": 5}), Value::Null, "execd answered 400")]
fn failures_are_told(#[case] body: Value, #[case] output: Value, #[case] why: &str) {
    let channel = Channel::start();
    channel.send("POST", "/command", body.to_string());
    let frame = &channel.frames(1)[0];
    assert_eq!(frame["output"], output);
    assert!(frame["error"].as_str().unwrap().contains(why), "{frame}");
}

#[test]
fn a_time_out_is_minus_one() {
    let channel = Channel::start();
    channel.send("POST", "/command", r#"{"command": "exec sleep 600", "timeout": 1}"#);
    let frame = &channel.frames(1)[0];
    assert_eq!(
        hash(&frame["output"]),
        "sha256:d5628c66dcaaa49f62de85bfd8a9a2bf17ad9d3fc980f4ccb628b2e51224ac3b"
    );
}

#[test]
fn variables_are_sorted_by_whoever_hashes() {
    let channel = Channel::start();
    command(&channel, &json!({"command": "ls -la", "envs": {"B": "2", "A": "1"}, "cwd": "/"}));
    command(&channel, &json!({"command": "ls -la", "envs": {}, "cwd": "/"}));
    let frames = channel.frames(2);
    assert_eq!(
        hash(&frames[0]["input"]),
        "sha256:b9bc30ceef7631699cf1479dda1f7c9685fffa5edf163f0a14aea9e27f484b9a"
    );
    assert_eq!(frames[1]["input"], json!({"command": "ls -la"}));
}

#[test]
fn in_the_background_there_is_no_output_and_an_id() {
    let channel = Channel::start();
    command(&channel, &json!({"command": "exit 4", "background": true}));
    let frame = &channel.frames(1)[0];
    assert_eq!((&frame["output"], &frame["error"]), (&Value::Null, &Value::Null));
    assert_eq!(frame["target_resource"].as_str().unwrap().len(), 32);
}

#[test]
fn an_agent_that_goes_away_does_not_end_the_receipt() {
    let channel = Channel::start();
    let fifo = channel.path("fifo");
    nix::unistd::mkfifo(fifo.as_str(), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let body = json!({"command": format!("echo begun; read x < {fifo}; exit 7")}).to_string();
    let mut stream = begin(channel.proxy.address, "POST", "/command", &body);
    until(&mut stream, "begun");
    hang_up(stream);
    // Told later than the marker, so the command was not over when its agent went away.
    command(&channel, &json!({"command": "true"}));
    assert_eq!(channel.frames(1)[0]["input"], json!({"command": "true"}));
    std::fs::write(&fifo, "go\n").unwrap();
    let frames = channel.frames(2);
    assert_eq!(frames[1]["output"], json!({"exit_code": 7}));
}

#[test]
fn a_session_is_no_way_around() {
    let channel = Channel::start();
    channel.send("POST", "/session/abc/run", r#"{"command": "true"}"#);
    let frame = &channel.frames(1)[0];
    assert_eq!(frame["action_type"], "system.command.execute");
    assert_eq!(frame["input"], json!({"command": "true"}));
}

#[rstest]
#[case::case_alone(br#"{"command":"true","COMMAND":"id"}"#)]
#[case::twice(br#"{"command":"true","command":"id"}"#)]
#[case::second_value(br#"{"command":"true"}{"command":"id"}"#)]
#[case::not_utf8(b"{\"command\":\"\xff\"}")]
fn two_readings_are_refused_and_told(#[case] body: &[u8]) {
    let channel = Channel::start();
    let answer = channel.send("POST", "/command", body);
    assert_eq!(answer.status, 400, "{}", answer.text());
    let frame = &channel.frames(1)[0];
    assert_eq!(frame["decision"], "denied");
    assert_eq!(frame["action_type"], "system.command.execute");
    assert_eq!(frame.get("input"), None);
}

#[test]
fn what_no_frame_holds_is_refused_and_told() {
    let channel = Channel::start();
    let body = json!({"command": "#".repeat(1 << 20)}).to_string();
    assert_eq!(channel.send("POST", "/command", body).status, 413);
    assert_eq!(channel.frames(1)[0]["decision"], "denied");
}

#[test]
fn many_at_once_are_all_told() {
    let channel = Channel::start();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let channel = &channel;
            scope.spawn(move || {
                for one in 0..5 {
                    command(channel, &json!({"command": format!("true {thread} {one}")}));
                }
            });
        }
    });
    let frames = channel.frames(40);
    let mut told: Vec<String> = frames.iter().map(|frame| frame["input"].to_string()).collect();
    told.sort();
    told.dedup();
    assert_eq!(told.len(), 40);
}

#[test]
fn code_is_told_by_hashes_alone() {
    let channel = Channel::start();
    let body = json!({"code": "print(1)\n2", "context": {"language": "python"}});
    channel.send("POST", "/code", body.to_string());
    let frame = &channel.frames(1)[0];
    assert_eq!(frame["action_type"], "system.code.execute");
    let input = json!({"code_hash": sha(b"print(1)\n2"), "language": "python"});
    assert_eq!(frame["input"], input);
    let output = json!({
        "result_hash": sha(b"{\"text\":\"2\"}\n"),
        "logs_hash": sha(b"{\"t\":\"stdout\",\"x\":\"1\\n\"}\n"),
    });
    assert_eq!((&frame["output"], frame.get("error")), (&output, None));
    assert!(!frame.to_string().contains("print"), "{frame}");
}

#[test]
fn code_that_fails_has_what_it_logged() {
    let channel = Channel::start();
    let body = json!({"code": "print(x)\nraise Secret", "context": {"language": "python"}});
    channel.send("POST", "/code", body.to_string());
    let frame = &channel.frames(1)[0];
    assert_eq!(frame["output"]["logs_hash"], sha(b"{\"t\":\"stdout\",\"x\":\"x\\n\"}\n"));
    assert!(frame["error"].is_string());
    assert!(!frame.to_string().contains("Secret"), "{frame}");
}

#[test]
fn code_without_a_language_is_a_command_and_told_when_it_ends() {
    let channel = Channel::start();
    let fifo = channel.path("fifo");
    nix::unistd::mkfifo(fifo.as_str(), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let body = json!({"code": format!("echo begun; read x < {fifo}")}).to_string();
    let mut stream = begin(channel.proxy.address, "POST", "/code", &body);
    until(&mut stream, "begun");
    command(&channel, &json!({"command": "true"}));
    assert_eq!(channel.frames(1)[0]["action_type"], "system.command.execute");
    std::fs::write(&fifo, "go\n").unwrap();
    until(&mut stream, "0\r\n\r\n");
    let frame = &channel.frames(2)[1];
    assert_eq!(frame["action_type"], "system.code.execute");
    assert_eq!(frame["input"]["language"], "command");
}

#[test]
fn a_stop_in_the_middle_is_told_as_interrupted() {
    let mut channel = Channel::with(&["--drain-ms", "50"]);
    let fifo = channel.path("fifo");
    nix::unistd::mkfifo(fifo.as_str(), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let body = json!({"code": format!("echo begun; read x < {fifo}")}).to_string();
    let mut stream = begin(channel.proxy.address, "POST", "/code", &body);
    until(&mut stream, "begun");
    assert!(channel.proxy.terminate().success());
    let frame = &channel.frames(1)[0];
    assert_eq!(frame["error"], "interrupted: the proxy was stopped");
    assert_eq!(frame.get("output"), None);
}

#[test]
fn a_stop_waits_for_what_ends_in_time() {
    let mut channel = Channel::with(&["--drain-ms", "20000"]);
    let fifo = channel.path("fifo");
    nix::unistd::mkfifo(fifo.as_str(), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let body = json!({"command": format!("echo begun; read x < {fifo}")}).to_string();
    let mut stream = begin(channel.proxy.address, "POST", "/command", &body);
    until(&mut stream, "begun");
    std::thread::scope(|scope| {
        let proxy = &mut channel.proxy;
        let ended = scope.spawn(|| proxy.terminate());
        std::fs::write(&fifo, "go\n").unwrap();
        assert!(ended.join().unwrap().success());
    });
    assert_eq!(channel.frames(1)[0]["output"], json!({"exit_code": 0}));
}

#[test]
fn the_port_proxy_is_refused_and_told() {
    let channel = Channel::start();
    let answer = channel.send("POST", "/proxy/44772/command", r#"{"command":"id"}"#);
    assert_eq!(answer.status, 403);
    let frame = &channel.frames(1)[0];
    assert_eq!((&frame["action_type"], &frame["decision"]), (&json!("unknown"), &json!("denied")));
    assert_eq!(frame["target_system"], "POST /proxy/44772/command");
}

#[test]
fn what_nobody_knows_is_told_and_what_only_looks_is_not() {
    let channel = Channel::start();
    assert_eq!(channel.send("GET", "/ping", "").status, 200);
    channel.send("POST", "/v1/isolated/7", "{}");
    let frame = &channel.frames(1)[0];
    assert_eq!(frame["action_type"], "unknown");
    assert_eq!(frame["target_system"], "POST /v1/isolated/7");
    assert_eq!(frame["target_resource"], "/v1/isolated/7");
    assert_eq!(frame["binding"], json!({"sandbox_id": "s1"}));
}

#[test]
fn an_unknown_route_is_told_however_long_it_is() {
    let channel = Channel::start();
    channel.send("POST", &format!("/{}", "x".repeat(5000)), "");
    let frame = &channel.frames(1)[0];
    assert_eq!(frame["target_system"].as_str().unwrap().len(), 256);
    assert_eq!(frame["target_resource"], "a path too long to tell");
}

#[test]
fn another_spelling_is_the_same_route() {
    let channel = Channel::start();
    channel.send("POST", "/%63ommand", r#"{"command":"true"}"#);
    let moved = channel.send("POST", "/command/", r#"{"command":"true"}"#);
    assert_eq!(moved.status, 307);
    channel.send("POST", "/files%2Fmv", "[]");
    let frames = channel.frames(2);
    assert_eq!(frames[0]["action_type"], "system.command.execute");
    assert_eq!(frames[1]["action_type"], "filesystem.file.move");
}

#[test]
fn the_token_passes_and_is_never_told() {
    let execd = boxproof_receipts::execd::Execd::start(Some("t0ken")).unwrap();
    let channel = Channel::before(execd.address(), &[]);
    let (body, token) = (br#"{"command":"true"}"#, "X-EXECD-ACCESS-TOKEN: t0ken\r\n");
    assert_eq!(send_request(channel.proxy.address, "POST", "/command", "", body).status, 401);
    assert_eq!(send_request(channel.proxy.address, "POST", "/command", token, body).status, 200);
    let frames = channel.frames(2);
    assert_eq!(frames[0]["error"], "execd answered 401");
    assert!(!format!("{frames:?}").contains("t0ken"));
}

#[test]
fn a_token_that_only_the_proxy_knows() {
    let execd = boxproof_receipts::execd::Execd::start(Some("t0ken")).unwrap();
    let directory = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = directory.path().join("token");
    std::fs::write(&file, "t0ken\n").unwrap();
    let channel = Channel::before(execd.address(), &["--execd-token-file", file.to_str().unwrap()]);
    assert_eq!(channel.send("GET", "/ping", "").status, 200);
}

#[test]
fn no_execd_is_a_bad_gateway_and_told() {
    let (_held, gone) = unserved();
    let channel = Channel::before(gone, &[]);
    assert_eq!(channel.send("POST", "/command", r#"{"command":"true"}"#).status, 502);
    assert_eq!(channel.frames(1)[0]["error"], "execd could not be reached");
}
