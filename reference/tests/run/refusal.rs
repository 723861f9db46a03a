//! Declined runs: nothing starts, the result says why, the exit code is 126.

use std::fs;
use std::path::Path;
use std::process::Command;

use rstest::rstest;
use serde_json::{Value, json};

use crate::bed::{BUBBLEWRAP, Done, NAMESPACES, TestBed, UNCONFINED, program};

#[track_caller]
fn expect_refused(bed: &TestBed, done: &Done, kind: &str, message: &str) {
    assert_eq!(done.code, Some(126), "{}", done.result);
    assert_eq!(done.result["started"], false);
    assert_eq!(done.result["success"], false);
    assert_eq!(done.result["exit_code"], Value::Null);
    assert_eq!(done.result["error"]["kind"], kind);
    let said = done.result["error"]["message"].as_str().unwrap();
    assert!(said.contains(message), "{said}");
    // A fault of the request is told with its line, also where only the host showed it.
    let line = done.result["error"]["line"].as_u64();
    let member = said.starts_with("policy.") || said.starts_with("run.");
    let written = said.split(':').next().and_then(|member| member.rsplit('.').next());
    let written = written.is_some_and(|name| {
        fs::read_to_string(bed.request_file()).unwrap().contains(&format!("\"{name}\""))
    });
    assert!(line.is_some() || !(member && written), "{}", done.result);
    let place = line.map(|line| format!("{}:{line}: ", bed.request_file().display()));
    assert_eq!(done.err, format!("refbox: {}{said}\n", place.unwrap_or_default()));
    assert_eq!(done.result["enforced"], json!({}));
    assert!(!bed.ws("ran").exists(), "the command ran");
}

#[rstest]
#[case::readable(json!({"readable": ["/usr/none"]}), "policy.readable")]
#[case::grant(json!({"grants": ["all"]}), "policy.grants: \"all\"")]
fn what_cannot_be_enforced_is_refused(
    #[case] policy: Value,
    #[case] message: &str,
    #[values(NAMESPACES, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let done = bed.sh(&policy, "touch ran");
    expect_refused(&bed, &done, "unsupported", message);
}

#[rstest]
#[case::mechanism(json!({}), json!({"mechanism": "unconfined"}))]
#[case::bubblewrap(json!({"mode": "unconfined"}), json!({"mechanism": "bubblewrap"}))]
#[case::namespaces(json!({"mode": "unconfined"}), json!({"mechanism": "namespaces"}))]
fn a_mechanism_that_does_not_fit_is_refused(#[case] policy: Value, #[case] run: Value) {
    let bed = TestBed::new("auto");
    let done = bed.go(&policy, json!({"shell": "touch ran"}), &run);
    expect_refused(&bed, &done, "unsupported", "run.mechanism");
}

#[rstest]
#[case::member(json!({"denyRead": []}), json!({}), "unknown field `denyRead`")]
#[case::workspace(json!({"workspace": "/no/such"}), json!({}), "policy.workspace: /no/such is not")]
#[case::cwd(json!({}), json!({"cwd": "/no/such"}), "run.cwd: /no/such is not")]
#[case::cwd_file(json!({}), json!({"cwd": "/etc/passwd"}), "run.cwd: /etc/passwd is not")]
#[case::nul(json!({}), json!({"command": {"argv": ["a\0b"]}}), "nul byte")]
fn a_bad_request_is_refused(
    #[case] policy: Value,
    #[case] run: Value,
    #[case] message: &str,
    #[values(NAMESPACES, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let done = bed.go(&policy, json!({"shell": "touch ran"}), &run);
    expect_refused(&bed, &done, "invalid_request", message);
    assert_eq!(done.result["error"]["file"], json!(bed.request_file()));
}

#[test]
fn a_syntax_error_is_located() {
    let bed = TestBed::new("auto");
    fs::write(bed.request_file(), "{\n\"protocol\": 1,\n?}").unwrap();
    let done = bed.done(&bed.refbox().output().unwrap());
    expect_refused(&bed, &done, "invalid_request", "line 3");
    assert_eq!(done.result["error"]["line"], 3);
}

#[test]
fn without_bubblewrap_nothing_runs_and_the_remedy_is_named() {
    let bed = TestBed::new(BUBBLEWRAP);
    bed.write_request(&json!({}), json!({"shell": "touch ran"}), &json!({}));
    let done = bed.done(&bed.refbox().env("PATH", bed.out("")).output().unwrap());
    expect_refused(&bed, &done, "unavailable", "install the package bubblewrap");
}

