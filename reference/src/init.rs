//! The inner stage: runs inside the box, starts the command, reports how it ended.
//!
//! In a namespace it is pid 1, so that its exit ends all processes the command left behind, and it
//! is not dumpable, so that the command finds nothing of the launcher under `/proc/1`.

mod command;
mod command_group;
#[cfg_attr(not(target_os = "linux"), path = "unsupported/filter.rs")]
mod filter;
mod refused_routes;
#[cfg_attr(not(target_os = "linux"), path = "unsupported/survivors.rs")]
mod survivors;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use nix::unistd::Pid;

use command_group::{CommandGroup, OrphanState};

use crate::control::{self, CommandContainment, InitReport, LaunchSpec};
use crate::egress::ListenerHandoff;
use crate::mediate::{Mediation, ServedMediation};
use crate::plan::ForbiddenNames;
use crate::sys::{self, ChildEvents, ProcessHandle, ReleasePipe};

/// The hidden verb that starts the inner stage; nine numbers follow it: five descriptors, the door
/// and its port, the names that must not be created, and the log of refusals.
pub(crate) const VERB: &str = "__inner";
/// The number of an absent descriptor.
pub(crate) const NONE: RawFd = -1;

/// The first process of a pid namespace.
const FIRST: Pid = Pid::from_raw(1);

/// The command's standard streams, until it has them.
struct StandardStreams {
    stdin: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
}

impl StandardStreams {
    fn all(&self) -> [&OwnedFd; 3] {
        [&self.stdin, &self.stdout, &self.stderr]
    }
}

impl From<[OwnedFd; 3]> for StandardStreams {
    fn from([stdin, stdout, stderr]: [OwnedFd; 3]) -> Self {
        Self { stdin, stdout, stderr }
    }
}

/// The restrictions of a confined command, prepared before anything is forked.
struct CommandLockdown {
    filter: filter::Filter,
    /// The Landlock ruleset, if there is one.
    scope: Option<OwnedFd>,
}

/// Everything the stage needs to serve one command.
pub(crate) struct SandboxInit<'a> {
    launch: &'a LaunchSpec,
    lockdown: Option<CommandLockdown>,
    /// Names that must not be created.
    held: Option<&'a ForbiddenNames>,
    /// Our end of the control socket.
    pub(crate) control: OwnedFd,
    streams: StandardStreams,
    /// The file for the log of refused calls.
    ledger: Option<OwnedFd>,
    /// A descriptor of the supervisor's that is to stay open as long as this stage runs.
    lifeline: Option<RawFd>,
    /// The way out of a private network.
    door: Option<ListenerHandoff>,
}

impl<'a> SandboxInit<'a> {
    /// Prepares for `launch`.
    pub(crate) fn new(
        launch: &'a LaunchSpec,
        control: OwnedFd,
        streams: [OwnedFd; 3],
    ) -> io::Result<Self> {
        let lockdown = match launch.hold {
            CommandContainment::Namespace { scope_sockets } => {
                let scope_sockets = scope_sockets && !fault!("mechanism.abstract-sockets");
                let scope = scope_sockets.then(sys::abstract_socket_scope).transpose()?;
                Some(CommandLockdown { filter: filter::prepare()?, scope })
            }
            CommandContainment::Subreaper => None,
        };
        let (streams, held, door) = (streams.into(), None, None);
        Ok(Self { launch, lockdown, held, control, streams, ledger: None, lifeline: None, door })
    }

    /// Confines the command without namespaces: by `ruleset` and the filter. The stage keeps
    /// `lifeline` open to its end.
    pub(crate) fn ruled(
        self,
        ruleset: OwnedFd,
        offline: bool,
        lifeline: Option<RawFd>,
    ) -> io::Result<Self> {
        let filter = filter::prepare_shared(offline)?;
        let lockdown = Some(CommandLockdown { filter, scope: Some(ruleset) });
        Ok(Self { lockdown, lifeline, ..self })
    }

    /// Keeps `lifeline` open to the stage's end.
    pub(crate) fn keeping(self, lifeline: Option<RawFd>) -> Self {
        Self { lifeline, ..self }
    }

