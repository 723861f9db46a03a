//! Requests of an agent: written and read byte by byte, so that nothing is put right on the way.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use memchr::memmem;
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::channel_observation::ChannelAnswer;

/// The part of a body that is kept as text, in bytes.
const KEPT: usize = 4096;

/// Headers that are about the connection, or about when something was answered.
const HOP: [&str; 6] =
    ["connection", "keep-alive", "transfer-encoding", "content-length", "date", "trailer"];

/// A request, as it is written.
#[derive(Debug, Clone, Default)]
pub struct WrittenRequest {
    /// Head and body.
    pub bytes: Vec<u8>,
    /// True for a HEAD request, whose answer has no body.
    pub headless: bool,
}

/// The request with these parts; HTTP's own headers are added.
pub fn written(
    method: &str,
    path: &str,
    headers: &BTreeMap<String, String>,
    body: Option<&[u8]>,
) -> WrittenRequest {
    let mut head = format!("{method} {path} HTTP/1.1\r\n");
    let has = |name: &str| headers.keys().any(|known| known.eq_ignore_ascii_case(name));
    if !has("host") {
        head.push_str("Host: execd\r\n");
    }
    head.push_str("Connection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if let Some(body) = body
        && !has("content-length")
        && !has("transfer-encoding")
    {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    head.push_str("\r\n");
    let mut bytes = head.into_bytes();
    bytes.extend(body.unwrap_or_default());
    WrittenRequest { bytes, headless: method == "HEAD" }
}

/// An answer that is being read.
#[derive(Debug)]
pub struct PendingAnswer<S> {
    stream: S,
    buffer: Vec<u8>,
    answer: ChannelAnswer,
    body: Vec<u8>,
    length: BodyLength,
    since: Instant,
    over: bool,
}

/// The way in which the end of a body is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyLength {
    Unread,
    Bytes(usize),
    Chunks,
    UntilEnd,
}

impl PendingAnswer<TcpStream> {
    /// Sends `request` to `address`.
    ///
    /// # Errors
    /// Returns an error when there is no connection.
    pub async fn begin(address: SocketAddr, request: &WrittenRequest) -> Result<Self, String> {
        let stream = TcpStream::connect(address).await.map_err(|e| format!("connect: {e}"))?;
        Self::over(stream, request).await
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> PendingAnswer<S> {
    /// Sends `request` over `stream`.
    ///
    /// # Errors
    /// Never: a server that does not take it all may still answer.
    pub async fn over(mut stream: S, request: &WrittenRequest) -> Result<Self, String> {
        let since = Instant::now();
        // A refusal may come before all is written.
        let _ = stream.write_all(&request.bytes).await;
        let _ = stream.flush().await;
        let length = if request.headless { BodyLength::Bytes(0) } else { BodyLength::Unread };
        Ok(Self {
            stream,
            buffer: Vec::new(),
            answer: ChannelAnswer::default(),
            body: Vec::new(),
            length,
            since,
            over: false,
        })
    }

    /// Reads on until the body has `text`, or to its end; returns whether the text came.
    pub async fn until(&mut self, text: &str, limit: Duration) -> bool {
        let has = |body: &[u8]| String::from_utf8_lossy(body).contains(text);
        let read = async {
            while !has(&self.body) && !self.over {
                self.step().await;
            }
        };
        let _ = tokio::time::timeout(limit, read).await;
        has(&self.body)
    }

    /// Reads to the end, and says what was answered.
    pub async fn finish(mut self, limit: Duration) -> ChannelAnswer {
        let read = async {
            while !self.over {
                self.step().await;
            }
        };
        if tokio::time::timeout(limit, read).await.is_err() {
            self.answer.error = Some(format!("no end of it within {limit:?}"));
        }
        self.answer()
    }

    /// Returns the answer so far.
    pub fn answer(self) -> ChannelAnswer {
        let kept = &self.body[..self.body.len().min(KEPT)];
        ChannelAnswer {
            body: String::from_utf8_lossy(kept).into_owned(),
            bytes: self.body.len() as u64,
            sha256: format!("{:x}", Sha256::digest(&self.body)),
            ms: self.since.elapsed().as_secs_f64() * 1000.0,
            ..self.answer
        }
    }

    /// Reads once more and takes what can be taken of it.
    async fn step(&mut self) {
        let mut some = [0; 16 * 1024];
        match self.stream.read(&mut some).await {
            Ok(0) => self.ended(),
            Ok(count) => {
                self.buffer.extend(&some[..count]);
                self.take();
            }
            Err(error) => {
                self.answer.error = Some(error.to_string());
                self.over = true;
            }
        }
    }

    fn ended(&mut self) {
        self.over = true;
        let whole = match self.length {
            BodyLength::UntilEnd => true,
            BodyLength::Bytes(count) => self.answer.status.is_some() && self.body.len() >= count,
            BodyLength::Unread | BodyLength::Chunks => false,
        };
        if !whole {
            self.answer.error = Some("the connection ended before the answer did".to_owned());
        }
    }

    fn take(&mut self) {
        if self.answer.status.is_none() && !self.head() {
            return;
        }
        match self.length {
            BodyLength::Unread | BodyLength::UntilEnd => self.body.append(&mut self.buffer),
            BodyLength::Bytes(count) => {
                self.body.append(&mut self.buffer);
                self.over = self.body.len() >= count;
            }
            BodyLength::Chunks => while self.chunk() {},
        }
    }

    /// Takes the head, if it is all there.
    fn head(&mut self) -> bool {
        let Some(end) = memmem::find(&self.buffer, b"\r\n\r\n") else {
            return false;
        };
        let head = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        self.buffer.drain(..end + 4);
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
            .collect();
        let of = |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, v)| v);
        if self.length == BodyLength::Unread {
            let chunks = of("transfer-encoding").is_some_and(|how| how.contains("chunked"));
            let bytes = of("content-length").and_then(|count| count.parse().ok());
            self.length = match (chunks, bytes) {
                (true, _) => BodyLength::Chunks,
                (false, Some(count)) => BodyLength::Bytes(count),
                (false, None) => BodyLength::UntilEnd,
            };
        }
        self.answer.status = status.or(Some(0));
        self.answer.headers = headers;
        self.answer.headers.retain(|(name, _)| !HOP.contains(&name.as_str()));
        self.answer.headers.sort();
        true
    }

    /// Takes one chunk, if it is all there.
    fn chunk(&mut self) -> bool {
        let Some(end) = memmem::find(&self.buffer, b"\r\n") else { return false };
        let size = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        let size = size.split(';').next().unwrap_or_default().trim().to_owned();
        let Ok(size) = usize::from_str_radix(&size, 16) else {
            self.answer.error = Some(format!("`{size}` is no size of a chunk"));
            self.over = true;
            return false;
        };
        if self.buffer.len() < end + 2 + size + 2 {
            return false;
        }
        self.body.extend(&self.buffer[end + 2..end + 2 + size]);
        self.buffer.drain(..end + 2 + size + 2);
        self.over = size == 0;
        size > 0
    }
}
