//! The server of proxies, until a signal stops it.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::ingest::RelayContext;

/// The time limit of a handshake, and at the end of running requests.
const PATIENCE: Duration = Duration::from_secs(5);
/// The delay after a failure for want of descriptors.
const PAUSE: Duration = Duration::from_millis(10);
const DRAIN: Duration = Duration::from_secs(1);

/// Serves until SIGTERM or SIGINT.
pub(super) async fn serve(
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    relay: RelayContext,
) -> std::io::Result<()> {
    let mut term = signal(SignalKind::terminate())?;
    let mut int = signal(SignalKind::interrupt())?;
    let (stop, stopped) = watch::channel(());
    // Every connection holds a sender, so that the channel closes with the last one.
    let (alive, mut gone) = mpsc::channel::<()>(1);
    let (acceptor, relay) = (TlsAcceptor::from(tls), Arc::new(relay));
    loop {
        let accepted = tokio::select! {
            _ = term.recv() => break,
            _ = int.recv() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let (acceptor, relay) = (acceptor.clone(), Arc::clone(&relay));
                let (stopped, alive) = (stopped.clone(), alive.clone());
                tokio::spawn(async move {
                    if let Err(error) = connection(stream, acceptor, relay, stopped).await {
                        eprintln!("relay: connection of a proxy: {error}");
                    }
                    drop(alive);
                });
            }
            Err(error) => {
                eprintln!("relay: no connection accepted: {error}");
                let _pause = timeout(PAUSE, pending::<()>()).await;
            }
        }
    }
    drop((listener, stop, alive));
    let _either = timeout(DRAIN, gone.recv()).await;
    Ok(())
}

async fn connection(
    stream: TcpStream,
    acceptor: TlsAcceptor,
    relay: Arc<RelayContext>,
    mut stopped: watch::Receiver<()>,
) -> Result<(), String> {
    let from = stream.peer_addr().map_err(|error| error.to_string())?.ip();
    let _faster = stream.set_nodelay(true);
    let stream = timeout(PATIENCE, acceptor.accept(stream)).await;
    let stream = stream.map_err(|_| "no handshake in time".to_owned())?;
    let stream = stream.map_err(|error| format!("TLS: {error}"))?;
    let certificate = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
    let peer = relay.peer(certificate.map(AsRef::as_ref), from);
    let service = service_fn(async |request| {
        Ok::<_, std::convert::Infallible>(relay.answer(&peer, request).await)
    });
    let connection =
        Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        _ = stopped.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    ended.map_err(|error| error.to_string())
}
