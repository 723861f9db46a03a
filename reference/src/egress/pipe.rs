//! The transfer of bytes from a client to a server and back, until both directions have ended, or
//! no receiver is left.
//!
//! The bytes are spliced: the kernel passes pages on, and nothing is copied to user space.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{Shutdown, shutdown};
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use tokio::io::Interest;
use tokio::net::TcpStream;

use super::shutdown::ConnectionGuard;

/// Bytes that are on their way in one direction, where the kernel allows that much.
const ROOM: usize = 1024 * 1024;

/// Carries bytes between `client` and `server`. Once the run is over there is no client: its bytes
/// are delivered, and nothing is waited for.
pub(super) async fn pipe(client: TcpStream, server: TcpStream, mut life: ConnectionGuard) {
    let up = carry(&client, &server);
    let down = carry(&server, &client);
    tokio::pin!(up, down);
    tokio::select! {
        sent = &mut up => {
            // A client that broke off does not read either.
            if sent.is_ok() {
                tokio::select! {
                    _ = &mut down => {}
                    () = life.over() => {}
                }
            }
        }
        // A server that broke off takes nothing any more, and its client is to know.
        answered = &mut down => if answered.is_ok() {
            drop(up.await);
        },
    }
}

/// Copies all bytes of `from` to `to`, and then its end.
async fn carry(from: &TcpStream, to: &TcpStream) -> io::Result<()> {
    let (outlet, inlet) = pipe_with(PipeFlags::NONBLOCK | PipeFlags::CLOEXEC)?;
    // A smaller one does as well, if slower.
    let _room = fcntl_setpipe_size(&inlet, ROOM);
    // The pipe is empty whenever more is taken, so that only the socket can make it wait.
    while let taken @ 1.. = from.async_io(Interest::READABLE, || moved(from, &inlet, ROOM)).await? {
        drain(&outlet, to, taken).await?;
    }
    Ok(shutdown(to, Shutdown::Write)?)
}

async fn drain(outlet: &OwnedFd, to: &TcpStream, mut left: usize) -> io::Result<()> {
    while left > 0 {
        left -= to.async_io(Interest::WRITABLE, || moved(outlet, to, left)).await?;
    }
    Ok(())
}

fn moved(from: impl AsFd, to: impl AsFd, most: usize) -> io::Result<usize> {
    let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
    Ok(splice(from, None, to, None, most, flags)?)
}
