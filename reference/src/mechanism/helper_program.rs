//! A program of others that starts the inner stage: [`HelperProgram`].

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::process::{Command, Stdio};

use nix::unistd::{AccessFlags, Pid, access};

use crate::control::RunningSandbox;
use crate::egress::ListenerHandoff;
use crate::{init, sys};

/// The descriptors that every helper program inherits: the launch, the control socket and the
/// command's streams.
pub(crate) struct HelperHandles {
    /// The encoded launch, positioned at its start.
    pub(crate) launch: File,
    /// The inner stage's end of the control socket.
    pub(crate) control: OwnedFd,
    /// The command's stdin, stdout and stderr.
    pub(crate) streams: [OwnedFd; 3],
    /// The way out of its network.
    pub(crate) door: Option<ListenerHandoff>,
    /// Names that must not be created, encoded, and the log of refusals.
    pub(crate) held: Option<(File, OwnedFd)>,
}

impl HelperHandles {
    /// Returns the descriptor numbers for the inner stage; a missing one is [`init::NONE`].
    fn numbers(&self) -> Vec<RawFd> {
        let door = self.door.as_ref().map_or([init::NONE; 2], ListenerHandoff::numbers);
        let held = self.held_numbers().unwrap_or([init::NONE; 2]);
        self.standard().into_iter().chain(door).chain(held).collect()
    }

    fn held_numbers(&self) -> Option<[RawFd; 2]> {
        self.held.as_ref().map(|(names, ledger)| [names.as_raw_fd(), ledger.as_raw_fd()])
    }

    /// Returns the descriptors that stay open over exec.
    pub(super) fn descriptors(&self) -> Vec<RawFd> {
        let door = self.door.iter().map(|door| door.numbers()[0]);
        let held = self.held_numbers().into_iter().flatten();
        self.standard().into_iter().chain(door).chain(held).collect()
    }

    fn standard(&self) -> [RawFd; 5] {
        let [stdin, stdout, stderr] = &self.streams;
        [
            self.launch.as_raw_fd(),
            self.control.as_raw_fd(),
            stdin.as_raw_fd(),
            stdout.as_raw_fd(),
            stderr.as_raw_fd(),
        ]
    }
}

/// Returns whether `path` is a file that this user can execute.
pub(super) fn is_program(path: &Path) -> bool {
    path.is_file() && access(path, AccessFlags::X_OK).is_ok()
}

/// The words that start the inner stage, after the program.
pub(super) fn inner_words(prefix: &[&str], handles: &HelperHandles) -> Vec<String> {
    let words = prefix.iter().map(|word| (*word).to_owned());
    let numbers = handles.numbers().into_iter().map(|number| number.to_string());
    words.chain([init::VERB.to_owned()]).chain(numbers).collect()
}

/// A program ready to be spawned, and the descriptors it must inherit, open until then.
pub(crate) struct HelperProgram {
    /// The program with its arguments.
    pub(super) command: Command,
    /// Descriptors that stay open over exec, by number.
    pub(super) kept: Vec<RawFd>,
    /// Their owners.
    pub(super) owners: (HelperHandles, Vec<OwnedFd>),
    /// The inner stage becomes pid 1 of a namespace.
    pub(super) namespaced: bool,
}

impl HelperProgram {
    /// Starts the program with nothing of ours but the descriptors it needs; its own words go to a
    /// memory file, never into the command's streams.
    pub(crate) fn start(self) -> io::Result<RunningSandbox> {
        let Self { mut command, kept, owners, namespaced } = self;
        let said = sys::memory_file(b"")?;
        command.env_clear().stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(Stdio::from(said.try_clone()?));
        sys::spawn_sealed(&mut command, kept);
        let pid = Pid::from_raw(command.spawn()?.id() as i32);
        drop(owners);
        Ok(RunningSandbox {
            process: sys::open_process(pid)?,
            said: Some(said),
            namespaced,
            stack: None,
        })
    }
}
