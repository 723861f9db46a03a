//! Names as a volume that ignores case compares them.

/// Folds `name` to the one spelling of all names that a case-insensitive volume takes for it: case
/// folded, and without the characters that such volumes (HFS+, folding ext4) ignore.
pub(crate) fn folded(name: &[u8]) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(name) else { return name.to_ascii_lowercase() };
    let seen = text.chars().filter(|c| !is_ignored(*c));
    // By way of capitals: the long s and the Kelvin sign then fold as well.
    let folded: String = seen.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    folded.into_bytes()
}

/// Characters without any width or effect of their own (Unicode: default ignorable).
fn is_ignored(c: char) -> bool {
    matches!(c as u32,
        0xad | 0x34f | 0x61c | 0x115f..=0x1160 | 0x17b4..=0x17b5 | 0x180b..=0x180f
        | 0x200b..=0x200f | 0x202a..=0x202e | 0x2060..=0x206f | 0x3164 | 0xfe00..=0xfe0f
        | 0xfeff | 0xffa0 | 0x1d173..=0x1d17a | 0xe0000..=0xe0fff)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::same(".git", ".git", true)]
    #[case::capitals(".GIT", ".git", true)]
    #[case::mixed(".GiTmoDules", ".gitmodules", true)]
    #[case::zero_width(".g\u{200c}it", ".git", true)]
    #[case::long_s(".v\u{17f}code", ".vscode", true)]
    #[case::kelvin("\u{212a}", "k", true)]
    #[case::other(".gitx", ".git", false)]
    fn names_are_one_where_a_volume_says_so(#[case] a: &str, #[case] b: &str, #[case] same: bool) {
        assert_eq!(folded(a.as_bytes()) == folded(b.as_bytes()), same);
    }

    #[test]
    fn bytes_that_are_no_text_fold_as_ascii() {
        assert_eq!(folded(b"A\xff"), b"a\xff");
    }
}
