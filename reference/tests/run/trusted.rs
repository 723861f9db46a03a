//! Files of ours, and a command that would have them otherwise: the result and the events.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use rstest::rstest;
use serde_json::{Value, json};

use crate::bed::{BUBBLEWRAP, NAMESPACES, ORDINARY, TestBed, UNCONFINED};

fn written(file: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

fn refbox(bed: &TestBed, result: &Path) -> (Option<i32>, String) {
    let output = bed.refbox_with_result(result).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[rstest]
#[case::directory("res/r.json")]
#[case::workspace("r.json")]
#[case::through_a_link("out/r.json")]
#[case::through_two("way/r.json")]
fn a_result_that_the_command_could_replace_is_refused(
    #[case] name: &str,
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    fs::create_dir(bed.ws("res")).unwrap();
    symlink(bed.out(""), bed.ws("out")).unwrap();
    symlink(bed.ws("out"), bed.out("elsewhere")).unwrap();
    symlink(bed.out("elsewhere"), bed.ws("way")).unwrap();
    bed.write_request(&json!({}), json!({"shell": "echo ran > ran"}), &json!({}));
    let (code, err) = refbox(&bed, &bed.ws(name));
    assert_eq!(code, Some(126), "{err}");
    assert!(err.contains("where the command can write") && !bed.ws("ran").exists(), "{err}");
    let told = written(&bed.ws(name));
    assert_eq!(
        (&told["started"], &told["error"]["kind"]),
        (&false.into(), &"invalid_request".into())
    );
}

#[test]
fn so_it_is_in_every_writable_root_and_nowhere_else() {
    let bed = TestBed::new(NAMESPACES);
    fs::create_dir(bed.out("root")).unwrap();
    bed.write_request(
        &json!({"writable": [bed.out("root")]}),
        json!({"shell": "true"}),
        &json!({}),
    );
    assert_eq!(refbox(&bed, &bed.out("root/r.json")).0, Some(126));
    assert_eq!(refbox(&bed, &bed.out("r.json")).0, Some(0));
    bed.write_request(&json!({"mode": "read_only"}), json!({"shell": "exit 3"}), &json!({}));
    assert_eq!(refbox(&bed, &bed.ws("r.json")).0, Some(3));
    assert_eq!(written(&bed.ws("r.json"))["exit_code"], 3);
}

/// Checks changes of the result's directory by an unconfined command.
#[rstest]
#[case::swapped("mv res r2; ln -s \"$1\" res", Some("r2/r.json"))]
#[case::renamed("mv res r2", Some("r2/r.json"))]
#[case::replaced("mv res r2; mkdir res; echo forged > res/r.json", Some("r2/r.json"))]
#[case::linked("ln -sf \"$1/r.json\" res/r.json", Some("res/r.json"))]
#[case::hard_linked("ln -f \"$1/r.json\" res/r.json", Some("res/r.json"))]
#[case::fifo("mkfifo res/r.json", Some("res/r.json"))]
#[case::forged("echo forged > res/r.json; chmod 444 res/r.json", Some("res/r.json"))]
#[case::removed("rm -r res", None)]
fn a_run_that_began_keeps_its_code_and_touches_nothing_else(
    #[case] line: &str,
    #[case] found: Option<&str>,
    #[values(0, 7)] code: i32,
) {
    let bed = TestBed::new(UNCONFINED);
    fs::create_dir(bed.ws("res")).unwrap();
    fs::write(bed.out("r.json"), "mine").unwrap();
    let line = format!("{line}; exit {code}");
    let outside = bed.out("").display().to_string();
    let argv = ["sh", "-c", &line, "sh", &outside];
    bed.write_request(&json!({}), json!({"argv": argv}), &json!({}));
    let (ended, err) = refbox(&bed, &bed.ws("res/r.json"));
    assert_eq!(ended, Some(code), "{err}");
    assert_eq!(fs::read_to_string(bed.out("r.json")).unwrap(), "mine");
    match found {
        Some(name) => assert_eq!(written(&bed.ws(name))["exit_code"], code),
        None => assert!(err.contains("cannot write the result"), "{err}"),
    }
}

#[test]
fn what_an_earlier_run_left_is_gone_before_the_start() {
    let bed = TestBed::new(UNCONFINED);
    fs::write(bed.out("r.json"), "of before").unwrap();
    let line = format!("test ! -e {}", bed.out("r.json").display());
    bed.write_request(&json!({}), json!({"shell": line}), &json!({}));
    assert_eq!(refbox(&bed, &bed.out("r.json")).0, Some(0));
}

#[test]
fn where_the_disk_is_full_nothing_is_left_and_the_code_is_kept() {
    let bed = TestBed::new(NAMESPACES);
    fs::create_dir(bed.out("full")).unwrap();
    bed.write_request(&json!({}), json!({"shell": "exit 5"}), &json!({}));
    let plain = bed.plain();
    let words: Vec<_> = plain.get_args().map(|word| word.to_str().unwrap().to_owned()).collect();
    let result = bed.out("full/r.json");
    let program = plain.get_program().to_str().unwrap();
    // The directory's file system has no room for a byte more, and an old result in it.
    let line = format!(
        "mount -t tmpfs -o size=4096 none {0} && head -c 4096 /dev/zero > {0}/filler && : > {1} && exec {program} run --request {2} --result {1}",
        bed.out("full").display(),
        result.display(),
        words[2]
    );
    let line = format!("({line}); code=$?; ls {}; exit $code", bed.out("full").display());
    let mut host = Command::new("unshare");
    host.args(["--user", "--map-current-user", "--keep-caps", "--mount", "sh", "-c", &line]);
    let output = host.stdin(Stdio::null()).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(5), "{err}");
    assert!(err.contains("cannot write the result"), "{err}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "filler\n", "{err}");
}

const POLICY: &str =
    "schemaVersion: 2\nkind: Policy\nmetadata: {name: default}\nspec:\n  denyModify: [held]\n";

/// Runs `line` under documents, with events; what was said, the events.
fn under_documents(
    bed: &TestBed,
    profile: &Value,
    events: &Path,
    line: &str,
) -> (Option<i32>, String) {
    let mut request = json!({
        "protocol": 1, "dialect": "orbit", "documents": [{"name": "p.yaml", "text": POLICY}],
        "workspace": bed.ws(""),
        "run": {"command": {"shell": line}, "cwd": bed.ws(""), "mechanism": "namespaces"},
    });
    if !profile.is_null() {
        request["profile"] = profile.clone();
    }
    fs::write(bed.request_file(), request.to_string()).unwrap();
    let output = bed.refbox().arg("--events").arg(events).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[rstest]
fn who_names_no_profile_runs_under_the_unrestricted_one(
    #[values(NAMESPACES, ORDINARY)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let events = bed.out("events");
    fs::write(&events, "of before\n").unwrap();
    let line = "echo x > made && ! mkdir held";
    let (code, err) = under_documents(&bed, &Value::Null, &events, line);
    assert_eq!(code, Some(0), "{err}");
    assert!(bed.ws("made").exists() && !bed.ws("held").exists());
    let told = fs::read_to_string(&events).unwrap();
    let told: Value = serde_json::from_str(&told).unwrap();
    let wanted = json!({"kind": "harness_delegated", "profile": "unrestricted", "op": null,
        "path": "/bin/sh", "allowed": true, "matched_rule": ""});
    assert_eq!(told, wanted);
}

#[test]
fn without_its_event_nothing_is_handed_on() {
    let bed = TestBed::new(NAMESPACES);
    for events in [bed.ws("events"), bed.out("none/events"), bed.out("")] {
        let (code, err) = under_documents(&bed, &"unrestricted".into(), &events, "echo x > made");
        assert_eq!((code, bed.ws("made").exists()), (Some(126), false), "{err}");
        assert!(err.contains("events"), "{err}");
    }
}
