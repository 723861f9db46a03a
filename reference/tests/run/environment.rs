//! What the command sees of the launcher's environment, also by detours.

use rstest::rstest;
use serde_json::json;

use crate::bed::{BUBBLEWRAP, Bed, NAMESPACES};

fn env_of(mechanism: &'static str, policy: &serde_json::Value, line: &str) -> String {
    let bed = Bed::new(mechanism);
    bed.write_request(policy, json!({"shell": line}), &json!({}));
    let mut refbox = bed.refbox();
    refbox.env("REFBOX_PLAIN", "plain-canary").env("REFBOX_TOKEN", "token-canary");
    let output = refbox.output().unwrap();
    bed.done(&output).expect(0).out.clone()
}

#[rstest]
fn credentials_are_scrubbed_and_the_rest_is_inherited(
    #[values(NAMESPACES, BUBBLEWRAP)] mechanism: &'static str,
) {
    let out = env_of(mechanism, &json!({}), "env");
    assert!(out.contains("REFBOX_PLAIN=plain-canary\n"), "{out}");
    assert!(!out.contains("token-canary"), "{out}");
    let out = env_of(mechanism, &json!({"env": {"pass": ["REFBOX_TOKEN"]}}), "env");
    assert!(out.contains("REFBOX_TOKEN=token-canary\n"), "{out}");
}

#[rstest]
fn a_cleared_environment_holds_exactly_what_is_set(
    #[values(NAMESPACES, BUBBLEWRAP)] mechanism: &'static str,
) {
    let policy = json!({"env": {"base": "clear", "pass": ["REFBOX_PLAIN"], "set": {"B": "1"}}});
    let bed = Bed::new(mechanism);
    bed.write_request(&policy, json!({"argv": ["/usr/bin/env"]}), &json!({}));
    let output = bed.refbox().env("REFBOX_PLAIN", "p").env("OTHER", "o").output().unwrap();
    assert_eq!(bed.done(&output).expect(0).out, "B=1\nREFBOX_PLAIN=p\n");
}

#[rstest]
fn the_launchers_environment_shows_nowhere_in_proc(
    #[values(NAMESPACES, BUBBLEWRAP)] mechanism: &'static str,
) {
    let line =
        "cat /proc/[0-9]*/environ 2> /dev/null | tr '\\0' '\\n'; cat /proc/[0-9]*/cmdline; true";
    let out = env_of(mechanism, &json!({}), line);
    assert!(out.contains("REFBOX_PLAIN=plain-canary"), "the command's own is readable: {out}");
    assert!(!out.contains("token-canary"), "{out}");
}
