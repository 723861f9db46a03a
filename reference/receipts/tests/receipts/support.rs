//! Vectors, forged chains, and a daemon in a directory of its own.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use boxproof_receipts::canonical::{canonical, unsigned};
use boxproof_receipts::keys::{self, multibase};
use boxproof_receipts::parsed_receipt::{ParsedReceipt, read};
use boxproof_receipts::verify::{ChainExpectations, FileReport, VerifyOptions, verify_file};
use ed25519_dalek::{Signer, SigningKey, VerifyingKey};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(30);

/// A published file of vectors.
pub(crate) fn vectors(name: &str) -> Value {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/receipts/vectors");
    serde_json::from_slice(&std::fs::read(directory.join(name)).unwrap()).unwrap()
}

/// A chain that is made by hand, right where nothing else is asked for.
pub(crate) struct Forge {
    pub(crate) key: SigningKey,
    pub(crate) receipts: Vec<Value>,
}

impl Forge {
    pub(crate) fn new() -> Self {
        Self { key: SigningKey::from_bytes(&[5; 32]), receipts: Vec::new() }
    }

    /// Adds a receipt with some members set, by their pointers, before it is signed; those of
    /// the proof after it. The text `REMOVED` takes a member away.
    pub(crate) fn add(&mut self, with: Value) -> &mut Self {
        let sequence = self.receipts.len() + 1;
        let uuid = format!("00000000-0000-4000-8000-{sequence:012}");
        let mut receipt = json!({
            "@context": ["https://www.w3.org/ns/credentials/v2", "https://agentreceipts.ai/context/v2"],
            "id": format!("urn:receipt:{uuid}"), "type": ["VerifiableCredential", "AgentReceipt"],
            "version": "0.5.0", "issuer": {"id": "did:agent:forge"},
            "issuanceDate": "2026-01-01T00:00:00Z",
            "credentialSubject": {
                "principal": {"id": "did:user:root"},
                "action": {"id": format!("act_{uuid}"), "type": "system.command.execute",
                    "risk_level": "high", "timestamp": "2026-01-01T00:00:00Z"},
                "outcome": {"status": "success"},
                "chain": {"sequence": sequence, "chain_id": "forged",
                    "previous_receipt_hash": self.readings().last().map(|r| r.hash.clone())}}});
        let with = with.as_object().unwrap();
        let (proof, signed): (Vec<_>, Vec<_>) =
            with.iter().partition(|(p, _)| p.starts_with("/proof"));
        signed.into_iter().for_each(|(pointer, value)| set(&mut receipt, pointer, value));
        receipt["proof"] = self.proof(&receipt);
        proof.into_iter().for_each(|(pointer, value)| set(&mut receipt, pointer, value));
        self.receipts.push(receipt);
        self
    }

    fn proof(&self, receipt: &Value) -> Value {
        let text = canonical(&unsigned(receipt.clone())).unwrap();
        json!({"type": "Ed25519Signature2020", "created": receipt["issuanceDate"],
            "verificationMethod": format!("{}#key-1", receipt["issuer"]["id"].as_str().unwrap_or_default()),
            "proofPurpose": "assertionMethod",
            "proofValue": multibase(&self.key.sign(&text).to_bytes())})
    }

    pub(crate) fn readings(&self) -> Vec<ParsedReceipt> {
        self.receipts.iter().map(|receipt| read(receipt.to_string().as_bytes()).unwrap()).collect()
    }

    pub(crate) fn lines(&self) -> String {
        self.receipts.iter().map(|receipt| format!("{receipt}\n")).collect()
    }

    pub(crate) fn report(&self, strict: bool) -> FileReport {
        report(self.lines().as_bytes(), &self.key.verifying_key(), strict)
    }
}

pub(crate) fn report(lines: &[u8], key: &VerifyingKey, strict: bool) -> FileReport {
    let wanted = VerifyOptions { strict, ..VerifyOptions::default() };
    verify_file(lines, key, &ChainExpectations::default(), wanted).unwrap()
}

/// Sets a member by its pointer; its parents are made.
pub(crate) fn set(value: &mut Value, pointer: &str, new: &Value) {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let mut at = value;
    for part in parent.split('/').skip(1) {
        at = match part.parse::<usize>() {
            Ok(index) => &mut at[index],
            Err(_) => &mut at[part],
        };
    }
    match (new == "REMOVED", name.parse::<usize>()) {
        (true, _) => drop(at.as_object_mut().unwrap().remove(name)),
        (false, Ok(index)) => at[index] = new.clone(),
        (false, Err(_)) => at[name] = new.clone(),
    }
}

