//! The wire between a proxy and the relay: a forwarder that passes, cuts or hangs, and counts.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use boxproof_cases::case::RelayLink as Mode;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// A forwarder. It ends with its runtime.
#[derive(Debug)]
pub struct FaultProxy {
    /// The address that the proxy connects to.
    pub address: SocketAddr,
    mode: watch::Sender<(Mode, SocketAddr)>,
    events: Arc<AtomicU64>,
}

impl FaultProxy {
    /// A forwarder to `relay`.
    ///
    /// # Errors
    /// Returns an error when there is no port.
    pub async fn new(relay: SocketAddr) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (mode, seen) = watch::channel((Mode::Pass, relay));
        let events = Arc::new(AtomicU64::new(0));
        tokio::spawn(serve(listener, seen, Arc::clone(&events)));
        Ok(Self { address, mode, events })
    }

    /// Sets the mode for connections from now on; those that are there are ended.
    pub fn turn(&self, mode: Mode) {
        self.mode.send_modify(|(now, _)| *now = mode);
    }

    /// Sets the relay's address; connections are ended.
    pub fn lead(&self, relay: SocketAddr) {
        self.mode.send_modify(|(_, to)| *to = relay);
    }

    /// Returns whether proxies reach the relay.
    pub fn passes(&self) -> bool {
        self.mode.borrow().0 == Mode::Pass
    }

    /// Returns the number of events: connections that came and pieces that passed. The end of a
    /// connection is no attempt of any side, may be seen late, and does not count.
    pub fn events(&self) -> u64 {
        self.events.load(Ordering::SeqCst)
    }
}

async fn serve(
    listener: TcpListener,
    mode: watch::Receiver<(Mode, SocketAddr)>,
    events: Arc<AtomicU64>,
) {
    while let Ok((client, _)) = listener.accept().await {
        events.fetch_add(1, Ordering::SeqCst);
        tokio::spawn(carry(client, mode.clone(), Arc::clone(&events)));
    }
}

/// Carries one connection, until either side ends it or the mode changes.
async fn carry(
    client: TcpStream,
    mut mode: watch::Receiver<(Mode, SocketAddr)>,
    events: Arc<AtomicU64>,
) {
    let (now, relay) = *mode.borrow_and_update();
    match now {
        Mode::Cut => {}
        Mode::Hang => {
            let _ = mode.changed().await;
        }
        Mode::Pass => {
            let Ok(server) = TcpStream::connect(relay).await else { return };
            let (from_client, to_client) = client.into_split();
            let (from_server, to_server) = server.into_split();
            tokio::select! {
                () = copy(from_client, to_server, &events) => {}
                () = copy(from_server, to_client, &events) => {}
                _ = mode.changed() => {}
            }
        }
    }
}

async fn copy(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    events: &AtomicU64,
) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        if to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
        events.fetch_add(1, Ordering::SeqCst);
    }
}
