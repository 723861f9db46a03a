//! The view of other processes in /proc: `read-environ`, `list-pids`, `proc-root-read`.

use std::ffi::OsString;

use memchr::memmem;
use nix::fcntl::{AT_FDCWD, OFlag, openat};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, getpid};

use crate::args::ProbeArguments;
use crate::family::fs;
use crate::outcome::{CallContext, ProbeError, ProbeResult, names, succeed_with};
use crate::output::read_up_to;
use crate::record::DetailValue;

/// More than the kernel allows for arguments and environment together.
const PROC_CAP: usize = 8 << 20;

/// `names`, `bytes`, and with `--match` the `count` of entries that contain it.
pub(crate) fn read_environ(args: &ProbeArguments) -> ProbeResult {
    let environ = slurp(&format!("/proc/{}/environ", args.pid()?))?;
    let entries = environ.split(|b| *b == 0).filter(|entry| !entry.is_empty());
    let found = entries.clone().map(name).collect();
    let count = entries.filter(|entry| matches(args, entry)).count();
    let bytes = ("bytes", DetailValue::Number(environ.len() as u64));
    with_count(args, count, succeed_with([("names", names(found)), bytes]))
}

/// `names` holds the numbers. With `--match`, `count` leaves out the probe's own line of ancestors,
/// whose command lines carry the text as an argument.
pub(crate) fn list_pids(args: &ProbeArguments) -> ProbeResult {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY;
    let dir = openat(AT_FDCWD, "/proc", flags, Mode::empty()).at("openat")?;
    let mut pids = fs::entries(dir).at("getdents")?;
    pids.retain(|name| name.bytes().all(|b| b.is_ascii_digit()));
    let own = ancestors();
    let matching = pids.iter().filter(|pid| !own.contains(*pid));
    let count = matching.filter(|pid| matches(args, &command_line(pid))).count();
    with_count(args, count, succeed_with([("names", names(pids))]))
}

pub(crate) fn proc_root_read(args: &ProbeArguments) -> ProbeResult {
    let mut path = OsString::from("/proc/self/root/");
    path.push(args.path()?);
    fs::read_file(&path)
}

/// Returns the text before the first `=`.
fn name(entry: &[u8]) -> String {
    let end = entry.iter().position(|b| *b == b'=').unwrap_or(entry.len());
    String::from_utf8_lossy(&entry[..end]).into_owned()
}

fn with_count(args: &ProbeArguments, count: usize, seen: ProbeResult) -> ProbeResult {
    let mut detail = seen?;
    if args.has("match") {
        detail.insert("count".to_owned(), DetailValue::Number(count as u64));
    }
    Ok(detail)
}

fn matches(args: &ProbeArguments, bytes: &[u8]) -> bool {
    let needle = args.bytes("match");
    !needle.is_empty() && memmem::find(bytes, needle).is_some()
}

/// Lists this process and its ancestors, as far as /proc shows them.
fn ancestors() -> Vec<String> {
    let mut line = vec![getpid().to_string()];
    while let Some(parent) = line.last().and_then(|pid| parent(pid)) {
        line.push(parent.to_string());
    }
    line
}

/// The fourth field of /proc/PID/stat; the second may hold blanks and parentheses.
fn parent(pid: &str) -> Option<Pid> {
    let stat = slurp(&format!("/proc/{pid}/stat")).ok()?;
    let after = stat.rsplitn(2, |b| *b == b')').next()?;
    let fields = std::str::from_utf8(after).ok()?;
    let number: i32 = fields.split_ascii_whitespace().nth(1)?.parse().ok()?;
    (number > 0).then(|| Pid::from_raw(number))
}

/// A process that has just gone has none.
fn command_line(pid: &str) -> Vec<u8> {
    slurp(&format!("/proc/{pid}/cmdline")).unwrap_or_default()
}

/// All of a file under /proc.
pub(super) fn slurp(path: &str) -> Result<Vec<u8>, ProbeError> {
    let file = openat(AT_FDCWD, path, OFlag::O_RDONLY, Mode::empty()).at("openat")?;
    read_up_to(&file, PROC_CAP).at("read")
}
