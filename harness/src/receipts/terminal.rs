//! An agent's side of a terminal session.

use std::net::SocketAddr;
use std::time::Duration;

use boxproof_cases::case::SessionExchange;
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

/// A session as the agent has it.
#[derive(Debug)]
pub struct AgentTerminal {
    socket: Option<WebSocketStream<TcpStream>>,
    /// Everything heard: output and text frames, one after the other.
    heard: String,
    /// The code of the close, 0 if there was none.
    ended: Option<u16>,
}

impl AgentTerminal {
    /// Opens `path` at `address`. A refused client gets `HTTP` and the status as its error.
    pub async fn open(address: SocketAddr, path: &str, limit: Duration) -> Self {
        let url = format!("ws://{address}{path}");
        let opened = async {
            let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
            match client_async(url, stream).await {
                Ok((socket, _)) => Ok(socket),
                Err(Error::Http(response)) => Err(format!("HTTP {}", response.status().as_u16())),
                Err(error) => Err(error.to_string()),
            }
        };
        match tokio::time::timeout(limit, opened).await {
            Ok(Ok(socket)) => Self { socket: Some(socket), heard: String::new(), ended: None },
            Ok(Err(why)) => Self { socket: None, heard: why, ended: None },
            Err(_) => Self { socket: None, heard: "no answer".to_owned(), ended: None },
        }
    }

    /// Sends or awaits one message.
    ///
    /// # Errors
    /// The message that did not come.
    pub async fn step(&mut self, said: &SessionExchange, limit: Duration) -> Result<(), String> {
        match said {
            SessionExchange::Stdin(text) => {
                let mut frame = vec![0];
                frame.extend(text.as_bytes());
                self.send(Message::binary(frame)).await
            }
            SessionExchange::Text(text) => self.send(Message::text(text.clone())).await,
            SessionExchange::Close {} => {
                if let Some(mut socket) = self.socket.take() {
                    let _ = socket.close(None).await;
                    let rest = async { while let Some(Ok(_)) = socket.next().await {} };
                    let _ = tokio::time::timeout(limit, rest).await;
                }
                Ok(())
            }
            SessionExchange::Await(text) => self
                .wait(limit, |seen| seen.heard.contains(text))
                .await
                .map_err(|heard| format!("`{text}` did not come; what came: `{heard}`")),
            SessionExchange::Ended(code) => {
                self.wait(limit, |seen| seen.ended.is_some())
                    .await
                    .map_err(|heard| format!("the session was not ended; what came: `{heard}`"))?;
                match self.ended {
                    Some(ended) if *code == 0 || ended == *code => Ok(()),
                    ended => Err(format!("the session was ended with {ended:?}, not {code}")),
                }
            }
        }
    }

    async fn send(&mut self, message: Message) -> Result<(), String> {
        match &mut self.socket {
            Some(socket) => socket.send(message).await.map_err(|error| error.to_string()),
            None => Err(format!("there is no session: {}", self.heard)),
        }
    }

    async fn wait(&mut self, limit: Duration, holds: impl Fn(&Self) -> bool) -> Result<(), String> {
        let reading = async {
            while !holds(self) {
                if !self.read_frame().await {
                    break;
                }
            }
        };
        let _ = tokio::time::timeout(limit, reading).await;
        if holds(self) { Ok(()) } else { Err(self.heard.clone()) }
    }

    /// Reads one frame; returns whether there may be more.
    async fn read_frame(&mut self) -> bool {
        let Some(socket) = &mut self.socket else { return false };
        match socket.next().await {
            Some(Ok(Message::Text(text))) => self.heard.push_str(text.as_str()),
            Some(Ok(Message::Binary(bytes))) => {
                // A replay has its offset before the bytes.
                let skip = if bytes.first() == Some(&3) { 9 } else { 1 };
                self.heard
                    .push_str(&String::from_utf8_lossy(bytes.get(skip..).unwrap_or_default()));
            }
            Some(Ok(Message::Close(frame))) => {
                self.ended = Some(frame.map_or(0, |frame| frame.code.into()));
                return false;
            }
            Some(Ok(_)) => {}
            Some(Err(_)) | None => {
                self.ended.get_or_insert(0);
                return false;
            }
        }
        true
    }
}
