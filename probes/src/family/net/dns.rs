//! `dns-query`: a question by hand, so that no resolver or its settings come between; over TCP
//! with its length in front.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::args::ProbeArguments;
use crate::outcome::{ProbeResult, done};
use crate::usage_error::UsageError;

use super::target;
use super::udp::datagram;

/// Number 0xb0bc, recursion desired, one question, nothing else.
const HEADER: [u8; 12] = [0xb0, 0xbc, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
/// Type A, class IN.
const ADDRESS: [u8; 4] = [0, 1, 0, 1];

/// Words of `--over`.
pub(crate) const OVER_WORDS: &[&str] = &["udp", "tcp"];

/// Succeeds if the kernel took the question; the probe waits for no answer.
pub(crate) fn dns_query(args: &ProbeArguments) -> ProbeResult {
    let question = question(args.one("name")?)
        .ok_or_else(|| UsageError::bad("name", "expected labels of 1 to 63 bytes"))?;
    match args.maybe("over").and_then(OsStr::to_str) {
        Some("tcp") => super::tcp::connect_and_send(target(args)?, &framed(&question))?,
        _ => datagram(target(args)?, &question, "sendto")?,
    }
    done()
}

/// Adds the length prefix of RFC 1035, 4.2.2 for TCP. A question is far shorter than 64 KiB.
fn framed(question: &[u8]) -> Vec<u8> {
    let length = u16::try_from(question.len()).unwrap_or(u16::MAX);
    [&length.to_be_bytes(), question].concat()
}

fn question(name: &OsStr) -> Option<Vec<u8>> {
    let mut packet = HEADER.to_vec();
    for label in name.as_bytes().split(|b| *b == b'.') {
        let length = u8::try_from(label.len()).ok().filter(|n| (1..=63).contains(n))?;
        packet.push(length);
        packet.extend_from_slice(label);
    }
    packet.push(0);
    packet.extend_from_slice(&ADDRESS);
    Some(packet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_what_rfc_1035_says() {
        let packet = question("a.example".as_ref()).unwrap_or_default();
        assert_eq!(packet[12..], *b"\x01a\x07example\0\0\x01\0\x01");
        assert_eq!(packet[4..6], [0, 1]);
        assert_eq!(framed(&packet)[..3], [0, 27, 0xb0]);
        for wrong in ["", "a..b", &"x".repeat(64)] {
            assert_eq!(question(wrong.as_ref()), None, "{wrong}");
        }
    }
}
