//! The parts of the channel as child processes, and the directory they share.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::signal::unix::{SignalKind, signal};

/// A signal asked the demonstration to end, and its processes and files are being removed.
static ENDING: AtomicBool = AtomicBool::new(false);

/// The process ids of all running parts, for ending them on a signal.
static RUNNING: Mutex<Vec<u32>> = Mutex::new(Vec::new());

fn running() -> MutexGuard<'static, Vec<u32>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A private directory, removed on drop.
pub(super) struct DemoDirectory(PathBuf);

impl DemoDirectory {
    /// A new one among the temporary files.
    pub(super) fn new() -> Result<Self, String> {
        let name = format!("refbox-receipts-{}", uuid::Uuid::new_v4().simple());
        let path = std::env::temp_dir().join(name);
        let made = std::fs::DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for DemoDirectory {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            eprintln!("refbox receipts demo: {}: {error}", self.0.display());
        }
    }
}

/// Makes an interrupt or SIGTERM remove all processes and files from now on.
pub(super) fn mop_up(directory: &Path) -> Result<(), String> {
    let directory = directory.to_owned();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    // Signals are not blocked for this: the parts would inherit that, and could not be ended.
    let listen = |kind| runtime.block_on(async { signal(kind) }).map_err(|e| e.to_string());
    let (mut term, mut int) = (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    std::thread::spawn(move || {
        let number = runtime.block_on(async {
            tokio::select! { _ = term.recv() => 15, _ = int.recv() => 2 }
        });
        ENDING.store(true, Ordering::SeqCst);
        // Held to the end, so that nothing more is started.
        let running = running();
        running.iter().for_each(|id| send(*id, Signal::SIGKILL));
        // A file that is being written at this moment may need another attempt.
        let removed = (0..100).map(|_| std::fs::remove_dir_all(&directory)).find(Result::is_ok);
        if removed.is_none() {
            eprintln!("refbox receipts demo: {}: could not be removed", directory.display());
        }
        std::process::exit(128 + number);
    });
    Ok(())
}

/// Blocks for ever while the program is being ended: a failure of a part is none then.
pub(super) fn unless_ending() {
    while ENDING.load(Ordering::SeqCst) {
        std::thread::park();
    }
}

fn send(id: u32, signal: Signal) {
    if let Ok(id) = i32::try_from(id) {
        // It may have ended by itself.
        let _sent = kill(Pid::from_raw(id), signal);
    }
}

/// This program and the words that lead to its verbs.
fn program() -> Result<Command, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    let ours = |word: &OsString| word != OsStr::new("demo");
    command.args(std::env::args_os().skip(1).take_while(ours));
    Ok(command)
}

/// Runs a verb to its end; `files` are options with a path, or a path alone.
pub(super) fn ask_any(words: &[&str], files: &[(&str, &Path)]) -> Result<Output, String> {
    let mut command = program()?;
    command.args(words);
    add(&mut command, files);
    // The command is short, so the signal thread waits for it.
    let _held = running();
    command.stdin(Stdio::null()).output().map_err(|error| format!("{words:?}: {error}"))
}

/// Runs a verb that must succeed.
pub(super) fn run_verb(words: &[&str], files: &[(&str, &Path)]) -> Result<Output, String> {
    let output = ask_any(words, files)?;
    if output.status.success() {
        return Ok(output);
    }
    Err(format!("{words:?}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

fn add(command: &mut Command, files: &[(&str, &Path)]) {
    for (option, file) in files {
        if !option.is_empty() {
            command.arg(option);
        }
        command.arg(file);
    }
}

/// A part that serves; killed when this is dropped before its end.
pub(super) struct DemoProcess {
    verb: &'static str,
    child: Child,
    told: String,
    /// Its log, shown only if it fails.
    log: PathBuf,
}

impl DemoProcess {
    /// Starts a verb, and waits until it says that it serves.
    pub(super) fn start(
        verb: &'static str,
        files: &[(&str, &Path)],
        words: &[&str],
    ) -> Result<Self, String> {
        let directory = files.first().and_then(|(_, file)| file.parent()).unwrap_or(Path::new("."));
        let log = directory.join(format!("{verb}.log"));
        let logged = std::fs::File::create(&log).map_err(|error| error.to_string())?;
        let mut command = program()?;
        command.arg(verb).args(words);
        add(&mut command, files);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(logged);
        let mut held = running();
        let mut child = command.spawn().map_err(|error| format!("{verb}: {error}"))?;
        held.push(child.id());
        drop(held);
        let stdout = child.stdout.take();
        let mut part = Self { verb, child, told: String::new(), log };
        if let Some(stdout) = stdout {
            let read = BufReader::new(stdout).read_line(&mut part.told);
            read.map_err(|error| format!("{verb}: {error}"))?;
        }
        if part.told.trim().is_empty() {
            return Err(part.failed("did not start"));
        }
        Ok(part)
    }

    /// Returns the address at which it listens.
    pub(super) fn address(&self) -> Result<SocketAddr, String> {
        let told = self.told.trim().strip_prefix("listening ");
        let address = told.and_then(|told| told.parse().ok());
        address.ok_or_else(|| self.failed(&format!("said {:?}", self.told)))
    }

    /// Asks it to end, and waits until it has.
    pub(super) fn end(mut self) -> Result<(), String> {
        send(self.child.id(), Signal::SIGTERM);
        let status = self.child.wait().map_err(|error| format!("{}: {error}", self.verb))?;
        if status.success() { Ok(()) } else { Err(self.failed(&format!("ended with {status}"))) }
    }

    fn failed(&self, how: &str) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        format!("the {} {how}\n{}", self.verb, log.trim())
    }
}

impl Drop for DemoProcess {
    fn drop(&mut self) {
        // Both are errors only where it has ended already.
        let _killed = self.child.kill();
        let _waited = self.child.wait();
        let id = self.child.id();
        running().retain(|running| *running != id);
    }
}
