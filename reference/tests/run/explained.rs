//! Captured runs and their explanations: rows of `explained.tsv`, each with a policy, a shell line and the
//! rule that is its cause, or `none`. Nothing is asked of `run.events`.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;

use serde_json::{Value, json};

use super::bed::{BUBBLEWRAP, Done, ORDINARY, TestBed};

/// The columns of one row: the rule, the policy, and the line.
fn columns(row: &str) -> [&str; 3] {
    row.split('\t').collect::<Vec<_>>().try_into().unwrap()
}

fn furnished(mechanism: &'static str) -> TestBed {
    let bed = TestBed::new(mechanism);
    for name in ["secret/k", "keep/k", "a"] {
        fs::create_dir_all(bed.ws(name).parent().unwrap()).unwrap();
        fs::write(bed.ws(name), "text\n").unwrap();
    }
    fs::write(bed.out("f"), "text\n").unwrap();
    fs::create_dir(bed.out("empty")).unwrap();
    fs::write(bed.out("helper.py"), "v = 1\n").unwrap();
    fs::write(bed.out("helper.js"), "1\n").unwrap();
    bed.program(&bed.out("tool"), "#!/bin/sh\n");
    let mut git = Command::new("git");
    let made = git.args(["init", "-q"]).arg(bed.ws("")).env("HOME", bed.out("")).status();
    assert!(made.unwrap().success());
    bed
}

fn go(bed: &TestBed, policy: &str, line: &str, run: &Value) -> Done {
    let placed = |text: &str| {
        let text = text.replace("$W", bed.ws("").to_str().unwrap());
        text.replace("$O", bed.out("").to_str().unwrap())
    };
    let mut policy: Value = serde_json::from_str(&placed(policy)).unwrap();
    policy["env"]["set"]["HOME"] = bed.out("").to_str().unwrap().into();
    let command = json!({"argv": ["bash", "-c", placed(line)]});
    let mut members = json!({"capture": true});
    members.as_object_mut().unwrap().extend(run.as_object().unwrap().clone());
    bed.go(&policy, command, &members)
}

