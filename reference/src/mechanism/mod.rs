//! The mechanisms: each turns a plan into a process that holds the command ([`Helper`]).

pub(crate) mod bubblewrap;
pub(crate) mod unconfined;

use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::process::Command;

use crate::inner;
use crate::launch::Hold;

/// What every helper is given: the launch, the control socket and the command's streams.
pub(crate) struct Handles {
    /// The encoded launch, positioned at its start.
    pub(crate) launch: File,
    /// The inner stage's end of the control socket.
    pub(crate) control: OwnedFd,
    /// The command's stdin, stdout and stderr.
    pub(crate) streams: [OwnedFd; 3],
}

impl Handles {
    fn numbers(&self) -> [RawFd; 5] {
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

/// The words that start the inner stage, after the program.
fn inner_words(prefix: &[&str], handles: &Handles) -> Vec<String> {
    let words = prefix.iter().map(|word| (*word).to_owned());
    let numbers = handles.numbers().map(|number| number.to_string());
    words.chain([inner::VERB.to_owned()]).chain(numbers).collect()
}

/// A process ready to be spawned, and the descriptors it must inherit, open until then.
pub(crate) struct Helper {
    /// The program with its arguments; streams and environment are set by the supervisor.
    pub(crate) command: Command,
    /// Descriptors that stay open over exec, by number.
    pub(crate) kept: Vec<RawFd>,
    /// Their owners.
    pub(crate) owners: (Handles, Vec<OwnedFd>),
    /// How the inner stage holds the command.
    pub(crate) hold: Hold,
}
