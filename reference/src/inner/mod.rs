//! The inner stage: runs inside the box, starts the command, reports how it ended.
//!
//! In a namespace it is pid 1, so that its exit ends whatever the command left behind, and it is
//! not dumpable, so that the command finds nothing of the launcher under `/proc/1`.

mod command;
mod filter;
mod group;
mod survivors;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Pid;

use group::Group;

use crate::control::{self, Report};
use crate::launch::{Hold, Launch};
use crate::mediate::Mediation;
use crate::plan::Held;
use crate::sys;

/// The hidden verb that starts the inner stage; five descriptor numbers follow it.
pub(crate) const VERB: &str = "__inner";

/// The command's standard streams, until it has them.
struct Streams {
    stdin: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
}

impl From<[OwnedFd; 3]> for Streams {
    fn from([stdin, stdout, stderr]: [OwnedFd; 3]) -> Self {
        Self { stdin, stdout, stderr }
    }
}

/// What the command is put under in a namespace, prepared before anything is forked.
struct Lockdown {
    filter: filter::Filter,
    /// The Landlock ruleset, where the kernel has scopes.
    scope: Option<OwnedFd>,
}

/// Everything the stage needs to serve one command.
pub(crate) struct Inner<'a> {
    launch: &'a Launch,
    lockdown: Option<Lockdown>,
    /// Names that must not come to be.
    held: Option<&'a Held>,
    /// Our end of the control socket.
    pub(crate) control: OwnedFd,
    streams: Streams,
}

impl<'a> Inner<'a> {
    /// Prepares for `launch`.
    pub(crate) fn new(
        launch: &'a Launch,
        control: OwnedFd,
        streams: [OwnedFd; 3],
    ) -> io::Result<Self> {
        let lockdown = match launch.hold {
            Hold::Namespace { scope_sockets } => {
                let scope = scope_sockets.then(sys::abstract_socket_scope).transpose()?;
                Some(Lockdown { filter: filter::prepare()?, scope })
            }
            Hold::Subreaper => None,
        };
        Ok(Self { launch, lockdown, held: None, control, streams: streams.into() })
    }

    /// The same, holding the names of `held` too.
    pub(crate) fn mediating(self, held: &'a Held) -> Self {
        Self { held: Some(held).filter(|held| !held.is_empty()), ..self }
    }

    /// Whether calls of the command are decided here, for which it has to be looked into.
    pub(crate) fn mediates(&self) -> bool {
        self.held.is_some()
    }

    /// The numbers of the descriptors that must stay open.
    pub(crate) fn descriptors(&self) -> Vec<RawFd> {
        let Streams { stdin, stdout, stderr } = &self.streams;
        let scope = self.lockdown.as_ref().and_then(|lockdown| lockdown.scope.as_ref());
        let all = [&self.control, stdin, stdout, stderr].into_iter().chain(scope);
        all.map(AsRawFd::as_raw_fd).collect()
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
    let [launch, control, stdin, stdout, stderr] = handles(args)?;
    let mut bytes = Vec::new();
    File::from(sys::adopt(launch)?).read_to_end(&mut bytes)?;
    let launch = Launch::decode(&bytes)?;
    let control = sys::adopt(control)?;
    let streams = [sys::adopt(stdin)?, sys::adopt(stdout)?, sys::adopt(stderr)?];
    sys::seal_descriptors()?;
    control::hello(&control, &sys::pidfd_open(Pid::this())?)?;
    serve(Inner::new(&launch, control, streams)?)
}

/// Starts the command, reports its start and its end, and ends the rest.
pub(crate) fn serve(inner: Inner<'_>) -> io::Result<()> {
    let launch = inner.launch;
    let children = prepare(launch.hold)?;
    let (command, control) = start(inner)?;
    let Some(command) = command else { return Ok(()) };
    Group::led_by(command).follow(&children, &control)?;
    match launch.hold {
        Hold::Namespace { .. } => Ok(()),
        Hold::Subreaper => survivors::end(),
    }
}

fn handles(args: &[OsString]) -> io::Result<[RawFd; 5]> {
    let numbers: Option<Vec<RawFd>> =
        args.iter().map(|arg| arg.to_str().and_then(|text| text.parse().ok())).collect();
    numbers
        .and_then(|numbers| numbers.try_into().ok())
        .ok_or_else(|| io::Error::other("this verb is for refbox itself, not for you to call"))
}

/// Takes the role that `hold` names; returns where ended children are announced.
fn prepare(hold: Hold) -> io::Result<SignalFd> {
    match hold {
        Hold::Namespace { .. } => nix::sys::prctl::set_dumpable(false)?,
        Hold::Subreaper => nix::sys::prctl::set_child_subreaper(true)?,
    }
    sys::default_action(Signal::SIGCHLD)?;
    let mask = SigSet::from(Signal::SIGCHLD);
    mask.thread_block()?;
    Ok(SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?)
}

/// Starts the command and reports it; no process if it could not be executed. Gives back the
/// control socket.
fn start(inner: Inner<'_>) -> io::Result<(Option<Pid>, OwnedFd)> {
    let (status, failure) = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC)?;
    let mediation = inner.held.map(Mediation::prepare).transpose()?;
    control::post(&inner.control, Report::Starting.encode())?;
    let command = sys::spawn_child(|| command::run(&inner, mediation.as_ref(), &failure))?;
    // Only the command may hold its streams: a reader of them waits for the last holder.
    let Inner { control, streams, .. } = inner;
    drop((streams, failure));
    let mut packet = Vec::new();
    File::from(status).read_to_end(&mut packet)?;
    if packet.is_empty() {
        if let Some(mediation) = mediation {
            mediation.serve()?;
        }
        control::post(&control, Report::Started.encode())?;
        return Ok((Some(command), control));
    }
    let report = Report::decode(&packet)
        .ok_or_else(|| io::Error::other("the command's set-up was cut short"))?;
    control::post(&control, report.encode())?;
    Ok((None, control))
}
