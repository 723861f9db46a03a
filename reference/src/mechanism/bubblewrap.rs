//! The plan rendered as arguments of `bwrap`, which then executes the inner stage as pid 1.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use boxproof_cases::protocol::{ClaimLevel, ErrorKind};
use nix::unistd::geteuid;

mod locate;
mod version;

use super::helper_program::{HelperHandles, HelperProgram, inner_words};
use super::{InitInputs, Mechanism, MechanismFailure, PreparedRun, unprepared, userns};
use crate::control::{CommandContainment, RunningSandbox};
use crate::egress::EgressRoute;
use crate::error::Refusal;
use crate::plan::{AbsenceReason, FuturePattern, Plan, View, ViewStep};
use crate::request::RunJob;
use crate::sys;

/// `bwrap` reads no more arguments than this (its MAX_ARGS).
const MAX_ARGUMENTS: usize = 9000;
/// Namespaces and privileges; the same for every policy.
const FIXED: [&str; 9] = [
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--die-with-parent",
    "--as-pid-1",
    "--cap-drop",
    "ALL",
];

/// Capabilities that the inner stage keeps until it serves, where it decides on names.
const LOOKING: [&str; 4] = ["--cap-add", "CAP_SYS_PTRACE", "--cap-add", "CAP_SETPCAP"];

/// The program `bwrap`.
pub(crate) struct BubblewrapMechanism;

impl Mechanism for BubblewrapMechanism {
    fn prepare<'a>(
        &self,
        job: &'a RunJob,
        plan: &'a Plan,
    ) -> Result<Box<dyn PreparedRun + 'a>, Refusal> {
        let untrusted = untrusted(job);
        Ok(Box::new(BubblewrapRun { job, plan, view: super::view(plan)?, untrusted }))
    }

    fn own_level(&self, claim: &str, _boxed: bool) -> Option<ClaimLevel> {
        match claim {
            // Its devices are on writable mounts, and those of the host belong to uid 0.
            "fs.metadata" if geteuid().is_root() => Some(ClaimLevel::Partial),
            super::PROFILES => Some(ClaimLevel::None),
            _ => None,
        }
    }

    fn limits(&self) -> &'static [&'static str] {
        &[
            "A mount that the host makes during the run shows inside, as writable as the host made it, where the host's mounts are shared.",
            "Run by uid 0 the command can change mode and times of the devices in /dev, which are the host's.",
            "A profile that grants modification is refused: names yet to come are not held against it.",
        ]
    }

    fn mediates(&self) -> bool {
        true
    }
}

/// A run by `bwrap`.
struct BubblewrapRun<'a> {
    job: &'a RunJob,
    plan: &'a Plan,
    view: &'a View,
    /// Directories whose programs must not be run unconfined.
    untrusted: Vec<PathBuf>,
}

impl PreparedRun for BubblewrapRun<'_> {
    fn plan(&self) -> Cow<'_, Plan> {
        Cow::Borrowed(self.plan)
    }

    fn argv(&self, _plan: &Plan) -> Result<Vec<String>, Refusal> {
        Ok(self.job.run.command.to_argv())
    }

    fn containment(&self) -> CommandContainment {
        CommandContainment::namespace()
    }

    fn start(&self, prefix: &[&str], inputs: InitInputs<'_>) -> Result<RunningSandbox, Refusal> {
        let InitInputs { launch, control, streams, door, ledger } = inputs;
        let launch = sys::memory_file(&launch.encode()).map_err(unprepared)?;
        let held =
            ledger.map(|ledger| Ok((sys::memory_file(&self.view.mediate.encode())?, ledger)));
        let held = held.filter(|_| !fault!("bubblewrap.absent-names"));
        let held = held.transpose().map_err(unprepared)?;
        let handles = HelperHandles { launch, control, streams, door, held };
        let program = helper(prefix, handles, self.view, &self.untrusted)?;
        program.start().map_err(|error| unstartable(&self.untrusted, &error))
    }

    fn explain(&self, failure: MechanismFailure<'_>) -> Refusal {
        match failure {
            MechanismFailure::Ended(said, ended) => explain(said, ended, &self.untrusted),
            MechanismFailure::At(..) => failure.refusal(),
        }
    }
}

