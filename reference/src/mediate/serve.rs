//! The start of mediation: from the plan's names to rules, from the listener to workers.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, open, openat2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::stat::{Mode, SFlag, fstat};

use super::broker::{BrokerParts, CallAnswer, HeldNames, SyscallBroker};
use super::caller::CallingThread;
use super::calls::MediatedCall;
use super::filter;
use super::mounts::{MountTable, bytes};
use super::open::OpenCall;
use super::refusal_log::RefusalLog;
use super::rules::{AbsenceRule, AbsenceRules, DevicePath, PatternAnchor, ProfiledSubtree};
use super::socket_register::SocketRegister;
use super::walk::kind;
use crate::control;
use crate::plan::{
    AbsenceReason, AbsentName, ForbiddenNames, FuturePattern, ObservedCalls, ProfileBound,
};
use crate::policy::path_glob::GlobMatch;
use crate::sys::notify::{self, SeccompNotification, Step};

/// Threads that serve calls.
const WORKERS: usize = 2;
/// Bytes of stack of each: paths lie on the heap.
const STACK: usize = 256 << 10;

/// Everything it takes, prepared before the command is started.
#[derive(Debug)]
pub(crate) struct Mediation {
    program: Vec<Step>,
    /// Names are held.
    names: bool,
    /// The socket pair by which the command sends the listener.
    sender: OwnedFd,
    receiver: OwnedFd,
    parts: BrokerParts,
}

impl Mediation {
    /// Prepares the rules for `held`, in the view of this process.
    pub(crate) fn prepare(held: &ForbiddenNames, ledger: Option<OwnedFd>) -> io::Result<Self> {
        let ledger = ledger.map(RefusalLog::new);
        let mounts = MountTable::read()?;
        let root = open("/", OFlag::O_PATH | OFlag::O_CLOEXEC, Mode::empty())?;
        let rules: Vec<AbsenceRule> =
            held.names.iter().map(|name| rule(name, &mounts)).collect::<Result<_, _>>()?;
        let mut anchors = Vec::new();
        for later in &held.globs {
            anchors.extend(self::anchors(later, &mounts)?);
        }
        let estates = match &held.profile {
            Some(profile) => estates(profile, &mounts)?,
            None => Vec::new(),
        };
        let free: Vec<DevicePath> =
            held.free.iter().map(|path| place(path, &mounts)).collect::<io::Result<_>>()?;
        let free = if fault!("mediate.free-places") { Vec::new() } else { free };
        let rules = AbsenceRules::new(rules, anchors, estates).with_free(free);
        let (sender, receiver) = control::pair()?;
        let names = held.holds_names();
        let sockets = held.sockets.as_deref().map(|listed| SocketRegister::new(listed, names));
        let program = filter::program(held);
        let holds = match (names, held.keeps()) {
            (false, _) => HeldNames::Nothing,
            (true, false) => HeldNames::Made,
            (true, true) => HeldNames::MadeAndRemoved,
        };
        let observes = held.observed != ObservedCalls::Nothing;
        let parts = BrokerParts { rules, mounts, sockets, ledger, root, holds, observes };
        Ok(Self { program, names, sender, receiver, parts })
    }

    /// Puts this process, which is to be the command, under the rules. Files that the kernel makes
    /// of a dying process have names as well, so there are none where names are held.
    pub(crate) fn hold(&self) -> nix::Result<()> {
        if self.names {
            setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
        }
        let listener = notify::listen(&self.program)?;
        if self.parts.sockets.is_none() {
            return notify::pass_on(&self.sender, &listener, 0);
        }
        notify::pass_on(&self.sender, &listener, filter::UNASKED)?;
        notify::restrict(&filter::all_asked())
    }

    /// Serves the calls of the command, which was started, until this process ends.
    pub(crate) fn serve(self) -> io::Result<ServedMediation> {
        let Self { sender, receiver, parts, .. } = self;
        drop(sender);
        // It was sent before the command was executed, which we waited for.
        let Some(listener) = notify::passed_on(&receiver)? else {
            return Err(io::Error::other("the listener did not come"));
        };
        // Where the kernel cannot, more callers are interrupted before they are heard.
        let _as_ever = notify::wake_beside_callers(listener.as_fd());
        let desk = Arc::new(SyscallBroker::new(listener, parts));
        for number in 0..WORKERS {
            let desk = Arc::clone(&desk);
            let worker =
                std::thread::Builder::new().stack_size(STACK).name(format!("names{number}"));
            worker.spawn(move || work(&desk, number == 0))?;
        }
        Ok(ServedMediation(desk))
    }
}

/// Mediation that goes on.
#[derive(Debug)]
pub(crate) struct ServedMediation(Arc<SyscallBroker>);

impl ServedMediation {
    /// Tells, when the command has failed, what became of the processes that were refused something.
    pub(crate) fn conclude(&self) {
        if let Some(ledger) = &self.0.ledger {
            ledger.conclude();
        }
    }
}

/// Returns the rule for `name`. An existing object there is a link: it is not followed.
fn rule(name: &AbsentName, mounts: &MountTable) -> io::Result<AbsenceRule> {
    let place = match (name.by, name.path.parent(), name.path.file_name()) {
        (AbsenceReason::Link, Some(directory), Some(own)) => {
            let DevicePath { device, path } = place(directory, mounts)?;
            DevicePath { device, path: path.join(own) }
        }
        _ => place(&name.path, mounts)?,
    };
    Ok(AbsenceRule { place, folds: name.folds })
}

