//! The daemon's socket: one connection for all, one whole frame after another.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::sync::Mutex;
use tokio::time::timeout;

/// The time limit for one frame.
const PATIENCE: Duration = Duration::from_secs(1);

/// The way to the daemon.
pub(super) struct DaemonConnection {
    socket: PathBuf,
    open: Mutex<Option<UnixStream>>,
}

impl DaemonConnection {
    /// Nothing is connected yet.
    pub(super) fn new(socket: PathBuf) -> Self {
        Self { socket, open: Mutex::default() }
    }

    /// Returns when the socket has taken the whole frame.
    pub(super) async fn write(&self, frame: &[u8]) -> io::Result<()> {
        let length = u32::try_from(frame.len()).map_err(io::Error::other)?;
        let mut bytes = length.to_be_bytes().to_vec();
        bytes.extend_from_slice(frame);
        let mut open = self.open.lock().await;
        let kept = open.take().filter(is_open);
        if let Some(kept) = kept
            && let Ok(kept) = written(kept, &bytes).await
        {
            *open = Some(kept);
            return Ok(());
        }
        // A frame of which a part was written was thrown away with its connection.
        let fresh = UnixStream::connect(&self.socket).await?;
        *open = Some(written(fresh, &bytes).await?);
        Ok(())
    }
}

/// Returns whether the daemon has not closed the connection; the daemon sends nothing.
fn is_open(stream: &UnixStream) -> bool {
    let mut byte = [0];
    matches!(stream.try_read(&mut byte), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}

async fn written(mut stream: UnixStream, bytes: &[u8]) -> io::Result<UnixStream> {
    timeout(PATIENCE, stream.write_all(bytes)).await.map_err(io::Error::other)??;
    Ok(stream)
}
