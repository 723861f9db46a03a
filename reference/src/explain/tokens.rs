//! The tokens of a shell line. Pure.

use super::script::CommandConnector;

/// A redirection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ShellRedirect {
    /// It redirects stderr.
    pub(super) of_stderr: bool,
    /// The file, or the copied descriptor behind `&`.
    pub(super) file: Option<String>,
    /// The number of the descriptor, where it is written.
    pub(super) number: Option<String>,
    /// The text of the here-document that it is.
    pub(super) document: Option<String>,
    /// Lines of which the output or input is the file.
    pub(super) inner: Vec<String>,
}

impl ShellRedirect {
    /// Returns whether it redirects stdout to stderr.
    pub(super) fn is_copy_of_stderr(&self) -> bool {
        let names = ["&2", "/dev/stderr", "/proc/self/fd/2", "/dev/fd/2"];
        !self.of_stderr && self.file.as_deref().is_some_and(|file| names.contains(&file))
    }
}

/// A token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ShellToken {
    Word {
        text: String,
        /// Nothing in it was quoted.
        bare: bool,
        /// Lines in `$(…)` or backquotes.
        inner: Vec<String>,
    },
    Redirect(ShellRedirect),
    Joint(CommandConnector),
    Open,
    Close,
}

/// Returns the tokens of `line`.
pub(super) fn tokenize(line: &str) -> Vec<ShellToken> {
    let mut lexer =
        ScriptLexer { left: line, found: Vec::new(), word: None, next: None, ends: Vec::new() };
    while lexer.step() {}
    lexer.end_word();
    lexer.found
}

#[derive(Default)]
struct PendingWord {
    text: String,
    quoted: bool,
    inner: Vec<String>,
}

struct ScriptLexer<'a> {
    left: &'a str,
    found: Vec<ShellToken>,
    word: Option<PendingWord>,
    /// The redirection that the next word belongs to.
    next: Option<ShellRedirect>,
    /// Words that end here-documents, which begin on the next line.
    ends: Vec<String>,
}

