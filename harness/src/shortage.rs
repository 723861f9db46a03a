//! Shortages of the host: free space, processes, descriptors, memory, namespaces, mounts, time. A
//! backend's own words about it count only where the host itself shows it. Main functions:
//! [`of_arm`] and [`before_run`].

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit};
use nix::sys::statvfs::statvfs;

use crate::backend::SpecialExit;
use crate::execution::{ProbeObservation, ProcessExit, RunReport, is_about_resource};
use crate::sys::host::{try_own_root, try_user_namespace};
use crate::sys::{self, ability::try_namespace};

/// Errnos of a probe that are about a resource.
const ERRNOS: [&str; 6] = ["ENOSPC", "EDQUOT", "ENOMEM", "EMFILE", "ENFILE", "EAGAIN"];

/// Less than this many free bytes or inodes is short.
const SPACE: u64 = 1 << 20;
const INODES: u64 = 64;
/// Less available memory than this is short.
const MEMORY: u64 = 32 << 20;
/// Fewer descriptors than these do not carry a run.
const DESCRIPTORS: u64 = 256;
/// The bytes that a run needs on the scratch file system besides the probe.
const NEEDED: u64 = 8 << 20;

/// Counters that grow when a limit is met, as they were before an arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LimitCounters {
    refused_forks: u64,
    killed_for_memory: u64,
}

impl LimitCounters {
    /// Reads the counters of the control group that this process is in.
    pub(crate) fn read() -> Self {
        Self {
            refused_forks: counter(["pids", "pids.events", "pids.events"], "max"),
            killed_for_memory: counter(
                ["memory", "memory.events", "memory.oom_control"],
                "oom_kill",
            ),
        }
    }
}

/// Returns what the host was short of during an arm whose files lie in `root`, one clause each. An
/// arm that shows no sign of it costs one statvfs(2).
pub(crate) fn of_arm(root: &Path, before: LimitCounters, runs: &[&RunReport]) -> Vec<String> {
    let mut found: Vec<String> = space(root).into_iter().collect();
    if !runs.iter().any(|run| is_suspect(run)) {
        return found;
    }
    let now = LimitCounters::read();
    if now.refused_forks > before.refused_forks {
        found.push("processes: the control group's limit refused to fork".to_owned());
    }
    if now.killed_for_memory > before.killed_for_memory {
        found.push("memory: the kernel killed a process of the control group".to_owned());
    }
    found.extend(memory());
    found.extend(processes());
    if runs.iter().any(|run| names_resource(run)) {
        found.extend(descriptors());
    }
    if runs.iter().any(|run| says_unavailable(run)) {
        found.extend(namespaces());
    }
    found
}

/// A process that was woken so much too late was frozen, or starved by a busy host.
const STALL: Duration = Duration::from_secs(2);

/// Returns that time was short, where this process did not run for `stalled`.
pub(crate) fn of_time(stalled: Duration) -> Option<String> {
    let late = stalled.as_secs_f64();
    (stalled >= STALL).then(|| format!("time: the harness did not run for {late:.1} s"))
}

/// Returns whether a run ended in a way that a short host can cause.
fn is_suspect(run: &RunReport) -> bool {
    run.exit != ProcessExit::Code(0)
        || run.observation == ProbeObservation::Missing
        || names_resource(run)
}

fn names_resource(run: &RunReport) -> bool {
    let refused = match &run.observation {
        ProbeObservation::Seen(record) => match &record.outcome {
            boxproof_probes::ActOutcome::Refused { errno, .. } => ERRNOS.contains(&errno.as_str()),
            _ => false,
        },
        _ => false,
    };
    let error = run.result.as_ref().and_then(|result| result.error.as_ref());
    let texts = [Some(run.stderr.text.as_str()), error.map(|error| error.message.as_str())];
    let fault = run.result_fault.as_deref();
    refused || texts.into_iter().chain([fault]).flatten().any(is_about_resource)
}

/// Returns whether the backend says that this host lacks what it is built of.
fn says_unavailable(run: &RunReport) -> bool {
    use boxproof_cases::protocol::ErrorKind;
    let error = run.result.as_ref().and_then(|result| result.error.as_ref());
    error.is_some_and(|error| matches!(error.kind, ErrorKind::Unavailable | ErrorKind::Setup))
        || matches!(run.special, Some(SpecialExit::SetupFailed(_)))
}

fn space(root: &Path) -> Option<String> {
    let (bytes, inodes) = free(root).ok()?;
    if bytes < SPACE {
        return Some(format!("space: {bytes} bytes are free in the scratch directory"));
    }
    (inodes < INODES).then(|| format!("inodes: {inodes} are free in the scratch directory"))
}

/// Returns the free bytes and inodes for this user.
fn free(at: &Path) -> io::Result<(u64, u64)> {
    let seen = statvfs(at)?;
    // A file system without a table of inodes says 0 of 0.
    let inodes = if seen.files() == 0 { u64::MAX } else { seen.files_available() as u64 };
    Ok((seen.blocks_available() as u64 * seen.fragment_size() as u64, inodes))
}

fn memory() -> Option<String> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    (kib << 10 < MEMORY).then(|| format!("memory: {kib} KiB are available"))
}

/// Returns the number of processes that this user may have; not read on other systems.
fn process_limit() -> Option<u64> {
    #[cfg(target_os = "linux")]
    return getrlimit(Resource::RLIMIT_NPROC).ok().map(|(soft, _)| soft);
    #[cfg(not(target_os = "linux"))]
    None
}

