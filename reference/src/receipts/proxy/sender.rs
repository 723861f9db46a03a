//! From the queue to the relay: one frame at a time, on a thread of its own.
//!
//! Nobody waits for it. What the relay does not take is counted, and the next frame that arrives
//! tells the number.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::sync::mpsc::Receiver;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::account::Account;
use super::drops::Drops;
use crate::receipts::frame::Frame;

/// How long a connection, and then an answer, may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where frames go.
#[derive(Clone)]
pub(super) struct Relay {
    /// HOST:PORT.
    pub authority: String,
    /// Its name, as the certificate must have it.
    pub name: ServerName<'static>,
    /// Our certificate, and whom we trust.
    pub tls: Arc<rustls::ClientConfig>,
}

/// What became of the frames.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sent {
    /// The relay took them.
    pub taken: u64,
    /// The relay says that they are wrong; these are no drops.
    pub wrong: u64,
}

enum Fate {
    Taken,
    Wrong(StatusCode),
    Lost(String),
}

/// A frame that is underway; lost unless it is settled.
struct Underway<'a> {
    drops: &'a Drops,
    before: i64,
    lost: i64,
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        self.drops.add(self.before.saturating_add(self.lost));
    }
}

/// Sends until the queue is closed and empty, or until `stop`, after which the rest is lost.
pub(super) async fn send(
    mut queue: Receiver<Frame>,
    relay: Relay,
    (drops, account): (Arc<Drops>, Arc<Account>),
    stop: oneshot::Receiver<()>,
) -> Sent {
    let mut sent = Sent::default();
    tokio::select! {
        () = send_all(&mut queue, &relay, (&drops, &account), &mut sent) => {}
        _ = stop => {}
    }
    while queue.try_recv().is_ok() {
        drops.add(1);
    }
    sent
}

async fn send_all(
    queue: &mut Receiver<Frame>,
    relay: &Relay,
    (drops, account): (&Drops, &Account),
    sent: &mut Sent,
) {
    let mut connection = None;
    while let Some(mut frame) = queue.recv().await {
        let mut underway = Underway { drops, before: drops.take(), lost: 1 };
        frame.drop_count = (underway.before > 0).then_some(underway.before);
        match deliver(relay, &mut connection, &frame).await {
            Fate::Taken => {
                account.settle(u64::try_from(underway.before).unwrap_or_default() + 1);
                (underway.before, underway.lost) = (0, 0);
                sent.taken += 1;
            }
            Fate::Wrong(status) => {
                account.settle(1);
                underway.lost = 0;
                sent.wrong += 1;
                eprintln!("proxy: the relay refuses a frame of ours as wrong: {status}");
            }
            Fate::Lost(why) => {
                connection = None;
                drop(underway);
                eprintln!("proxy: a frame is lost ({} now): {why}", drops.count());
            }
        }
    }
}

async fn deliver(relay: &Relay, kept: &mut Option<Connection>, frame: &Frame) -> Fate {
    let body = match serde_json::to_vec(frame) {
        Ok(body) => Bytes::from(body),
        Err(error) => return Fate::Lost(format!("it is no JSON: {error}")),
    };
    let attempt = async {
        let connection = match kept.take().filter(|old| !old.is_closed()) {
            Some(old) => old,
            None => connect(relay).await?,
        };
        post(relay, kept, connection, body).await
    };
    match timeout(PATIENCE, attempt).await {
        Err(_) => Fate::Lost(format!("no answer within {PATIENCE:?}")),
        Ok(Err(why)) => Fate::Lost(why),
        Ok(Ok(StatusCode::ACCEPTED)) => Fate::Taken,
        Ok(Ok(status @ (StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE))) => {
            Fate::Wrong(status)
        }
        Ok(Ok(status)) => Fate::Lost(format!("the relay answered {status}")),
    }
}

type Connection = SendRequest<Full<Bytes>>;

async fn connect(relay: &Relay) -> Result<Connection, String> {
    let stream = TcpStream::connect(&relay.authority).await;
    let stream = stream.map_err(|error| format!("no connection to the relay: {error}"))?;
    let _faster = stream.set_nodelay(true);
    let connector = TlsConnector::from(Arc::clone(&relay.tls));
    let stream = connector.connect(relay.name.clone(), stream).await;
    let stream = stream.map_err(|error| format!("TLS with the relay: {error}"))?;
    let (sender, connection) =
        handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            eprintln!("proxy: connection to the relay: {error}");
        }
    });
    Ok(sender)
}

async fn post(
    relay: &Relay,
    kept: &mut Option<Connection>,
    mut connection: Connection,
    body: Bytes,
) -> Result<StatusCode, String> {
    connection.ready().await.map_err(|error| error.to_string())?;
    let request = Request::post("/ingest")
        .header(HOST, &relay.authority)
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(body))
        .map_err(|error| error.to_string())?;
    let answer = connection.send_request(request).await.map_err(|error| error.to_string())?;
    let status = answer.status();
    answer.into_body().collect().await.map_err(|error| error.to_string())?;
    *kept = Some(connection);
    Ok(status)
}
