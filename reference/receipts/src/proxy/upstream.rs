//! Connections to execd, kept for the next request.

use std::error::Error;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// A body that is sent to execd.
pub(super) type UpstreamBody = UnsyncBoxBody<Bytes, Box<dyn Error + Send + Sync>>;

/// execd, as seen from here.
pub(super) struct ExecdUpstream {
    /// HOST:PORT.
    pub authority: String,
    idle: Mutex<Vec<SendRequest<UpstreamBody>>>,
}

/// The reason why there is no answer.
#[derive(Debug)]
pub(super) struct UpstreamError {
    /// There was no connection at all.
    pub unreachable: bool,
    pub why: String,
}

impl ExecdUpstream {
    /// Prepares connections to execd at `authority`; none is opened yet.
    pub(super) fn new(authority: String) -> Self {
        Self { authority, idle: Mutex::default() }
    }

    /// Sends a request; the connection serves another one when the answer has been read.
    pub(super) async fn send(
        &self,
        request: Request<UpstreamBody>,
    ) -> Result<Response<Incoming>, UpstreamError> {
        let mut request = request;
        while let Some(mut kept) = self.kept() {
            match kept.try_send_request(request).await {
                Ok(answer) => return Ok(self.keep(kept, answer)),
                // It was closed meanwhile, and nothing was sent: another one takes it.
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(broken(&error.into_error())),
                },
            }
        }
        let mut fresh = self.connect().await?;
        let answer = fresh.send_request(request).await.map_err(|error| broken(&error))?;
        Ok(self.keep(fresh, answer))
    }

    /// Returns whether the address accepts connections.
    pub(super) async fn is_there(&self) -> bool {
        TcpStream::connect(&self.authority).await.is_ok()
    }

    fn kept(&self) -> Option<SendRequest<UpstreamBody>> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|kept| !kept.is_closed());
        let ready = idle.iter().rposition(SendRequest::is_ready)?;
        Some(idle.swap_remove(ready))
    }

    fn keep(
        &self,
        used: SendRequest<UpstreamBody>,
        answer: Response<Incoming>,
    ) -> Response<Incoming> {
        if answer.status() != hyper::StatusCode::SWITCHING_PROTOCOLS {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(used);
        }
        answer
    }

    async fn connect(&self) -> Result<SendRequest<UpstreamBody>, UpstreamError> {
        let stream = TcpStream::connect(&self.authority).await;
        let stream = stream.map_err(|error| UpstreamError {
            unreachable: true,
            why: format!("connect: {error}"),
        })?;
        let _faster = stream.set_nodelay(true);
        let mut builder = Builder::new();
        builder.preserve_header_case(true);
        let (sender, connection) =
            builder.handshake(TokioIo::new(stream)).await.map_err(|error| broken(&error))?;
        // Its end is seen where its request or answer is read.
        tokio::spawn(async move { drop(connection.with_upgrades().await) });
        Ok(sender)
    }
}

fn broken(error: &hyper::Error) -> UpstreamError {
    UpstreamError { unreachable: false, why: error.to_string() }
}
