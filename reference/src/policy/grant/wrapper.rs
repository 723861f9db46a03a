//! Programs that run another one, which their arguments name.

use super::assignments;
use super::word::{ShellWord, SimpleCommand};

/// The command that a wrapper runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WrappedCommand {
    /// This program with its arguments.
    Words(Vec<ShellWord>),
    /// A command with variables.
    Simple(SimpleCommand),
    /// This line, by a shell.
    Line(String),
}

/// Shells, all of which read the grammar that is understood here.
const SHELLS: [&str; 9] = [
    "sh",
    "bash",
    "dash",
    "/bin/sh",
    "/bin/bash",
    "/bin/dash",
    "/usr/bin/sh",
    "/usr/bin/bash",
    "/usr/bin/dash",
];

/// Returns whether `name` is a shell.
pub(super) fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

/// Returns the command that `name words` runs; none if `name` is no wrapper.
pub(super) fn inner(name: &str, words: &[ShellWord]) -> Option<Result<WrappedCommand, String>> {
    let unsure = || Err(format!("what {name} runs is not known"));
    Some(match name {
        name if is_shell(name) => shell(words).map_or_else(unsure, Ok),
        "command" => match words.first().and_then(ShellWord::known) {
            // It only prints the command that it would run.
            Some("-v" | "-V") => Ok(WrappedCommand::Words(Vec::new())),
            Some(first) if !first.starts_with('-') => Ok(WrappedCommand::Words(words.to_vec())),
            _ => unsure(),
        },
        "env" => Ok(WrappedCommand::Simple(environment(words))),
        "nice" | "nohup" => plain(words).map_or_else(unsure, Ok),
        // A word of some shells, a program elsewhere.
        "time" => {
            let rest = words.strip_prefix(&[ShellWord::plain("-p")]).unwrap_or(words);
            plain(rest).map_or_else(unsure, Ok)
        }
        "timeout" => timeout(words).map_or_else(unsure, Ok),
        "xargs" => arguments(words).map_or_else(unsure, Ok),
        _ => return None,
    })
}

/// Parses `[-eux] -c LINE …`: words behind the line set positional parameters, which are not
/// trusted.
fn shell(words: &[ShellWord]) -> Option<WrappedCommand> {
    let letters = |word: &ShellWord, known: &str| {
        let letters = word.known().and_then(|text| text.strip_prefix('-')).unwrap_or_default();
        !letters.is_empty() && letters.chars().all(|letter| known.contains(letter))
    };
    let plain = words.iter().take_while(|word| letters(word, "elux")).count();
    let [option, line, ..] = words.get(plain..)? else { return None };
    let asked = letters(option, "celux") && option.text.ends_with('c');
    let line = line.known().filter(|line| !line.starts_with(['-', '+']))?;
    asked.then(|| WrappedCommand::Line(line.to_owned()))
}

/// `NAME=VALUE … PROGRAM …`. An option of env is no program that is known.
fn environment(words: &[ShellWord]) -> SimpleCommand {
    let assigned: Vec<_> = words.iter().map_while(assignments::split).collect();
    let words = words[assigned.len()..].to_vec();
    SimpleCommand { assigned, words, written: Vec::new() }
}

fn plain(words: &[ShellWord]) -> Option<WrappedCommand> {
    words.first()?.known().filter(|first| !first.starts_with('-'))?;
    Some(WrappedCommand::Words(words.to_vec()))
}

/// `timeout DURATION PROGRAM …`.
fn timeout(words: &[ShellWord]) -> Option<WrappedCommand> {
    let (duration, rest) = words.split_first()?;
    let number = duration.known()?.trim_end_matches(['s', 'm', 'h', 'd']);
    let digits = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.');
    plain(rest).filter(|_| digits)
}

/// Parses `xargs [-0 -r -n N] PROGRAM …`; the words that it reads are appended.
fn arguments(words: &[ShellWord]) -> Option<WrappedCommand> {
    let mut start = 0;
    while words.get(start)?.text.starts_with('-') {
        start += match words[start].known()? {
            "-0" | "-r" | "-0r" | "-r0" | "--null" | "--no-run-if-empty" => 1,
            "-n" => 2,
            _ => return None,
        };
    }
    let mut inner = words.get(start..)?.to_vec();
    inner.push(ShellWord::anything());
    plain(&inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("sh -c 'git add .'", true)]
    #[case("bash -lc 'git add .'", true)]
    #[case("bash -e -c 'git add .'", true)]
    #[case("sh -c \"$x\"", false)]
    #[case("sh x.sh", false)]
    #[case("sh -c 'git add .' x", true)]
    #[case("sh -x -c 'git add .' $x", true)]
    #[case("sh -c", false)]
    #[case("sh -c -c", false)]
    #[case("bash -O extglob -c 'git add .'", false)]
    #[case("sh -oc 'git add .'", false)]
    #[case("timeout 5s git add .", true)]
    #[case("timeout -k 1 5 git add .", false)]
    #[case("xargs -0 git add", true)]
    #[case("xargs -n 1 git add", true)]
    #[case("xargs -I{} git add {}", false)]
    #[case("xargs", false)]
    #[case("command -p git", false)]
    fn what_is_run_in_the_end(#[case] line: &str, #[case] known: bool) {
        let simple = super::super::parse::parse(line).unwrap().remove(0);
        let (first, rest) = simple.words.split_first().unwrap();
        assert_eq!(inner(first.known().unwrap(), rest).unwrap().is_ok(), known, "{line}");
    }
}
