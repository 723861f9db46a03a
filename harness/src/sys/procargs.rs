//! Arguments of a process as macOS gives them (`KERN_PROCARGS2`), taken apart ([`parted`]): a
//! count, the program's path, padding, so many words, then the environment up to an empty string.

/// Words and variables, a NUL behind each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessWords {
    pub(crate) words: Vec<u8>,
    pub(crate) variables: Vec<u8>,
}

/// The parts of `bytes`; `None` if they are cut short.
pub(crate) fn parted(bytes: &[u8]) -> Option<ProcessWords> {
    let (count, rest) = bytes.split_first_chunk::<4>()?;
    let count = usize::try_from(i32::from_ne_bytes(*count)).ok()?;
    let path = rest.iter().position(|byte| *byte == 0)?;
    let padding = rest[path..].iter().position(|byte| *byte != 0).unwrap_or(rest.len() - path);
    let rest = &rest[path + padding..];
    let mut strings = rest.split_inclusive(|byte| *byte == 0);
    let words: Vec<u8> = strings.by_ref().take(count).flatten().copied().collect();
    let whole = words.iter().filter(|byte| **byte == 0).count() == count;
    let variables = strings.take_while(|string| string.ends_with(&[0]) && string.len() > 1);
    whole.then(|| ProcessWords { words, variables: variables.flatten().copied().collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn procargs_bytes(count: i32, rest: &[u8]) -> Vec<u8> {
        [count.to_ne_bytes().as_slice(), rest].concat()
    }

    #[rstest]
    #[case::usual(2, b"/bin/a\0\0\0\0a\0-x\0A=1\0B=2\0\0stack\0", b"a\0-x\0", b"A=1\0B=2\0")]
    #[case::empty_word(3, b"/bin/a\0a\0\0b\0A=1\0", b"a\0\0b\0", b"A=1\0")]
    #[case::hidden(1, b"/bin/a\0a\0\0\0", b"a\0", b"")]
    #[case::no_end(1, b"/bin/a\0a\0A=1", b"a\0", b"")]
    #[case::none(0, b"/bin/a\0\0", b"", b"")]
    fn words_and_variables_are_told_apart(
        #[case] count: i32,
        #[case] rest: &[u8],
        #[case] words: &[u8],
        #[case] variables: &[u8],
    ) {
        let parts = parted(&procargs_bytes(count, rest)).unwrap();
        assert_eq!((parts.words.as_slice(), parts.variables.as_slice()), (words, variables));
    }

    #[rstest]
    #[case::nothing(b"")]
    #[case::no_path(&procargs_bytes(1, b"/bin/a"))]
    #[case::no_words(&procargs_bytes(2, b"/bin/a\0a\0"))]
    #[case::negative(&procargs_bytes(-1, b"/bin/a\0a\0"))]
    fn what_is_cut_short_is_nothing(#[case] bytes: &[u8]) {
        assert_eq!(parted(bytes), None);
    }
}
