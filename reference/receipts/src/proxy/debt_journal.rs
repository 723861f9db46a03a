//! The events that this proxy owes: actions that have begun, frames not taken yet, losses not
//! reported.
//!
//! Kept in a file, they outlive a proxy that is killed: the next one continues the session and its
//! numbers, and reports the losses of the one before. A number without a receipt is an event that
//! was lost, at any point.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::fcntl::{Flock, FlockArg};

/// The first line of a file.
const HEAD: &str = "boxproof receipts proxy 1";

/// The counts of one session.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct SessionCounts {
    /// Frames that were numbered.
    numbered: u64,
    /// Frames and losses that the relay has not taken.
    owed: u64,
    /// Actions that have begun and are not reported.
    open: u64,
}

/// The counter.
#[derive(Debug)]
pub(super) struct DebtJournal {
    session: String,
    sandbox: String,
    counts: Mutex<SessionCounts>,
    /// The number of changes.
    changes: AtomicU64,
    file: Option<(PathBuf, Flock<File>)>,
}

impl DebtJournal {
    /// Counts in memory only: the counts of a killed proxy are lost.
    pub(super) fn new(sandbox: &str) -> Self {
        let session = uuid::Uuid::new_v4().to_string();
        let (sandbox, (counts, changes)) = (sandbox.to_owned(), Default::default());
        Self { session, sandbox, counts, changes, file: None }
    }

    /// Counts in a file, which may be that of a killed proxy; also returns the number of events it
    /// owed.
    pub(super) fn kept(sandbox: &str, path: &Path) -> Result<(Self, i64), String> {
        let said = |error: String| format!("{}: {error}", path.display());
        let file = open(path).map_err(said)?;
        let mut account = Self::new(sandbox);
        let text = std::io::read_to_string(&*file).map_err(|error| said(error.to_string()))?;
        if !text.is_empty() {
            let wrong = "not the state of a proxy for this sandbox; name another --state";
            let (session, left) = read(&text, sandbox).ok_or_else(|| said(wrong.to_owned()))?;
            account.session = session;
            // Actions that had begun may have been done: each takes a number that no receipt has.
            let numbered = left.numbered.saturating_add(left.open);
            let owed = left.owed.saturating_add(left.open);
            account.counts = Mutex::new(SessionCounts { numbered, owed, open: 0 });
        }
        let owed = account.lock().owed;
        account.write(&file, &account.lock()).map_err(said)?;
        account.file = Some((path.to_owned(), file));
        Ok((account, i64::try_from(owed).unwrap_or(i64::MAX)))
    }

    /// The name of the session.
    pub(super) fn session(&self) -> &str {
        &self.session
    }

    /// An action begins.
    pub(super) fn begin(&self) {
        self.change(|counts| counts.open += 1);
    }

    /// Ends an action that was reported, or was none.
    pub(super) fn end(&self) {
        self.change(|counts| counts.open = counts.open.saturating_sub(1));
    }

    /// The number of one more frame.
    pub(super) fn number(&self) -> u64 {
        self.skip(1)
    }

    /// Takes so many numbers for lost events, or the next one for a frame; returns the last of
    /// them.
    pub(super) fn skip(&self, count: u64) -> u64 {
        self.change(|counts| {
            counts.numbered += count;
            counts.owed += count;
        })
        .numbered
    }

    /// Settles so many owed events, for which the relay has answered.
    pub(super) fn mark_answered(&self, count: u64) {
        self.change(|counts| counts.owed = counts.owed.saturating_sub(count));
    }

    /// Returns the number of changes so far: actions begun or ended, and events reported.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, SessionCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut SessionCounts)) -> SessionCounts {
        self.changes.fetch_add(1, Ordering::Relaxed);
        let mut counts = self.lock();
        change(&mut counts);
        if let Some((path, file)) = &self.file
            && let Err(error) = self.write(file, &counts)
        {
            eprintln!("proxy: {}: not written: {error}", path.display());
        }
        *counts
    }

    /// One write at the same place and of the same length each time.
    fn write(&self, file: &File, counts: &SessionCounts) -> Result<(), String> {
        let SessionCounts { numbered, owed, open } = counts;
        let text = format!(
            "{HEAD}\n{}\n{}\n{numbered:020} {owed:020} {open:020}\n",
            self.session, self.sandbox
        );
        file.write_all_at(text.as_bytes(), 0).map_err(|error| error.to_string())
    }
}

/// Session and counts of a file, if it is of this sandbox.
fn read(text: &str, sandbox: &str) -> Option<(String, SessionCounts)> {
    let mut lines = text.lines();
    let (head, session, of, counts) = (lines.next()?, lines.next()?, lines.next()?, lines.next()?);
    if head != HEAD || of != sandbox || lines.next().is_some() {
        return None;
    }
    uuid::Uuid::parse_str(session).ok()?;
    let counts: Vec<u64> =
        counts.split(' ').map(|count| count.parse().ok()).collect::<Option<_>>()?;
    let &[numbered, owed, open] = &counts[..] else { return None };
    Some((session.to_owned(), SessionCounts { numbered, owed, open }))
}

fn open(path: &Path) -> Result<Flock<File>, String> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC);
    let file = options.open(path).map_err(|error| error.to_string())?;
    let busy = "another proxy counts there; name another --state";
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| match errno {
        nix::errno::Errno::EWOULDBLOCK => busy.to_owned(),
        other => other.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn what_was_owed_is_told_by_the_next() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state");
        let (first, owed) = DebtJournal::kept("s1", &path).unwrap();
        assert_eq!(owed, 0);
        first.begin();
        first.begin();
        assert_eq!((first.number(), first.number()), (1, 2));
        first.end();
        first.mark_answered(1);
        assert!(DebtJournal::kept("s1", &path).unwrap_err().contains("another proxy"));
        let session = first.session().to_owned();
        drop(first);
        // One frame that was not taken, and one action that was not reported.
        let (second, owed) = DebtJournal::kept("s1", &path).unwrap();
        assert_eq!((owed, second.session()), (2, session.as_str()));
        assert_eq!(second.number(), 4);
        drop(second);
        assert!(DebtJournal::kept("s2", &path).unwrap_err().contains("name another --state"));
    }

    #[rstest]
    #[case("x\n")]
    #[case("boxproof receipts proxy 1\n\ns1\n1 2 3\n")]
    #[case("boxproof receipts proxy 1\n00000000-0000-4000-8000-000000000001\ns1\n1 2\n")]
    #[case("boxproof receipts proxy 1\n00000000-0000-4000-8000-000000000001\ns1\n1 2 -3\n")]
    fn anything_else_is_no_state(#[case] text: &str) {
        assert_eq!(read(text, "s1"), None);
    }
}
