//! Patterns of names as regular expressions that Seatbelt reads: no flags, no groups without
//! capture, no backslash in a class. A pattern that cannot be written so is refused, whole. Pure.

use crate::error::Refusal;
use crate::mechanism::path_text;
use crate::policy::path_glob::PathGlob;

/// Any number of directories, each with its slash before it.
const DIRECTORIES: &str = "(/[^/]+)*";
/// The thing itself, or anything below it.
const BELOW: &str = "(/.*)?$";

/// `path` and everything below it, in any letters if the volume `folds`.
pub(super) fn of_path(path: &str, folds: bool) -> String {
    format!("^{}{BELOW}", spelled(path, folds))
}

/// Returns the expression for a deny pattern's matches, and everything below.
pub(super) fn of_glob(glob: &PathGlob, folds: bool) -> Result<String, Refusal> {
    let base = path_text(glob.base())?.trim_end_matches('/');
    let mut pattern = format!("^{}", spelled(base, folds));
    let words = glob.component_texts();
    for (at, word) in words.iter().enumerate() {
        match (word.as_str(), at + 1 == words.len()) {
            ("**", true) => return Ok(pattern + "/.*$"),
            ("**", false) => pattern.push_str(DIRECTORIES),
            (word, _) => {
                pattern.push('/');
                pattern.push_str(&name(word, folds).map_err(|why| {
                    Refusal::unsupported(format!("{glob} cannot be compiled: {why}"))
                })?);
            }
        }
    }
    Ok(pattern + BELOW)
}

/// Returns the expression for a rule of the orbit dialect below `root`: `.` is the root, `P/**` is
/// `P` and all below, `**` inside a name crosses slashes, and brackets are literal.
pub(super) fn of_orbit(root: &str, rule: &str) -> String {
    let mut pattern = format!("^{}", spelled(root.trim_end_matches('/'), false));
    let words: Vec<&str> = if rule == "." { Vec::new() } else { rule.split('/').collect() };
    for (at, word) in words.iter().enumerate() {
        match (*word, at + 1 == words.len()) {
            ("**", true) => pattern.push_str("(/.*)?"),
            ("**", false) => pattern.push_str(DIRECTORIES),
            (word, _) => {
                pattern.push('/');
                let runs = word.split("**").map(|run| {
                    let ones = run.split('*').map(|text| {
                        let single = text.split('?').map(|text| spelled(text, false));
                        single.collect::<Vec<_>>().join("[^/]")
                    });
                    ones.collect::<Vec<_>>().join("[^/]*")
                });
                pattern.push_str(&runs.collect::<Vec<_>>().join(".*"));
            }
        }
    }
    pattern + "$"
}

/// `text` as a pattern that matches it alone.
fn spelled(text: &str, folds: bool) -> String {
    text.chars().map(|c| letter(c, folds)).collect()
}

fn letter(c: char, folds: bool) -> String {
    let plain = || match c {
        '.' if fault!("compile.dot-is-any") => ".".to_owned(),
        '.' | '+' | '*' | '?' | '(' | ')' | '|' | '^' | '$' | '{' | '}' | '[' | ']' | '\\' => {
            format!("\\{c}")
        }
        other => other.to_string(),
    };
    let mut forms: Vec<String> = [c.to_lowercase().collect(), c.to_uppercase().collect()].into();
    forms.dedup();
    match folds && forms.len() > 1 {
        false => plain(),
        true if c.is_ascii() => format!("[{}]", forms.concat()),
        true => format!("({})", forms.join("|")),
    }
}

/// One name of a globset pattern.
fn name(word: &str, folds: bool) -> Result<String, String> {
    let mut pattern = String::new();
    let mut depth = 0usize;
    let mut rest = word.chars();
    while let Some(c) = rest.next() {
        match c {
            '*' => pattern.push_str("[^/]*"),
            '?' => pattern.push_str("[^/]"),
            '[' => pattern.push_str(&class(&mut rest, folds)?),
            '{' => {
                depth += 1;
                pattern.push('(');
            }
            '}' if depth > 0 => {
                depth -= 1;
                pattern.push(')');
            }
            ',' if depth > 0 => pattern.push('|'),
            '\\' => pattern.push_str(&letter(rest.next().unwrap_or('\\'), folds)),
            other => pattern.push_str(&letter(other, folds)),
        }
    }
    Ok(pattern)
}

/// A class as the choice between its members: a class of Seatbelt's has no way to escape.
fn class(rest: &mut std::str::Chars<'_>, folds: bool) -> Result<String, String> {
    let text = rest.as_str();
    let body = text.strip_prefix(']').map_or(text, |_| &text[1..]);
    let end = body.find(']').ok_or("a class has no end")? + (text.len() - body.len());
    let members: Vec<char> = text[..end].chars().collect();
    *rest = text[end + 1..].chars();
    if matches!(members.first(), Some('!' | '^')) {
        return Err("a class that excludes ([!…]) has no like there; name what is meant".into());
    }
    let mut all = Vec::new();
    let mut at = 0;
    while let Some(first) = members.get(at) {
        match (members.get(at + 1), members.get(at + 2)) {
            (Some('-'), Some(last)) => {
                if !first.is_ascii() || !last.is_ascii() {
                    return Err("a range of a class is not ASCII; name its members".into());
                }
                all.extend(*first..=*last);
                at += 3;
            }
            _ => {
                all.push(*first);
                at += 1;
            }
        }
    }
    let all: Vec<String> = all.into_iter().map(|c| letter(c, folds)).collect();
    Ok(format!("({})", all.join("|")))
}
