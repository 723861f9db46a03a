//! Compound commands that every shell has alike: groups, conditions and loops. What they hold is
//! found as if it stood in a list.

use super::lex::{GrantLexer, ParseFailure};
use super::parse::{lines, list};
use super::word::{ShellWord, SimpleCommand};

/// The error of a compound command without an end.
const OPEN: ParseFailure = "a compound command is not closed";
/// Keywords behind which a list begins.
const BEGIN: [&str; 8] = ["{", "if", "then", "elif", "else", "while", "until", "do"];

/// Takes the compound command that begins here, if one does.
pub(super) fn command(lexer: &mut GrantLexer<'_>) -> Result<bool, ParseFailure> {
    let Some(keyword) = lexer.keyword() else { return Ok(false) };
    match keyword.as_str() {
        "{" | "if" | "while" | "until" => {}
        "for" => {
            take(lexer, &keyword)?;
            loops_over(lexer)?;
        }
        _ => return Ok(false),
    }
    if lexer.depth == 16 {
        return Err("it nests too deeply");
    }
    lexer.depth += 1;
    let mut at = if keyword == "for" { "do" } else { keyword.as_str() }.to_owned();
    loop {
        let ends: &[&str] = match at.as_str() {
            "{" => &["}"],
            "if" | "elif" => &["then"],
            "then" => &["elif", "else", "fi"],
            "else" => &["fi"],
            "while" | "until" => &["do"],
            _ => &["done"],
        };
        take(lexer, &at)?;
        let end = list(lexer, ends)?.ok_or(OPEN)?;
        if !BEGIN.contains(&end) {
            take(lexer, end)?;
            lexer.depth -= 1;
            return Ok(true);
        }
        at = end.to_owned();
    }
}

/// Reads `NAME in WORD …` up to the list: the name gets an unknown value.
fn loops_over(lexer: &mut GrantLexer<'_>) -> Result<(), ParseFailure> {
    lexer.skip_blanks();
    let name = lexer.keyword().ok_or(OPEN)?;
    take(lexer, &name)?;
    lexer.skip_blanks();
    if lexer.keyword().as_deref() != Some("in") {
        return Err("a loop goes over arguments that are not known");
    }
    take(lexer, "in")?;
    lexer.found.push(SimpleCommand {
        assigned: vec![(name, ShellWord::anything())],
        ..SimpleCommand::default()
    });
    loop {
        lexer.skip_between();
        match lexer.peek() {
            Some(';') => {
                lexer.chars.next();
                break;
            }
            Some('\n') => break,
            None | Some('&' | '|' | '<' | '>' | '(' | ')') => return Err(OPEN),
            Some(_) => _ = lexer.read_word()?,
        }
    }
    lines(lexer)?;
    match lexer.keyword().as_deref() {
        Some("do") => Ok(()),
        _ => Err(OPEN),
    }
}

/// Takes `keyword`, which stands here; a word has to end behind it.
fn take(lexer: &mut GrantLexer<'_>, keyword: &str) -> Result<(), ParseFailure> {
    for _ in keyword.chars() {
        lexer.chars.next();
    }
    let opens = BEGIN.contains(&keyword) || matches!(keyword, "for" | "in");
    match lexer.peek() {
        Some(' ' | '\t' | '\n') => Ok(()),
        None | Some(';' | '&' | '|' | ')' | '<' | '>') if !opens => Ok(()),
        _ => Err("a word of a compound command touches another"),
    }
}
