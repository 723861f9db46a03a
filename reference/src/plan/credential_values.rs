//! Values that look like credentials, under any variable name.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use regex::bytes::RegexSet;

/// The forms of credentials, anywhere in a value. Each is a published form with a mark of its own:
/// a merely random value does not count.
const FORMS: [&str; 13] = [
    // A private key, in text form.
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----",
    // A signed token: two JSON objects and a signature.
    r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*",
    // The value of an authorization header.
    r"(?i)\b(bearer|basic) [\w.~+/-]{16,}",
    // A URL with a password.
    r"\b[A-Za-z][\w+.-]*://[^/\s:@]*:[^/\s@]+@",
    // GitHub, GitLab.
    r"\bgh[pousr]_[A-Za-z0-9]{20,}",
    r"\bgithub_pat_\w{20,}",
    r"\bglpat-[\w-]{20,}",
    // AWS.
    r"\b(AKIA|ASIA)[A-Z0-9]{16}\b",
    // Google.
    r"\bAIza[\w-]{35}",
    // Slack.
    r"\bxox[abprs]-[A-Za-z0-9-]{10,}",
    // OpenAI, Anthropic and their like.
    r"\bsk-[\w-]{20,}",
    // Stripe.
    r"\b[rs]k_(live|test)_[A-Za-z0-9]{16,}",
    // Package registries.
    r"\b(npm_[A-Za-z0-9]{30,}|pypi-[\w-]{16,})",
];

/// The compiled forms.
pub(super) struct CredentialPatterns(Option<RegexSet>);

impl CredentialPatterns {
    pub(super) fn new() -> Self {
        let forms = FORMS.iter().enumerate().filter(|(at, _)| !dropped!("value-forms", at));
        let forms = forms.map(|(_, form)| match fault!("env.forms-one-case") {
            true => format!("(?-u){}", form.replace("(?i)", "")),
            false => format!("(?-u){form}"),
        });
        Self(RegexSet::new(forms).ok())
    }

    /// Returns whether `value` holds one. Returns true if the expressions did not compile.
    pub(super) fn are_in(&self, value: &OsStr) -> bool {
        self.0.as_ref().is_none_or(|forms| forms.is_match(value.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    /// Fills in made-up secrets at run time, so that no scanner takes the source for a leak.
    fn filled(text: &str) -> String {
        text.replace('#', "0123456789ABCDEF").replace('%', "abcdefghij")
    }

    #[rstest]
    #[case("-----BEGIN RSA PRIVATE KEY-----\nx", true)]
    #[case("-----BEGIN PUBLIC KEY-----\nx", false)]
    #[case("eyJ%.eyJ%.%", true)]
    #[case("eyJ%", false)]
    #[case("Bearer #", true)]
    #[case("Authorization: basic %%", true)]
    #[case("bearer of news", false)]
    #[case("postgres://user:word@host/db", true)]
    #[case("redis://:word@host", true)]
    #[case("https://host:8080/a@b", false)]
    #[case("https://user@host/", false)]
    #[case("http://localhost:3128", false)]
    #[case("ghp_#%", true)]
    #[case("github_pat_#%", true)]
    #[case("ghp_short", false)]
    #[case("glpat-%%", true)]
    #[case("AKIA#", true)]
    #[case("AKIA#x", false)]
    #[case("AIza###", true)]
    #[case("xoxb-%", true)]
    #[case("key=sk-%%", true)]
    #[case("disk-%%", false)]
    #[case("sk_test_#", true)]
    #[case("npm_##", true)]
    #[case("pypi-%%", true)]
    #[case("0123456789abcdef0123456789abcdef", false)]
    #[case("/usr/bin:/bin", false)]
    #[case("", false)]
    fn forms_are_told_from_ordinary_values(#[case] value: &str, #[case] expected: bool) {
        let forms = CredentialPatterns::new();
        assert!(forms.0.is_some());
        assert_eq!(forms.are_in(filled(value).as_ref()), expected, "{value}");
    }
}
