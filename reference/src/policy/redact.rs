//! The secrets that must not be shown: variables whose names denote one, and their values in a
//! stream.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// The placeholder for a value in a stream.
pub const REDACTED_ENV: &str = "[REDACTED_ENV]";
/// The placeholder for a value in debug output of a request.
pub const REDACTED: &str = "[REDACTED]";
/// The minimum length of a secret, in bytes: shorter values are too common.
pub const SHORTEST_SECRET: usize = 4;

/// Parts of a name, in upper case, that say its value is a secret.
const PARTS: [&str; 12] = [
    "SECRET",
    "TOKEN",
    "PASSWORD",
    "PASSWD",
    "PASSCODE",
    "API_KEY",
    "PRIVATE",
    "CREDENTIAL",
    "COOKIE",
    "SESSION",
    "BEARER",
    "AUTH",
];
/// The end of a name that says the same.
const ENDING: &str = "_KEY";

/// Returns whether the value of a variable called `name` is never shown.
pub fn is_sensitive_env_name(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_uppercase();
    PARTS.iter().any(|part| name.contains(part)) || name.ends_with(ENDING)
}

/// The values to look for, the longest first.
#[derive(Clone, Default)]
pub(crate) struct SecretValues {
    values: Vec<Vec<u8>>,
    first_bytes: Vec<u8>,
}

impl SecretValues {
    /// Collects the secrets of the variables in `env`.
    pub(crate) fn from_environment<'a>(
        env: impl IntoIterator<Item = &'a (OsString, OsString)>,
    ) -> Self {
        let secret = env.into_iter().filter(|(name, _)| is_sensitive_env_name(name));
        let trimmed = secret.map(|(_, value)| value.as_bytes().trim_ascii().to_vec());
        let mut values: Vec<_> = trimmed.filter(|value| value.len() >= SHORTEST_SECRET).collect();
        values.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        if fault!("supervise.shortest-secret-first") {
            values.reverse();
        }
        values.dedup();
        let first_bytes = values.iter().map(|value| value[0]).collect();
        Self { values, first_bytes }
    }

    /// Finds a secret at the start of `rest`, which is the end of the stream if `last`.
    fn match_at_start(&self, rest: &[u8], last: bool) -> SecretMatch {
        if !self.first_bytes.contains(&rest[0]) {
            return SecretMatch::Nothing;
        }
        for value in &self.values {
            if rest.starts_with(value) {
                return SecretMatch::Secret(value.len());
            }
            if !last && value.starts_with(rest) && !fault!("supervise.secret-in-parts") {
                return SecretMatch::Perhaps;
            }
        }
        SecretMatch::Nothing
    }
}

enum SecretMatch {
    Nothing,
    /// A whole one, of this length.
    Secret(usize),
    /// The beginning of one; more has to come.
    Perhaps,
}

/// The redaction of one stream. Holds back bytes that may be the first part of a secret, or of a
/// character.
#[derive(Default)]
pub(crate) struct StreamRedactor {
    held: Vec<u8>,
}

impl StreamRedactor {
    /// Takes in `chunk`; appends to `shown` the bytes that can be shown.
    pub(crate) fn push(&mut self, secrets: &SecretValues, chunk: &[u8], shown: &mut Vec<u8>) {
        self.held.extend(chunk);
        self.pass(secrets, false, shown);
    }

    /// Ends the stream: no further byte can complete a held secret.
    pub(crate) fn finish(&mut self, secrets: &SecretValues, shown: &mut Vec<u8>) {
        self.pass(secrets, true, shown);
    }

    fn pass(&mut self, secrets: &SecretValues, last: bool, shown: &mut Vec<u8>) {
        let mut done = 0;
        while done < self.held.len() {
            let rest = &self.held[done..];
            match secrets.match_at_start(rest, last) {
                SecretMatch::Perhaps => break,
                SecretMatch::Secret(length) => {
                    shown.extend(REDACTED_ENV.as_bytes());
                    done += length;
                }
                SecretMatch::Nothing if !last && rest.len() < 4 && is_cut(rest) => break,
                SecretMatch::Nothing => {
                    shown.push(rest[0]);
                    done += 1;
                }
            }
        }
        self.held.drain(..done);
    }
}

