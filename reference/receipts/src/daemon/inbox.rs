//! Connections: frames are cut out of the stream, checked, and handed to the writer.

use std::collections::HashMap;
use std::io::{BufReader, ErrorKind, Read};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::log;
use super::receipt_writer::ArrivedEvent;
use crate::accept;
use crate::frame::MOST;
use crate::peer::PeerProcess;

/// The most connections at a time; each holds two of the usual 1,024 descriptors.
pub(super) const CONNECTIONS: usize = 480;

/// The open connections.
#[derive(Debug, Default)]
pub(super) struct ConnectionInbox {
    open: Mutex<HashMap<u64, UnixStream>>,
}

impl ConnectionInbox {
    /// Serves a new connection in a thread of its own.
    pub(super) fn serve(
        self: &Arc<Self>,
        number: u64,
        stream: UnixStream,
        to: SyncSender<ArrivedEvent>,
    ) {
        // Asked before the first byte is read.
        let taken = PeerProcess::from_socket(&stream).and_then(|peer| {
            let handle = stream.try_clone().map_err(|error| error.to_string())?;
            self.keep(number, handle)?;
            Ok(peer)
        });
        let peer = match taken {
            Ok(peer) => Arc::new(peer),
            Err(error) => return log(&format!("connection closed: {error}")),
        };
        let inbox = Arc::clone(self);
        let serving = move || {
            if let Err(error) = frames(&stream, &peer, &to) {
                log(&format!("pid {}: connection closed: {error}", peer.pid));
            }
            inbox.forget(number);
        };
        if let Err(error) = thread::Builder::new().spawn(serving) {
            log(&format!("connection closed: {error}"));
            self.forget(number);
        }
    }

    fn keep(&self, number: u64, stream: UnixStream) -> Result<(), String> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= CONNECTIONS {
            return Err(format!("{CONNECTIONS} are open already"));
        }
        open.insert(number, stream);
        Ok(())
    }

    fn forget(&self, number: u64) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
    }

    /// Lets every connection deliver the bytes sent so far, and no more.
    pub(super) fn drain(&self) {
        for stream in self.open.lock().unwrap_or_else(PoisonError::into_inner).values() {
            // One that is closed already has nothing to deliver.
            let _closed = stream.shutdown(Shutdown::Read);
        }
    }
}

/// Hands on every good frame until the stream ends; a bad one is reported and skipped.
fn frames(
    stream: &UnixStream,
    peer: &Arc<PeerProcess>,
    to: &SyncSender<ArrivedEvent>,
) -> Result<(), String> {
    let mut from = BufReader::with_capacity(1 << 16, stream);
    let mut body = Vec::new();
    while next(&mut from, &mut body)? {
        match accept::accept(&body) {
            Ok(event) => {
                let arrived = ArrivedEvent { event, peer: Arc::clone(peer) };
                to.send(arrived).map_err(|_| "the daemon ends")?;
            }
            Err(error) => log(&format!("pid {}: frame refused: {error}", peer.pid)),
        }
    }
    Ok(())
}

/// Reads one frame; false at the end of the stream, if no frame is cut there.
fn next(from: &mut impl Read, body: &mut Vec<u8>) -> Result<bool, String> {
    let mut header = [0; 4];
    let mut have = 0;
    while have < header.len() {
        match from.read(&mut header[have..]) {
            Ok(0) if have == 0 => return Ok(false),
            Ok(0) => return Err(format!("it ended after {have} bytes of a header")),
            Ok(more) => have += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    let length = u32::from_be_bytes(header) as usize;
    if !(1..=MOST).contains(&length) {
        return Err(format!("a frame of {length} bytes; 1 to {MOST} are allowed"));
    }
    body.clear();
    let read = from.take(length as u64).read_to_end(body).map_err(|error| error.to_string())?;
    match read == length {
        true => Ok(true),
        false => Err(format!("it ended after {read} of {length} bytes of a frame")),
    }
}
