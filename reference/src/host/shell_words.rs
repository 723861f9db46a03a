//! The commands of a line for a shell, and their words, as far as they can be told without running it.

/// A word of a command line, without its quotes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SplitWord {
    pub(super) text: Vec<u8>,
    /// A part of it stood in quotes.
    pub(super) quoted: bool,
}

impl SplitWord {
    /// Returns whether it was quoted, and can be a command line itself.
    pub(super) fn is_line(&self) -> bool {
        let is_sign = |byte: &u8| byte.is_ascii_whitespace() || b";&|()<>`".contains(byte);
        self.quoted && self.text.iter().any(is_sign)
    }

    /// Returns whether the word, before a program, sets a variable.
    pub(super) fn is_assignment(&self) -> bool {
        let name = self.text.split(|byte| *byte == b'=').next().unwrap_or_default();
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        name.len() < self.text.len() && !name.is_empty() && name.iter().all(is_name)
    }
}

/// Splits `line` into commands of words; what separates commands and redirects them is left out.
pub(super) fn shell_commands(line: &[u8]) -> Vec<Vec<SplitWord>> {
    let mut split = LineSplit::default();
    let mut bytes = line.iter().copied();
    let mut quote = None;
    while let Some(byte) = bytes.next() {
        match (quote, byte) {
            (Some(sign), byte) if byte == sign => quote = None,
            (Some(b'"') | None, b'\\') => split.word.text.extend(bytes.next()),
            (Some(_), byte) => split.word.text.push(byte),
            (None, b'\'' | b'"') => {
                quote = Some(byte);
                split.word.quoted = true;
            }
            (None, b';' | b'&' | b'|' | b'(' | b')' | b'`' | b'\n') => split.end_command(),
            (None, b'<' | b'>') => split.end_word(),
            (None, blank) if blank.is_ascii_whitespace() => split.end_word(),
            (None, byte) => split.word.text.push(byte),
        }
    }
    split.end_command();
    split.commands
}

#[derive(Default)]
struct LineSplit {
    commands: Vec<Vec<SplitWord>>,
    command: Vec<SplitWord>,
    word: SplitWord,
}

impl LineSplit {
    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        self.command.extend(Some(word).filter(|word| !word.text.is_empty()));
    }

    fn end_command(&mut self) {
        self.end_word();
        let command = std::mem::take(&mut self.command);
        self.commands.extend(Some(command).filter(|command| !command.is_empty()));
    }
}
