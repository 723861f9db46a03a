//! The server of agents, until a signal stops it.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::time::timeout;

use super::exchange::{ProxyContext, answer};

/// The delay after a failure for want of descriptors.
const PAUSE: Duration = Duration::from_millis(10);

/// The interval of the runtime's timer, shorter than any connection's (hyper's are set to 30 s).
const TICK: Duration = Duration::from_secs(10);

/// A timer that is always the nearest: one that is set nearer than all others wakes the driver by a
/// system call, and a connection sets one for each request.
async fn tick() {
    loop {
        let _pause = timeout(TICK, pending::<()>()).await;
    }
}

/// Serves until SIGTERM or SIGINT, and then for `drain` to let running actions end.
pub(super) async fn serve(
    listener: TcpListener,
    proxy: &Arc<ProxyContext>,
    drain: Duration,
) -> std::io::Result<()> {
    let mut term = signal(SignalKind::terminate())?;
    let mut int = signal(SignalKind::interrupt())?;
    let (stop, stopped) = watch::channel(());
    tokio::spawn(tick());
    loop {
        let accepted = tokio::select! {
            _ = term.recv() => break,
            _ = int.recv() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                tokio::spawn(connection(stream, Arc::clone(proxy), stopped.clone()));
            }
            // There are no descriptors left; one comes back when a connection ends.
            Err(error) => {
                eprintln!("proxy: no connection accepted: {error}");
                let _pause = timeout(PAUSE, pending::<()>()).await;
            }
        }
    }
    drop(listener);
    drop(stop);
    // Actions that have not ended by then are reported as interrupted, when their tasks are
    // dropped.
    let _either = timeout(drain, proxy.teller.idle()).await;
    proxy.teller.stop();
    proxy.ptys.all_closed("interrupted: the proxy was stopped");
    Ok(())
}

async fn connection(stream: TcpStream, proxy: Arc<ProxyContext>, mut stopped: watch::Receiver<()>) {
    let _faster = stream.set_nodelay(true);
    let service = service_fn(move |request| answer(Arc::clone(&proxy), request));
    let mut builder = Builder::new();
    builder.timer(TokioTimer::new()).auto_date_header(false).preserve_header_case(true);
    let connection = builder.serve_connection(TokioIo::new(stream), service).with_upgrades();
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        _ = stopped.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        eprintln!("proxy: connection of an agent: {error}");
    }
}