/// The pattern from its beginning on, and from every mount below that.
fn anchors(later: &FuturePattern, mounts: &MountTable) -> io::Result<Vec<PatternAnchor>> {
    let FuturePattern { glob, folds, .. } = later;
    let anchor = |root, start| PatternAnchor { root, glob: glob.clone(), start, folds: *folds };
    let mut all = vec![anchor(place(glob.base(), mounts)?, glob.start())];
    for (below, root) in mounts.below(glob.base()) {
        let (said, start) = glob.match_names(glob.start(), below.iter(), *folds);
        all.extend((said != GlobMatch::Nothing).then(|| anchor(root, start)));
    }
    Ok(all)
}

/// The profile from its workspace on, and from every mount in that.
fn estates(profile: &ProfileBound, mounts: &MountTable) -> io::Result<Vec<ProfiledSubtree>> {
    let ProfileBound { root, law } = profile;
    let estate = |root, way| ProfiledSubtree { root, way, law: Arc::clone(law) };
    let below = mounts.below(root).map(|(way, root)| estate(root, way));
    let top = estate(place(root, mounts)?, PathBuf::new());
    Ok(std::iter::once(top).chain(below).collect())
}

/// Returns the place of `path`, from its innermost directory that exists in the view.
fn place(path: &Path, mounts: &MountTable) -> io::Result<DevicePath> {
    let unknown = || io::Error::other(format!("{} lies on no known mount", path.display()));
    let (directory, rest) = innermost(path)?;
    let place = mounts.place(directory.as_fd()).ok_or_else(unknown)?;
    let path = if rest.as_os_str().is_empty() { place.path } else { place.path.join(rest) };
    Ok(DevicePath { device: place.device, path })
}

fn innermost(path: &Path) -> nix::Result<(OwnedFd, PathBuf)> {
    for directory in path.ancestors() {
        let name = CString::new(bytes(directory)).map_err(|_| Errno::EINVAL)?;
        let how = OpenHow::new()
            .flags(OFlag::O_PATH | OFlag::O_CLOEXEC | OFlag::O_DIRECTORY)
            .resolve(ResolveFlag::RESOLVE_NO_SYMLINKS);
        match openat2(nix::fcntl::AT_FDCWD, name.as_c_str(), how) {
            Err(Errno::ENOENT | Errno::ENOTDIR) => {}
            Err(errno) => return Err(errno),
            Ok(found) => {
                let rest = path.strip_prefix(directory).map_err(|_| Errno::EINVAL)?;
                return Ok((found, rest.to_owned()));
            }
        }
    }
    Err(Errno::ENOENT)
}

/// Serves calls for ever. A worker that fails ends the whole box: otherwise a call would stay
/// unanswered.
fn work(desk: &Arc<SyscallBroker>, is_first: bool) {
    // Its own umask and working directory. Where the host's filter refuses that, as those of containers
    // do, one worker alone has those of the process, which nothing else here uses.
    if unshare(CloneFlags::CLONE_FS).is_err() && !is_first {
        return;
    }
    let end = SandboxEnded;
    let _as_ever = notify::take_short_turns();
    loop {
        match notify::next(desk.listener.as_fd()) {
            Ok(notice) => serve(desk, &notice),
            // The command and all of its processes have ended: nothing is left to answer, and the kernel
            // lets no thread wait any more.
            Err(Errno::ENOENT) if notify::is_abandoned(desk.listener.as_fd()) => {
                return end.disarm();
            }
            // The caller was killed before we heard of it.
            Err(Errno::ENOENT | Errno::EINTR) => {}
            Err(_) => return,
        }
    }
}

fn serve(desk: &Arc<SyscallBroker>, notice: &SeccompNotification) {
    let caller = CallingThread::from_notice(notice, desk.listener.as_fd(), desk.foreign);
    let call = MediatedCall::decode_notice(notice).filter(|call| call.is_held(desk.holds));
    let result = match call {
        // It goes on by itself: the look at it decides nothing.
        None if desk.observes => Ok(CallAnswer::OwnCall),
        None => Err(Errno::ENOSYS),
        Some(MediatedCall::Open { at, flags, mode }) => {
            desk.open(caller, notice.id, at, OpenCall::new(flags, mode))
        }
        Some(call) => match desk.reach(caller, notice.id, call) {
            None => desk.act(caller, call),
            Some(reached) => reached,
        },
    };
    desk.note_progress(caller, call, &result);
    // What is carried out here is refused by the kernel as the caller's own call is.
    if call.is_none() || matches!(result, Err(Errno::EROFS | Errno::EACCES)) {
        desk.observe(caller, notice, call.is_none());
    }
    desk.answer(notice.id, result);
}

impl SyscallBroker {
    /// Notes for the explanation that a call which was carried out here made something.
    fn note_progress(
        &self,
        caller: CallingThread<'_>,
        call: Option<MediatedCall>,
        result: &nix::Result<CallAnswer>,
    ) {
        let Some(ledger) = self.ledger.as_ref().filter(|ledger| ledger.has_told()) else { return };
        let is_file =
            |file: &OwnedFd| fstat(file).is_ok_and(|found| kind(&found) == SFlag::S_IFREG);
        let made = match (call, result) {
            (Some(MediatedCall::Open { .. }), Ok(CallAnswer::Descriptor(file, _))) => is_file(file),
            (Some(call), Ok(CallAnswer::Done)) => call.makes_name(),
            _ => false,
        };
        if made {
            ledger.note_progress(caller);
        }
    }
}

struct SandboxEnded;

impl SandboxEnded {
    /// Leaves this process as it is, which has calls to serve no longer.
    fn disarm(self) {
        std::mem::forget(self);
    }
}

impl Drop for SandboxEnded {
    fn drop(&mut self) {
        notify::leave(1);
    }
}
