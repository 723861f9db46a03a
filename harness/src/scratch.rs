//! The scratch directory: it holds everything of a run, and goes away in every case.
//!
//! Root works on a tmpfs in a mount namespace of its own, which ends with the process. A run
//! removes its directory itself. Where it is killed before, a janitor process does so; and where
//! that was killed, too, the next run, which knows a dead run by its lock: every process of a run
//! holds one on the run's directory.

mod base;
mod janitor;

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use boxproof_probes::SealKey;
use nix::sys::stat::{Mode, umask};
use nix::unistd::{Pid, Uid};

use crate::names;
use crate::removal::{self, OwnedDirectory};
use crate::sys;

pub(crate) use base::{RefusedBase, check_export};
pub use base::{default_base, ordinary_base};

/// True where the probe's copy is sealed: macOS runs no signed program with bytes after its
/// signature.
const SEALS: bool = cfg!(target_os = "linux");

/// The directory of one run. Dropping it waits until it is gone, or tells what stays.
#[derive(Debug)]
pub struct ScratchDirectory {
    /// The run's own directory.
    pub path: PathBuf,
    /// The run's word; every nonce of it starts with this, and it tells how directories are called.
    pub run_id: String,
    pub(crate) directory: OwnedDirectory,
    /// Directories above that go with the run when they are empty, innermost first.
    emptied: Vec<PathBuf>,
    /// Locked as long as a process of the run lives.
    _lock: File,
    /// Kept open by every process of the run; its end of file wakes the janitor.
    alive: Option<OwnedFd>,
    /// The process that removes the directory if this one cannot.
    pub janitor: Pid,
    /// The file mode creation mask of the caller.
    umask: Mode,
}

impl ScratchDirectory {
    /// Makes the directory below `base` and starts its janitor. Call before any thread exists.
    ///
    /// # Errors
    /// The part that cannot be made, with its place and the remedy; `RefusedBase` for a place
    /// where verdicts would be wrong.
    pub fn make(base: &Path) -> io::Result<Self> {
        Self::make_called(base, names::open_run(&sys::random::<4>()?))
    }

    /// Makes a scratch directory with an ordinary name: it stays where run and janitor are killed.
    ///
    /// # Errors
    /// As [`ScratchDirectory::make`].
    pub fn make_ordinary(base: &Path) -> io::Result<Self> {
        Self::make_called(base, names::ordinary_run(&sys::random::<4>()?))
    }

    fn make_called(base: &Path, run_id: String) -> io::Result<Self> {
        base::check(base)?;
        // Backends read the files that the run makes; files written elsewhere keep the mask.
        let umask = umask(Mode::from_bits_truncate(0o022));
        Self::make_below(base, run_id, umask).map_err(|error| {
            nix::sys::stat::umask(umask);
            if RefusedBase::is(&error) {
                return error;
            }
            let base = base.display();
            let message =
                format!("scratch directory {base}: {error}; `--scratch DIR` names another");
            io::Error::new(error.kind(), message)
        })
    }

    fn make_below(base: &Path, run_id: String, umask: Mode) -> io::Result<Self> {
        let made = base::make(base, &run_id)?;
        janitor::clear_dead_runs(&made.base);
        let path = made.base.join(&run_id);
        let lock = made.lock;
        let started = janitor::start(&path, &run_id, made.emptied.clone(), &lock);
        let (alive, janitor) = started.inspect_err(|_| {
            // No janitor is there to do it.
            let _ = std::fs::remove_dir(&path);
            base::remove_empty(&made.emptied);
        })?;
        let mut scratch = Self {
            path,
            run_id,
            directory: made.directory,
            emptied: made.emptied,
            _lock: lock,
            alive: Some(alive),
            janitor,
            umask,
        };
        if Uid::effective().is_root() && sys::private_mounts().is_ok() {
            sys::own_tmpfs(&scratch.path)?;
            scratch.directory.resurface()?;
        }
        Ok(scratch)
    }

    /// Copies the running program to where every backend can execute it as the probe.
    ///
    /// # Errors
    /// Returns an error when it cannot be read or written.
    pub fn install_probe(&self) -> io::Result<PathBuf> {
        self.install_probe_in("probe")
    }

    /// Installs the probe in a new directory called `name`.
    ///
    /// # Errors
    /// As [`ScratchDirectory::install_probe`].
    pub fn install_probe_in(&self, name: &str) -> io::Result<PathBuf> {
        let directory = self.path.join(name);
        std::fs::create_dir(&directory)?;
        let probe = directory.join("boxprobe");
        // By descriptor: the file at that path may be another one by now.
        let mut program = File::open(own_program())?;
        let mut copy = File::create(&probe)?;
        io::copy(&mut program, &mut copy)?;
        if SEALS {
            copy.write_all(&SealKey::new(sys::random_bytes()?).trailer())?;
        }
        copy.set_permissions(std::fs::Permissions::from_mode(0o555))?;
        Ok(probe)
    }
}

/// Returns the path of the running program itself, not of a file that has its name by now.
fn own_program() -> PathBuf {
    let link = PathBuf::from("/proc/self/exe");
    if link.exists() { link } else { std::env::current_exe().unwrap_or(link) }
}

/// The size in bytes of the program that is copied as the probe; 0 where it cannot be looked at.
pub(crate) fn program_size() -> u64 {
    own_program().metadata().map_or(0, |meta| meta.len())
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        removal::tell(&self.directory.remove());
        base::remove_empty(&self.emptied);
        // Only now: until here a janitor is needed. It may be stopped, and cannot be waited for.
        janitor::end(self.janitor);
        self.alive.take();
        umask(self.umask);
    }
}
