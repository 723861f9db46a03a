//! The end of a command's processes without a pid namespace: the stage adopts and kills them.
//!
//! Nothing here allocates: see [`sys::start_beside`].

use std::io;

use rustix::fs::{CWD, Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};

use crate::control::LaunchSpec;
use crate::sys::{self, ReapedChild};

/// Bytes of the list of children that are read at once; the rest is on a later list.
const LIST: usize = 1 << 14;

/// The processes that the command left: none of them has to be known.
pub(super) struct SurvivorReaper;

impl SurvivorReaper {
    pub(super) fn for_command(_command: nix::unistd::Pid, _launch: &LaunchSpec) -> Self {
        Self
    }

    /// Kills and reaps children until none is left. Orphans of a killed process become our
    /// children.
    pub(super) fn end(self) -> io::Result<()> {
        loop {
            // Most commands leave none, and this is quicker than the list.
            if !sys::has_child(None)? {
                return Ok(());
            }
            kill_children()?;
            // One that the list lacks is on the next: it only lacks some while others end.
            sys::reap(true)?;
            while matches!(sys::reap(false)?, ReapedChild::Ended(..)) {}
        }
    }
}

fn kill_children() -> io::Result<()> {
    let mut list = [0; LIST];
    // Unreaped children of ours: their numbers cannot mean anyone else.
    for child in numbers(children(&mut list)?).filter_map(Pid::from_raw) {
        let _dead_already = kill_process(child, Signal::KILL);
    }
    Ok(())
}

fn children(list: &mut [u8]) -> io::Result<&[u8]> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(CWD, c"/proc/thread-self/children", flags, Mode::empty())?;
    let mut length = 0;
    while length < list.len() {
        match rustix::io::read(&file, &mut list[length..])? {
            0 => break,
            more => length += more,
        }
    }
    sys::close_bare(file);
    Ok(&list[..length])
}

/// The numbers of a list, each of which a blank ends: one that is cut short is none.
fn numbers(list: &[u8]) -> impl Iterator<Item = i32> {
    let words = list.split_inclusive(|byte| *byte == b' ');
    let whole = words.filter_map(|word| word.strip_suffix(b" "));
    whole.filter_map(|word| str::from_utf8(word).ok()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_cut_short_is_none() {
        assert_eq!(numbers(b"12 345 6").collect::<Vec<_>>(), [12, 345]);
        assert_eq!(numbers(b"").count(), 0);
    }
}
