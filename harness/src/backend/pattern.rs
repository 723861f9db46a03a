//! A regular expression of a manifest: [`BytePattern`].

use std::borrow::Cow;

use regex::bytes::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A regular expression over bytes; `^` and `$` stand for the ends of a line.
#[derive(Debug, Clone)]
pub struct BytePattern {
    part: Regex,
    whole: Regex,
}

impl BytePattern {
    /// Compiles `text`.
    ///
    /// # Errors
    /// The fault of the regular expression.
    pub fn new(text: &str) -> Result<Self, String> {
        let read = |text: &str| RegexBuilder::new(text).multi_line(true).build();
        let part = read(text).map_err(|error| error.to_string())?;
        let whole = read(&format!(r"\A(?:{text})\z")).map_err(|error| error.to_string())?;
        Ok(Self { part, whole })
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        self.part.as_str()
    }

    /// Returns whether the pattern matches a part of `text`.
    pub fn is_in(&self, text: &[u8]) -> bool {
        self.part.is_match(text)
    }

    /// Returns the first match in `text`.
    pub fn find(&self, text: &[u8]) -> Option<std::ops::Range<usize>> {
        self.part.find(text).map(|found| found.range())
    }

    /// Returns whether the pattern matches `text` from the first byte to the last.
    pub fn is_whole(&self, text: &[u8]) -> bool {
        self.whole.is_match(text)
    }
}

impl PartialEq for BytePattern {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for BytePattern {}

impl Serialize for BytePattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_str().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for BytePattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).map_err(de::Error::custom)
    }
}

impl JsonSchema for BytePattern {
    fn schema_name() -> Cow<'static, str> {
        "Pattern".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A regular expression; `^` and `$` stand for the ends of a line.",
            "type": "string", "format": "regex",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("b+", "abbc", true, false)]
    #[case("ab|abbc", "abbc", true, true)]
    #[case(".*", "abbc", true, true)]
    #[case("^b$", "a\nb\nc", true, false)]
    #[case("^b$", "ab", false, false)]
    fn a_pattern_matches_a_part_or_the_whole(
        #[case] pattern: &str,
        #[case] text: &str,
        #[case] part: bool,
        #[case] whole: bool,
    ) {
        let pattern = BytePattern::new(pattern).unwrap();
        let text = text.as_bytes();
        assert_eq!((pattern.is_in(text), pattern.is_whole(text)), (part, whole));
    }

    #[test]
    fn what_is_no_pattern_is_an_error() {
        assert!(BytePattern::new("(").unwrap_err().contains("unclosed group"));
        assert!(serde_yaml::from_str::<BytePattern>("'('").is_err());
    }
}
