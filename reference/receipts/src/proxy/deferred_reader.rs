//! The reading of an answer off the agent's path: pieces are handed to the agent first, and large
//! answers are hashed and parsed on another thread.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::outcome::{ActionOutcome, AnswerEnd, OutcomeReader};

/// The number of waiting bytes from which the other thread is woken.
const WORTH: usize = 32 << 10;
/// With more bytes waiting, the thread that brings them reads them: an answer is never kept as a
/// whole.
const MOST: usize = 2 << 20;

/// The length up to which an answer is read at once: that takes no longer than handing it over. So
/// many bytes may also wait of a longer one that has ended.
const LITTLE: usize = 4 << 10;

/// A reader that may be some bytes behind.
#[derive(Clone)]
pub(super) struct DeferredReader(Arc<DeferredState>);

struct DeferredState {
    waiting: Mutex<WaitingBytes>,
    reader: Mutex<OutcomeReader>,
    /// It is in the queue of the reading thread.
    queued: AtomicBool,
}

#[derive(Default)]
struct WaitingBytes {
    bytes: VecDeque<Bytes>,
    length: usize,
    /// The total of bytes that have come.
    whole: usize,
}

/// The reading thread; without one, every caller reads for itself.
static THREAD: LazyLock<Option<Sender<Arc<DeferredState>>>> = LazyLock::new(|| {
    let (to, from) = channel::<Arc<DeferredState>>();
    let read = move || {
        for shared in from {
            // Unmarked first: bytes that come meanwhile are queued again.
            shared.queued.store(false, Ordering::SeqCst);
            drop(shared.caught_up());
        }
    };
    std::thread::Builder::new().name("reader".to_owned()).spawn(read).ok().map(|_| to)
});

impl DeferredReader {
    /// Reads by `reader`.
    pub(super) fn new(reader: OutcomeReader) -> Self {
        let (waiting, queued) = Default::default();
        Self(Arc::new(DeferredState { waiting, reader: Mutex::new(reader), queued }))
    }

    /// The answer began.
    pub(super) fn begins(&self, status: u16) {
        self.0.caught_up().begins(status);
    }

    /// Takes in a piece of the answer.
    pub(super) fn feed(&self, bytes: &Bytes) {
        if self.0.is_short(bytes.len()) {
            return lock(&self.0.reader).feed(bytes);
        }
        let length = self.0.push(bytes.clone());
        if length > MOST {
            drop(self.0.caught_up());
        } else if length >= WORTH && !self.0.queued.swap(true, Ordering::SeqCst) {
            let sent = THREAD.as_ref().map(|thread| thread.send(Arc::clone(&self.0)));
            if !matches!(sent, Some(Ok(()))) {
                drop(self.0.caught_up());
            }
        }
    }

    /// Returns whether all of it was short, and is read.
    pub(super) fn is_short(&self) -> bool {
        self.0.is_short(0)
    }

    /// It ended, and may have to wait: it does not keep much.
    pub(super) fn leave_little(&self) {
        if lock(&self.0.waiting).length > LITTLE {
            drop(self.0.caught_up());
        }
    }

    /// Ends the answer; returns its outcome.
    pub(super) fn end(&self, ended: AnswerEnd) -> ActionOutcome {
        self.0.caught_up().end(ended)
    }
}

impl DeferredState {
    /// Returns whether the answer is short, `more` bytes included. A short answer has no waiting
    /// bytes, and is not in the thread's queue.
    fn is_short(&self, more: usize) -> bool {
        let mut waiting = lock(&self.waiting);
        waiting.whole += more;
        waiting.whole <= LITTLE
    }

    /// Queues `bytes` and returns the number of bytes that wait then.
    fn push(&self, bytes: Bytes) -> usize {
        let mut waiting = lock(&self.waiting);
        waiting.length += bytes.len();
        waiting.bytes.push_back(bytes);
        waiting.length
    }

    fn next(&self) -> Option<Bytes> {
        let mut waiting = lock(&self.waiting);
        let bytes = waiting.bytes.pop_front()?;
        waiting.length -= bytes.len();
        Some(bytes)
    }

    /// Returns the reader after it has read all waiting bytes; its lock keeps the order.
    fn caught_up(&self) -> MutexGuard<'_, OutcomeReader> {
        let mut reader = lock(&self.reader);
        while let Some(bytes) = self.next() {
            reader.feed(&bytes);
        }
        reader
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;
    use crate::proxy::outcome::hex;
    use crate::proxy::routes::OutcomeSource;

    #[test]
    fn every_byte_is_read_once_and_in_order() {
        let behind = DeferredReader::new(OutcomeReader::new(OutcomeSource::Content, false));
        behind.begins(200);
        let mut whole = Sha256::new();
        // Smaller pieces, some that wake the thread, and more than may wait.
        for number in 0..400_usize {
            let piece = Bytes::from(vec![number as u8; number * number]);
            whole.update(&piece);
            behind.feed(&piece);
            assert!(lock(&behind.0.waiting).length <= MOST);
        }
        let outcome = behind.end(AnswerEnd::Whole);
        assert_eq!(outcome.output, Some(serde_json::json!({"content_hash": hex(whole)})));
    }

    #[test]
    fn a_short_answer_is_read_at_once_and_a_longer_one_keeps_little() {
        let behind = DeferredReader::new(OutcomeReader::new(OutcomeSource::Content, false));
        behind.begins(200);
        let waiting = || lock(&behind.0.waiting).length;
        behind.feed(&Bytes::from(vec![1; LITTLE]));
        assert_eq!((waiting(), behind.is_short()), (0, true));
        // However small the next piece is: it may be the end of something long.
        behind.feed(&Bytes::from(vec![2; 1]));
        assert_eq!((waiting(), behind.is_short()), (1, false));
        behind.feed(&Bytes::from(vec![3; LITTLE - 1]));
        behind.leave_little();
        assert_eq!(waiting(), LITTLE);
        behind.feed(&Bytes::from(vec![4; 1]));
        behind.leave_little();
        assert_eq!(waiting(), 0);
        let whole = [vec![1; LITTLE], vec![2], vec![3; LITTLE - 1], vec![4]].concat();
        let outcome = behind.end(AnswerEnd::Whole);
        let hash = hex(Sha256::new_with_prefix(whole));
        assert_eq!(outcome.output, Some(serde_json::json!({"content_hash": hash})));
    }
}