/// Returns a shortage when half of the allowed processes of this user are there: a program that
/// needs several at once finds none.
fn processes() -> Option<String> {
    let soft = process_limit()?;
    let count = || sys::tasks_of_user(nix::unistd::geteuid().as_raw());
    // Counting takes a look at every process: not where the limit is out of reach anyway.
    let count = (soft < 1 << 16).then(count)?;
    (count * 2 >= soft).then(|| format!("processes: {count} of {soft} are there (RLIMIT_NPROC)"))
}

fn descriptors() -> Option<String> {
    let (soft, _) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
    (soft < DESCRIPTORS).then(|| format!("descriptors: a process may have {soft} (RLIMIT_NOFILE)"))
}

/// Returns what sandboxes are built of and this host refuses: user namespaces, mounts in them, a
/// root directory of one's own.
fn namespaces() -> Option<String> {
    let (uid, gid) = (nix::unistd::geteuid().as_raw(), nix::unistd::getegid().as_raw());
    if let Err(refused) = try_namespace("user") {
        return Some(format!("namespaces: a user namespace cannot be made here: {refused}"));
    }
    if let Err(refused) = try_user_namespace(uid, gid) {
        return Some(format!("mounts: a user namespace cannot change its own here: {refused}"));
    }
    let refused = try_own_root(uid, gid).err()?;
    Some(format!("mounts: a user namespace cannot have a root of its own here: {refused}"))
}

/// A number that `controller` counts of this process's control group, in the file of version 2 or
/// else of version 1; 0 where there is none.
fn counter([controller, unified, legacy]: [&str; 3], name: &str) -> u64 {
    let own = sys::kernel_text("/proc/self/cgroup").unwrap_or_default();
    let files = [
        group_of("", &own).map(|path| Path::new("/sys/fs/cgroup").join(path).join(unified)),
        group_of(controller, &own)
            .map(|path| Path::new("/sys/fs/cgroup").join(controller).join(path).join(legacy)),
    ];
    let texts = files.into_iter().flatten().filter_map(|file| sys::kernel_text(file).ok());
    texts.filter_map(|text| number(&text, name)).next().unwrap_or(0)
}

/// The group below the mount of `controller` (none: version 2) that `own`, the text of
/// cgroups(7)'s file, names.
fn group_of(controller: &str, own: &str) -> Option<PathBuf> {
    own.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let names = fields.next()?.split(',').any(|listed| listed == controller);
        let path = fields.next()?.strip_prefix('/')?;
        names.then(|| PathBuf::from(path))
    })
}

fn number(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(key, _)| *key == name).and_then(|(_, value)| value.parse().ok())
}

/// Refuses a run that could not even clear up after itself.
///
/// # Errors
/// The shortage and its remedy.
pub(crate) fn before_scratch() -> io::Result<()> {
    let why =
        descriptors().map(|why| format!("{why}, and a run needs {DESCRIPTORS}: ulimit -n 1024"));
    why.map_or(Ok(()), |why| Err(io::Error::other(why)))
}

/// Refuses a run that this host cannot carry; `probe` is the size of the program that is copied
/// into `scratch`.
///
/// # Errors
/// The shortage and its remedy.
pub(crate) fn before_run(scratch: &Path, probe: u64) -> io::Result<()> {
    let short = |text: String| Err(io::Error::other(text));
    let at = scratch.display();
    let (bytes, inodes) = free(scratch)?;
    let needed = probe + NEEDED;
    if bytes < needed {
        return short(format!(
            "{at}: {bytes} bytes are free, and a run needs {needed}: free some, or name another \
             place by --scratch"
        ));
    }
    if inodes < INODES {
        return short(format!(
            "{at}: {inodes} inodes are free, and a run needs {INODES}: free some, or name another \
             place by --scratch"
        ));
    }
    Ok(())
}

/// Returns all that is short for a run whose files would lie in `scratch`, one sentence each.
pub(crate) fn found(scratch: &Path) -> Vec<String> {
    let refused =
        before_scratch().and_then(|()| before_run(scratch, crate::scratch::program_size()));
    refused.err().map(|error| error.to_string()).into_iter().chain(warnings()).collect()
}

/// Lists the shortages that do not keep a run from starting, one sentence each, for its first
/// lines.
pub(crate) fn warnings() -> Vec<String> {
    let found = [processes(), memory()].into_iter().flatten();
    found
        .map(|why| format!("this host is short of {why}; rows that it spoils are errors"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_both_versions_are_found() {
        let own = "8:pids:/a/b\n4:cpu,memory:/m\n1:name=systemd:/x\n0::/u\n";
        let group = |controller| group_of(controller, own).map(|path| path.display().to_string());
        assert_eq!(group("pids").as_deref(), Some("a/b"));
        assert_eq!(group("memory").as_deref(), Some("m"));
        assert_eq!(group("").as_deref(), Some("u"));
        assert_eq!(group("io"), None);
        let text = "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n";
        assert_eq!((number(text, "oom_kill"), number(text, "max")), (Some(3), None));
    }

    #[test]
    fn a_run_needs_room() {
        let directory = tempfile::tempdir().unwrap();
        assert!(before_run(directory.path(), 1).is_ok());
        let error = before_run(directory.path(), u64::MAX - NEEDED).unwrap_err().to_string();
        assert!(error.contains("--scratch"), "{error}");
    }
}
