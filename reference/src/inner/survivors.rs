//! Without a pid namespace: ends what the command left behind, by adopting and killing it.

use std::fs;
use std::io;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;

/// Kills and reaps children until none is left. Orphans of what is killed become our children.
pub(super) fn end() -> io::Result<()> {
    loop {
        // Unreaped children of ours: their numbers cannot mean anyone else.
        for child in children()? {
            let _dead_already = kill(child, Signal::SIGKILL);
        }
        match waitpid(None, None) {
            Err(Errno::ECHILD) => return Ok(()),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

fn children() -> io::Result<Vec<Pid>> {
    let text = fs::read_to_string("/proc/thread-self/children")?;
    Ok(text.split_whitespace().filter_map(|word| word.parse().ok()).map(Pid::from_raw).collect())
}