/// Returns the directories that an earlier run could write: no helper of ours is taken from there.
fn untrusted(job: &RunJob) -> Vec<PathBuf> {
    let policy = &job.policy;
    let roots = std::iter::once(&policy.workspace).chain(&policy.writable);
    let roots = roots.filter(|_| !fault!("bubblewrap.helper-in-workspace"));
    roots.filter_map(|root| root.as_path().canonicalize().ok()).collect()
}

/// The helper for `view`; `untrusted` are directories whose programs must not be run unconfined.
fn helper(
    prefix: &[&str],
    handles: HelperHandles,
    view: &View,
    untrusted: &[PathBuf],
) -> Result<HelperProgram, Refusal> {
    can_ask(view)?;
    can_open(view)?;
    let program = locate::program(untrusted)?;
    let masks = view.steps.iter().filter(|step| step.masks_one_file()).count();
    let masks: Vec<OwnedFd> = (0..masks).map(|_| empty()).collect::<Result<_, _>>()?;
    let numbers: Vec<RawFd> = masks.iter().map(AsRawFd::as_raw_fd).collect();
    let list = arguments(view, &numbers);
    if list.len() > MAX_ARGUMENTS {
        return Err(Refusal::unsupported(format!(
            "the policy needs {} arguments of bwrap, which reads {MAX_ARGUMENTS} at most; deny directories instead of single files",
            list.len()
        )));
    }
    let list: OwnedFd =
        sys::memory_file(&joined(&list)).map_err(|e| Refusal::os("bwrap arguments", e))?.into();
    let own = sys::own_executable().map_err(|error| Refusal::os("/proc/self/exe", error))?;
    let mut command = Command::new(program);
    command.arg("--args").arg(list.as_raw_fd().to_string()).arg("--");
    command.arg(format!("/proc/self/fd/{}", own.as_raw_fd()));
    command.args(inner_words(prefix, &handles));
    let mut kept = [list.as_raw_fd(), own.as_raw_fd()].to_vec();
    kept.extend(handles.descriptors());
    kept.extend(numbers);
    let owners: Vec<OwnedFd> = masks.into_iter().chain([list, own]).collect();
    Ok(HelperProgram { command, kept, owners: (handles, owners), namespaced: true })
}

/// The words that run a command under `view` without us: no inner stage, no open descriptors.
/// `nested` asks for no user namespace, where a container grants the others alone.
pub(crate) fn standalone(view: &View, cwd: &Path, nested: bool) -> Result<Vec<OsString>, Refusal> {
    can_hold(view)?;
    let mut list = vec![OsString::from(locate::PROGRAM)];
    list.extend((!fault!("compile.session")).then(|| "--new-session".into()));
    let left_out = |word: &str| {
        word == "--as-pid-1" || nested && ["--unshare-user", "--unshare-cgroup-try"].contains(&word)
    };
    list.extend(FIXED.iter().filter(|word| !left_out(word)).map(OsString::from));
    if !view.host_network && !fault!("compile.bubblewrap-network") {
        list.push("--unshare-net".into());
    }
    for step in &view.steps {
        match step {
            ViewStep::MaskFile(_) if fault!("compile.bubblewrap-masks") => {}
            // A device that cannot be opened there, as devices are not let in.
            ViewStep::MaskFile(path) | ViewStep::MaskSocket(path) => {
                list.extend(["--ro-bind".into(), "/dev/null".into(), path.into()]);
            }
            // The modes of directories on the host that uses the text are not known.
            ViewStep::Directory(_) => {}
            step => list.extend(rendered(step, -1)),
        }
    }
    list.extend(["--chdir".into(), cwd.into(), "--".into()]);
    if list.len() > MAX_ARGUMENTS {
        return Err(Refusal::unsupported(format!(
            "the policy needs {} arguments of bwrap, which reads {MAX_ARGUMENTS} at most; deny directories instead of single files",
            list.len()
        )));
    }
    Ok(list)
}

/// The door is opened by the inner stage, which `bwrap` leaves no capability for lower ports.
fn can_open(view: &View) -> Result<(), Refusal> {
    match view.egress.as_ref().map(EgressRoute::port) {
        Some(port @ ..LOWEST_PORT) => Err(Refusal::unsupported(format!(
            "policy.network.proxy.port: {port} is below {LOWEST_PORT}, and bubblewrap lets no program listen there; let the proxy listen at another port, or use the mechanism namespaces"
        ))),
        _ => Ok(()),
    }
}

