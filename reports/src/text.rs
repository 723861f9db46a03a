//! Making foreign text safe and fitting for a page: cleaning, wrapping, shortening, and taking care
//! that no line of a page is a command to a CI runner.

use std::borrow::Cow;

use crate::record::{ArmRow, CaseRow, EarlierTry, ExitRow};
use crate::unsafe_characters::is_unsafe;

/// `text` on one line, control and direction-changing characters made visible.
pub(crate) fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push(' '),
            c if is_unsafe(c) => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// Describes a try that was repeated: verdict, reason and message.
pub(crate) fn earlier_words(earlier: &EarlierTry) -> String {
    let EarlierTry { verdict, reason, message, .. } = earlier;
    let parts = [format!("{verdict} {reason}").trim().to_owned(), clean(message)];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ")
}

/// What all earlier tries of `row` came to, in one sentence.
pub(crate) fn earlier_tries(row: &CaseRow) -> String {
    let tries = row.earlier.iter().map(|t| format!("earlier try: {}", earlier_words(t)));
    tries.collect::<Vec<_>>().join("; ")
}

/// `text` with its lines: nothing in it is a command to a terminal or to a CI runner.
#[must_use]
pub fn printable(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(clean).collect();
    inert(&lines.join("\n"))
}

/// The first `width` characters of `text` on one line, made printable.
#[must_use]
pub fn excerpt(text: &str, width: usize) -> String {
    // One character more, so that the mark tells that something was cut.
    let head: String = text.chars().take(width.saturating_add(1)).collect();
    shorten(&clean(&head), width)
}

/// Returns `page` with a backslash in every line that a CI runner would take for a command:
/// `::word::` after blanks, and `##[word]` or `##word[` anywhere.
pub(crate) fn inert(page: &str) -> String {
    if !page.contains("::") && !page.contains("##") {
        return page.to_owned();
    }
    page.split_inclusive('\n').map(inert_line).collect()
}

fn inert_line(line: &str) -> Cow<'_, str> {
    let command = line.trim_start();
    let blanks = &line[..line.len() - command.len()];
    let line = match command.starts_with("::") {
        true => Cow::Owned(format!("{blanks}\\{command}")),
        false => Cow::Borrowed(line),
    };
    let mut marks = line.match_indices("##").map(|(at, _)| at + 2).peekable();
    if marks.peek().is_none() {
        return line;
    }
    let mut out = String::with_capacity(line.len() + 1);
    let mut copied = 0;
    for at in marks.filter(|at| opens_command(&line[*at..])) {
        out.push_str(&line[copied..at]);
        out.push('\\');
        copied = at;
    }
    out.push_str(&line[copied..]);
    Cow::Owned(out)
}

/// Returns whether a runner takes `##` before this text as the start of a command.
fn opens_command(rest: &str) -> bool {
    rest.trim_start_matches(|c: char| c == '#' || c.is_ascii_alphanumeric()).starts_with('[')
}

/// The first `width` characters of `text`, with a mark where something was cut.
pub(crate) fn shorten(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let head: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{head}…")
}

/// `text` in lines of at most `width` characters, broken between words; a longer word is left
/// whole, for it may have to be copied.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Describes the end of an arm, and its duration.
pub(crate) fn exit_words(arm: &ArmRow) -> String {
    format!("{} after {}", end_words(arm.exit), milliseconds(arm.duration_ms))
}

/// Describes the end of an arm.
pub(crate) fn end_words(exit: Option<ExitRow>) -> String {
    match exit {
        Some(ExitRow::Code(code)) => format!("exit {code}"),
        Some(ExitRow::Signal(signal)) => format!("signal {signal}"),
        Some(ExitRow::Timeout) => "timed out".to_owned(),
        Some(ExitRow::Refused) => "policy refused".to_owned(),
        None => "never started".to_owned(),
    }
}

/// A duration as people read it.
pub(crate) fn milliseconds(ms: f64) -> String {
    if ms >= 1000.0 { format!("{:.1} s", ms / 1000.0) } else { format!("{ms:.1} ms") }
}

/// The lines of a stream worth showing: not empty, and not the probe's own record.
pub(crate) fn telling_lines(stream: &str) -> impl Iterator<Item = &str> {
    const RECORD_MARK: char = '\u{1e}';
    stream.lines().filter(|line| !line.trim().is_empty() && !line.starts_with(RECORD_MARK))
}

/// The first digits of a hash, enough to tell two apart.
pub(crate) fn short_hash(hash: &str) -> String {
    if hash.is_empty() { "unknown".to_owned() } else { clean(hash).chars().take(12).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_cannot_repaint_the_page() {
        assert_eq!(clean("a\x1b[2Jb\nc\td\r"), "a\\u{1b}[2Jb\\nc d\\r");
        assert_eq!(clean("\u{202e}gpj.exe é"), "\\u{202e}gpj.exe é");
        assert_eq!(clean("a\u{200b}b\u{2028}\u{feff}\0"), "a\\u{200b}b\\u{2028}\\u{feff}\\u{0}");
    }

    #[test]
    fn no_line_is_a_command_to_a_runner() {
        for (text, shown) in [
            ("a ::b::c\n  ::add-mask::pass\n", "a ::b::c\n  \\::add-mask::pass\n"),
            ("\u{a0}::error::x", "\u{a0}\\::error::x"),
            ("a ##[group]b ###[x", "a ##\\[group]b ##\\#[x"),
            ("##vso[task.x]", "##\\vso[task.x]"),
            ("## [link](x) ## ##", "## [link](x) ## ##"),
            ("\x1b]52;c;x\x07\nok\r::x::", "\\u{1b}]52;c;x\\u{7}\nok\\r::x::"),
        ] {
            assert_eq!(printable(text), shown);
        }
        assert_eq!(excerpt("ab\ncd", 4), "ab\\…");
        assert_eq!(excerpt(&"x".repeat(1 << 20), 10).chars().count(), 10);
    }

    #[test]
    fn wrapping_keeps_words_and_order() {
        assert_eq!(wrap("one two  three", 7), ["one two", "three"]);
        assert_eq!(wrap("a abcdefghij b", 4), ["a", "abcdefghij", "b"]);
        assert_eq!(wrap("", 4), Vec::<String>::new());
        assert_eq!(shorten("abcdef", 4), "abc…");
        assert_eq!(shorten("abcd", 4), "abcd");
    }

    #[test]
    fn the_probes_record_is_not_output() {
        let stream = "\u{1e}boxproof 1 {}\nfirst\n\n  \nsecond\n";
        assert_eq!(telling_lines(stream).collect::<Vec<_>>(), ["first", "second"]);
    }
}
