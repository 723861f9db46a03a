//! Frames: as a case changes them, on the daemon's socket, and to the relay over TLS.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use boxproof_cases::case::FrameStep;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream, UnixStream};
use tokio_rustls::TlsConnector;

use super::certs::CertificatePair;
use super::http::{PendingAnswer, WrittenRequest};
use crate::channel_observation::ChannelAnswer;

/// A good frame.
pub fn good() -> Value {
    json!({
        "v": "1",
        "ts_emit": "2026-06-15T12:00:00.000Z",
        "session_id": "boxproof",
        "channel": "opensandbox_execd",
        "tool": { "name": "command", "server": "execd" },
        "decision": "allowed",
        "action_type": "system.command.execute",
        "input": { "command": "by hand" },
        "output": { "exit_code": 0 },
    })
}

/// A good frame with these differences: null removes a member, a dot goes one object down.
///
/// # Errors
/// A dot below what is no object.
pub fn with(changes: &BTreeMap<String, Value>) -> Result<Value, String> {
    let mut frame = good();
    for (name, value) in changes {
        let (path, last) = name.rsplit_once('.').unwrap_or(("", name));
        let mut object = &mut frame;
        for step in path.split('.').filter(|step| !step.is_empty()) {
            object = object
                .as_object_mut()
                .ok_or(format!("{name}: no object"))?
                .entry(step)
                .or_insert_with(|| json!({}));
        }
        let members = object.as_object_mut().ok_or(format!("{name}: no object"))?;
        match value {
            Value::Null => drop(members.remove(last)),
            value => drop(members.insert(last.to_owned(), value.clone())),
        }
    }
    Ok(frame)
}

/// The body that a step sends: its text, or the frame it describes, filled to its size.
///
/// # Errors
/// A change that does not fit.
pub fn body(
    changes: &BTreeMap<String, Value>,
    text: Option<&str>,
    size: Option<usize>,
) -> Result<Vec<u8>, String> {
    let mut body = match text {
        Some(text) => text.to_owned(),
        None => with(changes)?.to_string(),
    };
    if let Some(size) = size {
        let lacks = size.checked_sub(body.len()).ok_or("the frame is longer than its size")?;
        body.push_str(&" ".repeat(lacks));
    }
    Ok(body.into_bytes())
}

/// The bytes of a step: header and body.
///
/// # Errors
/// A change that does not fit.
pub fn framed(step: &FrameStep) -> Result<Vec<u8>, String> {
    let body = body(&step.with, step.text.as_deref(), step.size)?;
    let length = step.length.unwrap_or(u32::try_from(body.len()).map_err(|e| e.to_string())?);
    let mut bytes = length.to_be_bytes().to_vec();
    bytes.extend(body);
    bytes.truncate(step.cut.unwrap_or(usize::MAX));
    Ok(bytes)
}

/// The frame of one JSON value.
pub fn of_value(value: &Value) -> Vec<u8> {
    let body = value.to_string().into_bytes();
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
    [length.to_be_bytes().to_vec(), body].concat()
}

/// Connects to the daemon.
///
/// # Errors
/// A socket on which no daemon listens.
pub async fn connect(socket: &Path) -> Result<UnixStream, String> {
    UnixStream::connect(socket).await.map_err(|error| format!("{}: {error}", socket.display()))
}

/// Returns whether the other side ends `stream` within `limit`; discards all that it writes.
pub async fn is_ended(stream: &mut UnixStream, limit: Duration) -> bool {
    let ended = async {
        let mut some = [0; 256];
        while let Ok(1..) = stream.read(&mut some).await {}
    };
    tokio::time::timeout(limit, ended).await.is_ok()
}

/// Sends `bytes`; a daemon may close before it has read them all.
pub async fn send(stream: &mut UnixStream, bytes: &[u8]) {
    let _ = stream.write_all(bytes).await;
    let _ = stream.flush().await;
}

/// A connection to `to`, from an address of the loopback interface if that is said.
async fn dial(from: Option<Ipv4Addr>, to: SocketAddr) -> std::io::Result<TcpStream> {
    let Some(from) = from else { return TcpStream::connect(to).await };
    let socket = TcpSocket::new_v4()?;
    socket.bind((from, 0).into())?;
    socket.connect(to).await
}

/// A TLS client: the authority that it trusts and the certificate that it shows.
#[derive(Debug, Clone)]
pub struct TlsClient {
    config: Arc<ClientConfig>,
}

impl TlsClient {
    /// Makes a client that trusts the authority `ca` and shows `pair`, if there is one.
    ///
    /// # Errors
    /// A text that is no PEM of its kind.
    pub fn new(ca: &str, pair: Option<&CertificatePair>) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        let ca = CertificateDer::from_pem_slice(ca.as_bytes()).map_err(|e| e.to_string())?;
        roots.add(ca).map_err(|error| error.to_string())?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots);
        let config = match pair {
            None => builder.with_no_client_auth(),
            Some(pair) => {
                let pem = pair.certificate.as_bytes();
                let chain = CertificateDer::from_pem_slice(pem).map_err(|e| e.to_string())?;
                let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes());
                let key = key.map_err(|error| error.to_string())?;
                builder.with_client_auth_cert(vec![chain], key).map_err(|e| e.to_string())?
            }
        };
        Ok(Self { config: Arc::new(config) })
    }

    /// Returns the answer of `relay` to `request`; an answer without a status if TLS fails.
    pub async fn send_request(
        &self,
        (from, relay): (Option<Ipv4Addr>, SocketAddr),
        request: &WrittenRequest,
        limit: Duration,
    ) -> ChannelAnswer {
        let failed =
            |error: String| ChannelAnswer { error: Some(error), ..ChannelAnswer::default() };
        let stream = match dial(from, relay).await {
            Ok(stream) => stream,
            Err(error) => return failed(format!("connect: {error}")),
        };
        let Ok(name) = ServerName::try_from("localhost") else {
            return failed("no name".to_owned());
        };
        let connector = TlsConnector::from(Arc::clone(&self.config));
        match tokio::time::timeout(limit, connector.connect(name, stream)).await {
            Ok(Ok(stream)) => match PendingAnswer::over(stream, request).await {
                Ok(exchange) => exchange.finish(limit).await,
                Err(error) => failed(error),
            },
            Ok(Err(error)) => failed(format!("TLS: {error}")),
            Err(_) => failed(format!("no TLS within {limit:?}")),
        }
    }
}
