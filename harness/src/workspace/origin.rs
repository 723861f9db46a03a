//! Answers of a web server of the harness: a word, or a redirection.

use memchr::memmem;

/// The answer to everything but [`AWAY`].
pub(super) const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 8\r\nConnection: close\r\n\r\nboxproof";
/// The end of a request's head.
const ASKED: &[u8] = b"\r\n\r\n";
/// The start of a request that is redirected: `/to/HOST:PORT/PATH`.
const AWAY: &[u8] = b"GET /to/";

/// Takes the first request whose head is whole out of `heard`; its answer.
pub(super) fn answer(heard: &mut Vec<u8>) -> Option<Vec<u8>> {
    let end = memmem::find(heard, ASKED)?;
    let head: Vec<u8> = heard.drain(..end + ASKED.len()).collect();
    Some(match elsewhere(&head) {
        None => ANSWER.to_vec(),
        Some(there) => [
            b"HTTP/1.1 302 Found\r\nLocation: http://".as_slice(),
            there,
            b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        ]
        .concat(),
    })
}

fn elsewhere(head: &[u8]) -> Option<&[u8]> {
    head.strip_prefix(AWAY)?.split(|byte| *byte == b' ').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_answered_when_it_is_whole() {
        let mut heard =
            b"GET / HTTP/1.1\r\n\r\nGET /to/a.test:81/x HTTP/1.1\r\nHost: b\r\n\r".to_vec();
        assert_eq!(answer(&mut heard).unwrap(), ANSWER);
        assert_eq!(answer(&mut heard), None);
        heard.push(b'\n');
        let sent = String::from_utf8(answer(&mut heard).unwrap()).unwrap();
        assert!(
            sent.starts_with("HTTP/1.1 302 Found\r\nLocation: http://a.test:81/x\r\n"),
            "{sent}"
        );
        assert!(heard.is_empty());
    }
}
