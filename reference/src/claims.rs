//! The claims of this host, and the claims that one run enforced: one table, cut down by what
//! holds.

use std::collections::BTreeMap;

use boxproof_cases::protocol::{
    ClaimLevel, EnvBase, Mode, Network, Policy, Protect, Readable, TmpPolicy,
};

use crate::control::scopes_sockets;
use crate::mechanism::{BY_BUBBLEWRAP, PROFILES, mechanism};
use crate::policy::MechanismName;
use crate::request::RunJob;
use crate::sys;

/// The enforcer of a claim.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ClaimProvider {
    /// The supervisor and the inner stage, with any mechanism.
    Any,
    /// Confinement only.
    Box,
}

use ClaimLevel::{Enforced, Partial};
use ClaimProvider::{Any, Box as Boxed};

/// Every claim. A claim outside the table is not made.
const CLAIMS: &[(&str, ClaimProvider, ClaimLevel)] = &[
    ("fs.write", Boxed, Enforced),
    ("fs.read_only", Boxed, Enforced),
    ("fs.extra_write_roots", Boxed, Enforced),
    ("fs.deny_write", Boxed, Enforced),
    ("fs.read_deny", Boxed, Enforced),
    ("fs.read_deny_in_writable", Boxed, Enforced),
    ("fs.metadata", Boxed, Enforced),
    ("fs.mask_holds", Boxed, Enforced),
    ("tmp.private", Boxed, Enforced),
    ("shm.own", Boxed, Enforced),
    ("protect.present", Boxed, Enforced),
    ("protect.absent", Boxed, Enforced),
    ("protect.links", Boxed, Enforced),
    ("protect.nested", Boxed, Enforced),
    ("protect.git_config_paths", Boxed, Enforced),
    ("fs.deny_absent", Boxed, Enforced),
    ("fs.deny_glob", Boxed, Enforced),
    ("net.none", Boxed, Enforced),
    ("net.loopback", Boxed, Enforced),
    ("net.host", Any, Enforced),
    ("net.proxy", Boxed, Enforced),
    ("net.domains", Boxed, Enforced),
    ("unix_socket.filter", Boxed, Enforced),
    ("unix_socket.abstract", Boxed, Enforced),
    ("env.inherit", Any, Enforced),
    ("env.allowlist", Any, Enforced),
    ("env.scrub", Any, Enforced),
    ("env.scrub_values", Any, Enforced),
    ("env.injection", Boxed, Enforced),
    ("env.remove", Any, Enforced),
    ("env.launcher_hidden", Boxed, Enforced),
    ("proc.isolated", Boxed, Enforced),
    ("proc.fds_closed", Any, Enforced),
    ("proc.sys_readonly", Boxed, Enforced),
    ("kernel.no_new_privs", Boxed, Enforced),
    ("kernel.caps_dropped", Boxed, Enforced),
    ("kernel.io_uring", Boxed, Enforced),
    ("kernel.key_rings", Boxed, Enforced),
    ("kernel.vsock", Boxed, Enforced),
    ("kernel.cgroup_namespaces", Boxed, Enforced),
    ("tty.no_injection", Boxed, Enforced),
    ("tty.own", Any, Enforced),
    ("tty.resize", Any, Enforced),
    ("exec.exit_code", Any, Enforced),
    ("exec.signal_code", Any, Enforced),
    ("exec.not_found", Any, Enforced),
    ("exec.streams", Any, Enforced),
    ("exec.argv", Any, Enforced),
    ("supervise.tree_dead", Any, Enforced),
    ("supervise.term_reaches_command", Any, Enforced),
    ("supervise.launcher_death", Any, Enforced),
    ("supervise.caller_death", Any, Enforced),
    ("supervise.caller_outlived", Any, Enforced),
    ("supervise.process_group", Any, Enforced),
    ("supervise.timeout", Any, Enforced),
    ("supervise.grace", Any, Enforced),
    ("supervise.interrupt", Any, Enforced),
    ("supervise.annotations", Any, Enforced),
    ("supervise.job_control", Any, Enforced),
    ("supervise.result", Any, Enforced),
    ("supervise.spawn_error", Any, Enforced),
    ("supervise.capture", Any, Enforced),
    ("supervise.stdin_error", Any, Enforced),
    ("supervise.debug", Any, Enforced),
    ("host.refuses", Any, Enforced),
    ("host.fallback", Any, Enforced),
    ("host.covered_proc", Boxed, Enforced),
    ("fs.read_allowlist", Boxed, Enforced),
    ("fs.root_listed", Boxed, Enforced),
    ("dialect.orbit", Boxed, Enforced),
    ("dialect.caliban", Boxed, Enforced),
    ("explain.rule", Any, Enforced),
    ("explain.events", Boxed, Partial),
    ("grants.infer", Any, Enforced),
    #[cfg(all(target_os = "linux", feature = "receipts"))]
    ("receipts.actions", Any, Enforced),
    #[cfg(all(target_os = "linux", feature = "receipts"))]
    ("receipts.adr", Any, Enforced),
    #[cfg(all(target_os = "linux", feature = "receipts"))]
    ("receipts.chains", Any, Enforced),
    #[cfg(all(target_os = "linux", feature = "receipts"))]
    ("receipts.daemon", Any, Enforced),
    #[cfg(all(target_os = "linux", feature = "receipts"))]
    ("receipts.drops", Any, Enforced),
    #[cfg(all(target_os = "linux", feature = "receipts"))]
    ("receipts.pty", Any, Enforced),
    #[cfg(all(target_os = "linux", feature = "receipts"))]
    ("receipts.relay", Any, Enforced),
    #[cfg(all(target_os = "linux", feature = "receipts"))]
    ("receipts.verify", Any, Enforced),
    ("protect.reopen", Boxed, Enforced),
    ("dialect.inferoa", Boxed, Enforced),
    (BY_BUBBLEWRAP, Boxed, Enforced),
    ("policy.status", Any, Enforced),
    ("policy.executor", Any, Enforced),
    ("policy.check", Any, Enforced),
    ("policy.effective", Any, Enforced),
    ("policy.validate", Any, Enforced),
    ("compile.bubblewrap", Any, Partial),
    ("compile.seatbelt", Any, Partial),
];

