//! One post of a proxy: its peer, its frame, and the answer of the daemon.

use std::net::IpAddr;
use std::path::PathBuf;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};

use super::certificate_origins::CertificateOrigins;
use super::check::{FrameRejection, frame};
use super::daemon::DaemonConnection;
use crate::sandbox;

/// The longest frame.
const LONGEST: usize = 1 << 20;

/// The state shared by all connections.
pub(super) struct RelayContext {
    daemon: DaemonConnection,
    seen: CertificateOrigins,
}

/// The sandbox at the other end of a connection, or the reason why it is unknown.
pub(super) struct CertifiedPeer(Result<String, String>);

/// An answer: its status, and the reason.
type StatusReply = (StatusCode, String);

impl RelayContext {
    /// Starts a relay for the daemon at `socket`.
    pub(super) fn new(socket: PathBuf) -> Self {
        Self { daemon: DaemonConnection::new(socket), seen: CertificateOrigins::default() }
    }

    /// Returns the peer of a connection; TLS has verified that the certificate is of our authority.
    pub(super) fn peer(&self, certificate: Option<&[u8]>, from: IpAddr) -> CertifiedPeer {
        let certificate = certificate.ok_or_else(|| "there is no certificate".to_owned());
        CertifiedPeer(certificate.and_then(|certificate| {
            let sandbox = sandbox::of_certificate(certificate)?;
            if let Some(finding) = self.seen.note(certificate, &sandbox, from) {
                eprintln!("relay: {finding}");
            }
            Ok(sandbox)
        }))
    }

    /// Answers one request.
    pub(super) async fn answer(
        &self,
        peer: &CertifiedPeer,
        request: Request<Incoming>,
    ) -> Response<Full<Bytes>> {
        let (status, why) = self.ingest(peer, request).await.unwrap_or_else(|refusal| refusal);
        if status != StatusCode::ACCEPTED {
            eprintln!("relay: {status}: {why}");
        }
        let mut answer = Response::new(Full::new(Bytes::from(why)));
        *answer.status_mut() = status;
        // Frames behind a lost one are not read: they are sent again, and report it.
        if status == StatusCode::SERVICE_UNAVAILABLE {
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        answer
    }

    async fn ingest(
        &self,
        peer: &CertifiedPeer,
        request: Request<Incoming>,
    ) -> Result<StatusReply, StatusReply> {
        let sandbox = peer.0.as_ref().map_err(|why| (StatusCode::FORBIDDEN, why.clone()))?;
        if request.uri().path() != "/ingest" {
            return Err((StatusCode::NOT_FOUND, "frames go to /ingest".to_owned()));
        }
        if request.method() != Method::POST {
            return Err((StatusCode::METHOD_NOT_ALLOWED, "frames are posted".to_owned()));
        }
        let body = Limited::new(request.into_body(), LONGEST).collect().await.map_err(|error| {
            match error.is::<LengthLimitError>() {
                true => {
                    (StatusCode::PAYLOAD_TOO_LARGE, format!("a frame has {LONGEST} bytes at most"))
                }
                false => (StatusCode::BAD_REQUEST, error.to_string()),
            }
        })?;
        let frame = frame(&body.to_bytes(), sandbox).map_err(|wrong| match wrong {
            FrameRejection::Bad(why) => (StatusCode::BAD_REQUEST, why),
            FrameRejection::Claim(why) => (StatusCode::FORBIDDEN, why),
        })?;
        // The name of the sandbox may have made it too long.
        if frame.len() > LONGEST {
            return Err((StatusCode::PAYLOAD_TOO_LARGE, format!("more than {LONGEST} bytes")));
        }
        let unreachable = |error| (StatusCode::SERVICE_UNAVAILABLE, format!("daemon: {error}"));
        self.daemon.write(&frame).await.map_err(unreachable)?;
        // Frames may come in tens: other threads that wait for this processor go first.
        std::thread::yield_now();
        Ok((StatusCode::ACCEPTED, String::new()))
    }
}
