//! A daemon that two connections keep busy, and the same number of bare signatures on disk.

#![allow(clippy::unwrap_used, reason = "a bench fails by panicking")]

use std::fs::{File, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use boxproof_receipts::{emit, frame, keys};
use ed25519_dalek::{Signer, SigningKey};
use serde_json::json;
use tempfile::TempDir;

use crate::pairs::COUNT;

const CONNECTIONS: usize = 2;
/// The number of receipts that a busy daemon stores with one sync.
const BATCH: usize = 1024;

pub(crate) fn directory() -> TempDir {
    let mut builder = tempfile::Builder::new();
    builder.permissions(Permissions::from_mode(0o700));
    builder.tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// A running daemon that is killed in any case.
pub(crate) struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

pub(crate) fn start(directory: &Path) -> Daemon {
    keys::make(&directory.join("key")).unwrap();
    let mut refbox = Command::new(env!("CARGO_BIN_EXE_boxproof-receipts"));
    refbox.args(["daemon", "--unsafe-socket-path", "--socket"]).arg(directory.join("s"));
    refbox.arg("--store").arg(directory.join("store")).arg("--key").arg(directory.join("key"));
    let mut child = refbox.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    Daemon(child)
}

/// Sends `COUNT` events and waits until all are stored.
pub(crate) fn fill(directory: &Path) {
    let mut event =
        emit::event("s", "command", json!({"command": "ls -la"}), json!({"exit_code": 0}));
    event.action_type = Some("system.command.execute".to_owned());
    event.sandbox_id = Some("bench".to_owned());
    let bytes = frame::encode(&event).unwrap();
    thread::scope(|scope| {
        for _ in 0..CONNECTIONS {
            scope.spawn(|| {
                let mut stream = UnixStream::connect(directory.join("s")).unwrap();
                (0..COUNT / CONNECTIONS).for_each(|_| stream.write_all(&bytes).unwrap());
            });
        }
    });
    let mut store = BufReader::new(File::open(directory.join("store")).unwrap());
    let mut line = Vec::new();
    let mut whole = 0;
    let deadline = Instant::now() + Duration::from_secs(60);
    // The daemon's own first receipt counts as well.
    while whole < COUNT + 1 {
        if store.read_until(b'\n', &mut line).unwrap() == 0 {
            assert!(Instant::now() < deadline, "{whole} receipts are stored");
            thread::sleep(Duration::from_millis(1));
        }
        if line.ends_with(b"\n") {
            whole += 1;
            line.clear();
        }
    }
}

/// Start to end of `COUNT` events through the daemon.
pub(crate) fn daemon() -> Duration {
    let directory = directory();
    let _daemon = start(directory.path());
    let start = Instant::now();
    fill(directory.path());
    start.elapsed()
}

/// Signs texts as long as receipts are, writes them, and syncs in batches.
pub(crate) fn bare() -> Duration {
    let directory = directory();
    let mut file = File::create(directory.path().join("store")).unwrap();
    let key = SigningKey::from_bytes(&[7; 32]);
    let text = [b'x'; 1_300];
    let mut batch = Vec::new();
    let start = Instant::now();
    for number in 1..=COUNT {
        batch.extend_from_slice(&text);
        batch.extend_from_slice(&key.sign(&text).to_bytes());
        if number % BATCH == 0 || number == COUNT {
            file.write_all(&batch).unwrap();
            file.sync_data().unwrap();
            batch.clear();
        }
    }
    start.elapsed()
}