impl<'a> ScriptLexer<'a> {
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, left) = self.left.split_at(bytes);
        self.left = left;
        taken
    }

    fn take_if(&mut self, text: &str) -> bool {
        let found = self.left.starts_with(text);
        if found {
            self.take(text.len());
        }
        found
    }

    fn current_word(&mut self) -> &mut PendingWord {
        self.word.get_or_insert_default()
    }

    fn end_word(&mut self) {
        let Some(PendingWord { text, quoted, inner }) = self.word.take() else { return };
        match self.next.take() {
            Some(redirect) => {
                self.found.push(ShellToken::Redirect(ShellRedirect {
                    file: Some(text),
                    inner,
                    ..redirect
                }));
            }
            None => self.found.push(ShellToken::Word { text, bare: !quoted, inner }),
        }
    }

    fn mark(&mut self, token: ShellToken) {
        self.end_word();
        self.found.push(token);
    }

    /// Takes one sign; false at the end.
    fn step(&mut self) -> bool {
        let Some(sign) = self.left.chars().next() else { return false };
        for (text, token) in [
            ("&&", ShellToken::Joint(CommandConnector::And)),
            ("||", ShellToken::Joint(CommandConnector::Or)),
            (";;", ShellToken::Word { text: ";;".to_owned(), bare: true, inner: Vec::new() }),
        ] {
            if self.take_if(text) {
                self.mark(token);
                return true;
            }
        }
        if self.left.starts_with("$(") || sign == '`' {
            self.substitution();
            return true;
        }
        if matches!(sign, '<' | '>') || self.left.starts_with("&>") {
            self.redirection();
            return true;
        }
        self.take(sign.len_utf8());
        match sign {
            '\'' => {
                let end = self.left.find('\'').unwrap_or(self.left.len());
                let text = self.take(end);
                self.take_if("'");
                let word = self.current_word();
                word.quoted = true;
                word.text.push_str(text);
            }
            '"' => self.double_quoted(),
            '\\' => {
                let next = self.left.chars().next();
                self.take(next.map_or(0, char::len_utf8));
                let word = self.current_word();
                word.quoted = true;
                word.text.extend(next.filter(|c| *c != '\n'));
            }
            '#' if self.word.is_none() => {
                let end = self.left.find('\n').unwrap_or(self.left.len());
                self.take(end);
            }
            '|' => {
                self.take_if("&");
                self.mark(ShellToken::Joint(CommandConnector::Pipe));
            }
            '\n' => {
                self.mark(ShellToken::Joint(CommandConnector::Then));
                self.skip_documents();
            }
            ';' => self.mark(ShellToken::Joint(CommandConnector::Then)),
            '&' => self.mark(ShellToken::Joint(CommandConnector::Background)),
            '(' => self.mark(ShellToken::Open),
            ')' => self.mark(ShellToken::Close),
            c if c.is_whitespace() => self.end_word(),
            c => self.current_word().text.push(c),
        }
        true
    }

    fn double_quoted(&mut self) {
        self.current_word().quoted = true;
        while let Some(sign) = self.left.chars().next() {
            if self.left.starts_with("$(") || sign == '`' {
                self.substitution();
                continue;
            }
            self.take(sign.len_utf8());
            match sign {
                '"' => return,
                '\\' => {
                    let next = self.left.chars().next();
                    self.take(next.map_or(0, char::len_utf8));
                    self.current_word().text.extend(next);
                }
                sign => self.current_word().text.push(sign),
            }
        }
    }

    /// `$(…)` or backquotes: kept in the word, and its line beside it.
    fn substitution(&mut self) {
        let (open, close) = if self.left.starts_with('`') { ("`", '`') } else { ("$(", ')') };
        self.take(open.len());
        let end = if close == ')' { closing(self.left) } else { self.left.find('`') };
        let line = self.take(end.unwrap_or(self.left.len()));
        self.take_if(if close == ')' { ")" } else { "`" });
        let word = self.current_word();
        word.quoted = true;
        word.text.push_str(open);
        word.text.push_str(line);
        word.text.push(close);
        word.inner.push(line.to_owned());
    }

    fn redirection(&mut self) {
        let number = self.word.take_if(|word| {
            !word.quoted && !word.text.is_empty() && word.text.chars().all(|c| c.is_ascii_digit())
        });
        self.end_word();
        let both = self.take_if("&>");
        let number = number.map(|number| number.text);
        let of_stderr = both || number.as_deref() == Some("2");
        if !both {
            self.take(1);
        }
        if self.take_if("<<") {
            self.no_file(None);
            return;
        }
        if self.take_if("<") {
            self.take_if("-");
            let end = self.left.trim_start().split(|c: char| c.is_whitespace() || c == ';').next();
            self.ends.extend(end.map(|end| end.replace(['\'', '"', '\\'], "")));
            self.no_file(Some(String::new()));
            return;
        }
        if self.take_if("(") {
            // A process substitution: the output or input of another line.
            let end = closing(self.left).unwrap_or(self.left.len());
            let line = self.take(end).to_owned();
            self.take_if(")");
            self.current_word().inner.push(line);
            return;
        }
        while self.take_if(">") || self.take_if("|") {}
        self.next = Some(ShellRedirect { of_stderr, number, ..ShellRedirect::default() });
        if self.take_if("&") {
            self.current_word().text.push('&');
        }
    }

    /// The next word names no file, but perhaps the end of a `document`.
    fn no_file(&mut self, document: Option<String>) {
        self.take(self.left.len() - self.left.trim_start_matches([' ', '\t']).len());
        self.next = Some(ShellRedirect { document, ..ShellRedirect::default() });
        self.current_word().text.push('&');
    }

    fn skip_documents(&mut self) {
        let ends = std::mem::take(&mut self.ends);
        let mut texts = Vec::new();
        for end in &ends {
            let mut text = String::new();
            while !self.left.is_empty() {
                let next = self.left.find('\n').map_or(self.left.len(), |at| at + 1);
                let line = self.take(next);
                if line.trim() == end {
                    break;
                }
                text.push_str(line);
            }
            texts.push(text);
        }
        let documents = self.found.iter_mut().rev().filter_map(|token| match token {
            ShellToken::Redirect(redirect) => redirect.document.as_mut(),
            _ => None,
        });
        documents.zip(texts.into_iter().rev()).for_each(|(document, text)| *document = text);
    }
}

/// Returns the position at which the bracket that is open at the beginning of `text` closes.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quote, mut escaped) = (1, None, false);
    for (at, sign) in text.char_indices() {
        match (quote, sign) {
            _ if escaped => escaped = false,
            (Some('\''), '\'') => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => escaped = true,
            (Some('"'), '"') => quote = None,
            (None, '\'' | '"') => quote = Some(sign),
            (_, '(') => depth += 1,
            (_, ')') => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}
