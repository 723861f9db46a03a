//! The simple commands of a shell line, in a grammar that every shell shares: lists, pipelines,
//! subshells, compound commands, substitutions, redirections, here-documents. Anything else is not
//! understood.

use super::compound;
use super::lex::{GrantLexer, ParseFailure};
use super::word::{ShellWord, SimpleCommand};

/// Words that begin something else than a simple command, in one shell or another.
const RESERVED: [&str; 23] = [
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for",
    "in", "select", "function", "coproc", "{", "}", "[[", "]]", "((", "end", "repeat",
];

const STRANGE: &str = "it has an operator that not every shell has";

/// Every simple command of `line`, those in substitutions too.
pub(super) fn parse(line: &str) -> Result<Vec<SimpleCommand>, ParseFailure> {
    let mut lexer = GrantLexer::new(line)?;
    list(&mut lexer, &[])?;
    match lexer.peek() {
        None if lexer.ahead.is_empty() => Ok(lexer.found),
        None => Err("a here-document has no end"),
        Some(_) => Err("a parenthesis is not opened"),
    }
}

/// Reads commands up to the end, to a `)` or to one of the words `ends`, and returns that.
pub(super) fn list(
    lexer: &mut GrantLexer<'_>,
    ends: &[&'static str],
) -> Result<Option<&'static str>, ParseFailure> {
    let ended = |lexer: &mut GrantLexer<'_>| {
        let keyword = lexer.keyword();
        ends.iter().copied().find(|end| keyword.as_deref() == Some(end))
    };
    lines(lexer)?;
    if matches!(lexer.peek(), None | Some(')')) || ended(lexer).is_some() {
        return Err("it has no command");
    }
    loop {
        and_or(lexer)?;
        lexer.skip_between();
        match lexer.peek() {
            None | Some(')') => return Ok(None),
            Some('\n') => {}
            Some(';' | '&') => _ = lexer.chars.next(),
            Some(_) => return Err("something follows a command"),
        }
        if matches!(lexer.peek(), Some('>' | '\\')) {
            return Err(STRANGE);
        }
        lines(lexer)?;
        let end = ended(lexer);
        if end.is_some() || matches!(lexer.peek(), None | Some(')')) {
            return Ok(end);
        }
    }
}

/// Blanks and ends of lines.
pub(super) fn lines(lexer: &mut GrantLexer<'_>) -> Result<(), ParseFailure> {
    loop {
        lexer.skip_between();
        if !lexer.takes('\n') {
            return Ok(());
        }
        lexer.bodies()?;
    }
}

fn and_or(lexer: &mut GrantLexer<'_>) -> Result<(), ParseFailure> {
    let mut piped = false;
    loop {
        command(lexer, piped)?;
        lexer.skip_between();
        match (lexer.peek(), lexer.second()) {
            (Some('&'), Some('&')) | (Some('|'), Some('|')) => {
                lexer.chars.nth(1);
                piped = false;
            }
            (Some('|'), Some('&' | '\\')) => return Err(STRANGE),
            (Some('|'), _) => {
                lexer.chars.next();
                piped = true;
            }
            _ => return Ok(()),
        }
        lines(lexer)?;
    }
}

/// One command; one that is `piped` into cannot be negated.
fn command(lexer: &mut GrantLexer<'_>, piped: bool) -> Result<(), ParseFailure> {
    lexer.skip_between();
    let mut simple = SimpleCommand::default();
    let compound = compound::command(lexer)?;
    let subshell = !compound && lexer.takes('(');
    if subshell {
        if matches!(lexer.peek(), Some('(' | '\\')) {
            return Err("it calculates");
        }
        lexer.nested()?;
    }
    let (mut parts, mut negatable) = (0, !piped);
    loop {
        lexer.skip_between();
        match lexer.peek() {
            Some('<' | '>') => {
                redirection(lexer, &mut simple)?;
                parts += 1;
            }
            None | Some('\n' | ';' | '&' | '|' | ')') => break,
            Some('(') => return Err("it defines a function"),
            Some('0'..='9')
                if (subshell || compound) && matches!(lexer.second(), Some('<' | '>')) =>
            {
                lexer.chars.next();
            }
            Some(_) if subshell || compound => {
                return Err("something follows a subshell or compound command");
            }
            Some(_) if take_word(lexer, &mut simple, negatable)? => parts += 1,
            // dash takes no second one.
            Some(_) => negatable = false,
        }
    }
    if parts == 0 && !subshell && !compound {
        return Err("a command is missing");
    }
    lexer.found.push(simple);
    Ok(())
}