/// Claims that require the step `mediate`.
pub(crate) const MEDIATED: [&str; 9] = [
    BY_BUBBLEWRAP,
    "explain.events",
    "protect.absent",
    "protect.links",
    "protect.reopen",
    "fs.deny_absent",
    "fs.deny_glob",
    PROFILES,
    "dialect.inferoa",
];

/// The system is macOS, on which no claim was ever verified.
pub(crate) const ON_MACOS: bool = cfg!(target_os = "macos");

/// Limits of every mechanism.
pub(crate) const LIMITS: [&str; 11] = [
    "A hard link made before the run reaches the same file under its other name.",
    "A second mount of the same file outside the view is not masked.",
    "Protected and denied names that the host itself makes during a run are not held: what is in them can be read and written.",
    "Protected names are those directly below the workspace and the writable roots; in the directories below these, repositories that exist at the start are protected as well, and nothing else.",
    "/run holds nothing inside but links to what can be read.",
    "A denied path that is a symbolic link in a writable root is refused.",
    "Directories above a denied path inside a writable root are mount points, and so is a root that lies in no other: renames and hard links across them fail (EXDEV, EBUSY).",
    "Run by uid 0 the command has no capabilities: it can give no file another owner, and files of other users are what their mode says.",
    "git takes the mask over a tracked read-denied file for a change and cannot add it; commits by path work, and `git update-index --assume-unchanged` outside lets git look past it.",
    "Paths are looked up before the sandbox is built; a path that another process replaces in between is not noticed.",
    "Without a pid namespace (mode unconfined) a SIGKILL to the inner stage ends the command but leaves running what the command started.",
];

/// Limits of mechanisms with the step `mediate`.
pub(crate) const MEDIATE_LIMITS: [&str; 4] = [
    "A protected name that is a link is kept, though its own times and owner can be changed.",
    "While names that do not exist are held: no openat2, no Landlock domains and no user namespaces of the command's own, no core files; creating in a directory that was inherited as a descriptor may be refused.",
    "A deny pattern speaks of real paths. Where it has a wildcard directory before its end, no symbolic link is made under a name that this directory could have, and a directory that holds a name which would match at its new place is not moved there (EXDEV); movers then copy, and every copy is asked for.",
    "Events come from calls with a path that change something, from those that reach an address, and from the proxy; refused reads, and what an open descriptor decides, are events as far as the output of the command tells of them.",
];

/// The note on a run that is shown the host's `/proc`.
pub(crate) const HOST_PROC: &str = "this host allows no /proc of the sandbox's own, so the host's is \
    shown, read-only: which processes, mounts and sockets it has can be seen, no more of them";

