//! A requested path, normalized without access to the disk.

use super::error::PolicyError;

/// The names of a path from the workspace's root down.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WorkspacePath {
    /// The names; none for the root itself.
    pub names: Vec<Vec<u8>>,
}

impl WorkspacePath {
    /// Normalizes `text` to a path below the root.
    ///
    /// # Errors
    /// When it is empty or may lead out of the workspace.
    pub fn new(text: &str) -> Result<Self, PolicyError> {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Err(PolicyError::new("filesystem path must not be empty"));
        }
        let slashed = match fault!("dialects.backslashes") {
            true => trimmed.to_owned(),
            false => trimmed.replace('\\', "/"),
        };
        let names: Vec<&str> =
            slashed.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
        let leaves = slashed.starts_with('/') || slashed == "~" || slashed.starts_with("~/");
        let up = names.contains(&"..") && !fault!("dialects.upwards");
        if leaves || up {
            let message =
                format!("filesystem path `{trimmed}` must stay inside the workspace root");
            return Err(PolicyError::new(message));
        }
        Ok(Self { names: spelled(&names) })
    }

    /// Normalizes `bytes` to a path below the root. A path that is no UTF-8 is taken as it is,
    /// blanks included.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PolicyError> {
        if let Ok(text) = std::str::from_utf8(bytes) {
            return Self::new(text);
        }
        let names = bytes.split(|byte| *byte == b'/');
        let names: Vec<&[u8]> = names.filter(|name| !name.is_empty() && *name != b".").collect();
        if bytes.starts_with(b"/") || bytes.starts_with(b"~/") || names.contains(&&b".."[..]) {
            let shown = String::from_utf8_lossy(bytes);
            let message = format!("filesystem path `{shown}` must stay inside the workspace root");
            return Err(PolicyError::new(message));
        }
        Ok(Self { names: names.into_iter().map(<[u8]>::to_vec).collect() })
    }

    /// Returns the path as text, `.` for the root; invalid UTF-8 becomes U+FFFD.
    pub fn shown(&self) -> String {
        match self.names.is_empty() {
            true => ".".to_owned(),
            false => String::from_utf8_lossy(&self.names.join(&b'/')).into_owned(),
        }
    }
}

/// Normalizes the names of a path to the spelling of a request for it. Outer blanks do not count,
/// and a backslash is a slash. Names that are no UTF-8, or that would lead out in that spelling,
/// stay unchanged.
pub fn spelled<N: AsRef<[u8]>>(names: &[N]) -> Vec<Vec<u8>> {
    let literal = || names.iter().map(|name| name.as_ref().to_vec()).collect::<Vec<_>>();
    let Ok(mut text) = String::from_utf8(literal().join(&b'/')) else { return literal() };
    loop {
        let slashed = text.trim().replace('\\', "/");
        let parts = slashed.split('/').filter(|name| !name.is_empty() && *name != ".");
        let parts: Vec<&str> = parts.collect();
        if parts.contains(&"..") {
            return literal();
        }
        let again = parts.join("/");
        if again == text {
            return parts.into_iter().map(|name| name.as_bytes().to_vec()).collect();
        }
        text = again;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("a/b", "a/b")]
    #[case(" a ", "a")]
    #[case("./a", "a")]
    #[case(".", ".")]
    #[case("a//b/./c/", "a/b/c")]
    #[case(r"denied\evil", "denied/evil")]
    #[case("~bob/x", "~bob/x")]
    #[case("./ a", "a")]
    #[case("a /.", "a")]
    #[case("a /b", "a /b")]
    #[case("./\u{3000}/a", "a")]
    #[case("./~", "~")]
    fn paths_have_one_spelling(#[case] text: &str, #[case] shown: &str) {
        assert_eq!(WorkspacePath::new(text).unwrap().shown(), shown);
    }

    #[test]
    fn names_that_are_no_text_stay_what_they_are() {
        assert_eq!(
            WorkspacePath::from_bytes(b"a//\xff/./b").unwrap().names,
            [&b"a"[..], b"\xff", b"b"]
        );
        assert_eq!(WorkspacePath::from_bytes(b" a ").unwrap().names, [b"a"]);
        for bytes in [&b"/\xff"[..], b"~/\xff", b"\xff/../x"] {
            assert!(WorkspacePath::from_bytes(bytes).is_err(), "{bytes:?}");
        }
    }

    #[rstest]
    #[case("", "filesystem path must not be empty")]
    #[case("  ", "filesystem path must not be empty")]
    #[case("/etc/passwd", "filesystem path `/etc/passwd` must stay inside the workspace root")]
    #[case("~", "filesystem path `~` must stay inside the workspace root")]
    #[case("~/x", "filesystem path `~/x` must stay inside the workspace root")]
    #[case("../x", "filesystem path `../x` must stay inside the workspace root")]
    #[case("x/../secret", "filesystem path `x/../secret` must stay inside the workspace root")]
    fn paths_that_lead_out_are_refused(#[case] text: &str, #[case] message: &str) {
        let error = WorkspacePath::new(text).unwrap_err();
        assert_eq!(error.to_string(), format!("invalid input: {message}"));
    }
}