/// The lowest port that every process may bind in a new network namespace.
const LOWEST_PORT: u16 = 1024;

/// Refuses a profile: the inner stage decides on new names, but not by a profile.
fn can_ask(view: &View) -> Result<(), Refusal> {
    match view.mediate.profile {
        _ if fault!("bubblewrap.profile") => Ok(()),
        None => Ok(()),
        Some(_) => Err(Refusal::unsupported(
            "the profile decides on names yet to come, which the mechanism bubblewrap does not ask it about; use the mechanism namespaces",
        )),
    }
}

/// Refuses names that do not exist: without an inner stage they cannot be held.
fn can_hold(view: &View) -> Result<(), Refusal> {
    if fault!("compile.bubblewrap-absent") {
        return Ok(());
    }
    let refused = |what: String, remedy: &str| {
        Err(Refusal::unsupported(format!(
            "the policy denies {what}: bubblewrap has no step mediate that could hold it; {remedy}, or use the mechanism namespaces"
        )))
    };
    if let Some(name) = view
        .mediate
        .names
        .iter()
        .find(|name| matches!(name.by, AbsenceReason::Deny | AbsenceReason::Hide))
    {
        return refused(format!("{}, which does not exist", name.path.display()), "create it");
    }
    if let Some(name) = view.mediate.names.iter().find(|name| name.by == AbsenceReason::Link) {
        return Err(Refusal::unsupported(format!(
            "policy.protect: {} is a symbolic link in a writable root, and bubblewrap has no step mediate that could hold it; replace it by what it leads to, or use the mechanism namespaces",
            name.path.display()
        )));
    }
    if view.mediate.profile.is_some() {
        return refused("names yet to come by a profile".to_owned(), "grant no modify rule");
    }
    match view.mediate.globs.first() {
        Some(FuturePattern { glob, .. }) => {
            refused(format!("{glob}, which names yet to come may match"), "deny single paths")
        }
        None => Ok(()),
    }
}

/// The arguments for `view`; `masks` are descriptors of empty files, one for each masked file.
fn arguments(view: &View, masks: &[RawFd]) -> Vec<OsString> {
    let fixed = FIXED.iter().filter(|word| !is_left_out(word));
    let mut list: Vec<OsString> = fixed.map(OsString::from).collect();
    if !view.host_network && !fault!("bubblewrap.network") {
        list.push("--unshare-net".into());
    }
    if !view.mediate.is_empty() && !fault!("bubblewrap.looking") {
        list.extend(LOOKING.iter().map(OsString::from));
    }
    let mut masks = masks.iter();
    for step in &view.steps {
        let mask = step.masks_one_file().then(|| masks.next()).flatten();
        list.extend(rendered(step, mask.copied().unwrap_or(-1)));
    }
    list
}

/// Returns whether a fault leaves `word` out.
fn is_left_out(word: &str) -> bool {
    match word {
        "--unshare-ipc" => fault!("bubblewrap.ipc"),
        "--unshare-cgroup-try" => fault!("bubblewrap.cgroup"),
        "--unshare-uts" => fault!("bubblewrap.uts"),
        "--die-with-parent" => fault!("bubblewrap.launcher-tie"),
        _ => false,
    }
}