    /// Holds the names of `held` too.
    pub(crate) fn mediating(self, held: &'a ForbiddenNames) -> Self {
        Self { held: Some(held).filter(|held| !held.is_empty()), ..self }
    }

    /// Sets the way out of its network.
    pub(crate) fn with_door(self, door: Option<ListenerHandoff>) -> Self {
        Self { door, ..self }
    }

    /// Opens the door, if there is one; in its own network.
    pub(crate) fn open_door(&self) -> io::Result<()> {
        self.door.as_ref().map_or(Ok(()), ListenerHandoff::open)
    }

    /// Logs in `ledger` the calls that are refused because of them.
    pub(crate) fn noting(self, ledger: Option<OwnedFd>) -> Self {
        Self { ledger, ..self }
    }

    /// Returns whether calls of the command are decided here, which requires access to its memory.
    pub(crate) fn mediates(&self) -> bool {
        self.held.is_some()
    }

    /// Puts this stage under the command's rules about abstract sockets, where it connects in the
    /// command's place.
    fn scope_self(&self) -> io::Result<()> {
        let scope = self.lockdown.as_ref().and_then(|lockdown| lockdown.scope.as_ref());
        let reaches = self.held.is_some_and(|held| held.sockets.is_some());
        match scope.filter(|_| reaches && !fault!("mediate.unscoped")) {
            None => Ok(()),
            Some(scope) => {
                sys::gain_nothing()?;
                sys::restrict_self(scope)
            }
        }
    }

    /// The numbers of the descriptors that must stay open.
    pub(crate) fn descriptors(&self) -> Vec<RawFd> {
        let scope = self.lockdown.as_ref().and_then(|lockdown| lockdown.scope.as_ref());
        let all = std::iter::once(&self.control).chain(self.streams.all()).chain(scope);
        let door = self.door.as_ref().map(|door| door.numbers()[0]);
        let all = all.chain(&self.ledger).map(AsRawFd::as_raw_fd);
        all.chain(self.lifeline).chain(door).collect()
    }
}

/// Runs the stage; the exit code only matters where the supervisor heard nothing.
pub(crate) fn main(args: &[OsString]) -> i32 {
    match stage(args) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("refbox: inner stage: {error}");
            1
        }
    }
}

fn stage(args: &[OsString]) -> io::Result<()> {
    let [launch, control, stdin, stdout, stderr, door, port, names, ledger] = handles(args)?;
    let launch = LaunchSpec::decode(&contents(launch)?)?;
    let control = sys::adopt(control)?;
    let streams = [sys::adopt(stdin)?, sys::adopt(stdout)?, sys::adopt(stderr)?];
    let there = |number| Some(number).filter(|number| *number != NONE);
    let door = there(door).map(|door| ListenerHandoff::adopt([door, port])).transpose()?;
    let held = there(names).map(handed_over).transpose()?.unwrap_or_default();
    let ledger = there(ledger).map(sys::adopt).transpose()?;
    sys::seal_descriptors()?;
    if launch.hold != CommandContainment::Subreaper && Pid::this() != FIRST {
        // The parent process is no sandbox: nothing is run on its request.
        return Err(io::Error::other(
            "this is no sandbox: the inner stage is not its first process",
        ));
    }
    control::hand_over(&control, InitReport::Hello, &sys::open_process(Pid::this())?)?;
    let inner = SandboxInit::new(&launch, control, streams)?.with_door(door);
    let inner = inner.mediating(&held).noting(ledger);
    inner.open_door()?;
    if inner.mediates() {
        // It was given the rights to look into the command and to give up the rest.
        sys::drop_privileges(true)?;
    }
    serve(inner)
}

fn contents(number: RawFd) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::from(sys::adopt(number)?).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn handed_over(number: RawFd) -> io::Result<ForbiddenNames> {
    let held = ForbiddenNames::decode(&contents(number)?);
    held.ok_or_else(|| io::Error::other("the list of names that must not come to be is damaged"))
}

