//! A host that refuses a fresh `/proc`: built here, a user and mount namespace in which part of
//! `/proc` is covered. What is told of it, and what of the host's processes stays closed there.

use std::fs;
use std::process::{Child, Command, Output, Stdio};

use rstest::rstest;
use serde_json::{Value, json};

use crate::bed::{BUBBLEWRAP, NAMESPACES, ORDINARY, TestBed, program, wait_until};

/// Covers part of `/proc`; a second user namespace keeps that from being undone.
const COVER: &str = "mount -t tmpfs none /proc/fs && exec unshare --user --map-current-user \
    --keep-caps --mount \"$@\"";

/// `command`, by the user of the bed, on such a host.
fn covered(bed: &TestBed, command: &Command) -> Command {
    let mut outer = bed.as_user("unshare".as_ref());
    outer.args(["--user", "--map-current-user", "--keep-caps", "--mount", "sh", "-c", COVER, "sh"]);
    outer.arg(command.get_program()).args(command.get_args());
    outer
}

fn run(bed: &TestBed, policy: &Value, line: &str) -> (Output, Value) {
    bed.write_request(policy, json!({"shell": line}), &json!({}));
    let plain = bed.plain();
    let output = covered(bed, &plain).stdin(Stdio::null()).output().unwrap();
    let result = fs::read_to_string(bed.result_file()).expect("no result was written");
    (output, serde_json::from_str(&result).unwrap())
}

/// A process of the host's, by the same user on the same host, that holds a secret and a file.
fn victim(bed: &TestBed) -> Child {
    let ready = bed.out("ready");
    let line =
        format!("exec 9< {}; echo > {}; exec sleep 60", bed.out("kept").display(), ready.display());
    fs::write(bed.out("kept"), "of the file").unwrap();
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(line);
    let child = bed
        .as_user("env".as_ref())
        .arg("SECRET=of-the-environment")
        .arg(shell.get_program())
        .args(shell.get_args())
        .spawn()
        .unwrap();
    wait_until("the victim", || ready.exists());
    child
}

/// Reads and writes that would succeed if the box shared the host's user namespace.
const LOOKS: &str = "cat environ maps mem auxv; cat root/etc/hostname fd/9; ls cwd/; ls root/;
    readlink exe cwd root fd/9 ns/net ns/user; cat 9<fd/9; echo x > comm; echo 1 > oom_score_adj;
    echo x > /proc/sys/kernel/hostname; echo x > /proc/self/comm";

#[rstest]
fn processes_of_the_host_are_seen_and_not_reached(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let mut victim = victim(&bed);
    let line = format!("cat /proc/{}/comm && cd /proc/{0} && {LOOKS}; true", victim.id());
    let (output, result) = run(&bed, &json!({}), &line);
    let killed = run(&bed, &json!({}), &format!("kill -9 {}", victim.id()));
    let alive = victim.try_wait().unwrap().is_none();
    victim.kill().unwrap();
    victim.wait().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(text, "sleep\n", "{}", String::from_utf8_lossy(&output.stderr));
    assert!(alive && killed.0.status.code() != Some(0));
    assert_eq!(result["enforced"]["proc.isolated"], "none", "{result}");
    let limits = result["limits"].as_array().unwrap();
    assert!(limits[0].as_str().unwrap().contains("no /proc of the sandbox's own"), "{result}");
}

#[rstest]
fn names_are_held_there_as_anywhere(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let line =
        "mkdir .git && exit 9; mkdir /proc/self/cwd/.git && exit 9; mkdir -p a && cd a || exit 8
        mkdir ../.git && exit 9; mkdir b && echo x > b/f && cat b/f && exit 3";
    let (output, result) = run(&bed, &json!({"protect": "metadata"}), line);
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(result["enforced"]["protect.absent"], "enforced");
    assert!(!bed.ws(".git").exists() && bed.ws("a/b/f").exists());
}

#[rstest]
fn claims_and_status_say_so(#[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str) {
    let bed = TestBed::new(mechanism);
    let name = if mechanism == BUBBLEWRAP { BUBBLEWRAP } else { NAMESPACES };
    let own = bed.plain();
    let asked = |words: &[&str]| -> Value {
        let mut refbox = Command::new(own.get_program());
        refbox.args(words);
        let output = covered(&bed, &refbox).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{error}"))
    };
    let found = asked(&["capabilities", "--mechanism", name]);
    assert_eq!(found["claims"].get("proc.isolated"), None);
    assert_eq!(found["claims"]["protect.absent"], "enforced");
    let says = |told: &Value| told["limits"].to_string().contains("no /proc of the sandbox's own");
    assert!(says(&found), "{found}");
    fs::write(bed.out("c.yaml"), "sandbox: {mode: workspace_write}\n").unwrap();
    let (config, workspace) = (bed.out("c.yaml"), bed.ws(""));
    let [config, workspace] = [&config, &workspace].map(|path| path.to_str().unwrap());
    let words = ["status", "--format", "json", "--config", config, "--workspace", workspace];
    assert!(says(&asked(&words)));
    // On this host nothing of it is said.
    let here =
        Command::new(program()).args(["capabilities", "--mechanism", name]).output().unwrap();
    let here: Value = serde_json::from_slice(&here.stdout).unwrap();
    assert_eq!((says(&here), &here["claims"]["proc.isolated"]), (false, &"enforced".into()));
}
