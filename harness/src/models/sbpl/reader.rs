//! S-expressions as Seatbelt profiles have them: comments, words, strings, and the raw strings
//! `#"…"` that patterns are written in, which no general reader knows. Pure.

use crate::models::ModelError;

/// One expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SbplForm {
    /// A bare word or number.
    Word(String),
    /// A string, its escapes resolved.
    Text(String),
    /// A list, and the line that it begins in.
    List(Vec<SbplForm>, usize),
}

impl SbplForm {
    /// The word, if it is one.
    pub(super) fn as_word(&self) -> Option<&str> {
        match self {
            Self::Word(word) => Some(word),
            _ => None,
        }
    }
}

/// The most lists within each other; those of the system's own profiles are a tenth of it.
const DEEPEST: usize = 100;

/// Parses every expression of `text`, which are lists.
pub(super) fn read(text: &str) -> Result<Vec<SbplForm>, ModelError> {
    let mut reader = SbplReader { rest: text, line: 1, depth: 0 };
    let mut forms = Vec::new();
    loop {
        reader.skip();
        match reader.rest.chars().next() {
            None => return Ok(forms),
            Some('(') => forms.push(reader.form()?),
            Some(_) => return Err(reader.void("something outside of every rule")),
        }
    }
}

struct SbplReader<'a> {
    rest: &'a str,
    line: usize,
    /// The number of lists that are open.
    depth: usize,
}

impl SbplReader<'_> {
    fn void(&self, what: &str) -> ModelError {
        ModelError::Void(format!("line {}: {what}", self.line))
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest.chars().next()?;
        self.rest = &self.rest[next.len_utf8()..];
        self.line += usize::from(next == '\n');
        Some(next)
    }

    /// Blanks and comments.
    fn skip(&mut self) {
        while let Some(next) = self.rest.chars().next() {
            match next {
                ';' => while self.next().is_some_and(|c| c != '\n') {},
                c if c.is_whitespace() => _ = self.next(),
                _ => return,
            }
        }
    }

    fn form(&mut self) -> Result<SbplForm, ModelError> {
        self.skip();
        if self.rest.starts_with("#\"") {
            self.next();
            self.next();
            return self.raw();
        }
        match self.rest.chars().next() {
            None => Err(self.void("it ends inside a rule")),
            Some(')') => Err(self.void("a list is closed that was not opened")),
            Some('(') => self.list(),
            Some('"') => self.text(),
            Some('\'' | '`' | ',') => {
                Err(ModelError::Unknown(format!("line {}: a quotation", self.line)))
            }
            Some(_) => Ok(self.bare()),
        }
    }

    fn list(&mut self) -> Result<SbplForm, ModelError> {
        let line = self.line;
        if self.depth == DEEPEST {
            let deeper = format!("line {line}: more than {DEEPEST} lists within each other");
            return Err(ModelError::Unknown(deeper));
        }
        self.depth += 1;
        self.next();
        let mut inner = Vec::new();
        loop {
            self.skip();
            if self.rest.starts_with(')') {
                self.next();
                self.depth -= 1;
                return Ok(SbplForm::List(inner, line));
            }
            inner.push(self.form()?);
        }
    }

    fn text(&mut self) -> Result<SbplForm, ModelError> {
        self.next();
        let mut text = String::new();
        loop {
            match self.next() {
                Some('"') => return Ok(SbplForm::Text(text)),
                Some('\\') => text.push(self.escaped()?),
                Some(other) => text.push(other),
                None => return Err(self.void("a string has no end")),
            }
        }
    }

    fn escaped(&mut self) -> Result<char, ModelError> {
        match self.next() {
            Some(c @ ('"' | '\\')) => Ok(c),
            Some('n') => Ok('\n'),
            Some('t') => Ok('\t'),
            Some('r') => Ok('\r'),
            Some(other) => {
                Err(ModelError::Unknown(format!("line {}: the escape \\{other}", self.line)))
            }
            None => Err(self.void("a string has no end")),
        }
    }

    /// Reads a raw string, in which a backslash stands for itself.
    fn raw(&mut self) -> Result<SbplForm, ModelError> {
        let mut text = String::new();
        loop {
            match self.next() {
                Some('"') => return Ok(SbplForm::Text(text)),
                Some('\\') if self.rest.starts_with('"') => {
                    return Err(ModelError::Unknown(format!(
                        "line {}: \\\" in a raw string",
                        self.line
                    )));
                }
                Some(other) => text.push(other),
                None => return Err(self.void("a string has no end")),
            }
        }
    }

    fn bare(&mut self) -> SbplForm {
        let ends = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | '"' | ';');
        let end = self.rest.find(ends).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        SbplForm::Word(word.to_owned())
    }
}