#[test]
fn running_unconfined_instead_must_be_asked_for_and_is_loud() {
    let bed = TestBed::new(BUBBLEWRAP);
    let policy = json!({"on_unavailable": "run_unconfined"});
    bed.write_request(&policy, json!({"argv": ["/bin/sh", "-c", "exit 5"]}), &json!({}));
    let done = bed.done(&bed.refbox().env("PATH", bed.out("")).output().unwrap());
    done.expect(5).complains("refbox: RUNNING WITHOUT A SANDBOX: bubblewrap");
    assert_eq!(done.result["mechanism"], "unconfined");
    let enforced = done.result["enforced"].as_object().unwrap();
    assert!(enforced.len() > 20 && enforced.values().all(|level| level == "none"), "{enforced:?}");
    assert!(done.result["annotations"][0].as_str().unwrap().contains("WITHOUT A SANDBOX"));
}

#[test]
fn running_unconfined_instead_takes_no_more_of_the_environment_along() {
    let bed = TestBed::new(BUBBLEWRAP);
    let seen = |policy: &Value| {
        bed.write_request(policy, json!({"argv": ["/usr/bin/env"]}), &json!({}));
        let mut refbox = bed.refbox();
        refbox.env("PATH", bed.out("")).env("A_TOKEN", "t").env("BASH_ENV", "b").env("PLAIN", "p");
        let done = bed.done(&refbox.output().unwrap());
        let names = ["A_TOKEN=t", "BASH_ENV=b", "PLAIN=p"];
        let out = done.expect(0).out.clone();
        names.map(|name| out.lines().any(|line| line == name))
    };
    let mut policy = json!({"on_unavailable": "run_unconfined"});
    assert_eq!(seen(&policy), [false, false, true]);
    policy["env"] = json!({"pass": ["BASH_ENV"]});
    assert_eq!(seen(&policy), [false, true, true]);
    policy["env"] = json!({"scrub": false});
    assert_eq!(seen(&policy), [true, true, true]);
}

/// It says that it is new enough, and fails.
const NO_LUCK: &str = "[ \"$1\" = --version ] && exec echo bubblewrap 0.8.0
echo 'bwrap: no luck' >&2
exit 1
";

#[test]
fn a_sandbox_that_fails_to_start_is_no_denial() {
    let bed = TestBed::new(BUBBLEWRAP);
    fake_bwrap(&bed, NO_LUCK);
    bed.write_request(&json!({}), json!({"shell": "touch ran"}), &json!({}));
    let done = bed.done(&bed.refbox().env("PATH", bed.out("")).output().unwrap());
    expect_refused(&bed, &done, "setup", "bwrap: no luck");
}

#[test]
fn a_socket_that_goes_while_the_sandbox_is_built_is_no_failure() {
    let bed = TestBed::new(BUBBLEWRAP);
    let socket = bed.out("s");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    // The first start fails as bwrap does over a path that has gone; the second is the real one.
    let found = Command::new("sh").args(["-c", "command -v bwrap"]).output().unwrap();
    let real = String::from_utf8(found.stdout).unwrap();
    let script = format!(
        "if [ -e '{0}' ]; then /bin/rm '{0}'; echo gone >&2; exit 1; fi\nexec {1} \"$@\"\n",
        socket.display(),
        real.trim()
    );
    fake_bwrap(&bed, &script);
    bed.write_request(&json!({}), json!({"argv": ["/bin/sh", "-c", "exit 5"]}), &json!({}));
    bed.done(&bed.refbox().env("PATH", bed.out("")).output().unwrap()).expect(5);
    assert!(!socket.exists());
}

#[test]
fn a_result_that_cannot_be_written_starts_nothing() {
    let bed = TestBed::new("auto");
    bed.write_request(&json!({}), json!({"shell": "touch ran"}), &json!({}));
    let mut refbox = Command::new(program());
    refbox.arg("run").arg("--request").arg(bed.request_file()).arg("--result");
    let output = refbox.arg(bed.out("no/result.json")).output().unwrap();
    assert_eq!(output.status.code(), Some(126));
    assert!(!bed.ws("ran").exists());
}

#[rstest]
#[case::link("link")]
#[case::fifo("fifo")]
fn a_result_replaces_nothing_but_a_file(#[case] name: &str) {
    let bed = TestBed::new("auto");
    std::os::unix::fs::symlink("nothing", bed.out("link")).unwrap();
    nix::unistd::mkfifo(&bed.out("fifo"), nix::sys::stat::Mode::S_IRUSR).unwrap();
    bed.write_request(&json!({}), json!({"shell": "touch ran"}), &json!({}));
    let mut refbox = Command::new(program());
    refbox.arg("run").arg("--request").arg(bed.request_file()).arg("--result");
    let output = refbox.arg(bed.out(name)).output().unwrap();
    assert_eq!(output.status.code(), Some(126));
    assert!(String::from_utf8_lossy(&output.stderr).contains("it is no regular file"));
    assert!(!fs::symlink_metadata(bed.out(name)).unwrap().is_file());
    assert!(!bed.ws("ran").exists());
}

