//! The end of a command's processes without a subreaper: by rounds over the table of processes.

use std::io;

use nix::unistd::Pid;

use crate::control::LaunchSpec;
use crate::sys::{DescendantTree, LiveProcesses, ProcessIdentity, ProcessTable};

pub(super) use self::TableReaper as SurvivorReaper;

/// The processes to end.
pub(super) struct TableReaper {
    tree: DescendantTree,
    table: LiveProcesses,
}

impl TableReaper {
    /// Starts the hunt for the processes of `command`, which was just started as `launch` says and
    /// is not reaped.
    pub(super) fn for_command(command: Pid, launch: &LaunchSpec) -> Self {
        let mut table = LiveProcesses::marked(&launch.env);
        let number = command.as_raw();
        // A command that has ended already has no start time, and its pid is not reused before it
        // is reaped.
        let start = table.start_of(number).unwrap_or_default();
        Self { tree: DescendantTree::rooted_at(ProcessIdentity { number, start }), table }
    }

    /// Kills all of it until none is left.
    pub(super) fn end(mut self) -> io::Result<()> {
        self.tree.end(&mut self.table)
    }
}