/// Returns whether `bytes` are the first part of one UTF-8 character.
fn is_cut(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes)
        .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("MY_SECRET", true)]
    #[case("token", true)]
    #[case("DB_PASSWORD", true)]
    #[case("PASSWD", true)]
    #[case("PASSCODE_1", true)]
    #[case("API_KEY", true)]
    #[case("PRIVATE_X", true)]
    #[case("GOOGLE_CREDENTIALS", true)]
    #[case("COOKIE_JAR", true)]
    #[case("SESSION_ID", true)]
    #[case("BEARER", true)]
    #[case("SSH_AUTH_SOCK", true)]
    #[case("AUTHOR", true)]
    #[case("SIGNING_KEY", true)]
    #[case("KEY", false)]
    #[case("APIKEY", false)]
    #[case("MONKEY", false)]
    #[case("AWS_ACCESS_KEY_ID", false)]
    #[case("PASSPHRASE", false)]
    #[case("DATABASE_URL", false)]
    #[case("PATH", false)]
    fn names_say_what_is_secret(#[case] name: &str, #[case] expected: bool) {
        assert_eq!(is_sensitive_env_name(name.as_ref()), expected);
    }

    fn secrets() -> SecretValues {
        let env = [
            ("MY_TOKEN", " s3cretvalue\n"),
            ("LONG_TOKEN", "s3cretvalue-and-more"),
            ("SHORT_TOKEN", "abc"),
            ("PATH", "visible"),
        ];
        SecretValues::from_environment(&env.map(|(name, value)| (name.into(), value.into())))
    }

    /// Returns the redacted `text` if it comes in pieces of `size`.
    fn shown(text: &[u8], size: usize) -> Vec<u8> {
        let (secrets, mut redactor, mut shown) = (secrets(), StreamRedactor::default(), Vec::new());
        text.chunks(size).for_each(|chunk| redactor.push(&secrets, chunk, &mut shown));
        redactor.finish(&secrets, &mut shown);
        shown
    }

    #[rstest]
    #[case::one("a s3cretvalue b", "a [REDACTED_ENV] b")]
    #[case::twice("s3cretvalues3cretvalue", "[REDACTED_ENV][REDACTED_ENV]")]
    #[case::the_longest("s3cretvalue-and-more", "[REDACTED_ENV]")]
    #[case::nearly_the_longest("s3cretvalue-and-mor", "[REDACTED_ENV]-and-mor")]
    #[case::false_start("s3s3cretvalue", "s3[REDACTED_ENV]")]
    #[case::half("s3cret", "s3cret")]
    #[case::short("abc", "abc")]
    #[case::not_secret("visible", "visible")]
    #[case::characters("äs3cretvalue日本語", "ä[REDACTED_ENV]日本語")]
    fn values_are_replaced_however_they_arrive(
        #[case] text: &str,
        #[case] expected: &str,
        #[values(1, 2, 3, 7, 4096)] size: usize,
    ) {
        assert_eq!(String::from_utf8(shown(text.as_bytes(), size)).unwrap(), expected);
    }

    #[rstest]
    fn bytes_that_are_no_text_pass(#[values(1, 2, 4096)] size: usize) {
        assert_eq!(shown(b"a\xffb\x00\xe6\x97", size), b"a\xffb\x00\xe6\x97");
    }

    #[test]
    fn a_character_is_shown_whole_or_not_yet() {
        let (mut redactor, mut shown) = (StreamRedactor::default(), Vec::new());
        redactor.push(&secrets(), b"x\xe6\x97", &mut shown);
        assert_eq!(shown, b"x");
        redactor.push(&secrets(), b"\xa5", &mut shown);
        assert_eq!(shown, "x日".as_bytes());
    }
}
