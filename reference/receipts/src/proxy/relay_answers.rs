//! The reader of answers to pipelined requests: their headers; bodies are discarded.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use bytes::{Buf, BytesMut};
use hyper::StatusCode;
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};

/// The longest head of an answer, in bytes, and the most header fields.
const HEAD: usize = 16 << 10;
const FIELDS: usize = 64;

/// One answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RelayAnswer {
    pub status: StatusCode,
    /// The server reads no more requests of this connection.
    pub last: bool,
}

/// The length of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerLength {
    Bytes(u64),
    Chunks,
    /// It ends with the connection.
    Rest,
}

/// Reads answers from one connection.
#[derive(Debug)]
pub(super) struct AnswerReader<R> {
    from: R,
    read: BytesMut,
}

impl<R: AsyncRead + Unpin> AnswerReader<R> {
    /// Answers that come from there.
    pub(super) fn new(from: R) -> Self {
        Self { from, read: BytesMut::new() }
    }

    /// The next answer, when all of it came.
    pub(super) async fn next(&mut self) -> Result<RelayAnswer, String> {
        loop {
            let (answer, length) = self.head().await?;
            if !answer.status.is_informational() {
                self.skip(length).await?;
                return Ok(answer);
            }
        }
    }

    /// Returns whether nothing unsolicited has arrived, not even an end of the stream.
    pub(super) async fn is_quiet(&mut self) -> bool {
        let (from, mut byte) = (&mut self.from, [0]);
        let quiet = poll_fn(|context| {
            let polled = Pin::new(&mut *from).poll_read(context, &mut ReadBuf::new(&mut byte));
            Poll::Ready(polled.is_pending())
        });
        self.read.is_empty() && quiet.await
    }

    async fn head(&mut self) -> Result<(RelayAnswer, AnswerLength), String> {
        loop {
            if let Some((size, answer, length)) = head(&self.read)? {
                self.read.advance(size);
                return Ok((answer, length));
            }
            if self.read.len() > HEAD {
                return Err(format!("an answer's head has more than {HEAD} bytes"));
            }
            self.more().await?;
        }
    }

    async fn skip(&mut self, length: AnswerLength) -> Result<(), String> {
        match length {
            AnswerLength::Bytes(count) => self.discard(count).await,
            AnswerLength::Rest => Ok(()),
            AnswerLength::Chunks => loop {
                let size = self.chunk().await?;
                self.discard(size).await?;
                // A line ends the chunk; after the last one, lines until an empty one.
                while !self.line().await?.is_empty() && size == 0 {}
                if size == 0 {
                    return Ok(());
                }
            },
        }
    }

    /// The size of the chunk that begins here.
    async fn chunk(&mut self) -> Result<u64, String> {
        let line = self.line().await?;
        let size = line[..].split(|byte| *byte == b';').next().unwrap_or_default();
        let size = std::str::from_utf8(size).ok().map(str::trim);
        let size = size.and_then(|text| u64::from_str_radix(text, 16).ok());
        size.ok_or_else(|| "an answer has a chunk without a size".to_owned())
    }

    async fn line(&mut self) -> Result<BytesMut, String> {
        loop {
            if let Some(end) = self.read.windows(2).position(|pair| pair == b"\r\n") {
                let line = self.read.split_to(end);
                self.read.advance(2);
                return Ok(line);
            }
            if self.read.len() > HEAD {
                return Err(format!("a line of an answer has more than {HEAD} bytes"));
            }
            self.more().await?;
        }
    }

    async fn discard(&mut self, mut count: u64) -> Result<(), String> {
        loop {
            let here = usize::try_from(count).unwrap_or(usize::MAX).min(self.read.len());
            self.read.advance(here);
            count -= here as u64;
            if count == 0 {
                return Ok(());
            }
            self.more().await?;
        }
    }