/// Serves as pid 1 of a namespace: starts the command, reports its start and its end. The exit of
/// pid 1 ends all other processes.
pub(crate) fn serve(mut inner: SandboxInit<'_>) -> io::Result<()> {
    if !fault!("mechanism.init-dumpable") {
        sys::hide_memory()?;
    }
    inner.scope_self()?;
    let children = ChildEvents::listen()?;
    let ledger = inner.ledger.take();
    let mediation = inner.held.map(|held| Mediation::prepare(held, ledger)).transpose()?;
    let starting = StartingCommand::begin(&inner, mediation.as_ref())?;
    // Only the command may hold its streams: a reader of them waits for the last holder.
    let SandboxInit { control, streams, .. } = inner;
    drop(streams);
    let Some((command, mediation)) = starting.conclude(&control, mediation)? else {
        return Ok(());
    };
    CommandGroup::led_by(command).counting(mediation).follow(&children, control.as_fd()).map(drop)
}

/// Serves as an ordinary process beside the supervisor, which keeps its own streams and socket:
/// starts the command, reports its start and its end, and ends the processes that it left.
pub(crate) fn serve_beside(inner: &SandboxInit<'_>, leash: ReleasePipe) -> io::Result<()> {
    let mut kept = inner.descriptors();
    kept.push(leash.descriptor());
    sys::close_all_but(&mut kept)?;
    nix::unistd::setsid()?;
    sys::adopt_orphans()?;
    let children = ManuallyDrop::new(ChildEvents::listen()?);
    let starting = StartingCommand::begin(inner, None)?;
    inner.streams.all().iter().for_each(|stream| leash.close_copy(stream));
    // On any failure from here on, no process of the command may stay.
    let hunt = survivors::SurvivorReaper::for_command(starting.command, inner.launch);
    match follow_beside(starting, inner, &children, leash) {
        Ok(OrphanState::Nothing) => Ok(()),
        Ok(OrphanState::Unknown) => hunt.end(),
        Err(error) => hunt.end().and(Err(error)),
    }
}

fn follow_beside(
    starting: StartingCommand,
    inner: &SandboxInit<'_>,
    children: &ChildEvents,
    leash: ReleasePipe,
) -> io::Result<OrphanState> {
    let command = starting.conclude(&inner.control, None)?;
    let control = leash.copy(&inner.control);
    // From here on nothing may be allocated, and nothing of the caller's is there.
    leash.let_go();
    match command {
        Some((command, _)) => CommandGroup::led_by(command).follow(children, control.as_fd()),
        None => Ok(OrphanState::Unknown),
    }
}

fn handles(args: &[OsString]) -> io::Result<[RawFd; 9]> {
    let numbers: Option<Vec<RawFd>> =
        args.iter().map(|arg| arg.to_str().and_then(|text| text.parse().ok())).collect();
    let numbers = numbers.unwrap_or_default();
    let numbers = numbers.try_into();
    numbers.map_err(|_| io::Error::other("this verb is for refbox itself, not for you to call"))
}

/// A command that was started, and about to be executed.
struct StartingCommand {
    command: Pid,
    process: ProcessHandle,
    /// Ends without data once the command was started.
    status: File,
}

impl StartingCommand {
    fn begin(inner: &SandboxInit<'_>, mediation: Option<&Mediation>) -> io::Result<Self> {
        let (status, failure) = io::pipe()?;
        let (status, failure) = (OwnedFd::from(status), OwnedFd::from(failure));
        control::post(&inner.control, InitReport::Starting.encode())?;
        let (command, process) = sys::spawn_child(|| command::run(inner, mediation, &failure))?;
        Ok(Self { command, process, status: status.into() })
    }

    /// Reports whether it was; no process if not.
    fn conclude(
        mut self,
        control: &OwnedFd,
        mediation: Option<Mediation>,
    ) -> io::Result<Option<(Pid, Option<ServedMediation>)>> {
        let mut packet = Vec::new();
        self.status.read_to_end(&mut packet)?;
        if packet.is_empty() {
            let served = mediation.map(Mediation::serve).transpose()?;
            control::hand_over(control, InitReport::Started, &self.process)?;
            return Ok(Some((self.command, served)));
        }
        let report = InitReport::decode(&packet)
            .ok_or_else(|| io::Error::other("the command's set-up was cut short"))?;
        control::post(control, report.encode())?;
        Ok(None)
    }
}
