//! A failed download as the cause of a failed line, where another command reports it or none does:
//! a reader in the pipeline had no input, or an `exit` behind the download answers for it. Pure.

use std::sync::LazyLock;

use regex::Regex;

use super::command_parser::{FollowingOperator, ParsedCommand};
use super::errno_messages;
use super::network;

/// Programs that say so when they are given nothing to read.
const READERS: [&str; 13] = [
    "tar:", "bsdtar:", "gzip:", "gunzip:", "xz:", "unxz:", "bzip2:", "bunzip2:", "zstd:", "lzma:",
    "cpio:", "jq:", "unzip:",
];

/// Phrases for absent or truncated input; formats and archives in the languages of tar and xz.
static NOTHING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)end of file|\bEOF|format|archiv|アーカイブ|形式|Expecting value|JSON input|empty|no properly").ok()
});
/// The form in which make reports a failed recipe, in any language.
static MAKE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?m)\*\*\* \[[^\]\n]*\] [^0-9]{0,40}([0-9]{1,3})\s*$").ok());

/// Returns whether a download in `line` is the cause of the exit status `status`.
pub(super) fn is_why(line: &[ParsedCommand], status: i32, stderr: &str) -> bool {
    let line: Vec<&ParsedCommand> = line.iter().filter(|one| !one.unfolded).collect();
    line.iter()
        .enumerate()
        .any(|(at, one)| network::fetches(one) && answers_for(one, &line[at + 1..], status, stderr))
}

fn answers_for(one: &ParsedCommand, rest: &[&ParsedCommand], status: i32, stderr: &str) -> bool {
    if one.then != FollowingOperator::Pipe {
        return failing(one, rest).iter().any(|next| next.exits_with(status));
    }
    let end = rest.iter().position(|next| next.then != FollowingOperator::Pipe);
    let Some((last, after)) = end.map(|end| (rest[end], &rest[end + 1..])) else { return false };
    let decides = after.iter().all(|next| next.words.is_empty())
        || failing(last, after).iter().any(|next| next.exits_with(status));
    decides && found_nothing(stderr)
}

/// The commands that are run because `one`, with `rest` behind it, failed.
pub(super) fn failing<'a, 'b>(
    one: &ParsedCommand,
    rest: &'a [&'b ParsedCommand],
) -> &'a [&'b ParsedCommand] {
    let tested = ["if", "elif", "while", "until"].iter().any(|word| one.is_led_by(word));
    let at =
        |words: &[&str]| rest.iter().position(|next| words.iter().any(|word| next.is_led_by(word)));
    match (one.then, tested) {
        (FollowingOperator::Or, _) => {
            let group = rest.first().is_some_and(|next| next.is_led_by("{"));
            let closes = rest.iter().position(|next| next.is_led_by("}"));
            let single = rest.iter().position(|next| next.then == FollowingOperator::Other);
            let end = if group { closes } else { single };
            &rest[..end.map_or(rest.len(), |end| end + 1)]
        }
        (_, false) => &[],
        (_, true) => {
            let negated = one.is_led_by("!");
            let begin = at(if negated { &["then"] } else { &["else"] });
            let end = at(if negated { &["else", "elif", "fi"] } else { &["fi"] });
            let found = begin.zip(end).and_then(|(begin, end)| rest.get(begin..end));
            found.unwrap_or_default()
        }
    }
}

/// Returns whether stderr is empty, or says only that there was no input.
fn found_nothing(stderr: &str) -> bool {
    let mut lines = stderr.lines().filter(|line| !line.trim().is_empty()).peekable();
    if lines.peek().is_none() {
        return true;
    }
    let says = NOTHING.as_ref().is_some_and(|nothing| nothing.is_match(stderr));
    let json = ["JSONDecodeError: Expecting value", "Unexpected end of JSON input"];
    says && lines.all(|line| {
        let reader = READERS.iter().any(|reader| line.starts_with(reader));
        reader && errno_messages::find(line).is_none()
    }) || json.iter().any(|said| stderr.contains(said))
}

/// Returns whether `line` says that a parser was given nothing at all.
pub(super) fn had_nothing(line: &str) -> bool {
    let said = ["Expecting value: line 1 column 1 (char 0)", "Unexpected end of JSON input"];
    said.iter().any(|said| line.contains(said))
}

/// The exit code that make gives a recipe that failed.
pub(super) fn of_recipe(stderr: &str) -> Option<i32> {
    MAKE.as_ref()?.captures_iter(stderr).next()?.get(1)?.as_str().parse().ok()
}

/// Where make says that a recipe failed: the line of its file.
static PLACE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^g?make(?:\[[0-9]+\])?: \*\*\* \[[^:\]]+:([0-9]+): ").ok());

/// Returns the line of its file at which the recipe begins of which make says in `said` that it failed.
pub(super) fn recipe_line(said: &str) -> Option<usize> {
    PLACE.as_ref()?.captures(said)?.get(1)?.as_str().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::command_parser::of_line;
    use super::*;
    use rstest::rstest;

    const GZIP: &str = "\ngzip: stdin: unexpected end of file\ntar: Child returned status 1\n";

    #[rstest]
    #[case::pipe("curl -s http://1.1.1.1/a | tar xz", 2, GZIP, true)]
    #[case::three("curl -s http://1.1.1.1/a | gunzip | tar x", 2, GZIP, true)]
    #[case::quiet("curl -s http://1.1.1.1/a | grep -q x", 1, "", true)]
    #[case::loopback("curl -s http://127.0.0.1/a | tar xz", 2, GZIP, false)]
    #[case::file("cat a | tar xz", 2, GZIP, false)]
    #[case::other_words(
        "curl -s http://1.1.1.1/a | tar xz -C no",
        2,
        "tar: no: Cannot open: No such file or directory\n",
        false
    )]
    #[case::later("curl -s http://1.1.1.1/a | tar xz; false", 1, GZIP, false)]
    #[case::or("curl -s http://1.1.1.1/a || exit 4", 4, "no\n", true)]
    #[case::other_exit("curl -s http://1.1.1.1/a || exit 4", 3, "no\n", false)]
    #[case::if_not("if ! curl -s http://1.1.1.1/a; then exit 9; fi", 9, "no\n", true)]
    #[case::if_else("if curl -s http://1.1.1.1/a; then exit 9; else exit 8; fi", 8, "", true)]
    #[case::after_if("if curl -s http://1.1.1.1/a; then :; fi; exit 9", 9, "", false)]
    #[case::substitution("v=$(curl -s http://1.1.1.1/a) || exit 12", 12, "", true)]
    #[case::forgiven("curl -s http://1.1.1.1/a || true; exit 3", 3, "", false)]
    #[case::group("curl -s http://1.1.1.1/a || { echo no; exit 3; }", 3, "", true)]
    #[case::after_a_group("curl -s http://1.1.1.1/a || { echo no; }; exit 3", 3, "", false)]
    fn a_download_answers_for_what_it_feeds(
        #[case] line: &str,
        #[case] status: i32,
        #[case] stderr: &str,
        #[case] due: bool,
    ) {
        assert_eq!(is_why(&of_line(line), status, stderr), due);
    }

    #[rstest]
    #[case("make: *** [Makefile:2: all] Error 7\n", Some(7))]
    #[case("make[1]: *** [Makefile:2: all] Fehler 22\n", Some(22))]
    #[case("make: *** No rule to make target 'x'.  Stop.\n", None)]
    fn a_recipe_has_a_code(#[case] stderr: &str, #[case] due: Option<i32>) {
        assert_eq!(of_recipe(stderr), due);
    }
}
