//! Ends what a command left where nobody adopts orphans: who belongs to it is found in looks at the
//! table of processes, and killed in rounds until a look finds nobody.
//!
//! A process belongs if it carries the run's mark in its environment, was started by one that belongs,
//! or is in the command's session. A number alone is nobody: it can mean another process at the next
//! look, so that a process is its number and its start.

use std::collections::HashSet;
use std::io;

/// A process, told from a later one of the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    /// Its number.
    pub(crate) number: i32,
    /// When it was started, in whatever unit.
    pub(crate) start: u64,
}

/// One line of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) who: Identity,
    pub(crate) parent: i32,
    pub(crate) session: i32,
    /// Whether its environment has the mark of this run.
    pub(crate) marked: bool,
}

/// The processes of this system that live; dead ones that nobody has reaped are not among them.
pub(crate) trait Table {
    /// All of them.
    fn look(&mut self) -> io::Result<Vec<Entry>>;
    /// The start of the process that has this number now.
    fn start_of(&mut self, number: i32) -> Option<u64>;
    /// Kills the process of this number.
    fn kill(&mut self, number: i32);
    /// Waits until one of these has ended.
    fn wait(&mut self, whom: &[Identity]) -> io::Result<()>;
}

/// Who belongs to one command, as far as looks have shown.
#[derive(Debug)]
pub(crate) struct Tree {
    command: Identity,
    known: HashSet<Identity>,
}

impl Tree {
    /// That of `command`.
    pub(crate) fn of(command: Identity) -> Self {
        Self { command, known: HashSet::from([command]) }
    }

    /// Kills all of it, until a look finds nobody.
    pub(crate) fn end(mut self, table: &mut impl Table) -> io::Result<()> {
        loop {
            let living = self.members(&table.look()?);
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

    /// Who of `entries` belongs to it; they are known from now on.
    pub(crate) fn members(&mut self, entries: &[Entry]) -> Vec<Identity> {
        let session = self.session(entries);
        loop {
            let before = self.known.len();
            let numbers: HashSet<i32> = entries
                .iter()
                .filter(|entry| self.known.contains(&entry.who))
                .map(|entry| entry.who.number)
                .collect();
            let belongs = |entry: &&Entry| {
                entry.marked || session == Some(entry.session) || numbers.contains(&entry.parent)
            };
            self.known.extend(entries.iter().filter(belongs).map(|entry| entry.who));
            if self.known.len() == before {
                break;
            }
        }
        entries.iter().map(|entry| entry.who).filter(|who| self.known.contains(who)).collect()
    }

    /// The command's session, unless its number is somebody else's by now.
    fn session(&self, entries: &[Entry]) -> Option<i32> {
        let number = self.command.number;
        let stranger = |entry: &Entry| entry.who.number == number && entry.who != self.command;
        (!entries.iter().any(stranger)).then_some(number)
    }
}

#[cfg(test)]
mod tests;
