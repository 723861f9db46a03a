//! Variables that a line sets: which of them bear on nothing but texts.

use super::word::ShellWord;

/// Any value does; git or the system only shows it.
const FREE: [&str; 17] = [
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_DATE",
    "GIT_REFLOG_ACTION",
    "GIT_TERMINAL_PROMPT",
    "GIT_MERGE_AUTOEDIT",
    "GIT_OPTIONAL_LOCKS",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_ADVICE",
    "LANG",
    "TZ",
    "TERM",
    "NO_COLOR",
    "CI",
];
/// Variables that name programs for git to run: their harmless values do nothing, or show their
/// input.
const RUN: [&str; 6] =
    ["GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "EDITOR", "VISUAL", "GIT_PAGER", "PAGER"];
/// Harmless values of these variables.
pub(super) const IDLE: [&str; 4] = ["true", ":", "cat", ""];

/// Checks that setting `name` to `value` changes neither a program nor a path.
pub(super) fn is_kind(name: &str, value: &ShellWord) -> Result<(), String> {
    let idle = || value.known().is_some_and(|value| IDLE.contains(&value));
    let kind = FREE.contains(&name)
        || name.starts_with("LC_")
        || RUN.contains(&name) && idle()
        || is_own(name);
    match kind {
        true => Ok(()),
        false => Err(format!("what setting {name} does is not known")),
    }
}

/// Returns whether a name is the line's own: in lower case, except those of proxies.
fn is_own(name: &str) -> bool {
    let small = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let letter = name.starts_with(|c: char| c.is_ascii_lowercase());
    letter && name.chars().all(small) && !name.ends_with("_proxy")
}

/// The name and value of a word like `NAME=VALUE`.
pub(super) fn split(word: &ShellWord) -> Option<(String, ShellWord)> {
    let (name, value) = word.text.split_once('=')?;
    let word_like = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let is_name = starts && name.chars().all(word_like) && word.is_one();
    is_name.then(|| (name.to_owned(), ShellWord { text: value.to_owned(), ..word.clone() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("_x=1", Some(("_x", "1")))]
    #[case("a1_=b=c", Some(("a1_", "b=c")))]
    #[case("1x=1", None)]
    #[case("x-y=1", None)]
    #[case("x", None)]
    fn a_name_and_a_value(#[case] text: &str, #[case] parts: Option<(&str, &str)>) {
        let parts = parts.map(|(name, value)| (name.to_owned(), ShellWord::plain(value)));
        assert_eq!(split(&ShellWord::plain(text)), parts);
    }
}
