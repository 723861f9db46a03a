//! Linux's mount table, read again only after the kernel says that it has changed.

use std::cell::RefCell;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::kernel_text::{kernel_text, rest_of};

/// The mount table of the thread, and the symbolic link that names its mount namespace.
const TABLE: &str = "/proc/thread-self/mountinfo";
const NAMESPACE: &str = "/proc/thread-self/ns/mnt";

/// A mount table as it was read last.
struct ReadTable {
    /// Device and inode of the mount namespace.
    namespace: (u64, u64),
    /// The open table: poll(2) tells of every mount and unmount since the last poll.
    file: File,
    text: String,
    /// True once poll(2) has told of a change here: a kernel that never tells is not believed.
    tells: bool,
}

thread_local! {
    static LAST: RefCell<Option<ReadTable>> = const { RefCell::new(None) };
}

/// The mounts this thread sees, a line each, the point in the fifth column.
pub(crate) fn mounts() -> String {
    LAST.with_borrow_mut(|last| {
        let namespace = std::fs::metadata(NAMESPACE).ok().map(|meta| (meta.dev(), meta.ino()));
        let same = last.as_ref().filter(|read| Some(read.namespace) == namespace);
        let has_changed = same.is_some_and(ReadTable::has_changed);
        if let Some(read) = same.filter(|read| read.tells && !has_changed) {
            return read.text.clone();
        }
        let tells = has_changed || same.is_some_and(|read| read.tells);
        *last = namespace.and_then(|namespace| ReadTable::read(namespace, tells));
        last.as_ref()
            .map_or_else(|| kernel_text(TABLE).unwrap_or_default(), |read| read.text.clone())
    })
}

impl ReadTable {
    fn read(namespace: (u64, u64), tells: bool) -> Option<Self> {
        // Changes count from here on: one while the table is read is told by the next poll.
        let file = File::open(TABLE).ok()?;
        let text = rest_of(&file).ok()?;
        Some(Self { namespace, file, text, tells })
    }

    fn has_changed(&self) -> bool {
        let mut polled = [PollFd::new(self.file.as_fd(), PollFlags::POLLPRI)];
        !matches!(poll(&mut polled, PollTimeout::ZERO), Ok(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use nix::mount::{MsFlags, mount};
    use nix::sched::{CloneFlags, unshare};

    #[test]
    fn a_mount_shows_at_once_and_so_does_another_namespace() {
        let place = tempfile::tempdir().unwrap();
        let point = place.path().canonicalize().unwrap();
        let has_point = || mounts().contains(&format!(" {} ", point.display()));
        assert!(!has_point() && mounts() == std::fs::read_to_string(TABLE).unwrap());
        // Only root may mount without a user namespace, which a thread cannot make.
        let is_root = nix::unistd::geteuid().is_root();
        let none: Option<&str> = None;
        let seen = std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let before = has_point();
                unshare(CloneFlags::CLONE_NEWNS)?;
                mount(none, "/", none, MsFlags::MS_PRIVATE | MsFlags::MS_REC, none)?;
                let private = has_point();
                mount(Some("tmpfs"), &point, Some("tmpfs"), MsFlags::empty(), none)?;
                let shown = has_point();
                let tells = LAST.with_borrow(|last| last.as_ref().is_some_and(|read| read.tells));
                Ok::<_, nix::Error>((before, private, shown, tells))
            });
            thread.join().unwrap()
        });
        assert_eq!(seen.ok(), is_root.then_some((false, false, true, true)));
        assert!(!has_point());
    }
}
