//! The name and command line by which others know this process. Main type: [`ProcessTitle`].

use std::ffi::CStr;

use nix::sys::prctl;

/// The name of this process while it holds the title, and of every process that it forks.
const CALLED: &CStr = c"sh";

/// Another title of this process while it lives: `sh`, as a shell that started a command has it.
/// A part that cannot be changed stays as it is.
#[derive(Debug)]
pub(crate) struct ProcessTitle {
    /// The address of the command line, and its original bytes.
    area: Option<(usize, Vec<u8>)>,
    name: Option<std::ffi::CString>,
}

impl ProcessTitle {
    /// Takes it. Call while the process has one thread.
    pub(crate) fn take() -> Self {
        let name = prctl::get_name().ok();
        let _ = prctl::set_name(CALLED);
        let title = CALLED.to_bytes_with_nul();
        let area = command_line().filter(|(_, length)| *length > title.len());
        let area = area.map(|(start, length)| {
            // The kernel shows all up to the first zero where the last byte is none.
            let mut shown = vec![b' '; length];
            shown[..title.len()].copy_from_slice(title);
            (start, exchange(start, &shown))
        });
        Self { area, name }
    }
}

impl Drop for ProcessTitle {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = prctl::set_name(name);
        }
        if let Some((start, kept)) = &self.area {
            exchange(*start, kept);
        }
    }
}

/// Returns the address of this process's command line, and its length in bytes.
fn command_line() -> Option<(usize, usize)> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The names of proc_pid_stat(5): fields 48 and 49, of which two stand before the bracket.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(45);
    let start: usize = fields.next()?.parse().ok()?;
    let end: usize = fields.next()?.parse().ok()?;
    (start != 0).then(|| Some((start, end.checked_sub(start)?)))?
}

/// Puts `bytes` at the address `start` of the command line, and returns what was there.
fn exchange(start: usize, bytes: &[u8]) -> Vec<u8> {
    // SAFETY: the kernel says that the argument strings of this process are there, as many bytes as
    // `bytes` has; they are on the stack, writable, and no code reads them while this is called.
    let area = unsafe {
        std::slice::from_raw_parts_mut(
            std::ptr::with_exposed_provenance_mut::<u8>(start),
            bytes.len(),
        )
    };
    let kept = area.to_vec();
    area.copy_from_slice(bytes);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_called_otherwise_while_it_has_the_title() {
        let pid = crate::sys::fork(|| {
            let line = || std::fs::read("/proc/self/cmdline").unwrap_or_default();
            let before = line();
            let title = ProcessTitle::take();
            let meanwhile = line();
            let name = std::fs::read_to_string("/proc/self/comm").unwrap_or_default();
            drop(title);
            let right = meanwhile == b"sh\0" && name == "sh\n" && line() == before;
            i32::from(!right)
        })
        .unwrap();
        let ended = nix::sys::wait::waitpid(pid, None).unwrap();
        assert_eq!(ended, nix::sys::wait::WaitStatus::Exited(pid, 0));
    }
}