fn rendered(step: &ViewStep, mask: RawFd) -> Vec<OsString> {
    let words = |before: &[&str], path: &Path, times: usize| -> Vec<OsString> {
        let before = before.iter().map(OsString::from);
        before.chain(std::iter::repeat_n(path.as_os_str().to_owned(), times)).collect()
    };
    match step {
        ViewStep::MaskFile(_) if fault!("bubblewrap.denied-files") => Vec::new(),
        ViewStep::MaskSocket(_) if fault!("bubblewrap.sockets") => Vec::new(),
        ViewStep::MaskDirectory(_) if fault!("bubblewrap.denied-directories") => Vec::new(),
        ViewStep::Seal(_) if fault!("bubblewrap.seals") => Vec::new(),
        ViewStep::Tmpfs(path, _) if fault!("bubblewrap.host-temp") && step.is_temp() => {
            words(&["--bind"], path, 2)
        }
        ViewStep::BindReadOnly(path)
            if fault!("bubblewrap.read-only-binds") && path != Path::new("/") =>
        {
            words(&["--bind"], path, 2)
        }
        ViewStep::Bind(path) => words(&["--bind"], path, 2),
        ViewStep::BindReadOnly(path) => words(&["--ro-bind"], path, 2),
        ViewStep::MaskFile(path) => {
            words(&["--perms", "0000", "--ro-bind-data", &mask.to_string()], path, 1)
        }
        // One that may be written to, were it no mount: then connecting is refused, as where no one listens.
        ViewStep::MaskSocket(path) => {
            words(&["--perms", "0222", "--ro-bind-data", &mask.to_string()], path, 1)
        }
        ViewStep::MaskDirectory(path) => {
            let mut list = words(&["--perms", "0000", "--tmpfs"], path, 1);
            list.extend(words(&["--remount-ro"], path, 1));
            list
        }
        ViewStep::Tmpfs(path, mode) => {
            words(&["--perms", &format!("{mode:04o}"), "--tmpfs"], path, 1)
        }
        // The program makes a directory by itself where the host has none at the path.
        ViewStep::Directory(path) => std::fs::symlink_metadata(path).map_or_else(
            |_| Vec::new(),
            |found| {
                let mode = format!("{:04o}", found.mode() & 0o7777);
                let made = words(&["--dir"], path, 1);
                made.into_iter().chain(words(&["--chmod", &mode], path, 1)).collect()
            },
        ),
        ViewStep::Link(path, says) => {
            let mut list = words(&["--symlink"], says, 1);
            list.push(path.into());
            list
        }
        ViewStep::Seal(path) => words(&["--remount-ro"], path, 1),
        ViewStep::Dev => words(&["--dev"], Path::new("/dev"), 1),
        ViewStep::Proc => words(&["--proc"], Path::new("/proc"), 1),
        ViewStep::HostProc => words(&["--ro-bind"], Path::new("/proc"), 2),
    }
}

fn joined(list: &[OsString]) -> Vec<u8> {
    list.iter().flat_map(|word| word.as_bytes().iter().copied().chain([0])).collect()
}

fn empty() -> Result<OwnedFd, Refusal> {
    File::open("/dev/null").map(OwnedFd::from).map_err(|error| {
        Refusal::os("a mask for each denied file (raise `ulimit -n`, or deny directories)", error)
    })
}

/// Explains a failure to start the program.
fn unstartable(untrusted: &[PathBuf], error: &std::io::Error) -> Refusal {
    let program = locate::program(untrusted).map_or_else(
        |refusal| refusal.message,
        |program| format!("{} cannot be executed: {error}", program.display()),
    );
    Refusal::new(ErrorKind::Unavailable, format!("{program}; {REMEDY}"))
}

const REMEDY: &str = "install the package bubblewrap, or name another program by REFBOX_BWRAP";

/// Explains a failed start from the message of `bwrap`, or from its exit status where it wrote
/// none.
fn explain(said: Option<&str>, ended: &str, untrusted: &[PathBuf]) -> Refusal {
    let said = said.map(|words| words.trim().replace('\n', "; "));
    let denied = ["No permissions to creat", "reating new namespace failed", "setting up uid map"];
    let words = said.as_deref().unwrap_or(ended);
    if denied.iter().any(|part| words.contains(part)) {
        let remedy = locate::set_user_id(untrusted).into_iter().chain([userns::remedy()]);
        let remedy = remedy.collect::<Vec<_>>().join("; ");
        return Refusal::new(
            ErrorKind::Unavailable,
            format!("user namespaces are refused on this host ({words}); {remedy}"),
        );
    }
    if words.contains("Can't mount proc") {
        let what =
            format!("a proc of its own is refused on this host ({words}); {}", userns::MASKED_PROC);
        return Refusal::no_proc(what);
    }
    // Its version is read only after a failure: a run that works does not need it.
    let fault = locate::program(untrusted).and_then(|program| version::check(&program));
    match (fault, said.is_some()) {
        (Err(refusal), _) => refusal,
        (Ok(()), true) => Refusal::setup(format!("the sandbox could not be set up: {words}")),
        (Ok(()), false) => Refusal::new(
            ErrorKind::Unavailable,
            format!("bwrap started no sandbox ({ended}): it is not what it says; {REMEDY}"),
        ),
    }
}

#[cfg(test)]
mod tests;
