//! An execd that sends what it is asked for at once, and a reverse proxy that does nothing else.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Frame, Incoming};
use hyper::client::conn::http1::SendRequest;
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};

/// The arguments that make this program one of them.
pub(crate) const EXECD: &str = "__execd";
pub(crate) const PLAIN: &str = "__plain";

type Body = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

fn block_on(future: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(future);
}

async fn listen() -> TcpListener {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("listening {}", listener.local_addr().unwrap());
    listener
}

/// Answers `/files/download?path=N` with N bytes.
pub(crate) fn execd() {
    block_on(async {
        let listener = listen().await;
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            tokio::spawn(async move {
                let service = service_fn(async |request: Request<Incoming>| {
                    let size = request.uri().query().unwrap().rsplit_once('=').unwrap().1;
                    let body = Zeros(size.parse().unwrap());
                    Ok::<_, Infallible>(Response::new(body))
                });
                // A client that is gone is no matter.
                let _ended = Builder::new().serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
}

/// So many zeros, in pieces.
struct Zeros(u64);

static PIECE: [u8; 64 << 10] = [0; 64 << 10];

impl hyper::body::Body for Zeros {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let size = self.0.min(PIECE.len() as u64);
        self.0 -= size;
        let piece = Bytes::from_static(&PIECE[..usize::try_from(size).unwrap()]);
        std::task::Poll::Ready((size > 0).then(|| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.0 == 0
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        hyper::body::SizeHint::with_exact(self.0)
    }
}

/// Forwards to `execd`, with connections kept as the proxy keeps them.
pub(crate) fn plain(execd: &str) {
    let (execd, idle) = (execd.to_owned(), Arc::<Mutex<Vec<SendRequest<Body>>>>::default());
    block_on(async {
        let listener = listen().await;
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            let (execd, idle) = (execd.clone(), Arc::clone(&idle));
            tokio::spawn(async move {
                let service = service_fn(|request| forward(request, &execd, &idle));
                let mut builder = Builder::new();
                builder.timer(TokioTimer::new()).auto_date_header(false).preserve_header_case(true);
                // A client that is gone is no matter.
                let _ended = builder.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
}

async fn forward(
    request: Request<Incoming>,
    execd: &str,
    idle: &Mutex<Vec<SendRequest<Body>>>,
) -> Result<Response<Incoming>, hyper::Error> {
    let mut request = request.map(|body| body.map_err(Into::into).boxed_unsync());
    request.headers_mut().remove("connection");
    let kept = || {
        let mut idle = idle.lock().unwrap();
        idle.retain(|kept| !kept.is_closed());
        let ready = idle.iter().rposition(SendRequest::is_ready)?;
        Some(idle.swap_remove(ready))
    };
    let mut sender = match kept() {
        Some(kept) => kept,
        None => connect(execd).await?,
    };
    let answer = sender.send_request(request).await?;
    idle.lock().unwrap().push(sender);
    Ok(answer)
}

async fn connect(execd: &str) -> Result<SendRequest<Body>, hyper::Error> {
    let stream = TcpStream::connect(execd).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let mut builder = hyper::client::conn::http1::Builder::new();
    builder.preserve_header_case(true);
    let (sender, connection) = builder.handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(sender)
}
