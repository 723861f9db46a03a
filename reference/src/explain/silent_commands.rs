//! The operations of a command whose messages were discarded or that catches its errors: the last
//! command of a line, and the one that an `exit` behind it answers for. Pure.

use std::sync::LazyLock;

use regex::Regex;

use super::command_parser::{NOTHING, ParsedCommand};
use super::operation::{code, in_code, parts};
use super::policy_index::AccessKind;

/// Subcommands of git that write its index or history.
const WRITING: [&str; 16] = [
    "add",
    "am",
    "branch",
    "checkout",
    "cherry-pick",
    "commit",
    "merge",
    "mv",
    "rebase",
    "reset",
    "restore",
    "rm",
    "stash",
    "submodule",
    "switch",
    "tag",
];

static LITERAL: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"'([^'\n]+)'|"([^"\n]+)"|`([^`\n]+)`"#).ok());

/// Returns the paths as written, and the operation on each, of the commands in `line` that can be
/// the cause of its `status`; those that are `known` to can. Where all calls were looked at, `tried` returns
/// whether a change at a path was refused, and others are left only if a program asked for them.
pub(super) fn paths(
    line: &[ParsedCommand],
    status: i32,
    known: &dyn Fn(&ParsedCommand) -> bool,
    tried: Option<&dyn Fn(&str) -> bool>,
) -> Vec<(String, AccessKind)> {
    // Brackets whose output is discarded do nothing themselves.
    let writes = |one: &ParsedCommand| one.writes.iter().any(|file| file != NOTHING);
    let line: Vec<&ParsedCommand> =
        line.iter().filter(|one| !one.unfolded && !one.words.is_empty() || writes(one)).collect();
    let deciding = line
        .iter()
        .enumerate()
        .filter(|(at, one)| known(one) || decides(&line[at + 1..], one, status));
    deciding.flat_map(|(_, one)| attempted_accesses(one, status, tried)).collect()
}

/// Returns whether the failure of `one`, with `rest` behind it, decides how the line ended.
fn decides(rest: &[&ParsedCommand], one: &ParsedCommand, status: i32) -> bool {
    rest.is_empty()
        || super::download::failing(one, rest).iter().any(|next| next.exits_with(status))
}

/// Returns whether `one` says nothing of files that it could not read, of which its `status` tells.
fn keeps_silent(one: &ParsedCommand, status: i32) -> bool {
    const TROUBLE: i32 = 2;
    /// The status of zip where it was left without files.
    const NOTHING_TO_DO: i32 = 12;
    if one.program() == "zip" && status == NOTHING_TO_DO {
        return true;
    }
    let long = ["--no-messages", "--quiet", "--silent"];
    let is_silent = |word: &String| {
        long.contains(&word.as_str())
            || word.starts_with('-') && !word.starts_with("--") && word.contains('s')
    };
    status == TROUBLE
        && ["grep", "egrep", "fgrep", "rg", "cmp"].contains(&one.program())
        && one.words.iter().skip(1).any(is_silent)
}

fn attempted_accesses(
    one: &ParsedCommand,
    status: i32,
    tried: Option<&dyn Fn(&str) -> bool>,
) -> Vec<(String, AccessKind)> {
    let asks = |code: &&String| code.contains("W_OK");
    let can_be = |path: &str, op: AccessKind, asked: bool| {
        asked || op == AccessKind::Read || tried.is_none_or(|tried| tried(path))
    };
    let in_code = code(one).flat_map(|code| {
        let asked = asks(&code);
        literals(code).into_iter().filter(move |(path, op)| can_be(path, *op, asked))
    });
    let mut found: Vec<(String, AccessKind)> = in_code.collect();
    if one.hushed || one.diverted || keeps_silent(one, status) {
        let named = parts(one).into_iter();
        found.extend(named.flat_map(|(paths, op)| paths.into_iter().map(move |path| (path, op))));
        let verb = one.git_subcommand().filter(|_| one.program() == "git");
        if verb.is_some_and(git_writes) {
            found.push((".git/index".to_owned(), AccessKind::Write));
        }
        let asked = code(one).any(|it| asks(&it));
        found.retain(|(path, op)| can_be(path, *op, asked));
    }
    found.extend(mute(one));
    found.retain(|(path, _)| path != NOTHING);
    found
}

/// Returns whether git's subcommand `verb` writes its index or history.
pub(super) fn git_writes(verb: &str) -> bool {
    WRITING.contains(&verb)
}

/// Returns the paths named by programs that give no reason: tests of files, and editors that run
/// scripts.
fn mute(one: &ParsedCommand) -> Vec<(String, AccessKind)> {
    match one.program() {
        "test" | "[" | "[[" => {
            let pairs = one.words.windows(2);
            let asked = pairs.flat_map(|pair| {
                let kinds: &[AccessKind] = match pair[0].as_str() {
                    "-r" | "-e" | "-f" | "-d" | "-s" | "-x" => &[AccessKind::Read],
                    // One that is absent cannot be written either.
                    "-w" => &[AccessKind::Read, AccessKind::Write],
                    _ => &[],
                };
                kinds.iter().map(|kind| (pair[1].clone(), *kind))
            });
            asked.collect()
        }
        "readlink" | "realpath" => {
            one.operands().map(|path| (path.to_owned(), AccessKind::Read)).collect()
        }
        "vim" | "vi" | "ex" | "view" | "nvim" => {
            let orders = one.words.windows(2).filter(|pair| pair[0] == "-c");
            let orders: Vec<&String> = orders.map(|pair| &pair[1]).collect();
            let is_order =
                |word: &str| word.starts_with('+') || orders.iter().any(|one| *one == word);
            let files = one.operands().filter(|word| !is_order(word));
            let named = one.words.iter().filter_map(|word| {
                let order = word.trim_start_matches(['+', ':']);
                let at = order.split_once(' ')?;
                at.0.trim_end_matches('!').ends_with(['w', 'q']).then(|| at.1.trim().to_owned())
            });
            let files: Vec<String> = named.chain(files.map(str::to_owned)).collect();
            files.into_iter().map(|file| (file, AccessKind::Write)).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the string literals in `code`, and the operation on each.
pub(super) fn literals(code: &str) -> Vec<(String, AccessKind)> {
    let Some(literal) = LITERAL.as_ref() else { return Vec::new() };
    let texts =
        literal.captures_iter(code).filter_map(|found| found.iter().skip(1).flatten().next());
    let is_module = |text: &regex::Match<'_>| {
        let before = code.get(..text.start().saturating_sub(1)).unwrap_or_default();
        before.trim_end().ends_with("require(") && !text.as_str().starts_with(['.', '/'])
    };
    // `">"` is how a file is opened, and none itself.
    let texts = texts
        .filter(|text| !is_module(text))
        .map(|text| text.as_str().trim_start_matches(['<', '>', '+', ' ']));
    let named = texts.filter(|text| text.contains(char::is_alphanumeric));
    named
        .map(|text| (text.to_owned(), in_code(code, text)))
        .filter(|(_, op)| *op != AccessKind::Unknown)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::command_parser::of_line;
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("touch /o/x 2>/dev/null", 1, "w /o/x")]
    #[case("touch /o/x", 1, "")]
    #[case("touch /o/x 2>/dev/null; grep -q z a", 1, "")]
    #[case("touch /o/x 2>/dev/null || exit 5", 5, "w /o/x")]
    #[case("touch /o/x 2>/dev/null || exit 5", 1, "")]
    #[case("cat /s/k 2>/dev/null", 1, "r /s/k")]
    #[case("cat /s/k 2>&1", 1, "r /s/k")]
    #[case("git add a 2>/dev/null", 128, "w .git/index")]
    #[case(
        "node -e \"try{fs.writeFileSync('/o/x','a')}catch(e){process.exit(1)}\"",
        1,
        "w /o/x,w a"
    )]
    #[case("perl -e 'open my $f, \">\", \"/o/x\" or exit 9'", 9, "w /o/x")]
    #[case("perl -e 'open(F, \">/o/x\") or exit 9'", 9, "w /o/x")]
    #[case("perl -e 'open(F, \"</s/k\") or exit 9'", 9, "r /s/k")]
    #[case("[ -w /s/k ] || exit 9", 9, "r /s/k,w /s/k")]
    #[case("tar xf a.tar 2>/dev/null", 2, "w .,r a.tar")]
    #[case(
        "node -e \"try{require('fs').readFileSync('/s/k')}catch{process.exit(4)}\"",
        4,
        "r /s/k"
    )]
    #[case("{ wc -l < /s/k; } 2>/dev/null", 1, "r /s/k")]
    #[case("( cd /s && cat k ) 2>/dev/null", 1, "r k")]
    #[case("exec 2>/dev/null; cat /s/k", 1, "r /s/k")]
    #[case("grep -qs x /s/k", 2, "r /s/k")]
    #[case("grep -qs x /s/k", 1, "")]
    #[case("zip -q a.zip /s/k", 12, "w a.zip,r /s/k")]
    #[case("readlink -e /s/k", 1, "r /s/k")]
    #[case("cmp -s /s/k a", 2, "r /s/k,r a")]
    fn what_nobody_saw(#[case] line: &str, #[case] status: i32, #[case] due: &str) {
        let shown = |(path, op): (String, AccessKind)| {
            format!("{} {path}", if op == AccessKind::Write { "w" } else { "r" })
        };
        let found: Vec<String> =
            paths(&of_line(line), status, &|_| false, None).into_iter().map(shown).collect();
        assert_eq!(found.join(","), due);
    }

    #[rstest]
    #[case("touch /o/x 2>/dev/null", 0)]
    #[case("touch /o/tried 2>/dev/null", 1)]
    #[case("cat /s/k > /o/x 2>/dev/null", 1)]
    #[case("python3 -c \"open('/o/x', 'w')\"", 0)]
    #[case("python3 -c \"os.access('/o/x', os.W_OK) or sys.exit(4)\"", 1)]
    #[case("[ -w /o/x ]", 2)]
    #[case("vim -es -c wq /o/x", 1)]
    fn what_is_only_asked_for_is_not_observed(#[case] line: &str, #[case] due: usize) {
        let found = paths(&of_line(line), 1, &|_| false, Some(&|path| path == "/o/tried"));
        let named = found.iter().filter(|(path, _)| path.starts_with('/'));
        assert_eq!(named.count(), due, "{found:?}");
    }
}
