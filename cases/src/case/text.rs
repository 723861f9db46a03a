//! Pieces of a compiled text that a case looks for, besides what the text means.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The texts that a compiled text must and must not hold. Runs of blanks compare equal, and a piece
/// begins and ends with whole words; the words of an argument list stand one behind the other.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TextExpect {
    /// Pieces, each behind the one before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_order: Vec<String>,
    /// Pieces that are nowhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<String>,
}

impl TextExpect {
    /// Returns the first deviation of `text`.
    pub fn differs(&self, text: &str) -> Option<String> {
        let text = squeezed(text);
        let mut rest = text.as_str();
        for piece in &self.in_order {
            match standing(rest, &squeezed(piece)) {
                Some(end) => rest = &rest[end..],
                None => return Some(format!("the text lacks {piece:?}, or has it too early")),
            }
        }
        let found = self.lacks.iter().find(|piece| standing(&text, &squeezed(piece)).is_some());
        found.map(|piece| format!("the text has {piece:?}"))
    }

    /// Every piece.
    pub fn pieces(&self) -> impl Iterator<Item = &String> {
        self.in_order.iter().chain(&self.lacks)
    }
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the offset at which `piece` ends in `text`, if it stands there in whole words.
fn standing(text: &str, piece: &str) -> Option<usize> {
    let joins = |char: Option<char>| {
        char.is_some_and(|char| char.is_alphanumeric() || "-_/.".contains(char))
    };
    let apart = |left: Option<char>, right: Option<char>| !(joins(left) && joins(right));
    let found = text.match_indices(piece).find(|(at, _)| {
        let (before, after) = (&text[..*at], &text[at + piece.len()..]);
        apart(before.chars().next_back(), piece.chars().next())
            && apart(piece.chars().next_back(), after.chars().next())
    });
    found.map(|(at, _)| at + piece.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const ARGV: &str = "bwrap --unshare-user-try --bind /w /w/out\n--ro-bind /a /a --";

    #[rstest]
    #[case("in_order: [--unshare-user-try, --bind /w /w/out, --ro-bind /a /a]", true)]
    #[case("in_order: [--ro-bind /a /a, --bind /w /w/out]", false)]
    #[case("in_order: [--ro-bind /a /a, --ro-bind /a /a]", false)]
    #[case("in_order: [--bind /w /w]", false)]
    #[case("in_order: [bind /a /a]", false)]
    #[case("lacks: [--unshare-user]", true)]
    #[case("lacks: [--unshare-user-try]", false)]
    #[case("{}", true)]
    fn words_are_whole_and_in_order(#[case] yaml: &str, #[case] due: bool) {
        let expect: TextExpect = crate::load::fragment(yaml).unwrap();
        assert_eq!(expect.differs(ARGV).is_none(), due, "{:?}", expect.differs(ARGV));
    }

    #[rstest]
    #[case("127.0.0.1", true)]
    #[case(":0", false)]
    #[case("(remote ip \"127.0.0.1:80\")", true)]
    fn pieces_of_a_profile_end_where_words_end(#[case] piece: &str, #[case] there: bool) {
        let profile = "(allow network-outbound\n    (remote ip \"127.0.0.1:80\"))";
        let expect = TextExpect { lacks: vec![piece.to_owned()], ..TextExpect::default() };
        assert_eq!(expect.differs(profile).is_some(), there);
    }
}
