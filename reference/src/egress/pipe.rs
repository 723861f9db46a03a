//! Bytes from a client to a server and back, until both have said all, or nobody is left to listen.

use std::io;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, copy_buf, split};

use super::life::Life;

/// Bytes that are on their way in one direction.
const BUFFER: usize = 256 * 1024;

/// Carries bytes between `client` and `server`. Once the run is over there is no client: what it
/// sent is delivered, and nothing is waited for.
pub(super) async fn pipe<A, B>(client: A, server: B, mut life: Life)
where
    A: AsyncRead + AsyncWrite + Unpin,
    B: AsyncRead + AsyncWrite + Unpin,
{
    let (said, to_client) = split(client);
    let (answered, to_server) = split(server);
    let up = carry(said, to_server);
    let down = carry(answered, to_client);
    tokio::pin!(up, down);
    tokio::select! {
        sent = &mut up => {
            // Whoever broke off does not listen either.
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

async fn carry(from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) -> io::Result<()> {
    copy_buf(&mut BufReader::with_capacity(BUFFER, from), &mut to).await?;
    to.shutdown().await
}
