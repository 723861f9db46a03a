//! Answers of a web server of the harness: a word, a redirection, or the head of the request.

use memchr::memmem;

/// The answer to everything but [`AWAY`] and [`HEAD`].
pub(super) const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 8\r\nConnection: close\r\n\r\nboxproof";
/// The end of a request's head.
const ASKED: &[u8] = b"\r\n\r\n";
/// The start of a request that is redirected: `/to/HOST:PORT/PATH`.
const AWAY: &[u8] = b"GET /to/";

/// The end of the target of a request whose head is sent back.
const HEAD: &[u8] = b"/head";
/// A header that is for the next hop only (RFC 9110, 11.7.1): no proxy passes it on.
const HOP: &str = "Proxy-Authenticate: Basic realm=boxproof-hop";

/// Takes the first request whose head is whole out of `heard`; its answer.
pub(super) fn answer(heard: &mut Vec<u8>) -> Option<Vec<u8>> {
    let end = memmem::find(heard, ASKED)?;
    let head: Vec<u8> = heard.drain(..end + ASKED.len()).collect();
    Some(match (elsewhere(&head), asks_for_head(&head)) {
        (Some(there), _) => [
            b"HTTP/1.1 302 Found\r\nLocation: http://".as_slice(),
            there,
            b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        ]
        .concat(),
        (None, true) => sent_back(&head),
        (None, false) => ANSWER.to_vec(),
    })
}

fn elsewhere(head: &[u8]) -> Option<&[u8]> {
    head.strip_prefix(AWAY)?.split(|byte| *byte == b' ').next()
}

fn asks_for_head(head: &[u8]) -> bool {
    head.split(|byte| *byte == b' ').nth(1).is_some_and(|target| target.ends_with(HEAD))
}

/// An answer whose body is `head`, as it arrived.
fn sent_back(head: &[u8]) -> Vec<u8> {
    let length = head.len();
    let above = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n{HOP}\r\nConnection: close\r\n\r\n"
    );
    [above.as_bytes(), head].concat()
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

    #[test]
    fn a_head_is_sent_back_as_it_arrived() {
        let asked = b"POST http://a.test/head HTTP/1.1\r\nHost: b\r\n\r\n";
        let sent = String::from_utf8(answer(&mut asked.to_vec()).unwrap()).unwrap();
        assert!(sent.starts_with("HTTP/1.1 200 OK\r\n") && sent.contains(HOP), "{sent}");
        assert!(
            sent.ends_with("\r\n\r\nPOST http://a.test/head HTTP/1.1\r\nHost: b\r\n\r\n"),
            "{sent}"
        );
        let other = b"GET /header HTTP/1.1\r\n\r\n";
        assert_eq!(answer(&mut other.to_vec()).unwrap(), ANSWER);
    }
}
