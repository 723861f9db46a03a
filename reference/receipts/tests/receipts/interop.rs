//! Other people's software at both ends: their verifier on our chains, their emitter on our socket.
//!
//! Needs Python and a package index. Where either is missing the tests say on stderr that they
//! were skipped, and why; with `BOXPROOF_INTEROP=require` that is a failure.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use boxproof_receipts::parsed_receipt::read;
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::support::{ACTION, DaemonFixture, connect, each, send};

const PACKAGE: &str = "obsigna==0.16.0";

/// A Python that has the package, or why there is none. Made once and kept.
static PYTHON: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("obsigna-0.16.0");
    let python = directory.join("bin/python");
    let works = |python: &Path| done(Command::new(python).args(["-c", "import obsigna"])).is_ok();
    if !works(&python) {
        done(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&directory))?;
        let mut pip = Command::new(&python);
        done(pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            PACKAGE,
        ]))?;
    }
    Ok(python)
});

fn done(command: &mut Command) -> Result<Output, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let said = || String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(output) } else { Err(format!("{command:?}: {}", said())) }
}

/// The Python, unless this test is to be skipped, which is said.
fn python(test: &str) -> Option<PathBuf> {
    let error = match PYTHON.as_ref() {
        Ok(python) => return Some(python.clone()),
        Err(error) => error,
    };
    let required = std::env::var("BOXPROOF_INTEROP").is_ok_and(|word| word == "require");
    assert!(!required, "{PACKAGE}: {error}");
    // Not by a macro of the library: those are hidden where a test passes.
    let line = format!("SKIPPED 1 test, interop::{test}: no {PACKAGE}: {}\n", error.trim());
    std::io::stderr().write_all(line.as_bytes()).unwrap();
    None
}

fn script(python: &Path) -> Command {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/receipts/interop.py");
    let mut command = Command::new(python);
    command.arg(script);
    command
}

/// Returns the verdicts of their verifier about the store of a fixture.
fn verdicts(python: &Path, fixture: &DaemonFixture, lines: &[u8]) -> Value {
    let export = fixture.path("export.jsonl");
    std::fs::write(&export, lines).unwrap();
    let output = done(script(python).arg("verify").arg(export).arg(fixture.path("key.pub")));
    serde_json::from_slice(&output.unwrap().stdout).unwrap()
}

/// A daemon of `profile` that served a sandbox with everything a frame can carry.
fn stored(profile: &str) -> DaemonFixture {
    let fixture = DaemonFixture::new();
    let daemon = fixture.start(&["--profile", profile]);
    let mut stream = connect(&fixture);
    send(&mut stream, json!({"drop_count": 2}));
    for action in ["system.pty.open", "system.pty.close"] {
        send(
            &mut stream,
            json!({"sandbox_id": "a", "action_type": action,
            "input": {"command": "sh"}, "output": {"pty_id": "1"}, "correlation_id": "k",
            "issuer_name": "n", "issuer_model": "m", "operator_id": "o", "model": "mm",
            "target_system": "t", "target_resource": "r", "idempotency_key": "i",
            "binding": {"sandbox_id": "a", "endpoint": "/pty"}, "usage": {"n": 1.5, "none": null},
            "coverage": {"covers": ["pty"], "excludes": [], "placement": "execd"}}),
        );
    }
    fixture.await_receipts(5);
    let (status, said) = daemon.end(Signal::SIGTERM);
    assert!(status.success(), "{said}");
    fixture.assert_valid();
    fixture
}

/// The hashes of a chain as we compute them.
fn hashes(lines: &[u8], chain: &str) -> Vec<String> {
    let all = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let read = all.map(|line| read(line).unwrap());
    read.filter(|receipt| receipt.chain_id() == chain).map(|receipt| receipt.hash).collect()
}

#[test]
fn their_verifier_accepts_what_the_wire_profile_signs() {
    let Some(python) = python("wire") else { return };
    let fixture = stored("wire");
    let found = verdicts(&python, &fixture, &fixture.bytes());
    for (chain, length) in [("root", 4), ("root/sandbox/a", 3)] {
        assert_eq!(
            found[chain],
            json!({"length": length, "typed": true, "raw": true, "error": "",
            "status": "interrupted", "hashes": hashes(&fixture.bytes(), chain)})
        );
    }
    // It can also say no.
    let edited = String::from_utf8(fixture.bytes()).unwrap().replace("\"critical\"", "\"low\"");
    let found = verdicts(&python, &fixture, edited.as_bytes());
    let part = |chain: &str| (found[chain]["typed"].clone(), found[chain]["raw"].clone());
    assert_eq!(part("root"), (json!(true), json!(true)));
    assert_eq!(part("root/sandbox/a"), (json!(false), json!(false)));
}

/// Members that it does not know are lost before it hashes: only raw bytes verify.
#[test]
fn their_verifier_accepts_the_raw_bytes_alone_of_the_adr_profile() {
    let Some(python) = python("adr") else { return };
    let fixture = stored("adr");
    let found = verdicts(&python, &fixture, &fixture.bytes());
    for (chain, typed) in [("root", true), ("root/sandbox/a", false)] {
        let part = (&found[chain]["typed"], &found[chain]["raw"], &found[chain]["hashes"]);
        assert_eq!(part, (&json!(typed), &json!(true), &json!(hashes(&fixture.bytes(), chain))));
    }
}

#[test]
fn their_emitter_drives_our_daemon() {
    let Some(python) = python("emit") else { return };
    let fixture = DaemonFixture::new();
    let daemon = fixture.start(&[]);
    done(script(&python).arg("emit").arg(fixture.socket())).unwrap();
    let receipts = fixture.await_receipts(4);
    let plain = "opensandbox_execd.command";
    assert_eq!(each(&receipts[1..], ACTION), ["system.command.execute", plain, plain]);
    let status = "/credentialSubject/outcome/status";
    assert_eq!(each(&receipts[1..], status), ["success", "failure", "pending"]);
    let action = &receipts[1]["credentialSubject"]["action"];
    let hash = "sha256:1df8bccaec747dc615b50678f35bf5b51756a45f9b2b77b247c7a617fde58b3e";
    assert_eq!((&action["parameters_hash"], &action["risk_level"]), (&json!(hash), &json!("high")));
    assert_eq!(action["target"], json!({"system": "opensandbox", "resource": "/tmp/x"}));
    let (_, said) = daemon.end(Signal::SIGTERM);
    assert_eq!(said.matches("refused").count(), 0, "{said}");
    fixture.assert_valid();
}
