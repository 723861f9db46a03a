//! The list of commands that run outside the sandbox: [`bypassed_by`]. Pure.

use boxproof_cases::protocol::SourcePrecedence;
use globset::{GlobBuilder, GlobMatcher};

/// Characters that can start or join a second command, or redirect output, quoted or not.
const OPERATORS: [char; 11] = [';', '|', '&', '`', '$', '(', ')', '<', '>', '\n', '\r'];
/// The separators of words in a shell. Other blanks are part of a name there.
const BLANKS: [char; 2] = [' ', '\t'];

/// Patterns of commands, and how they are read.
#[derive(Debug, Clone, Copy)]
pub struct BypassPatterns<'a> {
    /// The list.
    pub patterns: &'a [String],
    /// Under [`SourcePrecedence::Adr`] a wildcard in a program's name stops at a slash.
    pub reading: SourcePrecedence,
}

/// The pattern that takes the shell line `command` out of the sandbox, if one does.
pub fn bypassed_by<'a>(bypass: BypassPatterns<'a>, command: &str) -> Option<&'a str> {
    let program = command.split(BLANKS).find(|word| !word.is_empty())?;
    let operators =
        OPERATORS.iter().filter(|one| !dropped!("bypass-operators", one.escape_default()));
    let joined = operators.into_iter().any(|one| command.contains(*one));
    if joined || is_assignment(program) && !fault!("dialects.bypass-assignments") {
        return None;
    }
    let fits = |pattern: &&String| matches(pattern, bypass.reading, command, program);
    bypass.patterns.iter().find(fits).map(String::as_str)
}

/// Returns whether `word` sets a variable, so that the program is the word behind it.
fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    plain && name.starts_with(|first: char| !first.is_ascii_digit())
}

/// A pattern with a space is about the whole line, any other about its first word.
fn matches(pattern: &str, reading: SourcePrecedence, command: &str, program: &str) -> bool {
    let stops = reading == SourcePrecedence::Adr && !fault!("dialects.bypass-slashes");
    let glob = |pattern: &str, stops, text: &str| {
        matcher(pattern, stops).is_some_and(|glob| glob.is_match(text))
    };
    match pattern.split_once(' ') {
        None => glob(pattern, stops, program),
        Some((first, _)) => {
            let named = !stops || glob(first, true, program) || fault!("dialects.bypass-program");
            named && glob(pattern, false, command)
        }
    }
}

fn matcher(pattern: &str, stops: bool) -> Option<GlobMatcher> {
    let glob = GlobBuilder::new(pattern).literal_separator(stops).build().ok()?;
    Some(glob.compile_matcher())
}

/// Returns a warning for each pattern that cannot be parsed: it matches nothing.
pub(super) fn useless(patterns: &[String]) -> impl Iterator<Item = String> {
    let broken = patterns.iter().filter(|pattern| matcher(pattern, true).is_none());
    broken.map(|pattern| {
        format!("allow_unsandboxed_commands: {pattern:?} is no pattern, and matches nothing")
    })
}

#[cfg(test)]
mod injection;

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn taken_out(pattern: &str, reading: SourcePrecedence, command: &str) -> bool {
        let patterns = [pattern.to_owned()];
        bypassed_by(BypassPatterns { patterns: &patterns, reading }, command).is_some()
    }

    #[rstest]
    #[case("git", "git", true)]
    #[case("git", "  git status", true)]
    #[case("git", "git\tstatus", true)]
    #[case("git", "git -c core.pager='sh evil' log", true)]
    #[case("git", "git {a,b} *.rs !x # y", true)]
    #[case("git", "/usr/bin/git status", false)]
    #[case("git", "FOO=1 git status", false)]
    #[case("git", "env git", false)]
    #[case::assignment("git*", "git=1 touch x", false)]
    #[case::assignment_and_line("git* x", "git_2=/a touch x", false)]
    #[case::appended("*", "A+=1 touch x", true)]
    #[case::no_assignment("git*", "git-=1 x", true)]
    #[case("git", "gitx", false)]
    #[case("git", "'git' status", false)]
    #[case("git", "", false)]
    #[case("git", " \t", false)]
    #[case::no_break_space("git", "git\u{a0}status", false)]
    #[case::form_feed("git", "git\u{c}status", false)]
    #[case("git *", "git status", true)]
    #[case("git *", "git add a/b", true)]
    #[case("git *", "git  ", true)]
    #[case("git *", "git", false)]
    #[case("git *", "  git status", false)]
    #[case("cargo*", "cargo-edit x", true)]
    #[case("**/git", "/usr/bin/git status", true)]
    #[case("npm run *", "npm run build", true)]
    #[case("npm run *", "npm test", false)]
    #[case("{git,hg}", "hg log", true)]
    #[case("GIT", "git log", false)]
    #[case("git [", "git [", false)]
    fn patterns_match_in_both_readings(
        #[case] pattern: &str,
        #[case] command: &str,
        #[case] expected: bool,
    ) {
        for reading in [SourcePrecedence::Adr, SourcePrecedence::Head] {
            assert_eq!(taken_out(pattern, reading, command), expected, "{reading:?}");
        }
    }

    #[rstest]
    #[case("cargo*", "cargo/evil")]
    #[case("cargo* build", "cargo/../evil build")]
    #[case("*git", "/usr/bin/git")]
    fn a_wildcard_in_a_name_stops_at_a_slash(#[case] pattern: &str, #[case] command: &str) {
        assert!(!taken_out(pattern, SourcePrecedence::Adr, command));
        assert!(taken_out(pattern, SourcePrecedence::Head, command));
    }

    #[test]
    fn every_operator_keeps_a_command_inside() {
        for operator in OPERATORS {
            let lines = [format!("git x{operator}y"), format!("git commit -m 'a{operator}b'")];
            for line in lines {
                assert!(!taken_out("git", SourcePrecedence::Adr, &line), "{line:?}");
                assert!(!taken_out("git *", SourcePrecedence::Head, &line), "{line:?}");
            }
        }
    }
}
