//! A small execd on loopback, for tests and for the demonstration: it really runs commands and
//! changes files, speaks as execd does with its quirks, and knows no kernel but a toy one.

mod files;
mod pty;
mod reply;
mod run;
mod shell;
mod upload;

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use hyper::body::Incoming;
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use self::reply::{ExecdReply, error, json};
use self::shell::ShellSessions;

/// A running execd; it ends, and its processes with it, when this is dropped.
pub struct Execd {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Execd {
    /// Starts on a free port of loopback; `token` is required of its callers.
    pub fn start(token: Option<&str>) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let ((tell, told), (stop, stopped)) = (mpsc::channel(), oneshot::channel());
        let token = token.map(str::to_owned);
        let thread = std::thread::spawn(move || {
            runtime.block_on(async {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
                let serving = listener.and_then(|found| Ok((found.local_addr()?, found)));
                let (address, listener) = match serving {
                    Ok((address, listener)) => (Ok(address), Some(listener)),
                    Err(error) => (Err(error), None),
                };
                // The starting thread waits for the address.
                let _heard = tell.send(address);
                if let Some(listener) = listener {
                    tokio::select! { () = serve(listener, token) => {}, _ = stopped => {} }
                }
            });
        });
        let address = told.recv().map_err(io::Error::other)??;
        Ok(Self { address, stop: Some(stop), thread: Some(thread) })
    }

    /// Returns the address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Execd {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic has been printed already.
            let _ended = thread.join();
        }
    }
}

/// The state shared by all requests.
pub(super) struct ExecdState {
    token: Option<String>,
    shells: ShellSessions,
}

async fn serve(listener: TcpListener, token: Option<String>) {
    let state = Arc::new(ExecdState { token, shells: ShellSessions::default() });
    while let Ok((stream, _)) = listener.accept().await {
        let state = Arc::clone(&state);
        tokio::spawn(connection(stream, state));
    }
}

async fn connection(stream: TcpStream, state: Arc<ExecdState>) {
    let _faster = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let state = Arc::clone(&state);
        async move { Ok::<_, Infallible>(answer(&state, request).await) }
    });
    let connection = Builder::new().serve_connection(TokioIo::new(stream), service);
    // A caller that closes is no error here.
    let _ended = connection.with_upgrades().await;
}

async fn answer(state: &Arc<ExecdState>, request: Request<Incoming>) -> ExecdReply {
    let given =
        request.headers().get("x-execd-access-token").map(hyper::header::HeaderValue::as_bytes);
    if state.token.as_deref().is_some_and(|token| given != Some(token.as_bytes())) {
        return json(401, &serde_json::json!({"error": "invalid access token"}));
    }
    let path = percent_encoding::percent_decode_str(request.uri().path()).decode_utf8_lossy();
    let path = path.into_owned();
    if path.len() > 1 && path.ends_with('/') {
        return reply::moved(path.trim_end_matches('/'));
    }
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    match (request.method(), &parts[..]) {
        (&Method::GET, ["ping"]) => reply::empty(200),
        (&Method::POST, ["command"]) | (&Method::POST, ["session", _, "run"]) => {
            run::command(request).await
        }
        (&Method::POST, ["code"]) => run::code(request).await,
        (_, ["pty", ..]) => pty::answer(state, request, &parts[1..]).await,
        (_, ["files" | "directories", ..]) => files::answer(request, &parts).await,
        _ => error(404, "UNKNOWN", "404 page not found"),
    }
}