fn capabilities(asked: &[&str], path: Option<&Path>) -> Value {
    let mut refbox = Command::new(program());
    refbox.arg("capabilities").args(asked);
    if let Some(path) = path {
        refbox.env("PATH", path);
    }
    let output = refbox.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The mechanisms that work here; whether Landlock does is a matter of the kernel.
fn but_landlock(found: &Value) -> Value {
    let mut names = found["mechanisms"].as_array().unwrap().clone();
    names.retain(|name| name != "landlock");
    names.into()
}

#[test]
fn capabilities_claim_what_the_trial_showed() {
    let _needs_bubblewrap = TestBed::new(BUBBLEWRAP);
    let found = capabilities(&[], None);
    assert_eq!(found["mechanism"], NAMESPACES, "{}", found["limits"]);
    assert_eq!(but_landlock(&found), json!([NAMESPACES, BUBBLEWRAP, UNCONFINED]));
    assert_eq!(found["claims"]["fs.read_deny"], "enforced");
    assert_eq!(found["claims"]["protect.absent"], "enforced");
}

#[rstest]
fn capabilities_answer_for_the_mechanism_asked_for(
    #[values(NAMESPACES, BUBBLEWRAP, UNCONFINED)] mechanism: &str,
) {
    let found = capabilities(&["--mechanism", mechanism], None);
    assert_eq!(found["mechanism"], mechanism);
    assert_eq!(found["claims"]["exec.exit_code"], "enforced");
    let confined = if mechanism == UNCONFINED { Value::Null } else { "enforced".into() };
    assert_eq!(found["claims"]["fs.write"], confined);
}

#[test]
fn a_mechanism_that_does_not_work_is_not_claimed() {
    let bed = TestBed::new("auto");
    // A trial command, but no bwrap.
    std::os::unix::fs::symlink("/bin/true", bed.out("true")).unwrap();
    let found = capabilities(&[], Some(&bed.out("")));
    assert_eq!(but_landlock(&found), json!([NAMESPACES, UNCONFINED]), "{}", found["limits"]);
    let mut refbox = Command::new(program());
    refbox.args(["capabilities", "--mechanism", BUBBLEWRAP]).env("PATH", bed.out(""));
    let output = refbox.output().unwrap();
    assert_eq!(output.status.code(), Some(126));
    assert!(String::from_utf8_lossy(&output.stderr).contains("install the package bubblewrap"));
}

/// Runs `refbox` as a uid 0 without privileges where no user namespace can be made.
fn where_namespaces_are_refused(bed: &TestBed, path: &str) -> Done {
    let line = format!(
        "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all \
         --inh-caps=-all env PATH='{path}' {} run --request {} --result {}",
        program().display(),
        bed.request_file().display(),
        bed.result_file().display()
    );
    let output = Command::new("unshare").args(["-Ur", "sh", "-c", &line]).output().unwrap();
    bed.done(&output)
}

#[rstest]
#[case::namespaces(NAMESPACES)]
#[case::auto("auto")]
fn refused_namespaces_are_told_with_switch_and_remedy(#[case] mechanism: &'static str) {
    let bed = TestBed::new(mechanism);
    bed.write_request(&json!({}), json!({"shell": "touch ran"}), &json!({}));
    let done = where_namespaces_are_refused(&bed, "/usr/bin:/bin");
    let remedy = "run `sysctl -w user.max_user_namespaces=15000`";
    expect_refused(&bed, &done, "unavailable", remedy);
    done.complains("clone into new namespaces: ENOSPC");
    let policy = json!({"on_unavailable": "run_unconfined"});
    bed.write_request(&policy, json!({"shell": "exit 5"}), &json!({}));
    let done = where_namespaces_are_refused(&bed, "/usr/bin:/bin");
    done.expect(5).complains("RUNNING WITHOUT A SANDBOX: namespaces are refused");
}

#[test]
fn auto_falls_back_to_bubblewrap_and_no_further() {
    let bed = TestBed::new("auto");
    fake_bwrap(&bed, NO_LUCK);
    bed.write_request(&json!({}), json!({"shell": "touch ran"}), &json!({}));
    let path = format!("{}:/usr/bin:/bin", bed.out("").display());
    let done = where_namespaces_are_refused(&bed, &path);
    expect_refused(&bed, &done, "setup", "bwrap: no luck");
}

fn fake_bwrap(bed: &TestBed, script: &str) {
    bed.program(&bed.out("bwrap"), &format!("#!/bin/sh\n{script}"));
}

#[rstest]
#[case::no_verb(&[])]
#[case::unknown_verb(&["fly"])]
#[case::unknown_flag(&["run", "--force"])]
#[case::no_result(&["run", "--request", "x"])]
fn usage_errors_are_two(#[case] args: &[&str]) {
    let output = Command::new(program()).args(args).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(!output.stderr.is_empty());
}

#[rstest]
#[case(&["--help"])]
#[case(&["run", "--help"])]
fn help_has_examples(#[case] args: &[&str]) {
    let output = Command::new(program()).args(args).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("refbox run --request request.json --result result.json"), "{text}");
}
