//! Ceilings for files and functions.

use super::rust;
use super::tree::{File, Tree};

/// The most lines a file may have, its tests apart, and half of all files.
const FILE: (usize, usize) = (500, 150);
/// The most lines a function may have, and half of all functions.
const FUNCTION: (usize, usize) = (60, 10);

/// Checks that no file is too long, and that most are short. In a file of code its tests do not
/// count.
pub(crate) fn files(tree: &Tree) -> Vec<String> {
    let sizes: Vec<(&File, usize)> = tree.rust().map(|file| (file, length(file))).collect();
    let mut found: Vec<String> = sizes
        .iter()
        .filter(|(_, lines)| *lines > FILE.0)
        .map(|(file, lines)| format!("{}: {lines} lines: split it (most {})", file.path, FILE.0))
        .collect();
    let code = sizes.iter().filter(|(file, _)| !file.is_test()).map(|(_, lines)| *lines);
    found.extend(above("file", code.collect(), FILE.1));
    found
}

fn length(file: &File) -> usize {
    let all = file.text.lines().count();
    let code = file.code();
    all - (code.lines().count() - rust::without_tests(&code).lines().count())
}

/// Checks that no function is too long, and that most are short.
pub(crate) fn functions(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    let mut lengths = Vec::new();
    for file in tree.rust() {
        let code = file.code();
        for function in rust::functions(&code) {
            let lines = function.text.lines().count();
            lengths.push(lines);
            if lines > FUNCTION.0 {
                let (path, line, name) = (&file.path, function.line, function.name);
                found
                    .push(format!("{path}:{line}: {name} has {lines} lines (most {})", FUNCTION.0));
            }
        }
    }
    found.extend(above("function", lengths, FUNCTION.1));
    found
}

/// A complaint when the median of `lengths` is above `most`.
fn above(what: &str, mut lengths: Vec<usize>, most: usize) -> Option<String> {
    lengths.sort_unstable();
    let median = lengths.get(lengths.len() / 2).copied().unwrap_or_default();
    (median > most).then(|| format!("the {what} median is {median} lines (most {most})"))
}