/// Takes one word; whether it is part of the command, and not its negation, if it is `negatable`.
fn take_word(
    lexer: &mut GrantLexer<'_>,
    simple: &mut SimpleCommand,
    negatable: bool,
) -> Result<bool, ParseFailure> {
    let before = lexer.chars.clone();
    let word = lexer.read_word()?;
    let negation = simple.words.is_empty() && !word.quoted && word.known() == Some("!");
    if negation {
        let bare = simple.assigned.is_empty() && simple.written.is_empty() && negatable;
        return if bare { Ok(false) } else { Err("a command is negated within, or twice") };
    }
    let known = word.known().filter(|_| !word.quoted).unwrap_or_default();
    let digits = !known.is_empty() && known.bytes().all(|byte| byte.is_ascii_digit());
    if matches!(lexer.peek(), Some('<' | '>')) {
        return match digits {
            true if known.len() == 1 => redirection(lexer, simple).map(|()| true),
            true => Err("a descriptor has more than one digit"),
            false if word.text.starts_with('{') => Err("a redirection names a variable"),
            false => place(simple, word, before).map(|()| true),
        };
    }
    place(simple, word, before).map(|()| true)
}

fn place(
    simple: &mut SimpleCommand,
    word: ShellWord,
    before: std::iter::Peekable<std::str::Chars<'_>>,
) -> Result<(), ParseFailure> {
    let first = simple.words.is_empty();
    if first && let Some(name) = assigned(before) {
        let text = word.text.get(name.len() + 1..).unwrap_or_default().to_owned();
        simple.assigned.push((name, ShellWord { text, ..word }));
        return Ok(());
    }
    if first && !word.quoted && RESERVED.contains(&word.text.as_str()) {
        return Err("it has a compound command");
    }
    simple.words.push(word);
    Ok(())
}

/// The name, if the source is an assignment: a name and `=`, none of it quoted.
fn assigned(mut source: std::iter::Peekable<std::str::Chars<'_>>) -> Option<String> {
    let mut name = String::new();
    while let Some(c) = source.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
        name.push(c);
    }
    let starts = name.starts_with(|c: char| !c.is_ascii_digit());
    (starts && source.next() == Some('=')).then_some(name)
}

fn redirection(lexer: &mut GrantLexer<'_>, simple: &mut SimpleCommand) -> Result<(), ParseFailure> {
    let operator = lexer.chars.next();
    match (operator, lexer.peek()) {
        (_, Some('(')) => return Err(STRANGE),
        (Some('<'), Some('<')) => {
            lexer.chars.next();
            return match lexer.peek() {
                Some('<') => Err(STRANGE),
                _ => lexer.here(),
            };
        }
        (Some('<'), Some('>')) => return Err("a file is opened for reading and writing"),
        (_, Some('&')) => {
            lexer.chars.next();
            let word = lexer.target()?;
            let plain =
                word.known().is_some_and(|text| text.len() == 1 && "0123456789-".contains(text));
            return if plain { Ok(()) } else { Err("a descriptor has no plain number") };
        }
        (Some('>'), Some('>' | '|')) => _ = lexer.chars.next(),
        _ => {}
    }
    lexer.skip_blanks();
    if matches!(lexer.peek(), None | Some('\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')')) {
        return Err("a redirection has no file");
    }
    let file = lexer.target()?;
    if operator == Some('>') {
        simple.written.push(file);
    }
    Ok(())
}
