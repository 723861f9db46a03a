//! The part of the launcher's environment that the command sees, also by detours.

use std::fs;

use rstest::rstest;
use serde_json::json;

use crate::bed::{BUBBLEWRAP, NAMESPACES, ORDINARY, TestBed, wait_until};

fn env_of(mechanism: &'static str, policy: &serde_json::Value, line: &str) -> String {
    let bed = TestBed::new(mechanism);
    bed.write_request(policy, json!({"shell": line}), &json!({}));
    let mut refbox = bed.refbox();
    refbox.env("REFBOX_PLAIN", "plain-canary").env("REFBOX_TOKEN", "token-canary");
    let output = refbox.output().unwrap();
    bed.done(&output).expect(0).out.clone()
}

#[rstest]
fn credentials_are_scrubbed_and_the_rest_is_inherited(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let out = env_of(mechanism, &json!({}), "env");
    assert!(out.contains("REFBOX_PLAIN=plain-canary\n"), "{out}");
    assert!(!out.contains("token-canary"), "{out}");
    let out = env_of(mechanism, &json!({"env": {"pass": ["REFBOX_TOKEN"]}}), "env");
    assert!(out.contains("REFBOX_TOKEN=token-canary\n"), "{out}");
}

#[rstest]
fn a_cleared_environment_holds_exactly_what_is_set(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let policy = json!({"env": {"base": "clear", "pass": ["REFBOX_PLAIN"], "set": {"B": "1"}}});
    let bed = TestBed::new(mechanism);
    bed.write_request(&policy, json!({"argv": ["/usr/bin/env"]}), &json!({}));
    let output = bed.refbox().env("REFBOX_PLAIN", "p").env("OTHER", "o").output().unwrap();
    assert_eq!(bed.done(&output).expect(0).out, "B=1\nREFBOX_PLAIN=p\n");
}

#[rstest]
fn the_launchers_environment_shows_nowhere_in_proc(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let line =
        "cat /proc/[0-9]*/environ 2> /dev/null | tr '\\0' '\\n'; cat /proc/[0-9]*/cmdline; true";
    let out = env_of(mechanism, &json!({}), line);
    assert!(out.contains("REFBOX_PLAIN=plain-canary"), "the command's own is readable: {out}");
    assert!(!out.contains("token-canary"), "{out}");
}

#[test]
fn not_even_the_hosts_root_finds_the_launchers_environment_in_the_helper() {
    let bed = TestBed::new(NAMESPACES);
    let line = "mkfifo pipe; : > ready; read line < pipe";
    bed.write_request(&json!({}), json!({"shell": line}), &json!({}));
    let mut child = bed.refbox().env("REFBOX_TOKEN", "token-canary").spawn().unwrap();
    wait_until("the command is ready", || bed.ws("ready").exists());
    let id = child.id();
    let shown = |id: &str| fs::read(format!("/proc/{id}/environ"));
    let helper = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
    let launcher = String::from_utf8(shown(&id.to_string()).unwrap()).unwrap();
    let helper = shown(helper.trim());
    fs::write(bed.ws("pipe"), "\n").unwrap();
    child.wait().unwrap();
    assert!(launcher.contains("token-canary"), "{launcher}");
    match helper {
        Ok(bytes) => assert!(!bytes.is_empty() && bytes.iter().all(|byte| *byte == 0), "{bytes:?}"),
        Err(error) => assert!(!bed.is_root(), "{error}"),
    }
}
