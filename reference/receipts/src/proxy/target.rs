//! The target of a request line: the path without escapes, and the paths of the query.

use hyper::Uri;
use percent_encoding::percent_decode_str;

/// A request's target.
#[derive(Debug, Clone)]
pub(super) struct RequestTarget {
    /// The path, percent-decoded as execd's router does it.
    pub path: String,
    query: String,
}

impl RequestTarget {
    /// Reads a target; only the form that begins with a slash, and only escapes that are whole.
    pub(super) fn from_uri(uri: &Uri) -> Result<Self, &'static str> {
        if uri.scheme().is_some() || uri.authority().is_some() {
            return Err("the target must begin with a slash, not with a scheme or a host");
        }
        if !has_whole_escapes(uri.path()) {
            return Err("the path has a percent sign without two hexadecimal digits");
        }
        let path = percent_decode_str(uri.path()).decode_utf8_lossy().into_owned();
        Ok(Self { path, query: uri.query().unwrap_or_default().to_owned() })
    }

    /// Every `path` of the query, in order; an error where two readers could differ.
    pub(super) fn paths(&self) -> Result<Vec<String>, &'static str> {
        // execd drops such a part and continues, others do not.
        if self.query.contains(';') || !has_whole_escapes(&self.query) {
            return Err("the query has a semicolon or a broken escape");
        }
        let parts = self.query.split('&').map(|part| part.split_once('=').unwrap_or((part, "")));
        let paths =
            parts.map(|(name, value)| Ok((decode_query_value(name)?, decode_query_value(value)?)));
        let pairs = paths.collect::<Result<Vec<_>, &'static str>>()?;
        Ok(pairs.into_iter().filter(|(name, _)| name == "path").map(|(_, path)| path).collect())
    }

    /// The one `path` of the query, if there is one.
    pub(super) fn one_path(&self) -> Result<Option<String>, &'static str> {
        let mut paths = self.paths()?;
        if paths.len() > 1 {
            return Err("the query has more than one path");
        }
        Ok(paths.pop())
    }

    /// The part of the path at `index`, from 0.
    pub(super) fn part(&self, index: usize) -> &str {
        self.path.split('/').nth(index + 1).unwrap_or_default()
    }
}

fn decode_query_value(text: &str) -> Result<String, &'static str> {
    let spaced = text.replace('+', " ");
    let decoded = percent_decode_str(&spaced).decode_utf8();
    decoded.map(std::borrow::Cow::into_owned).map_err(|_| "the query is not UTF-8")
}

fn has_whole_escapes(text: &str) -> bool {
    let digits = |rest: &[u8]| rest.iter().take(2).filter(|b| b.is_ascii_hexdigit()).count() == 2;
    let bytes = text.as_bytes();
    (0..bytes.len()).all(|at| bytes[at] != b'%' || digits(&bytes[at + 1..]))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn target(text: &str) -> Result<RequestTarget, &'static str> {
        RequestTarget::from_uri(&text.parse().unwrap())
    }

    #[rstest]
    #[case("/%63ommand", "/command")]
    #[case("/files%2Fdownload", "/files/download")]
    #[case("/a+b", "/a+b")]
    fn paths_are_decoded(#[case] text: &str, #[case] path: &str) {
        assert_eq!(target(text).unwrap().path, path);
    }

    #[rstest]
    #[case("http://h/command", "scheme")]
    #[case("/%6", "percent")]
    fn other_targets_are_refused(#[case] text: &str, #[case] why: &str) {
        assert!(target(text).unwrap_err().contains(why));
    }

    #[rstest]
    #[case("/f?path=a+b&x=1&path=%2e%2e%2f%C3%A9", &["a b", "../\u{e9}"])]
    #[case("/f?path=~/x&p%61th=$HOME", &["~/x", "$HOME"])]
    #[case("/f?path=a%00b", &["a\0b"])]
    #[case("/f?path", &[""])]
    #[case("/f", &[])]
    fn paths_of_the_query(#[case] text: &str, #[case] paths: &[&str]) {
        assert_eq!(target(text).unwrap().paths().unwrap(), paths);
    }

    #[rstest]
    #[case("/f?path=a;path=b")]
    #[case("/f?path=%zz")]
    #[case("/f?path=%ff")]
    fn queries_with_two_readings(#[case] text: &str) {
        target(text).unwrap().paths().unwrap_err();
    }

    #[test]
    fn one_path_is_one() {
        target("/f?path=a&path=b").unwrap().one_path().unwrap_err();
    }
}
