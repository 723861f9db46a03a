//! The daemon's life: start, take connections, end by a signal or by a fault of the store.

use std::io::{ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use super::inbox::{CONNECTIONS, ConnectionInbox};
use super::listener::{DaemonListener, listen};
use super::receipt_writer::{ArrivedEvent, ReceiptWriter};
use super::{DaemonArgs, log};

/// The maximum number of events that wait for the writer, and are stored with one sync.
const BATCH: usize = 1024;
/// The time limit for events in flight at the end.
const DRAIN: Duration = Duration::from_millis(200);
/// The interval between warnings of an unsafe path, in milliseconds.
const WARN: u16 = 60_000;

/// Set once, when the daemon is to end.
type ShutdownDeadline = Arc<OnceLock<Instant>>;

/// Runs the daemon.
pub(super) fn run(args: &DaemonArgs) -> Result<(), String> {
    // Blocked before there are threads: one descriptor takes them all. A file that may not grow
    // is an error of the write then.
    let signals = signals()?;
    let mut ledger = ReceiptWriter::open(args)?;
    let listener = listen(&args.socket, args.unsafe_socket_path)?;
    listener.socket.set_nonblocking(true).map_err(|error| error.to_string())?;
    ledger.begin(&args.chain)?;
    crate::stdout::line(format_args!("ready"));
    std::io::stdout().flush().map_err(|error| error.to_string())?;
    let (to, from) = sync_channel(BATCH);
    let (wake, woken) = UnixStream::pair().map_err(|error| error.to_string())?;
    let deadline = ShutdownDeadline::default();
    let writer = writer(ledger, from, Arc::clone(&deadline), wake)?;
    let inbox = Arc::new(ConnectionInbox::default());
    let taken = take(&listener, &inbox, &to, [signals.as_fd(), woken.as_fd()], args);
    // It ends in any case; an error of the writer comes first.
    let _set = deadline.set(Instant::now() + DRAIN);
    drop((listener, to));
    inbox.drain();
    let written = writer.join().map_err(|_| "the writer failed".to_owned())?;
    written.and(taken)
}

fn signals() -> Result<SignalFd, String> {
    let set: SigSet = [Signal::SIGTERM, Signal::SIGINT].into_iter().collect();
    let mut blocked = set;
    blocked.add(Signal::SIGXFSZ);
    blocked.thread_block().map_err(|errno| errno.to_string())?;
    let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
    SignalFd::with_flags(&set, flags).map_err(|errno| errno.to_string())
}

/// Takes connections until one of `ends` says that it is over.
fn take(
    listener: &DaemonListener,
    inbox: &Arc<ConnectionInbox>,
    to: &SyncSender<ArrivedEvent>,
    ends: [std::os::fd::BorrowedFd<'_>; 2],
    args: &DaemonArgs,
) -> Result<(), String> {
    let every = if args.unsafe_socket_path { WARN.into() } else { PollTimeout::NONE };
    let mut number = 0;
    loop {
        let mut events = [listener.socket.as_fd(), ends[0], ends[1]]
            .map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        match poll(&mut events, every) {
            Ok(0) => {
                log(&format!("--unsafe-socket-path: {} can be replaced", args.socket.display()));
                continue;
            }
            Err(Errno::EINTR) => continue,
            polled => polled.map_err(|errno| errno.to_string())?,
        };
        let over = events[1..].iter().any(|event| event.any() == Some(true));
        // Also at the end: a client that has connected may have sent all of it already.
        for stream in std::iter::from_fn(|| waiting(listener)).take(CONNECTIONS) {
            inbox.serve(number, stream, to.clone());
            number += 1;
        }
        if over {
            return Ok(());
        }
    }
}

/// A connection that waits to be taken.
fn waiting(listener: &DaemonListener) -> Option<UnixStream> {
    match listener.socket.accept() {
        Ok((stream, _)) => return Some(stream),
        Err(error) if error.kind() == ErrorKind::WouldBlock => {}
        Err(error) => log(&format!("a connection was not taken: {error}")),
    }
    None
}

/// Starts the writer; `wake` closes when it ends, for any reason.
fn writer(
    mut ledger: ReceiptWriter,
    from: Receiver<ArrivedEvent>,
    deadline: ShutdownDeadline,
    wake: UnixStream,
) -> Result<JoinHandle<Result<(), String>>, String> {
    let write = move || {
        let _wake = wake;
        let mut batch = Vec::new();
        while let Ok(first) = from.recv() {
            batch.clear();
            batch.push(first);
            batch.extend(from.try_iter().take(BATCH - 1));
            ledger.record(&batch)?;
            if deadline.get().is_some_and(|deadline| Instant::now() > *deadline) {
                log("ends before everything was read");
                break;
            }
        }
        ledger.end()
    };
    thread::Builder::new().spawn(write).map_err(|error| error.to_string())
}
