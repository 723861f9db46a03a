//! The way to the relay: frames go out one behind the other, and are answered in that order.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use tokio::io::{AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::relay_answers::{AnswerReader, RelayAnswer};

/// The address and identity for the relay.
#[derive(Clone)]
pub(super) struct RelayEndpoint {
    /// HOST:PORT.
    pub authority: String,
    /// Its name, as the certificate must have it.
    pub name: ServerName<'static>,
    /// The certificate of the proxy, and the authority it trusts.
    pub tls: Arc<rustls::ClientConfig>,
}

/// The time limit of a connection, and then of each answer.
const PATIENCE: Duration = Duration::from_secs(2);

type RelayStream = TlsStream<TcpStream>;

/// A connection to a relay.
pub(super) struct RelayConnection {
    answers: AnswerReader<ReadHalf<RelayStream>>,
    to: WriteHalf<RelayStream>,
}

impl RelayConnection {
    /// Connects; both sides present certificates.
    pub(super) async fn connect(relay: &RelayEndpoint) -> Result<Self, String> {
        let stream = timeout(PATIENCE, connect(relay)).await;
        let (from, to) = tokio::io::split(stream.map_err(|_| late())??);
        Ok(Self { answers: AnswerReader::new(from), to })
    }

    /// Returns whether the relay has not closed it; the relay sends nothing unasked.
    pub(super) async fn is_open(&mut self) -> bool {
        self.answers.is_quiet().await
    }

    /// Sends `count` posts and hands each answer on as it arrives, until the server ends the
    /// connection. An error gives the reason for a missing answer.
    pub(super) async fn exchange(
        &mut self,
        (posts, count): (&[u8], usize),
        mut answered: impl FnMut(&RelayAnswer),
    ) -> Result<(), String> {
        let answers = &mut self.answers;
        let read = async {
            for _ in 0..count {
                let answer = timeout(PATIENCE, answers.next()).await.map_err(|_| late())??;
                answered(&answer);
                if answer.last {
                    break;
                }
            }
            Ok(())
        };
        tokio::select! {
            read = read => read,
            never = written(&mut self.to, posts) => match never {},
        }
    }
}

fn late() -> String {
    format!("no answer within {PATIENCE:?}")
}

async fn connect(relay: &RelayEndpoint) -> Result<RelayStream, String> {
    let stream = TcpStream::connect(&relay.authority).await;
    let stream = stream.map_err(|error| format!("no connection to the relay: {error}"))?;
    let _faster = stream.set_nodelay(true);
    let connector = TlsConnector::from(Arc::clone(&relay.tls));
    let stream = connector.connect(relay.name.clone(), stream).await;
    stream.map_err(|error| format!("TLS with the relay: {error}"))
}

/// Writes the posts; errors are seen in the answers.
async fn written(to: &mut WriteHalf<RelayStream>, posts: &[u8]) -> Infallible {
    if to.write_all(posts).await.is_ok() {
        let _read_in_answers = to.flush().await;
    }
    pending().await
}
