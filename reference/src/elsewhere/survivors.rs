//! The end of a command's processes without a subreaper: by rounds over the table of processes.

use std::io;

use nix::unistd::Pid;

use super::rounds::{Identity, Table, Tree};
use crate::launch::Launch;
use crate::sys::Processes;

/// The processes to end.
pub(super) struct Hunt {
    tree: Tree,
    table: Processes,
}

impl Hunt {
    /// Starts the hunt for the processes of `command`, which was just started as `launch` says and
    /// is not reaped.
    pub(super) fn of(command: Pid, launch: &Launch) -> Self {
        let mut table = Processes::marked(&launch.env);
        let number = command.as_raw();
        // A command that has ended already has no start time, and its pid is not reused before it
        // is reaped.
        let start = table.start_of(number).unwrap_or_default();
        Self { tree: Tree::of(Identity { number, start }), table }
    }

    /// Kills all of it until none is left.
    pub(super) fn end(mut self) -> io::Result<()> {
        self.tree.end(&mut self.table)
    }
}
