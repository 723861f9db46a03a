//! Takes an event stream apart, wherever its chunks are cut.
//!
//! execd sends bare JSON and a blank line; real server-sent events have `data:` before each line.

/// The maximum size of one event; a longer one is left out, and marked as such.
const LONGEST: usize = 8 << 20;

/// An event stream, as far as it came.
#[derive(Debug, Default)]
pub(super) struct EventStream {
    line: Vec<u8>,
    event: Vec<u8>,
    /// The present event is too long.
    skips: bool,
    /// Some event was.
    pub lost: bool,
}

impl EventStream {
    /// Takes more of the stream, and calls `each` with every event that is whole now.
    pub(super) fn feed(&mut self, mut bytes: &[u8], each: &mut impl FnMut(&[u8])) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.add(&bytes[..end]);
            self.end_line(each);
            bytes = &bytes[end + 1..];
        }
        self.add(bytes);
    }

    /// Ends the stream: the rest is an event too.
    pub(super) fn finish(&mut self, each: &mut impl FnMut(&[u8])) {
        self.end_line(each);
        self.end_event(each);
    }

    /// Returns whether no partial event is buffered.
    pub(super) fn is_between(&self) -> bool {
        self.line.is_empty() && self.event.is_empty() && !self.skips
    }

    fn add(&mut self, bytes: &[u8]) {
        self.skips |= self.line.len() + self.event.len() + bytes.len() > LONGEST;
        if self.skips {
            // Kept alone is whether the line is blank.
            self.line.truncate(1);
            self.event.clear();
            self.line.extend(bytes.first());
        } else {
            self.line.extend_from_slice(bytes);
        }
    }

    fn end_line(&mut self, each: &mut impl FnMut(&[u8])) {
        let line = std::mem::take(&mut self.line);
        let text = line.strip_suffix(b"\r").unwrap_or(&line);
        if text.is_empty() {
            self.end_event(each);
        } else if let Some(text) = data(text).filter(|_| !self.skips) {
            if !self.event.is_empty() {
                self.event.push(b'\n');
            }
            self.event.extend_from_slice(text);
        }
        self.line = line;
        self.line.clear();
    }

    fn end_event(&mut self, each: &mut impl FnMut(&[u8])) {
        self.lost |= self.skips;
        if !self.event.is_empty() && !self.skips {
            each(&self.event);
        }
        self.skips = false;
        self.event.clear();
    }
}

/// Returns the data that a line adds to its event; none if it is a comment or another field.
fn data(line: &[u8]) -> Option<&[u8]> {
    if let Some(rest) = line.strip_prefix(b"data:") {
        return Some(rest.strip_prefix(b" ").unwrap_or(rest));
    }
    let fields: [&[u8]; 4] = [b":", b"event:", b"id:", b"retry:"];
    (!fields.iter().any(|field| line.starts_with(field))).then_some(line)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn events(stream: &[u8], size: usize) -> Vec<String> {
        let (mut events, mut found) = (EventStream::default(), Vec::new());
        let mut each = |event: &[u8]| found.push(String::from_utf8(event.to_vec()).unwrap());
        for chunk in stream.chunks(size) {
            events.feed(chunk, &mut each);
        }
        events.finish(&mut each);
        assert!(!events.lost);
        found
    }

    #[rstest]
    #[case::bare("{\"a\":\"\u{e9}\"}\n\n{\"b\":2}\n\n", &["{\"a\":\"\u{e9}\"}", "{\"b\":2}"])]
    #[case::data("data: {\"a\":1}\n\ndata:{\"b\":2}\n\n", &["{\"a\":1}", "{\"b\":2}"])]
    #[case::crlf("event: x\r\ndata: 1\r\ndata: 2\r\n\r\n: note\r\n\r\n", &["1\n2"])]
    #[case::no_blank_line_at_the_end("{\"a\":1}\n\n{\"b\":2}", &["{\"a\":1}", "{\"b\":2}"])]
    fn cuts_do_not_matter(#[case] stream: &str, #[case] wanted: &[&str]) {
        for size in 1..=stream.len() {
            assert_eq!(events(stream.as_bytes(), size), wanted, "chunks of {size}");
        }
    }

    #[test]
    fn an_event_without_end_is_not_kept() {
        let (mut events, mut count) = (EventStream::default(), 0);
        for _ in 0..20 {
            events.feed(&vec![b'x'; 1 << 20], &mut |_| count += 1);
            assert!(events.line.capacity() + events.event.capacity() <= 2 * LONGEST);
        }
        events.feed(b"\n\n{}\n\n", &mut |_| count += 1);
        assert_eq!((count, events.lost), (1, true));
    }
}
