//! The scanner of request headers: a request that gives its body's end in two ways is marked,
//! because the parser behind drops one of the two silently.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// The number of header bytes that are scanned; the parser takes no longer one.
const HEAD: usize = 512 * 1024;

/// A connection whose requests are scanned.
pub(super) struct FramingCheck {
    stream: TcpStream,
    scan: ScanState,
    odd: AmbiguityFlag,
}

/// The flag that a request with two lengths has come over a connection.
#[derive(Debug, Clone, Default)]
pub(super) struct AmbiguityFlag(Arc<AtomicBool>);

impl AmbiguityFlag {
    /// Returns whether such a request has come.
    pub(super) fn is_seen(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl FramingCheck {
    /// Scans the requests on `stream`.
    pub(super) fn new(stream: TcpStream) -> (Self, AmbiguityFlag) {
        let odd = AmbiguityFlag::default();
        (Self { stream, scan: ScanState::Head(Vec::new()), odd: odd.clone() }, odd)
    }

    /// The connection alone.
    pub(super) fn into_inner(self) -> TcpStream {
        self.stream
    }
}

/// The position of a connection in its sequence of requests.
#[derive(Debug, PartialEq, Eq)]
enum ScanState {
    /// In a header, with its bytes so far.
    Head(Vec<u8>),
    /// In a body, with the number of bytes to come.
    Body(u64),
    /// Behind the last request.
    Over,
}

/// The fields of a header that describe its body.
#[derive(Debug, Default, PartialEq, Eq)]
struct BodyFraming {
    coded: bool,
    lengths: Vec<String>,
}

impl BodyFraming {
    fn parse_head(head: &[u8]) -> Self {
        let mut framing = Self::default();
        for line in String::from_utf8_lossy(head).lines().skip(1) {
            let Some((name, value)) = line.split_once(':') else { continue };
            match name.trim().to_ascii_lowercase().as_str() {
                "transfer-encoding" => framing.coded = true,
                "content-length" => framing.lengths.push(value.trim().to_owned()),
                _ => {}
            }
        }
        framing
    }

    fn is_odd(&self) -> bool {
        let differ = self.lengths.windows(2).any(|pair| pair[0] != pair[1]);
        differ || (self.coded && !self.lengths.is_empty())
    }
}

impl ScanState {
    /// Scans `bytes`; returns whether an odd request was among them.
    fn see(&mut self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            match self {
                Self::Over => return false,
                Self::Body(left) => {
                    let taken = usize::try_from(*left).map_or(bytes.len(), |n| n.min(bytes.len()));
                    *left -= taken as u64;
                    bytes = &bytes[taken..];
                    if *left == 0 {
                        *self = Self::Head(Vec::new());
                    }
                }
                Self::Head(head) => {
                    let (byte, rest) = (bytes[0], &bytes[1..]);
                    bytes = rest;
                    // Empty lines in front of a request are none of it.
                    if head.is_empty() && matches!(byte, b'\r' | b'\n') {
                        continue;
                    }
                    head.push(byte);
                    let whole = head.ends_with(b"\n\r\n") || head.ends_with(b"\n\n");
                    if whole {
                        let framing = BodyFraming::parse_head(head);
                        if framing.is_odd() {
                            *self = Self::Over;
                            return true;
                        }
                        *self = behind(head, &framing);
                    } else if head.len() > HEAD {
                        *self = Self::Over;
                    }
                }
            }
        }
        false
    }
}

/// Returns the state behind a header. A chunked body, a tunnel, and a request that the parser
/// refuses are the last of their connection.
fn behind(head: &[u8], framing: &BodyFraming) -> ScanState {
    if framing.coded || head.starts_with(b"CONNECT ") {
        return ScanState::Over;
    }
    match framing.lengths.first().map(|length| length.parse()) {
        None | Some(Ok(0)) => ScanState::Head(Vec::new()),
        Some(Ok(length)) => ScanState::Body(length),
        Some(Err(_)) => ScanState::Over,
    }
}

impl AsyncRead for FramingCheck {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        if self.scan.see(&buffer.filled()[before..]) {
            self.odd.0.store(true, Ordering::Release);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for FramingCheck {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const POST: &str = "POST http://a/ HTTP/1.1\r\n";

    #[rstest]
    #[case::length("Content-Length: 4\r\n\r\nabcd", false)]
    #[case::chunks("Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", false)]
    #[case::twice_the_same("Content-Length: 4\r\nContent-Length: 4\r\n\r\nabcd", false)]
    #[case::twice("Content-Length: 4\r\nContent-Length: 5\r\n\r\n", true)]
    #[case::both("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n", true)]
    #[case::both_turned("transfer-encoding: chunked\r\nCONTENT-LENGTH: 4\r\n\r\n", true)]
    #[case::bare_feeds("Content-Length: 4\nTransfer-Encoding: chunked\n\n", true)]
    #[case::in_a_body(
        "Content-Length: 60\r\n\r\nContent-Length: 4\r\nTransfer-Encoding: x\r\n\r\n",
        false
    )]
    #[case::second(
        "Content-Length: 2\r\n\r\nabPOST / HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: x\r\n\r\n",
        true
    )]
    #[case::unfinished("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", false)]
    fn two_lengths_are_seen_however_they_come(#[case] rest: &str, #[case] odd: bool) {
        let text = format!("\r\n{POST}{rest}");
        assert_eq!(ScanState::Head(Vec::new()).see(text.as_bytes()), odd, "at once");
        let mut scan = ScanState::Head(Vec::new());
        let seen = text.as_bytes().iter().filter(|byte| scan.see(&[**byte])).count();
        assert_eq!(seen, usize::from(odd), "byte by byte");
    }

    #[test]
    fn a_tunnel_is_not_looked_into() {
        let mut scan = ScanState::Head(Vec::new());
        let inner = "CONNECT a:1 HTTP/1.1\r\n\r\nPOST / HTTP/1.1\r\nContent-Length: 4\r\n\
                     Transfer-Encoding: x\r\n\r\n";
        assert!(!scan.see(inner.as_bytes()));
        assert_eq!(scan, ScanState::Over);
    }
}
