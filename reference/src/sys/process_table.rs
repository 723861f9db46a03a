//! The end of a command's processes on systems without a subreaper: its members are found in
//! snapshots of the process table, and killed in rounds until a snapshot shows none.
//!
//! A process is a member if it carries the run's mark in its environment, was started by a member,
//! or is in the command's session. A pid alone identifies no process, as it can be reused by the
//! next snapshot: a process is identified by its pid and its start time.

use std::collections::HashSet;
use std::io;

/// A process, distinguished from a later one of the same pid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ProcessIdentity {
    /// Its number.
    pub(crate) number: i32,
    /// Its start time, in the table's own unit.
    pub(crate) start: u64,
}

/// One line of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessEntry {
    pub(crate) who: ProcessIdentity,
    pub(crate) parent: i32,
    pub(crate) session: i32,
    /// Its environment has the mark of this run.
    pub(crate) marked: bool,
}

/// The live processes of this system, zombies excluded.
pub(crate) trait ProcessTable {
    /// All of them.
    fn list_processes(&mut self) -> io::Result<Vec<ProcessEntry>>;
    /// The start of the process that has this number now.
    fn start_of(&mut self, number: i32) -> Option<u64>;
    /// Kills the process of this number.
    fn kill(&mut self, number: i32);
    /// Waits until one of these has ended.
    fn wait(&mut self, destination: &[ProcessIdentity]) -> io::Result<()>;
}

/// The members of one command, as far as snapshots have shown.
#[derive(Debug)]
pub(crate) struct DescendantTree {
    command: ProcessIdentity,
    known: HashSet<ProcessIdentity>,
}

impl DescendantTree {
    /// Starts the tree with `command` alone.
    pub(crate) fn rooted_at(command: ProcessIdentity) -> Self {
        Self { command, known: HashSet::from([command]) }
    }

    /// Kills all members, until a snapshot shows none.
    pub(crate) fn end(mut self, table: &mut impl ProcessTable) -> io::Result<()> {
        loop {
            let living = self.members(&table.list_processes()?);
            if living.is_empty() {
                return Ok(());
            }
            for who in &living {
                // It may have ended since the look, and its number be another's.
                if table.start_of(who.number) == Some(who.start) {
                    table.kill(who.number);
                }
            }
            table.wait(&living)?;
        }
    }

    /// Returns the members among `entries`, and remembers them.
    pub(crate) fn members(&mut self, entries: &[ProcessEntry]) -> Vec<ProcessIdentity> {
        let session = self.session(entries);
        loop {
            let before = self.known.len();
            let numbers: HashSet<i32> = entries
                .iter()
                .filter(|entry| self.known.contains(&entry.who))
                .map(|entry| entry.who.number)
                .collect();
            let belongs = |entry: &&ProcessEntry| {
                entry.marked || session == Some(entry.session) || numbers.contains(&entry.parent)
            };
            self.known.extend(entries.iter().filter(belongs).map(|entry| entry.who));
            if self.known.len() == before {
                break;
            }
        }
        entries.iter().map(|entry| entry.who).filter(|who| self.known.contains(who)).collect()
    }

    /// Returns the command's session, unless its id was reused.
    fn session(&self, entries: &[ProcessEntry]) -> Option<i32> {
        let number = self.command.number;
        let stranger =
            |entry: &ProcessEntry| entry.who.number == number && entry.who != self.command;
        (!entries.iter().any(stranger)).then_some(number)
    }
}

#[cfg(test)]
mod tests;