/// A directory with a key, where daemons can be started one after the other.
pub(crate) struct DaemonFixture {
    pub(crate) directory: TempDir,
}

impl DaemonFixture {
    pub(crate) fn new() -> Self {
        let mut builder = tempfile::Builder::new();
        builder.permissions(std::fs::Permissions::from_mode(0o700));
        let directory = builder.tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        keys::make(&directory.path().join("key")).unwrap();
        Self { directory }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.path("s")
    }

    pub(crate) fn key(&self) -> VerifyingKey {
        keys::read_public(&self.path("key.pub")).unwrap()
    }

    /// The daemon's command line, to which more may be added.
    pub(crate) fn command(&self, more: &[&str]) -> Command {
        self.command_at(&self.socket(), more)
    }

    pub(crate) fn command_at(&self, socket: &Path, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_boxproof-receipts"));
        command.args(["daemon", "--unsafe-socket-path", "--socket"]);
        command.arg(socket).arg("--store").arg(self.path("store"));
        command.arg("--key").arg(self.path("key")).args(more);
        command
    }

    pub(crate) fn start(&self, more: &[&str]) -> Daemon {
        Daemon::spawn_ready(self.command(more))
    }

    /// The whole lines of the store.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = std::fs::read(self.path("store")).unwrap_or_default();
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        bytes.truncate(whole);
        bytes
    }

    pub(crate) fn receipts(&self) -> Vec<Value> {
        self.bytes()
            .split(|b| *b == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }

    /// The receipts, when there are so many.
    pub(crate) fn await_receipts(&self, count: usize) -> Vec<Value> {
        await_that(&format!("{count} receipts"), || {
            let lines = self.bytes().iter().filter(|byte| **byte == b'\n').count();
            (lines >= count).then(|| self.receipts())
        })
    }

    /// Everything in the store is valid, strictly read.
    pub(crate) fn assert_valid(&self) -> FileReport {
        let report = report(&self.bytes(), &self.key(), true);
        assert!(report.valid, "{report:#?}");
        report
    }
}

/// Asks again until there is an answer.
pub(crate) fn await_that<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A daemon that serves.
pub(crate) struct Daemon {
    child: Child,
}

impl Daemon {
    /// One that may not come so far.
    pub(crate) fn spawned(mut command: Command) -> Self {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Self { child }
    }

    pub(crate) fn spawn_ready(command: Command) -> Self {
        let mut daemon = Self::spawned(command);
        let mut line = String::new();
        BufReader::new(daemon.child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        if line != "ready\n" {
            panic!("not ready: {line:?}, {}", daemon.ended().1);
        }
        daemon
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.pid()).unwrap()), signal).unwrap();
    }

    /// Ends it; returns how it ended and what it said.
    pub(crate) fn end(self, signal: Signal) -> (ExitStatus, String) {
        self.signal(signal);
        self.ended()
    }

    /// Waits for its end, and returns its exit status and messages.
    pub(crate) fn ended(mut self) -> (ExitStatus, String) {
        let status = await_that("the daemon to end", || self.child.try_wait().unwrap());
        (status, std::io::read_to_string(self.child.stderr.take().unwrap()).unwrap())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Ended already in most cases.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// A good frame, with some members set.
pub(crate) fn frame(with: Value) -> Vec<u8> {
    let mut frame = json!({"v": "1", "ts_emit": "2026-11-27T21:52:01.402830000Z", "session_id": "s",
        "channel": "opensandbox_execd", "tool": {"name": "command"}, "decision": "allowed"});
    for (name, value) in with.as_object().unwrap() {
        frame[name] = value.clone();
    }
    frame.to_string().into_bytes()
}

/// A frame with its length before it.
pub(crate) fn framed(body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap();
    [&length.to_be_bytes()[..], body].concat()
}

pub(crate) fn connect(fixture: &DaemonFixture) -> UnixStream {
    let stream = UnixStream::connect(fixture.socket()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

pub(crate) fn send(stream: &mut UnixStream, with: Value) {
    stream.write_all(&framed(&frame(with))).unwrap();
}

/// One member of each receipt.
pub(crate) fn each<'a>(receipts: &'a [Value], pointer: &str) -> Vec<&'a Value> {
    receipts.iter().map(|receipt| receipt.pointer(pointer).unwrap_or(&Value::Null)).collect()
}

pub(crate) const ACTION: &str = "/credentialSubject/action/type";
pub(crate) const CHAIN: &str = "/credentialSubject/chain/chain_id";
pub(crate) const SEQUENCE: &str = "/credentialSubject/chain/sequence";
