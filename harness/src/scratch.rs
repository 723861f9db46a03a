//! The scratch folder: where everything of a run lives, and how it goes away whatever happens.
//!
//! Root works on a tmpfs in a mount namespace of its own, which ends with the process. Besides, a
//! janitor process waits for the end of every process of the run and then removes the folder.

use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use boxproof_probes::Key;
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use nix::sys::wait::waitpid;
use nix::unistd::{Pid, Uid, setsid};

use crate::sys;

/// How often the base is made anew when other runs take it away.
const ATTEMPTS: usize = 100;

/// Whether the probe's copy is sealed: macOS runs no signed program with bytes after its signature.
const SEALS: bool = cfg!(target_os = "linux");

/// The folder of one run. Dropping it waits until it is gone.
#[derive(Debug)]
pub struct Scratch {
    /// The run's own folder.
    pub path: PathBuf,
    /// The run's word; every nonce of it starts with this.
    pub run_id: String,
    /// Kept open by every process of the run; its end of file wakes the janitor.
    alive: Option<OwnedFd>,
    /// The process that removes the folder.
    pub janitor: Pid,
}

impl Scratch {
    /// Makes the folder below `base` and starts its janitor. Call before any thread exists.
    ///
    /// # Errors
    /// What cannot be made, where, and what to do about it.
    pub fn make(base: &Path) -> io::Result<Self> {
        Self::make_below(base).map_err(|error| {
            let base = base.display();
            let message = format!("scratch folder {base}: {error}; `--scratch DIR` names another");
            io::Error::new(error.kind(), message)
        })
    }

    fn make_below(base: &Path) -> io::Result<Self> {
        let base_was_there = base.exists();
        let run_id = format!("bx{}", sys::random::<4>()?);
        let (base, path) = make_folder(base, &run_id)?;
        let (alive, janitor) = start_janitor(&path, (!base_was_there).then_some(&base))?;
        let scratch = Self { path, run_id, alive: Some(alive), janitor };
        if Uid::effective().is_root() && sys::private_mounts().is_ok() {
            sys::own_tmpfs(&scratch.path)?;
        }
        Ok(scratch)
    }

    /// Copies the running program to where every backend can execute it as the probe.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub fn install_probe(&self) -> io::Result<PathBuf> {
        let folder = self.path.join("probe");
        std::fs::create_dir(&folder)?;
        let probe = folder.join("boxprobe");
        // By descriptor: the file at that path may be another one by now.
        let mut program = std::fs::File::open(own_program())?;
        let mut copy = std::fs::File::create(&probe)?;
        io::copy(&mut program, &mut copy)?;
        if SEALS {
            copy.write_all(&Key::new(sys::random_bytes()?).trailer())?;
        }
        copy.set_permissions(std::fs::Permissions::from_mode(0o555))?;
        Ok(probe)
    }
}

/// Makes `base` and the folder `run_id` in it, and says where they are.
fn make_folder(base: &Path, run_id: &str) -> io::Result<(PathBuf, PathBuf)> {
    let mut builder = std::fs::DirBuilder::new();
    builder.mode(0o755);
    for _ in 0..ATTEMPTS {
        builder.recursive(true).create(base)?;
        let made = base.canonicalize().and_then(|base| {
            let path = base.join(run_id);
            builder.recursive(false).create(&path)?;
            Ok((base, path))
        });
        match made {
            // The janitor of a run that ends right now has taken the empty base away.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            made => return made,
        }
    }
    Err(io::Error::new(io::ErrorKind::NotFound, "it is removed again and again"))
}

/// The running program itself, not whatever has its name by now.
fn own_program() -> PathBuf {
    let link = PathBuf::from("/proc/self/exe");
    if link.exists() { link } else { std::env::current_exe().unwrap_or(link) }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.alive.take();
        // An error means that the janitor is gone already.
        let _ = waitpid(self.janitor, None);
    }
}

fn start_janitor(path: &Path, base: Option<&PathBuf>) -> io::Result<(OwnedFd, Pid)> {
    let (read, write) = io::pipe()?;
    let write = OwnedFd::from(write);
    let inherited = write.as_raw_fd();
    let (path, base) = (path.to_owned(), base.cloned());
    let pid = sys::fork(move || {
        // The janitor must not keep open what it waits to see closed.
        let _ = nix::unistd::close(inherited);
        wait_and_remove(read, &path, base.as_deref())
    })?;
    Ok((write, pid))
}

/// The janitor's life: nothing but the end of the run ends it.
fn wait_and_remove(mut read: io::PipeReader, path: &Path, base: Option<&Path>) -> i32 {
    let _ = setsid();
    let _ = sigprocmask(SigmaskHow::SIG_BLOCK, Some(&SigSet::all()), None);
    let _ = read.read(&mut [0; 1]);
    let removed = std::fs::remove_dir_all(path);
    if let Some(base) = base {
        // Fails while another run is in there, as it should.
        let _ = std::fs::remove_dir(base);
    }
    i32::from(removed.is_err())
}

/// Where scratch folders live by default: never where sandboxes put something of their own.
pub fn default_base() -> PathBuf {
    if Uid::effective().is_root() {
        return "/var/cache/boxproof".into();
    }
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|p| p.is_absolute());
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let cache = cache.or_else(|| home.map(|home| home.join(".cache")));
    cache.unwrap_or_else(|| "/var/cache".into()).join("boxproof")
}
