//! The lexer of a shell line: quotes, expansions, comments. A form that shells read differently is
//! an error.

use std::iter::Peekable;
use std::str::Chars;

use super::parse;
use super::word::{ShellWord, SimpleCommand, WordExpansion};

/// The reason why a line is not understood.
pub(super) type ParseFailure = &'static str;

/// A position in a line, and the tokens before it.
#[derive(Debug, Clone)]
pub(super) struct GrantLexer<'a> {
    pub(super) chars: Peekable<Chars<'a>>,
    /// Every simple command so far, also those in substitutions.
    pub(super) found: Vec<SimpleCommand>,
    /// Ends of here-documents whose text comes after this line.
    pub(super) ahead: Vec<PendingHeredoc>,
    /// The number of open substitutions and subshells.
    pub(super) depth: usize,
}

/// A here-document that begins at the next line.
#[derive(Debug, Clone)]
pub(super) struct PendingHeredoc {
    end: String,
    literal: bool,
    tabs: bool,
}

/// Characters that end a word.
const ENDS: &[char] = &[' ', '\t', '\n', ';', '&', '|', '<', '>', '(', ')'];

impl<'a> GrantLexer<'a> {
    pub(super) fn new(line: &'a str) -> Result<Self, ParseFailure> {
        let odd = |c: char| c.is_control() && c != '\n' && c != '\t';
        if line.chars().any(odd) {
            return Err("it has control characters");
        }
        let chars = line.chars().peekable();
        Ok(Self { chars, found: Vec::new(), ahead: Vec::new(), depth: 0 })
    }

    pub(super) fn peek(&mut self) -> Option<char> {
        self.chars.peek().copied()
    }

    /// Returns the word that stands here as it is written, if it may be a keyword or a name.
    pub(super) fn keyword(&mut self) -> Option<String> {
        /// Characters: no keyword and few names have more.
        const LONGEST: usize = 64;
        let mut chars = self.chars.clone();
        let mut text = String::new();
        while let Some(c) = chars.next_if(|c| !ENDS.contains(c)) {
            if text.len() == LONGEST || !(c.is_ascii_alphanumeric() || "_{}".contains(c)) {
                return None;
            }
            text.push(c);
        }
        (!text.is_empty()).then_some(text)
    }

    pub(super) fn takes(&mut self, c: char) -> bool {
        self.chars.next_if_eq(&c).is_some()
    }

    /// Blanks, then a comment.
    pub(super) fn skip_blanks(&mut self) {
        while self.chars.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        if self.peek() == Some('#') {
            while self.chars.next_if(|c| *c != '\n').is_some() {}
        }
    }

    /// Blanks and ends of lines that a backslash takes away, then a comment.
    pub(super) fn skip_between(&mut self) {
        loop {
            self.skip_blanks();
            if self.peek() != Some('\\') || self.second() != Some('\n') {
                return;
            }
            self.chars.nth(1);
        }
    }

    pub(super) fn second(&self) -> Option<char> {
        self.chars.clone().nth(1)
    }

    /// The word that begins here.
    pub(super) fn read_word(&mut self) -> Result<ShellWord, ParseFailure> {
        let mut word = ShellWord { top: self.is_top(), ..ShellWord::default() };
        let (mut brace, mut tilde) = (false, true);
        while let Some(c) = self.chars.next_if(|c| !ENDS.contains(c)) {
            let home = std::mem::replace(&mut tilde, matches!(c, '=' | ':'));
            match c {
                '~' if home => word.widen(WordExpansion::OneWord),
                '\'' => self.single(&mut word)?,
                '"' => self.double(&mut word)?,
                '\\' => self.escaped(&mut word)?,
                '`' => return Err("it has a backquote"),
                '$' => self.expansion(&mut word, WordExpansion::Words)?,
                // Alone it is a program: no pattern is without an end.
                '[' if word.text.is_empty()
                    && word.rest == WordExpansion::Nothing
                    && !word.quoted
                    && matches!(self.peek(), Some(' ')) =>
                {
                    word.push(c);
                }
                '*' | '?' | '[' => word.widen(WordExpansion::Names),
                '{' => {
                    brace = true;
                    word.push(c);
                }
                ',' if brace => return Err("it has braces that some shells expand"),
                '.' if brace && self.peek() == Some('.') => {
                    return Err("it has braces that some shells expand");
                }
                c if c.is_ascii() => word.push(c),
                _ => return Err("a character that is not ASCII stands outside of quotes"),
            }
        }
        Ok(word)
    }

    /// Returns whether the word that begins here only asks for the top of the repository.
    fn is_top(&self) -> bool {
        const ASKED: [&str; 2] =
            ["\"$(git rev-parse --show-toplevel)\"", "$(git rev-parse --show-toplevel)"];
        ASKED.iter().any(|asked| {
            let mut chars = self.chars.clone();
            let same = asked.chars().all(|due| chars.next() == Some(due));
            same && chars.next().is_none_or(|next| ENDS.contains(&next))
        })
    }

    fn single(&mut self, word: &mut ShellWord) -> Result<(), ParseFailure> {
        word.quoted = true;
        loop {
            match self.inside()? {
                '\'' => return Ok(()),
                c => word.push(c),
            }
        }
    }

