//! The table of processes on macOS: [`LiveProcesses`], from libproc and sysctl.

use std::ffi::{CStr, CString, c_int, c_void};
use std::io;

use nix::errno::Errno;
use nix::sys::event::{EventFilter, FilterFlag, Kqueue};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::super::{ProcessEntry, ProcessIdentity, ProcessTable, ReapedChild, reap};
use super::{MARK, poller};

/// `PROC_PGRP_ONLY` of libproc.
const OF_GROUP: u32 = 2;
/// Numbers that a list has room for beyond those that were just there.
const ROOM: usize = 64;

/// The live processes, and the mark of one run.
pub(crate) struct LiveProcesses {
    mark: Option<CString>,
    /// The buffer for arguments and environment of one process.
    words: Vec<u8>,
}

impl LiveProcesses {
    /// Starts a table that marks processes of a command with this environment.
    pub(crate) fn marked(env: &[CString]) -> Self {
        let ours = |pair: &&CString| pair.to_bytes().starts_with(MARK.as_bytes());
        // The last is this run's own: one before it came from a run around us.
        let mark = env.iter().rfind(ours).cloned();
        Self { mark, words: vec![0; nix_arg_max()] }
    }

    fn is_marked(&mut self, pid: c_int) -> bool {
        let Some(mark) = &self.mark else { return false };
        let length = read_words(pid, &mut self.words);
        holds(&self.words[..length], mark)
    }
}

impl ProcessTable for LiveProcesses {
    fn list_processes(&mut self) -> io::Result<Vec<ProcessEntry>> {
        // Zombie children of our own are reaped first.
        while matches!(reap(false)?, ReapedChild::Ended(..)) {}
        let mut entries = Vec::new();
        for pid in all()? {
            let Some(info) = info(pid) else { continue };
            let who = ProcessIdentity { number: pid, start: start(&info) };
            let parent = info.pbi_ppid as i32;
            // SAFETY: getsid takes a number; an unused one gives -1.
            let session = unsafe { libc::getsid(pid) };
            entries.push(ProcessEntry { who, parent, session, marked: self.is_marked(pid) });
        }
        Ok(entries)
    }

    fn start_of(&mut self, number: i32) -> Option<u64> {
        info(number).map(|info| start(&info))
    }

    fn kill(&mut self, number: i32) {
        let _dead_already = kill(Pid::from_raw(number), Signal::SIGKILL);
    }

    fn wait(&mut self, destination: &[ProcessIdentity]) -> io::Result<()> {
        let ends = Kqueue::new()?;
        for who in destination {
            let (number, exit) = (who.number as usize, FilterFlag::NOTE_EXIT);
            match poller::add(&ends, number, EventFilter::EVFILT_PROC, exit, 0) {
                // It has ended: the next snapshot is due.
                Err(Errno::ESRCH) => return Ok(()),
                other => other?,
            }
        }
        poller::taken(&ends, true)?;
        Ok(())
    }
}

/// Returns the start time of a process, in microseconds.
fn start(info: &libc::proc_bsdinfo) -> u64 {
    info.pbi_start_tvsec * 1_000_000 + info.pbi_start_tvusec
}

/// Returns the kernel's information about a live process.
fn info(pid: c_int) -> Option<libc::proc_bsdinfo> {
    let size = size_of::<libc::proc_bsdinfo>() as c_int;
    // SAFETY: all zeroes is a valid value of this structure of numbers.
    let mut info: libc::proc_bsdinfo = unsafe { std::mem::zeroed() };
    let place: *mut c_void = (&raw mut info).cast();
    // SAFETY: the structure lives through the call, and its size is given.
    let got = unsafe { libc::proc_pidinfo(pid, libc::PROC_PIDTBSDINFO, 0, place, size) };
    (got == size).then_some(info)
}

/// The numbers of all processes.
fn all() -> io::Result<Vec<c_int>> {
    // SAFETY: the list lives through the call, and its size in bytes is given.
    listed(|list, bytes| unsafe { libc::proc_listallpids(list, bytes) })
}

/// The numbers of the group of `leader`.
pub(super) fn of_group(leader: Pid) -> io::Result<Vec<c_int>> {
    let group = leader.as_raw() as u32;
    // SAFETY: as above. This call gives bytes, not numbers.
    let bytes = |list, room| unsafe { libc::proc_listpids(OF_GROUP, group, list, room) };
    listed(|list, room| match bytes(list, room) {
        got if got > 0 => got / size_of::<c_int>() as c_int,
        got => got,
    })
}

/// Returns the list that `read` fills; without a buffer, `read` returns its possible length.
fn listed(read: impl Fn(*mut c_void, c_int) -> c_int) -> io::Result<Vec<c_int>> {
    let mut room = usize::try_from(read(std::ptr::null_mut(), 0)).unwrap_or_default() + ROOM;
    loop {
        let mut list = vec![0; room];
        let bytes = size_of_val(list.as_slice()) as c_int;
        match usize::try_from(read(list.as_mut_ptr().cast(), bytes)) {
            // A full list may lack some.
            Ok(count) if count < room => {
                list.truncate(count);
                list.retain(|pid| *pid > 0);
                return Ok(list);
            }
            Ok(_) => room *= 2,
            Err(_) => return Err(io::Error::last_os_error()),
        }
    }
}

/// Reads arguments and environment of a process; returns the number of bytes. Those of another
/// user's process are empty, and so is the environment of a program that macOS protects.
fn read_words(pid: c_int, words: &mut [u8]) -> usize {
    let mut name = [libc::CTL_KERN, libc::KERN_PROCARGS2, pid];
    let mut length = words.len();
    let place = words.as_mut_ptr().cast();
    // SAFETY: name and buffer live through the call, and their lengths are given.
    let got = unsafe {
        libc::sysctl(name.as_mut_ptr(), 3, place, &raw mut length, std::ptr::null_mut(), 0)
    };
    if got == 0 { length } else { 0 }
}

/// Returns the maximum length of arguments and environment, in bytes.
fn nix_arg_max() -> usize {
    const USUAL: usize = 1 << 20;
    let most = nix::unistd::sysconf(nix::unistd::SysconfVar::ARG_MAX);
    most.ok().flatten().and_then(|most| usize::try_from(most).ok()).unwrap_or(USUAL)
}

fn holds(words: &[u8], mark: &CStr) -> bool {
    words.split(|byte| *byte == 0).any(|word| word == mark.to_bytes())
}
