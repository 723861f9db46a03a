//! What differs from arm to arm, taken out of bytes: each value gives way to its variable.

use boxproof_cases::vars::VariableValues;
use memchr::memmem::Finder;

use super::listeners;

/// The values of an arm that stand in what is observed of it, each with a searcher of its own: they
/// are looked for in every path and text of the arm.
#[derive(Debug)]
pub(super) struct ValueReplacer {
    values: Vec<(Finder<'static>, Vec<u8>)>,
}

impl ValueReplacer {
    /// Takes up the values of `vars` that are long enough to be no accident.
    pub(super) fn new(vars: &VariableValues) -> Self {
        let names = ["NONCE", "CANARY", "PROBE", "WS", "OUT", "HOME", "TMPDIR", "VICTIM"];
        let values = names.iter().chain(listeners::NAMES).filter_map(|name| {
            let value = vars.get(name).filter(|value| value.len() > 3)?;
            Some((Finder::new(value).into_owned(), format!("${name}").into_bytes()))
        });
        Self { values: values.collect() }
    }

    /// Returns `bytes` with the names of variables for their values.
    pub(super) fn neutral(&self, bytes: &[u8]) -> Vec<u8> {
        let mut text = bytes.to_vec();
        for (value, name) in &self.values {
            if value.find(&text).is_some() {
                text = replace(&text, value, name);
            }
        }
        text
    }
}

/// Replaces everything that `from` finds in `text` by `to`.
pub(super) fn replace(text: &[u8], from: &Finder<'_>, to: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut end = 0;
    for at in from.find_iter(text) {
        out.extend_from_slice(&text[end..at]);
        out.extend_from_slice(to);
        end = at + from.needle().len();
    }
    out.extend_from_slice(&text[end..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("a-b-a", "a", "xx", "xx-b-xx")]
    #[case("aab", "ab", "", "a")]
    #[case("none", "q", "x", "none")]
    fn replaces(#[case] text: &str, #[case] from: &str, #[case] to: &str, #[case] out: &str) {
        assert_eq!(replace(text.as_bytes(), &Finder::new(from), to.as_bytes()), out.as_bytes());
    }
}
