//! The program that is measured inside a sandbox: it does one operation many times and prints what
//! that cost ([`InsideOperation`], [`serve`]).

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::sys::measured_child::{monotonic_ns, own_usage};

/// The hidden verb under which the program does so.
pub const VERB: &str = "__operations";

/// One operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InsideOperation {
    Open,
    Stat,
    Exec,
    Connect,
    Create,
    /// Prints the moment at which it ends.
    Exit,
}

impl InsideOperation {
    const ALL: [Self; 6] =
        [Self::Open, Self::Stat, Self::Exec, Self::Connect, Self::Create, Self::Exit];

    /// The word on the command line.
    pub(super) fn keyword(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Stat => "stat",
            Self::Exec => "exec",
            Self::Connect => "connect",
            Self::Create => "create",
            Self::Exit => "exit",
        }
    }
}

/// The cost of all operations of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OperationCost {
    pub(super) wall_ns: u64,
    pub(super) cpu_ns: u64,
    pub(super) faults: u64,
    /// The monotonic clock after the last one.
    pub(super) ended_ns: u64,
}

/// Does what `args` ask for (an operation, a number, a directory) and returns the exit code.
pub fn serve(args: impl Iterator<Item = OsString>) -> i32 {
    let words: Vec<String> = args.filter_map(|word| word.into_string().ok()).collect();
    let operation = |word: &String| InsideOperation::ALL.into_iter().find(|o| o.keyword() == word);
    let asked = match words.as_slice() {
        [name, count, directory] => {
            operation(name).zip(count.parse().ok()).map(|(name, count)| (name, count, directory))
        }
        _ => None,
    };
    let Some((operation, count, directory)) = asked else {
        eprintln!("usage: {VERB} OPERATION COUNT DIRECTORY");
        return 2;
    };
    match perform(operation, count, Path::new(directory)) {
        Ok(cost) => {
            println!("{}", serde_json::json!(cost));
            0
        }
        Err(error) => {
            eprintln!("{}: {error}", operation.keyword());
            1
        }
    }
}

fn perform(operation: InsideOperation, count: u64, directory: &Path) -> io::Result<OperationCost> {
    let (file, listener) = (directory.join("file"), listener(operation)?);
    let once = || match operation {
        InsideOperation::Open => File::open(&file).map(drop),
        InsideOperation::Stat => fs::metadata(&file).map(drop),
        InsideOperation::Exec => execute(),
        InsideOperation::Connect => connect(listener.as_ref()),
        InsideOperation::Create => {
            let made = directory.join("made");
            File::create(&made).and_then(|_| fs::remove_file(&made))
        }
        InsideOperation::Exit => Ok(()),
    };
    // The first one pays for what is not there yet.
    once()?;
    let (cpu, faults) = own_usage()?;
    let started = Instant::now();
    for _ in 0..count {
        once()?;
    }
    let wall = started.elapsed();
    let (cpu_after, faults_after) = own_usage()?;
    Ok(OperationCost {
        wall_ns: wall.as_nanos() as u64,
        cpu_ns: cpu_after.saturating_sub(cpu).as_nanos() as u64,
        faults: faults_after.saturating_sub(faults),
        ended_ns: monotonic_ns(),
    })
}

fn listener(operation: InsideOperation) -> io::Result<Option<TcpListener>> {
    let wanted = operation == InsideOperation::Connect;
    wanted.then(|| TcpListener::bind("127.0.0.1:0")).transpose()
}

fn execute() -> io::Result<()> {
    let status = Command::new("true").stdin(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("true: {status}"))) }
}

fn connect(listener: Option<&TcpListener>) -> io::Result<()> {
    let listener = listener.ok_or(io::ErrorKind::NotConnected)?;
    let stream = TcpStream::connect(listener.local_addr()?)?;
    listener.accept()?;
    drop(stream);
    Ok(())
}
