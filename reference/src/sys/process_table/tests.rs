//! Rounds over a made-up table of processes, and over the real one of Linux.

use super::*;
use std::collections::BTreeMap;

const COMMAND: ProcessIdentity = ProcessIdentity { number: 10, start: 100 };

fn entry(number: i32, start: u64, parent: i32, session: i32) -> ProcessEntry {
    ProcessEntry { who: ProcessIdentity { number, start }, parent, session, marked: false }
}

fn marked(number: i32, start: u64, parent: i32) -> ProcessEntry {
    ProcessEntry { marked: true, ..entry(number, start, parent, number) }
}

/// A table that changes as a test says.
#[derive(Default)]
struct MadeUp {
    entries: BTreeMap<i32, ProcessEntry>,
    /// Processes that are killed but have a child that no snapshot showed: it starts as soon as its
    /// parent is gone.
    births: BTreeMap<i32, ProcessEntry>,
    /// Processes that take a pid between a snapshot and the kill.
    replaced: BTreeMap<i32, ProcessEntry>,
    killed: Vec<ProcessIdentity>,
    looks: usize,
}

impl MadeUp {
    fn from_entries(entries: &[ProcessEntry]) -> Self {
        let entries = entries.iter().map(|entry| (entry.who.number, *entry)).collect();
        Self { entries, ..Self::default() }
    }

    fn killed(mut self) -> Vec<i32> {
        self.killed.sort_by_key(|who| who.number);
        self.killed.iter().map(|who| who.number).collect()
    }
}

impl ProcessTable for MadeUp {
    fn list_processes(&mut self) -> io::Result<Vec<ProcessEntry>> {
        self.looks += 1;
        assert!(self.looks < 20, "no end");
        let seen = self.entries.values().copied().collect();
        for (number, entry) in std::mem::take(&mut self.replaced) {
            self.entries.insert(number, entry);
        }
        Ok(seen)
    }

    fn start_of(&mut self, number: i32) -> Option<u64> {
        self.entries.get(&number).map(|entry| entry.who.start)
    }

    fn kill(&mut self, number: i32) {
        if let Some(entry) = self.entries.remove(&number) {
            self.killed.push(entry.who);
        }
        if let Some(born) = self.births.remove(&number) {
            self.entries.insert(born.who.number, born);
        }
    }

    fn wait(&mut self, _whom: &[ProcessIdentity]) -> io::Result<()> {
        Ok(())
    }
}

/// Whom ending the command's tree kills.
fn killed(mut table: MadeUp) -> Vec<i32> {
    DescendantTree::rooted_at(COMMAND).end(&mut table).unwrap();
    table.killed()
}

#[test]
fn who_belongs_is_found_in_each_way_and_nobody_else() {
    let table = MadeUp::from_entries(&[
        entry(1, 1, 0, 1),
        entry(10, 100, 5, 10),
        // In the session, though its parent is gone.
        entry(11, 101, 1, 10),
        // In a session of its own, but a child of one that belongs, and its child.
        entry(12, 102, 11, 12),
        entry(13, 103, 12, 12),
        // By the mark alone.
        marked(14, 104, 1),
        // Others, the stage that has started the command among them.
        entry(5, 50, 1, 5),
        entry(20, 90, 5, 5),
        entry(21, 200, 1, 21),
    ]);
    assert_eq!(killed(table), [10, 11, 12, 13, 14]);
}

#[test]
fn rounds_go_on_until_a_look_finds_nobody() {
    let mut table = MadeUp::from_entries(&[marked(11, 101, 1)]);
    table.births = BTreeMap::from([(11, marked(12, 102, 1)), (12, marked(13, 103, 1))]);
    assert_eq!(killed(table), [11, 12, 13]);
}

#[test]
fn a_number_that_another_has_by_now_is_not_killed() {
    // Between two looks: 11 was known, and its number is a stranger's; 12 is killed in between.
    let mut tree = DescendantTree::rooted_at(COMMAND);
    let before = [entry(10, 100, 5, 10), entry(11, 101, 10, 11)];
    assert_eq!(tree.members(&before).len(), 2);
    let mut table = MadeUp::from_entries(&[entry(11, 900, 1, 11), entry(12, 901, 11, 11)]);
    tree.end(&mut table).unwrap();
    assert_eq!(table.killed(), [0; 0]);
    // Between a look and the kill.
    let mut table = MadeUp::from_entries(&[marked(11, 101, 1)]);
    table.replaced.insert(11, entry(11, 900, 1, 11));
    assert_eq!(killed(table), [0; 0]);
}

#[test]
fn the_command_s_number_names_no_session_once_it_is_another_s() {
    // 10 was given to a stranger, which leads a session of that number.
    let table = MadeUp::from_entries(&[entry(10, 900, 1, 10), entry(30, 901, 10, 10)]);
    assert_eq!(killed(table), [0; 0]);
}

#[test]
fn who_left_its_parent_is_known_by_an_earlier_look() {
    let mut tree = DescendantTree::rooted_at(COMMAND);
    tree.members(&[entry(10, 100, 5, 10), entry(11, 101, 10, 11)]);
    let mut table = MadeUp::from_entries(&[entry(11, 101, 1, 11)]);
    tree.end(&mut table).unwrap();
    assert_eq!(table.killed(), [11]);
}

#[cfg(target_os = "linux")]
mod real;
