//! The settings of a file of git's configuration ([`GitSetting`]), read byte by byte as git does.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// The mark that some editors put before a text; git passes over it.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// One setting of a file of git's configuration.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct GitSetting {
    /// The section's name without its subsection, in lower case.
    pub(super) section: String,
    /// The key, in lower case.
    pub(super) key: String,
    pub(super) value: OsString,
}

/// Reads the settings of `text`, a file of git's configuration, as far as it can be read.
pub(super) fn git_settings(text: &[u8]) -> Vec<GitSetting> {
    let rest = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let mut reader = ConfigReader { rest };
    let (mut section, mut found) = (String::new(), Vec::new());
    while let Some(byte) = reader.next() {
        match byte {
            b'#' | b';' => reader.skip_line(),
            b'[' => section = reader.section(),
            byte if byte.is_ascii_alphabetic() => {
                let key = reader.key(byte);
                if let Some(value) = reader.value() {
                    found.push(GitSetting { section: section.clone(), key, value });
                }
            }
            _ => {}
        }
    }
    found
}

struct ConfigReader<'a> {
    rest: &'a [u8],
}

impl ConfigReader<'_> {
    fn next(&mut self) -> Option<u8> {
        if let Some(behind) = self.rest.strip_prefix(b"\r\n") {
            self.rest = behind;
            return Some(b'\n');
        }
        let (first, behind) = self.rest.split_first()?;
        self.rest = behind;
        Some(*first)
    }

    /// Takes the next byte of the line.
    fn next_in_line(&mut self) -> Option<u8> {
        let ends = self.rest.starts_with(b"\n") || self.rest.starts_with(b"\r\n");
        if ends { None } else { self.next() }
    }

    fn skip_line(&mut self) {
        while self.next_in_line().is_some() {}
    }

    fn skip_blanks(&mut self) {
        while self.rest.first().is_some_and(|byte| matches!(byte, b' ' | b'\t')) {
            self.rest = &self.rest[1..];
        }
    }

    /// Reads the head of a section behind its `[`, and returns its name.
    fn section(&mut self) -> String {
        let mut name = Vec::new();
        while let Some(byte) = self.next_in_line().filter(|byte| *byte != b']') {
            match byte {
                b'"' => self.skip_subsection(),
                byte => name.push(byte),
            }
        }
        let ends = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'.';
        lowercase(name.split(ends).next().unwrap_or_default())
    }

    /// Reads a quoted subsection behind its first quote.
    fn skip_subsection(&mut self) {
        while let Some(byte) = self.next_in_line().filter(|byte| *byte != b'"') {
            if byte == b'\\' {
                self.next_in_line();
            }
        }
    }

    fn key(&mut self, first: u8) -> String {
        let is_key = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'-';
        let length = self.rest.iter().take_while(is_key).count();
        let (rest, behind) = self.rest.split_at(length);
        self.rest = behind;
        lowercase(&[&[first], rest].concat())
    }

    /// Reads `= VALUE` without its quotes, escapes and comment; `None` if a key has no value.
    fn value(&mut self) -> Option<OsString> {
        self.skip_blanks();
        self.rest = self.rest.strip_prefix(b"=")?;
        let (mut value, mut quoted, mut kept) = (Vec::new(), false, 0);
        while let Some(byte) = self.next().filter(|byte| *byte != b'\n') {
            match byte {
                b'#' | b';' if !quoted => {
                    self.skip_line();
                    break;
                }
                blank if blank.is_ascii_whitespace() && !quoted => {
                    value.extend(Some(blank).filter(|_| !value.is_empty()));
                    continue;
                }
                b'"' => quoted = !quoted,
                b'\\' => value.extend(self.next().and_then(escaped)),
                other => value.push(other),
            }
            kept = value.len();
        }
        value.truncate(kept);
        let ends = value.iter().position(|byte| *byte == 0);
        value.truncate(ends.unwrap_or(value.len()));
        Some(OsString::from_vec(value))
    }
}

/// Returns what a backslash and `byte` mean; nothing at the end of a line, which goes on.
fn escaped(byte: u8) -> Option<u8> {
    match byte {
        b'\n' => None,
        b't' => Some(b'\t'),
        b'b' => Some(8),
        b'n' => Some(b'\n'),
        other => Some(other),
    }
}

fn lowercase(text: &[u8]) -> String {
    String::from_utf8_lossy(text).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::blanks(b" a b ", b"a b")]
    #[case::comment(b"\"a ; b\" # c", b"a ; b")]
    #[case::backslash(b"a\\\\b", b"a\\b")]
    #[case::quotes(b"\"\\\"x\\\" y\"", b"\"x\" y")]
    #[case::tab(b"a\\tb", b"a\tb")]
    #[case::line_that_goes_on(b"a \\\r\nb", b"a b")]
    #[case::no_utf8(b"a\xff ", b"a\xff")]
    #[case::blank_in_quotes(b"\"a \"", b"a ")]
    fn values_are_read_as_git_does(#[case] text: &[u8], #[case] value: &[u8]) {
        let settings = git_settings(&[b"[s]\nk =", text, b"\n[t]\nl=m"].concat());
        let values: Vec<_> = settings.into_iter().map(|one| one.value.into_vec()).collect();
        assert_eq!(values, [value, b"m"]);
    }

    #[rstest]
    #[case::plain("[filter]\nclean = x")]
    #[case::mark("\u{feff}[filter]\nclean = x")]
    #[case::line("[Filter \"a\"] Clean=x")]
    #[case::bracket("[filter \"a]\"] clean = x")]
    #[case::quote("[filter \"a\\\"]\"] clean = x")]
    #[case::dots("[filter.a]\r\nclean = x\r\n")]
    #[case::comment_that_ends_in_a_backslash("# c \\\n[filter]\nclean = x")]
    #[case::no_value("[filter]\nrequired\nclean = x")]
    fn sections_are_read_as_git_does(#[case] text: &str) {
        let found = git_settings(text.as_bytes());
        let (section, key) = ("filter".to_owned(), "clean".to_owned());
        assert_eq!(found, [GitSetting { section, key, value: "x".into() }]);
    }
}