    async fn more(&mut self) -> Result<(), String> {
        self.read.reserve(4096);
        match self.from.read_buf(&mut self.read).await {
            Ok(0) => Err("the connection was closed before an answer".to_owned()),
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Returns the length of the header, if it is complete, and its content.
fn head(bytes: &[u8]) -> Result<Option<(usize, RelayAnswer, AnswerLength)>, String> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS];
    let mut head = httparse::Response::new(&mut fields);
    let parsed = head.parse(bytes).map_err(|error| format!("no answer in HTTP: {error}"))?;
    let httparse::Status::Complete(size) = parsed else { return Ok(None) };
    let status = StatusCode::from_u16(head.code.unwrap_or_default());
    let status = status.map_err(|error| error.to_string())?;
    let has = |name: &str, word: &str| {
        let values = head.headers.iter().filter(|field| field.name.eq_ignore_ascii_case(name));
        values
            .filter_map(|field| std::str::from_utf8(field.value).ok())
            .any(|value| value.split(',').any(|found| found.trim().eq_ignore_ascii_case(word)))
    };
    let named = head.headers.iter().find(|field| field.name.eq_ignore_ascii_case("content-length"));
    let length = match named {
        _ if has("transfer-encoding", "chunked") => AnswerLength::Chunks,
        _ if status.is_informational() || status == StatusCode::NO_CONTENT => {
            AnswerLength::Bytes(0)
        }
        None => AnswerLength::Rest,
        Some(field) => {
            let count = std::str::from_utf8(field.value).ok().and_then(|text| text.parse().ok());
            AnswerLength::Bytes(count.ok_or("an answer's content-length is no number")?)
        }
    };
    let stays = head.version == Some(1) && !has("connection", "close");
    let last = !stays || length == AnswerLength::Rest;
    Ok(Some((size, RelayAnswer { status, last }, length)))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// Every answer in this text, and why there are no more.
    async fn answers(mut text: &[u8], at_once: usize) -> (Vec<(u16, bool)>, String) {
        let (mut to, from) = tokio::io::duplex(at_once);
        let writing = async move {
            tokio::io::copy(&mut text, &mut to).await.unwrap();
        };
        let reading = async move {
            let (mut answers, mut all) = (AnswerReader::new(from), Vec::new());
            loop {
                match answers.next().await {
                    Ok(answer) => all.push((answer.status.as_u16(), answer.last)),
                    Err(why) => return (all, why),
                }
            }
        };
        tokio::join!(writing, reading).1
    }

    #[rstest]
    #[case::lengths("HTTP/1.1 202 Accepted\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 503 X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", &[(202, false), (503, true)])]
    #[case::chunks("HTTP/1.1 202 X\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\na;x=y\r\n0123456789\r\n0\r\n\r\nHTTP/1.1 204 X\r\n\r\n", &[(202, false), (204, false)])]
    #[case::trailers("HTTP/1.1 202 X\r\nTransfer-Encoding: chunked\r\n\r\n0\r\na: b\r\nc: d\r\n\r\nHTTP/1.1 400 X\r\ncontent-length: 1\r\n\r\nx", &[(202, false), (400, false)])]
    #[case::first_go_on("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 X\r\ncontent-length: 0\r\n\r\n", &[(202, false)])]
    #[case::older("HTTP/1.0 202 X\r\ncontent-length: 0\r\n\r\n", &[(202, true)])]
    #[case::until_the_end("HTTP/1.1 202 X\r\n\r\n", &[(202, true)])]
    fn answers_follow_each_other(#[case] text: &str, #[case] expected: &[(u16, bool)]) {
        for at_once in [1, 7, 4096] {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let (seen, why) = runtime.block_on(answers(text.as_bytes(), at_once));
            assert_eq!(seen, expected);
            assert_eq!(why, "the connection was closed before an answer");
        }
    }

    #[rstest]
    #[case("SSH-2.0\r\n", "no answer in HTTP")]
    #[case("HTTP/1.1 202 X\r\ncontent-length: many\r\n\r\n", "is no number")]
    #[case("HTTP/1.1 202 X\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", "without a size")]
    #[case("HTTP/1.1 202 X\r\ncontent-length: 3\r\n\r\nok", "closed before an answer")]
    fn anything_else_is_an_error(#[case] text: &str, #[case] expected: &str) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (seen, why) = runtime.block_on(answers(text.as_bytes(), 4096));
        assert!(seen.is_empty() && why.contains(expected), "{seen:?}, {why}");
    }
}