fn explain_rows(mechanism: &'static str) {
    let mut wrong = Vec::new();
    let rows: Vec<&str> = include_str!("explained.tsv").lines().collect();
    assert!(rows.len() >= 40, "{} rows", rows.len());
    for row in rows {
        let [rule, policy, line] = columns(row);
        let done = go(&furnished(mechanism), policy, line, &json!({}));
        let found = done.result["blocked"]["rule"].as_str().unwrap_or("none");
        if found != rule || done.code == Some(0) {
            wrong.push(format!("{found} instead of {rule}: {line}: {}", done.result));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn captured_runs_are_explained() {
    explain_rows(ORDINARY);
}

#[test]
fn captured_runs_are_explained_under_bubblewrap() {
    explain_rows(BUBBLEWRAP);
}

/// A captured run has the events of all calls; one that says which it wants has those, and one that passes its
/// streams through the default ones.
#[test]
fn a_captured_run_looks_at_all_calls_unless_told() {
    let line = "mkdir $O/d 2>/dev/null; exit 1";
    let made = |run: Value| {
        let done = go(&furnished(ORDINARY), "{}", line, &run);
        done.result["events"].as_array().is_some_and(|events| {
            events
                .iter()
                .any(|event| event["source"] == "kernel" && event["system_call"] == "mkdir")
        })
    };
    assert!(made(json!({})));
    assert!(made(json!({"capture": false, "events": "all"})));
    assert!(!made(json!({"events": "light"})));
    assert!(!made(json!({"events": "mediated"})));
    assert!(!made(json!({"capture": false})));
}

/// A program that the policy closes, or that a script is to be run by, is why nothing was started.
#[test]
fn a_program_that_could_not_be_started_is_explained() {
    let bed = furnished(ORDINARY);
    let tool = bed.out("tool").display().to_string();
    bed.program(&bed.ws("script"), &format!("#!{tool}\n"));
    bed.program(&bed.ws("stray"), "#!/none/interpreter\n");
    let tries = [
        (json!({"deny_read": [tool]}), tool.as_str(), Some("policy.deny_read")),
        (json!({"readable": [bed.ws("")]}), "./script", Some("policy.readable")),
        (json!({"readable": [bed.ws("")]}), "./stray", None),
        (json!({}), "./a", None),
        (json!({}), "no-such-program", None),
    ];
    for (policy, program, member) in tries {
        let done = bed.go(&policy, json!({"argv": [program]}), &json!({"capture": true}));
        let blocked = &done.result["blocked"];
        let action = blocked["suggested_action"].as_str();
        assert_eq!(done.result["started"], false, "{program}: {}", done.result);
        assert_eq!(blocked["rule"].as_str(), member.map(|_| "read_denied"), "{program}: {blocked}");
        assert_eq!(blocked["path"].as_str(), member.map(|_| tool.as_str()), "{program}");
        let named = member.is_none_or(|member| action.is_some_and(|text| text.contains(member)));
        assert!(named, "{program}: {blocked}");
    }
}

/// A file that a program keeps for itself is not what it failed of, where it was refused another as well.
#[test]
fn the_history_of_a_program_is_not_the_cause() {
    let bed = furnished(ORDINARY);
    let code = "import os,sys\nfor name in sys.argv[1:]:\n    try: open(name, 'w')\n    except OSError: failed = 1\nsys.exit(failed)\n";
    fs::write(bed.ws("p.py"), code).unwrap();
    let done = go(&bed, "{}", "python3 p.py $O/made $O/.viminfo", &json!({}));
    assert_eq!(done.result["blocked"]["path"].as_str(), bed.out("made").to_str());
}

/// What any user may do outside beside what none may: the second failed.
#[test]
fn only_the_namespaces_of_the_deciding_command_count() {
    let done = go(&furnished(ORDINARY), "{}", "unshare -Ur true; unshare -n true", &json!({}));
    assert_eq!(done.result["blocked"], Value::Null, "{}", done.result);
}

/// Refusals beyond the events that are kept are counted once, the one that is explained too.
#[test]
fn an_explained_refusal_is_counted_once() {
    let line = "for i in {1..300}; do mkdir $O/d$i 2>/dev/null; done; exit 1";
    let done = go(&furnished(ORDINARY), "{}", line, &json!({}));
    assert_eq!(
        done.result["blocked"]["path"].as_str().map(|path| path.ends_with("d300")),
        Some(true)
    );
    assert_eq!(done.result["events"].as_array().map(Vec::len), Some(256));
    assert_eq!(done.result["events_cut"], 44);
}

/// A move into a directory is refused once, at the name that it would have made.
#[test]
fn a_move_into_a_directory_is_one_event() {
    let bed = furnished(ORDINARY);
    let done = go(&bed, "{}", "mv a $O/", &json!({}));
    let events = done.result["events"].as_array().unwrap();
    let paths: Vec<&str> = events.iter().filter_map(|event| event["path"].as_str()).collect();
    assert!(!paths.is_empty());
    assert!(paths.iter().all(|path| Some(*path) == bed.out("a").to_str()), "{paths:?}");
}

/// A directory takes the place of an empty one, which a file does not.
#[test]
fn a_move_of_a_directory_onto_an_empty_one_is_an_event() {
    let bed = furnished(ORDINARY);
    let line = "mkdir d; python3 -c \"import os; os.rename('d', '$O/empty')\"";
    let done = go(&bed, "{}", line, &json!({}));
    let place = bed.out("empty");
    let events = done.result["events"].as_array().unwrap();
    let is_it =
        |event: &Value| event["path"].as_str() == place.to_str() && event["source"] == "kernel";
    assert!(events.iter().any(is_it), "{events:?}");
}

/// What an interpreter is given as a here-document is read as its code, and what a shell is given as its lines.
#[test]
fn here_documents_are_read() {
    let secret = "{\"deny_read\": [\"$W/secret\"]}";
    let python = |body: &str| format!("python3 - <<'X'\nimport os,sys\n{body}\nX");
    let tries = [
        ("{}", python("try: os.mkdir('$O/k')\nexcept OSError: pass\nsys.exit(5)"), "none"),
        (
            "{}",
            python(
                "try: os.mkdir('$O/k')\nexcept OSError: print('note: no cache')\nsys.exit('not ready')",
            ),
            "none",
        ),
        (
            secret,
            python("try: open('secret/k')\nexcept OSError: sys.exit('no key here')"),
            "read_denied",
        ),
        (secret, python("try: open('secret/k')\nexcept OSError: sys.exit(4)"), "read_denied"),
        (
            secret,
            python(
                "try: open('secret/k')\nexcept OSError as e: print('config error:', e.strerror); sys.exit(78)",
            ),
            "read_denied",
        ),
        (secret, python("try: open('secret/k')\nexcept OSError: pass\nsys.exit(4)"), "none"),
        ("{}", "bash <<'X'\ncp a $O/x 2>/dev/null\ngrep -q zzz a\nX".to_owned(), "none"),
        ("{}", "bash -e <<'X'\ncp a $O/x\ntrue\nX".to_owned(), "outside_workspace_write"),
    ];
    for (policy, line, rule) in tries {
        let done = go(&furnished(ORDINARY), policy, &line, &json!({}));
        let found = done.result["blocked"]["rule"].as_str().unwrap_or("none");
        assert_eq!(found, rule, "{line}: {}", done.result);
        assert_ne!(done.code, Some(0), "{line}");
    }
}

/// A service of the host that the proxy may lead to was reached, and refuses by itself.
#[test]
fn a_service_that_may_be_reached_is_not_the_sandbox() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.unwrap();
            let _gone = client.read(&mut [0; 1024]);
            let _gone = client.write_all(b"HTTP/1.0 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
        }
    });
    let found = |rule: String| {
        let policy = json!({"network": {"domains": {"allow": [rule]}}}).to_string();
        let line = format!("curl -sf http://127.0.0.1:{port}/");
        let done = go(&furnished(ORDINARY), &policy, &line, &json!({}));
        assert_ne!(done.code, Some(0), "{}", done.result);
        done.result["blocked"]["rule"].clone()
    };
    assert_eq!(found(format!("127.0.0.1:{port}")), Value::Null);
    assert_eq!(found("ok.invalid".to_owned()), "network_restricted");
}
