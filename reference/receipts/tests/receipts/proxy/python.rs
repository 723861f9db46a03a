//! OpenSandbox's own client through the proxy.
//!
//! Needs Python and a package index. Where either is missing the test says on stderr that it was
//! skipped, and why; with `BOXPROOF_INTEROP=require` that is a failure.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::proxy::support::{Channel, sha};

const PACKAGE: &str = "opensandbox==1.1.1";

/// A Python that has the package, kept for the next run.
fn python() -> Result<PathBuf, String> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("opensandbox-1.1.1");
    let python = directory.join("bin/python");
    if done(Command::new(&python).args(["-c", "import opensandbox"])).is_err() {
        done(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&directory))?;
        let words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE];
        done(Command::new(&python).args(words))?;
    }
    Ok(python)
}

fn done(command: &mut Command) -> Result<Output, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let said = || String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(output) } else { Err(format!("{command:?}: {}", said())) }
}

/// The package, unless the test is to be skipped, which is said.
fn package() -> Option<PathBuf> {
    let error = match python() {
        Ok(python) => return Some(python),
        Err(error) => error,
    };
    let required = std::env::var("BOXPROOF_INTEROP").is_ok_and(|word| word == "require");
    assert!(!required, "{PACKAGE}: {error}");
    // Not by a macro of the library: those are hidden where a test passes.
    let line = format!("SKIPPED 1 test, python: no {PACKAGE}: {}\n", error.trim());
    std::io::stderr().write_all(line.as_bytes()).unwrap();
    None
}

#[test]
fn its_own_client_works_and_is_told() {
    let Some(python) = package() else { return };
    let channel = Channel::start();
    let directory = channel.path("work");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/receipts/opensandbox.py");
    let mut client = Command::new(python);
    client.arg(script).arg(channel.proxy.address.to_string()).arg(&directory);
    let seen = done(&mut client).unwrap();
    let seen: Value = serde_json::from_slice(&seen.stdout).unwrap();
    assert_eq!(
        seen,
        json!({
            "stdout": ["one"], "stderr": ["two"], "exit_codes": [0, 3], "code": 200,
            "read": "text a", "listed": [format!("{directory}/d/b"), format!("{directory}/d/c")],
        })
    );
    let frames = channel.frames(12);
    let told: Vec<String> = frames.iter().map(row).collect();
    let path = |name: &str| format!("{directory}/{name}");
    assert_eq!(
        told,
        [
            "system.command.execute  true".to_owned(),
            "system.command.execute  false".to_owned(),
            "system.code.execute  true".to_owned(),
            format!("filesystem.directory.create {} true", path("d")),
            format!("filesystem.file.create {} true", path("d/a")),
            format!("filesystem.file.create {} true", path("d/b")),
            format!("filesystem.file.read {} true", path("d/a")),
            format!("filesystem.file.move {} true", path("d/a")),
            format!("filesystem.directory.list {} true", path("d")),
            format!("filesystem.file.delete {} true", path("d/b")),
            format!("filesystem.file.delete {} true", path("d/c")),
            format!("filesystem.directory.delete {} true", path("d")),
        ]
    );
    assert_eq!(frames[0]["input"]["env"], json!({"A": "1", "B": "2"}));
    assert_eq!(frames[5]["input"]["content_hash"], sha(b"\0b"));
}

/// Type, path, and whether it succeeded.
fn row(frame: &Value) -> String {
    let path = frame["input"]["path"].as_str().unwrap_or_default();
    format!("{} {path} {}", frame["action_type"].as_str().unwrap(), frame.get("error").is_none())
}
