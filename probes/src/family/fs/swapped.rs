//! A path that leads elsewhere while it is opened: `open-swapped`, which counts how often it was
//! opened at the other end.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag, openat};
use nix::sys::stat::{Mode, fstat};
use nix::unistd::{symlinkat, unlink};

use super::content::existing;
use crate::args::ProbeArguments;
use crate::outcome::{CallContext, ProbeError, ProbeResult, TEXT_CAP, succeed_with, text};
use crate::output::{read_up_to, write_all};
use crate::record::DetailValue;
use crate::sys;

/// The number of times that the path is opened, unless told.
const TRIES: u64 = 2000;
/// The factor of that number after which the other end is given up.
const PATIENCE: u64 = 100;

/// A name that leads to one end and to another in turn.
struct SwappedName<'a> {
    name: &'a OsStr,
    /// The end that is free; without one, the directory of that name itself.
    to: Option<&'a OsStr>,
    /// The end that may be closed.
    other: &'a OsStr,
    /// A name beside it, of a link or directory on its way.
    beside: OsString,
}

/// The results of the attempts.
#[derive(Default)]
struct AttemptTally {
    tries: u64,
    opened: u64,
    data: Vec<u8>,
    refused: Option<Errno>,
}

/// Opens `--path` again and again while another thread makes `--name` lead to `--to` and to `--or` in
/// turn. A path that was opened at the end `--or` is a success: `opened` of `tries`.
pub(crate) fn open_swapped(args: &ProbeArguments) -> ProbeResult {
    let (path, name) = (args.path()?, args.one("name")?);
    let mut beside = name.to_owned();
    beside.push("~");
    let swapped = SwappedName { name, to: args.maybe("to"), other: args.one("or")?, beside };
    if let Some(to) = swapped.to {
        swapped.point(to).at("rename")?;
    }
    let appended = args.maybe("text").map(|_| args.bytes("text"));
    let flags =
        if appended.is_some() { OFlag::O_WRONLY | OFlag::O_APPEND } else { OFlag::O_RDONLY };
    let own = identity(&existing(path, flags)?).at("fstat")?;
    let tries = args.number_or("tries", TRIES)?;
    let is_over = AtomicBool::new(false);
    let tally = std::thread::scope(|scope| {
        scope.spawn(|| swapped.swap_until(&is_over));
        // Between the directory and the link there is nothing for a moment.
        let is_told = |errno| errno != Errno::ENOENT || swapped.to.is_some();
        let tally = attempts(path, (flags, appended), (own, tries), is_told);
        is_over.store(true, Ordering::Relaxed);
        tally
    })?;
    conclude(&tally)
}

impl SwappedName<'_> {
    /// Swaps until told; what cannot be swapped shows as attempts that all end alike.
    fn swap_until(&self, is_over: &AtomicBool) {
        while !is_over.load(Ordering::Relaxed) {
            let _ = match self.to {
                Some(to) => self.point(self.other).and_then(|()| self.point(to)),
                None => self.replace_directory(),
            };
        }
    }

    /// Makes the name a link that says `to`; there is no moment without it.
    fn point(&self, to: &OsStr) -> nix::Result<()> {
        symlinkat(to, AT_FDCWD, self.beside.as_os_str())?;
        sys::rename(&self.beside, self.name)
    }

    /// Moves the directory of the name away, lets a link stand in its place for a moment, and moves
    /// the directory back.
    fn replace_directory(&self) -> nix::Result<()> {
        sys::rename(self.name, &self.beside)?;
        let linked = symlinkat(self.other, AT_FDCWD, self.name).and_then(|()| {
            std::thread::yield_now();
            unlink(self.name)
        });
        sys::rename(&self.beside, self.name).and(linked)
    }
}

fn identity(file: &OwnedFd) -> nix::Result<(u64, u64)> {
    let seen = fstat(file)?;
    #[allow(clippy::unnecessary_cast, reason = "narrower on macOS")]
    Ok((seen.st_dev as u64, seen.st_ino as u64))
}

/// Opens `path` at least `tries` times, until it was opened elsewhere than at `own` or refused by an
/// errno that `is_told` takes for a refusal.
fn attempts(
    path: &OsStr,
    (flags, appended): (OFlag, Option<&[u8]>),
    (own, tries): ((u64, u64), u64),
    is_told: impl Fn(Errno) -> bool + Copy,
) -> Result<AttemptTally, ProbeError> {
    let mut tally = AttemptTally::default();
    let reached = |tally: &AttemptTally| tally.opened > 0 || tally.refused.is_some_and(is_told);
    while tally.tries < tries || !reached(&tally) && tally.tries < tries * PATIENCE {
        tally.tries += 1;
        if !reached(&tally) {
            // On one processor the other thread has its turn, too.
            std::thread::yield_now();
        }
        match openat(AT_FDCWD, path, flags, Mode::empty()) {
            Err(Errno::ENOENT) => drop(tally.refused.get_or_insert(Errno::ENOENT)),
            Err(errno) => tally.refused = Some(errno),
            Ok(file) if identity(&file).at("fstat")? == own => {}
            Ok(file) => {
                tally.opened += 1;
                match appended {
                    Some(text) => write_all(&file, text).at("write")?,
                    None => tally.data = read_up_to(&file, TEXT_CAP).at("read")?,
                }
            }
        }
    }
    Ok(tally)
}

/// A path that never led to the other end shows nothing.
fn conclude(tally: &AttemptTally) -> ProbeResult {
    let number = DetailValue::Number;
    match (tally.opened, tally.refused) {
        (0, Some(errno)) => Err(ProbeError::Refused { call: "openat", errno }),
        (0, None) => Err(ProbeError::Fault("the path never led to the other end".to_owned())),
        (opened, _) => succeed_with([
            ("data", text(&tally.data)),
            ("opened", number(opened)),
            ("tries", number(tally.tries)),
        ]),
    }
}