/// Returns the claims of `name`.
pub(crate) fn claims(name: MechanismName) -> impl Iterator<Item = (&'static str, ClaimLevel)> {
    let mechanism = mechanism(name);
    let all = name != MechanismName::Unconfined;
    let kept = CLAIMS.iter().filter(move |(_, by, _)| all || *by == Any);
    let all = kept.map(move |(claim, by, level)| {
        let own = mechanism.own_level(claim, *by == Boxed);
        let level = own.unwrap_or_else(|| match *claim {
            "unix_socket.abstract" if !scopes_sockets() => Partial,
            "unix_socket.filter" if !sys::tells_sockets() => Partial,
            claim if MEDIATED.contains(&claim) && !mechanism.mediates() => ClaimLevel::None,
            _ => *level,
        });
        (*claim, level)
    });
    all.map(|(name, level)| (name, if ON_MACOS && level == Enforced { Partial } else { level }))
}

/// The claim that fails where the host's processes are shown.
pub(crate) const OWN_PROC: &str = "proc.isolated";

/// Returns the claims that a run of `order` by `mechanism` enforced; `shows_host` where it shows
/// the host's processes.
pub(crate) fn enforced(
    mechanism: MechanismName,
    order: &RunJob,
    shows_host: bool,
) -> BTreeMap<String, ClaimLevel> {
    let RunJob { policy, law, caller, .. } = order;
    let asked = claims(mechanism).filter(|(name, _)| match (*name, law) {
        ("dialect.orbit", law) => law.is_some(),
        // The profile says how much is written.
        ("fs.read_only", Some(_)) => false,
        ("supervise.caller_death", _) => caller.is_some(),
        ("supervise.caller_outlived", _) => caller.is_none(),
        (name, _) => is_asked(name, policy),
    });
    let mut map: BTreeMap<String, ClaimLevel> =
        asked.map(|(name, level)| (name.to_owned(), level)).collect();
    if let Some(level) = map.get_mut(OWN_PROC).filter(|_| shows_host) {
        *level = ClaimLevel::None;
    }
    if let Some(level) = map.get_mut("unix_socket.abstract") {
        // A network namespace has only its own abstract sockets, with or without Landlock.
        let alone = policy.network != Network::Host {};
        *level = if alone || scopes_sockets() { Enforced } else { ClaimLevel::None };
    }
    map
}

fn is_asked(capability: &str, policy: &Policy) -> bool {
    match capability {
        "fs.read_only" => policy.mode == Mode::ReadOnly,
        "fs.extra_write_roots" => !policy.writable.is_empty(),
        "fs.deny_write" => !policy.deny_write.is_empty(),
        "fs.deny_absent" => !policy.deny_write.is_empty() || !policy.deny_read.is_empty(),
        "fs.deny_glob" => !policy.deny_write_globs.is_empty() || !policy.deny_read_globs.is_empty(),
        "fs.read_deny" | "fs.read_deny_in_writable" => !policy.deny_read.is_empty(),
        "protect.reopen" => !policy.reopen.is_empty(),
        name if name.starts_with("protect.") => policy.protect == Protect::Metadata,
        "tmp.private" => policy.tmp == TmpPolicy::Private,
        "shm.own" => policy.tmp != TmpPolicy::None,
        "net.none" => policy.network == Network::None {},
        "net.loopback" => policy.network != Network::Host {},
        "net.proxy" => matches!(policy.network, Network::Proxy { .. }),
        "net.domains" => matches!(policy.network, Network::Domains { .. }),
        "net.host" => policy.network == Network::Host {},
        "env.inherit" => policy.env.base == EnvBase::Inherit,
        "env.allowlist" => policy.env.base == EnvBase::Clear,
        "env.scrub" | "env.remove" => policy.env.base == EnvBase::Inherit && policy.env.scrub,
        "env.injection" => policy.env.base == EnvBase::Inherit && policy.env.scrub,
        "env.scrub_values" => policy.env.base == EnvBase::Inherit && policy.env.scrub_values,
        "fs.read_allowlist" | "fs.root_listed" => policy.readable != Readable::All,
        // Answered, not enforced.
        "host.refuses" | "host.fallback" | "host.covered_proc" => false,
        name if name.starts_with("policy.") || name.starts_with("receipts.") => false,
        // The language of an order's rules is not known here.
        "dialect.caliban" | "dialect.inferoa" | BY_BUBBLEWRAP => false,
        "compile.bubblewrap" | "compile.seatbelt" => false,
        _ => true,
    }
}
