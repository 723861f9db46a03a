//! Patterns of a shell that it left as they are, as it found nothing in a directory that is hidden from it
//! ([`expand`]). Pure but for what the host is asked.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::resolve_path::HostLookup;

/// The maximum number of directories that one pattern is looked up in.
const MOST: usize = 64;

/// Returns whether `path` has a sign by which a shell makes names of it.
pub(super) fn is_pattern(path: &Path) -> bool {
    path.to_string_lossy().contains(['*', '?', '['])
}

/// Returns the first path of the host that `pattern` means.
pub(super) fn expand(pattern: &Path, look: HostLookup<'_>) -> Option<PathBuf> {
    let mut found = vec![PathBuf::from("/")];
    for part in pattern.iter().skip(1) {
        let is_plain = !is_pattern(Path::new(part));
        let of = |directory: &PathBuf| match is_plain {
            true => vec![directory.join(part)],
            false => fitting(directory, part, look),
        };
        found = found.iter().take(MOST).flat_map(of).collect();
    }
    found.into_iter().find(|path| (look.there)(path))
}

/// Returns the names in `directory` that `pattern` fits.
fn fitting(directory: &Path, pattern: &OsStr, look: HostLookup<'_>) -> Vec<PathBuf> {
    let pattern: Vec<char> = pattern.to_string_lossy().chars().collect();
    let fits = |name: &String| {
        let is_shown = !name.starts_with('.') || pattern.first() == Some(&'.');
        is_shown && is_like(&pattern, &name.chars().collect::<Vec<_>>())
    };
    let mut names: Vec<String> = (look.names)(directory).into_iter().filter(fits).collect();
    names.sort();
    names.iter().map(|name| directory.join(name)).collect()
}

/// Returns whether `pattern` fits the whole of `name`.
fn is_like(pattern: &[char], name: &[char]) -> bool {
    match (pattern, name) {
        ([], []) => true,
        (['*', rest @ ..], _) => (0..=name.len()).any(|at| is_like(rest, &name[at..])),
        (['?', rest @ ..], [_, after @ ..]) => is_like(rest, after),
        (['[', rest @ ..], [letter, after @ ..]) => match of_set(rest, *letter) {
            Some((has, rest)) => has && is_like(rest, after),
            None => *letter == '[' && is_like(rest, after),
        },
        ([sign, rest @ ..], [letter, after @ ..]) => sign == letter && is_like(rest, after),
        _ => false,
    }
}

/// Returns whether the set that `pattern` begins with has `letter`, and what stands behind the set.
fn of_set(pattern: &[char], letter: char) -> Option<(bool, &[char])> {
    let is_other = pattern.first().is_some_and(|sign| ['!', '^'].contains(sign));
    let begin = usize::from(is_other);
    let end = pattern.iter().skip(begin + 1).position(|sign| *sign == ']')? + begin + 1;
    let mut set = &pattern[begin..end];
    let mut has = false;
    while let Some(sign) = set.first() {
        match set {
            [low, '-', high, rest @ ..] => {
                has |= (*low..=*high).contains(&letter);
                set = rest;
            }
            _ => {
                has |= *sign == letter;
                set = &set[1..];
            }
        }
    }
    Some((has != is_other, &pattern[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("*", "a.pem", true)]
    #[case("*.pem", "a.pem", true)]
    #[case("*.pem", "a.key", false)]
    #[case("id_?s?", "id_rsa", true)]
    #[case("[a-c]*", "b", true)]
    #[case("[!a-c]*", "b", false)]
    #[case("[^a-c]x", "dx", true)]
    #[case("[]x]", "]", true)]
    #[case("a[", "a[", true)]
    #[case("a*b*c", "a-b-c", true)]
    #[case("a*b*c", "a-c-b", false)]
    fn a_pattern_fits(#[case] pattern: &str, #[case] name: &str, #[case] due: bool) {
        let letters = |text: &str| text.chars().collect::<Vec<char>>();
        assert_eq!(is_like(&letters(pattern), &letters(name)), due);
    }
}
