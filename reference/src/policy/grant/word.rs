//! One word of a shell line, as far as it is known before expansion.

/// The part of a word that is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum WordExpansion {
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
pub(super) struct ShellWord {
    /// The text without quotes, up to the first expansion.
    pub(super) text: String,
    /// The unknown part behind the text.
    pub(super) rest: WordExpansion,
    /// A part of the word was quoted: then it is no reserved word.
    pub(super) quoted: bool,
    /// The word is the top of the repository.
    pub(super) top: bool,
}

impl ShellWord {
    /// An empty word that nothing is known of.
    pub(super) fn anything() -> Self {
        Self { rest: WordExpansion::Words, ..Self::default() }
    }

    /// Makes a word without quotes or expansions.
    pub(super) fn plain(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// The whole word, if it is known.
    pub(super) fn known(&self) -> Option<&str> {
        (self.rest == WordExpansion::Nothing).then_some(&self.text)
    }

    /// Returns whether it expands to exactly one word.
    pub(super) fn is_one(&self) -> bool {
        matches!(self.rest, WordExpansion::Nothing | WordExpansion::OneWord)
    }

    /// Returns whether it certainly is no option of a program.
    pub(super) fn is_operand(&self) -> bool {
        let dash = self.text.starts_with('-');
        match self.rest {
            WordExpansion::Nothing => !dash || self.text == "-",
            WordExpansion::OneWord | WordExpansion::Names => !self.text.is_empty() && !dash,
            WordExpansion::Words => false,
        }
    }

    /// Appends a literal character.
    pub(super) fn push(&mut self, c: char) {
        if self.rest == WordExpansion::Nothing {
            self.text.push(c);
        }
    }

    /// Marks the rest of the word as unknown.
    pub(super) fn widen(&mut self, rest: WordExpansion) {
        self.rest = match (self.rest, rest) {
            (WordExpansion::Nothing, rest) => rest,
            (WordExpansion::OneWord, WordExpansion::OneWord) => WordExpansion::OneWord,
            (WordExpansion::Names, WordExpansion::Names | WordExpansion::OneWord)
            | (WordExpansion::OneWord, WordExpansion::Names) => WordExpansion::Names,
            _ => WordExpansion::Words,
        };
    }
}

/// One simple command: assignments, words, and the files that it writes to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SimpleCommand {
    /// `NAME`, `VALUE` before the words.
    pub(super) assigned: Vec<(String, ShellWord)>,
    /// The program and its arguments.
    pub(super) words: Vec<ShellWord>,
    /// Files that are opened for writing.
    pub(super) written: Vec<ShellWord>,
}
