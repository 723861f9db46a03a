//! One word of a shell line, as far as it is known before expansion.

/// The part of a word that is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Rest {
    /// Nothing: the text is all of it.
    #[default]
    Nothing,
    /// Unknown text follows; the word stays one word.
    OneWord,
    /// Unknown text follows; the word may expand to file names, each of which begins with the text.
    Names,
    /// Unknown text follows; the word may expand to any number of words.
    Words,
}

/// A word.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// The text without quotes, up to the first expansion.
    pub(super) text: String,
    /// The unknown part behind the text.
    pub(super) rest: Rest,
    /// A part of the word was quoted: then it is no reserved word.
    pub(super) quoted: bool,
    /// The word is the top of the repository.
    pub(super) top: bool,
}

impl Word {
    /// An empty word that nothing is known of.
    pub(super) fn anything() -> Self {
        Self { rest: Rest::Words, ..Self::default() }
    }

    /// Makes a word without quotes or expansions.
    pub(super) fn plain(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// The whole word, if it is known.
    pub(super) fn known(&self) -> Option<&str> {
        (self.rest == Rest::Nothing).then_some(&self.text)
    }

    /// Returns whether it expands to exactly one word.
    pub(super) fn is_one(&self) -> bool {
        matches!(self.rest, Rest::Nothing | Rest::OneWord)
    }

    /// Returns whether it certainly is no option of a program.
    pub(super) fn is_operand(&self) -> bool {
        let dash = self.text.starts_with('-');
        match self.rest {
            Rest::Nothing => !dash || self.text == "-",
            Rest::OneWord | Rest::Names => !self.text.is_empty() && !dash,
            Rest::Words => false,
        }
    }

    /// Appends a literal character.
    pub(super) fn push(&mut self, c: char) {
        if self.rest == Rest::Nothing {
            self.text.push(c);
        }
    }

    /// Marks the rest of the word as unknown.
    pub(super) fn widen(&mut self, rest: Rest) {
        self.rest = match (self.rest, rest) {
            (Rest::Nothing, rest) => rest,
            (Rest::OneWord, Rest::OneWord) => Rest::OneWord,
            (Rest::Names, Rest::Names | Rest::OneWord) | (Rest::OneWord, Rest::Names) => {
                Rest::Names
            }
            _ => Rest::Words,
        };
    }
}

/// One simple command: assignments, words, and the files that it writes to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Simple {
    /// `NAME`, `VALUE` before the words.
    pub(super) assigned: Vec<(String, Word)>,
    /// The program and its arguments.
    pub(super) words: Vec<Word>,
    /// Files that are opened for writing.
    pub(super) written: Vec<Word>,
}
