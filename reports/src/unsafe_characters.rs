//! Characters that change how the text around them is shown.

/// Returns whether foreign text could repaint or reorder a page with `c`, or hide in it.
pub(crate) fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Returns whether UTF-8 text without characters below the blank may have one that [`is_unsafe`]: false
/// only if it has none.
pub(crate) fn may_be_unsafe(text: &[u8]) -> bool {
    // DEL, and the first bytes of all others.
    memchr::memchr3(0x7f, 0xc2, 0xd8, text).is_some() || memchr::memchr2(0xe2, 0xef, text).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_unsafe_character_is_overlooked() {
        let mut told = 0;
        for c in (' '..=char::MAX).filter(|c| is_unsafe(*c)) {
            assert!(may_be_unsafe(c.encode_utf8(&mut [0; 4]).as_bytes()), "{c:?}");
            told += 1;
        }
        assert_eq!(told, 57);
        assert!(!may_be_unsafe("a row, Zeile f\u{fc}r Zeile".as_bytes()));
    }
}