    fn double(&mut self, word: &mut ShellWord) -> Result<(), ParseFailure> {
        word.quoted = true;
        loop {
            match self.inside()? {
                '"' => return Ok(()),
                '`' => return Err("it has a backquote"),
                '$' if matches!(self.peek(), Some('@' | '*')) => {
                    return Err("it has every argument at once");
                }
                '$' => self.expansion(word, WordExpansion::OneWord)?,
                '\\' => match self.inside()? {
                    '\n' => {}
                    c @ ('$' | '"' | '\\' | '`') => word.push(c),
                    c => {
                        word.push('\\');
                        word.push(c);
                    }
                },
                c => word.push(c),
            }
        }
    }

    /// Returns the next character in quotes. An error where a here-document would begin there:
    /// shells differ about it.
    fn inside(&mut self) -> Result<char, ParseFailure> {
        match self.chars.next() {
            None => Err("a quote is not closed"),
            Some('\n') if !self.ahead.is_empty() => Err("a here-document begins in a quote"),
            Some(c) => Ok(c),
        }
    }

    fn escaped(&mut self, word: &mut ShellWord) -> Result<(), ParseFailure> {
        match self.chars.next() {
            None => Err("it ends with a backslash"),
            Some('\n') => Err("a line is continued within a word"),
            Some(c) => {
                word.quoted = true;
                word.push(c);
                Ok(())
            }
        }
    }

    /// Reads the rest of an expansion, behind its `$`.
    fn expansion(&mut self, word: &mut ShellWord, rest: WordExpansion) -> Result<(), ParseFailure> {
        word.widen(rest);
        match self.chars.next() {
            Some('(') if self.peek() == Some('(') => Err("it calculates"),
            Some('(') => self.nested(),
            Some('{') => {
                self.name()?;
                if self.takes('}') { Ok(()) } else { self.fallback() }
            }
            // The rest of a name is behind something unknown, as text is.
            Some('?' | '$' | '#' | '!' | '_' | '0'..='9' | 'a'..='z' | 'A'..='Z') => Ok(()),
            _ => Err("it has a dollar sign with another meaning from shell to shell"),
        }
    }

    /// `:-TEXT}`: plain text for a variable without a value, which stays without one.
    fn fallback(&mut self) -> Result<(), ParseFailure> {
        let plain = |c: &char| c.is_ascii_alphanumeric() || "_-./@ ".contains(*c);
        let text = self.takes(':') && self.takes('-');
        while text && self.chars.next_if(plain).is_some() {}
        if text && self.takes('}') { Ok(()) } else { Err("it changes a variable's value") }
    }

    fn name(&mut self) -> Result<(), ParseFailure> {
        if self.chars.next_if(|c| c.is_ascii_alphabetic() || *c == '_').is_none() {
            return Err("it changes a variable's value");
        }
        while self.chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '_').is_some() {}
        Ok(())
    }

    /// A list of commands up to the `)` that closes it.
    pub(super) fn nested(&mut self) -> Result<(), ParseFailure> {
        if !self.ahead.is_empty() {
            return Err("a here-document begins in a substitution");
        }
        if self.depth == 16 {
            return Err("it nests too deeply");
        }
        self.depth += 1;
        parse::list(self, &[])?;
        self.depth -= 1;
        match self.takes(')') && self.ahead.is_empty() {
            true => Ok(()),
            false => Err("a parenthesis is not closed"),
        }
    }

    /// Reads the target word of a redirection. A number adjacent to another redirection belongs to
    /// that.
    pub(super) fn target(&mut self) -> Result<ShellWord, ParseFailure> {
        let word = self.read_word()?;
        match self.peek() {
            Some('<' | '>') => Err("two redirections touch"),
            _ => Ok(word),
        }
    }

    /// Takes note of a here-document; its end is the next word.
    pub(super) fn here(&mut self) -> Result<(), ParseFailure> {
        let tabs = self.takes('-');
        self.skip_blanks();
        let word = self.target()?;
        match word.known() {
            Some(end) if !end.is_empty() && !end.contains('\n') => {
                let end = end.to_owned();
                self.ahead.push(PendingHeredoc { end, literal: word.quoted, tabs });
                Ok(())
            }
            _ => Err("a here-document has no plain end"),
        }
    }

    /// The texts of the here-documents, after the line that names them.
    pub(super) fn bodies(&mut self) -> Result<(), ParseFailure> {
        for PendingHeredoc { end, literal, tabs } in std::mem::take(&mut self.ahead) {
            loop {
                let mut line = String::new();
                while let Some(c) = self.chars.next_if(|c| *c != '\n') {
                    line.push(c);
                }
                let ended = !self.takes('\n');
                let text = if tabs { line.trim_start_matches('\t') } else { &line };
                if text == end {
                    break;
                }
                if ended {
                    return Err("a here-document has no end");
                }
                if !literal && line.contains(['$', '`', '\\']) {
                    return Err("a here-document is expanded");
                }
            }
        }
        Ok(())
    }
}
