//! The cause of a failed run among the refusals in its output: the last failure that decides the
//! exit code, not one that the command ignored earlier. Pure.

use std::sync::LazyLock;

use regex::Regex;

use super::RunDenial;
use super::deciding_commands::DecidingCommands;
use super::download;
use super::errno_messages;
use super::message;
use super::script::ScriptCommand;

/// A refusal, and the line of the stream that reports it.
#[derive(Debug, Clone)]
pub(super) struct LocatedDenial {
    pub(super) line: usize,
    pub(super) denial: RunDenial,
}

/// The refusal that is the cause, and the other refusals.
#[derive(Debug)]
pub(super) struct FailureCause {
    pub(super) denial: RunDenial,
    pub(super) also: Vec<RunDenial>,
}

/// The form of a line that reports a thrown error.
static THROWN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"^(?:E\s+)?(?:[[:word:].$]+\.)?[[:word:]]+(?:Error|Exception)\b(?: \[[[:word:]]+\])?(?::|$)|^E\s+assert\b|^Error: |panicked at|^\S*:?\s*[Aa]ssertion\b.*\bfailed|^not ok [0-9]|^FAIL(?:: |$)|^usage: ",
    )
    .ok()
});
/// Errors that only report the failure of another program.
static FOLLOWS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"^g?make(?:\[[0-9]+\])?: \*\*\* |CalledProcessError|[Cc]ommand failed|non-zero exit|[Ee]xit(?:ed)?(?: with)? (?:status|code)|SystemExit|Can't load|During handling",
    )
    .ok()
});
/// Phrases that link an error to the error that caused it.
const CHAINED: [&str; 3] =
    ["During handling of the above exception", "direct cause of the following", "Caused by"];
/// The form of a line that compares two texts or quotes source code.
static COMPARED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"[Aa]ssert(?:ion|Equal|In|That|Raises|_eq|\b)|^\s*[+?-] |^\s+(?:actual|expected): |^\s*[0-9]+ \||^\s*\|| !== | != | not found in ['\x22]|:[0-9]+:(?:[0-9]+:)? (?:fatal )?(?:error|warning|note):",
    )
    .ok()
});

fn is(regex: &LazyLock<Option<Regex>>, line: &str) -> bool {
    regex.as_ref().is_some_and(|regex| regex.is_match(line))
}

/// The end of a compiler's message about a file that it could not use: a path, and an errno's words.
static UNUSED_FILE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?:error|while writing [^:]+): [^:'\x22]+: ([^:'\x22]+)$").ok());

/// Ruby's message about a file that it could not edit in place.
static SKIPPED_FILE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\S+:[0-9]+: warning: Can't .+, skipping file$").ok());

/// Returns whether `line` shows or compares texts, and is no complaint itself.
pub(super) fn compares(line: &str) -> bool {
    if is(&SKIPPED_FILE, line) {
        return false;
    }
    let of_a_file = || {
        let end = UNUSED_FILE.as_ref()?.captures(line)?.get(1)?;
        errno_messages::find(end.as_str()).filter(|(_, at)| at.len() == end.len())
    };
    is(&COMPARED, line) && of_a_file().is_none()
}

/// Returns whether `line` only reports the failure of another program.
pub(super) fn passes_on(line: &str) -> bool {
    is(&FOLLOWS, line)
}

/// Returns the last line that reports an error of the program's own, which is no refusal.
pub(super) fn ordinary(lines: &[&str]) -> Option<usize> {
    let own = |at: &usize| {
        let line = lines[*at].trim_end();
        let thrown = is(&THROWN, line) && (!line.starts_with("Error: ") || is_traced(lines, *at));
        thrown && !is(&FOLLOWS, line) && (compares(line) || errno_messages::find(line).is_none())
    };
    (0..lines.len()).rev().find(own)
}

/// Returns whether a stack trace follows line `at`.
fn is_traced(lines: &[&str], at: usize) -> bool {
    lines.iter().skip(at + 1).take(3).any(|line| line.starts_with("    at "))
}

/// Returns whether the error at line `later` is chained to the error at line `sooner`.
pub(super) fn came_of(lines: &[&str], sooner: usize, later: usize) -> bool {
    let between = &lines[sooner.min(later)..=later];
    between.iter().any(|line| CHAINED.iter().any(|said| line.contains(said)))
}

/// The refusal among `found` that is why: the last that no error of the program's own came after.
pub(super) fn last(
    mut found: Vec<LocatedDenial>,
    lines: &[&str],
    passed: &[usize],
) -> Option<FailureCause> {
    let last = found.pop()?;
    let own = ordinary(lines).into_iter().chain(passed.iter().copied());
    let later = |at: usize| {
        at > last.line && !came_of(lines, last.line, at) && !download::had_nothing(lines[at])
    };
    if own.into_iter().any(later) && !fault!("explain.ordinary-failures") {
        return None;
    }
    let mut also: Vec<RunDenial> = Vec::new();
    for LocatedDenial { denial, .. } in found {
        let known = std::iter::once(&last.denial).chain(&also);
        let same = |one: &RunDenial| one.rule == denial.rule && one.path == denial.path;
        if !known.into_iter().any(same) {
            also.push(denial);
        }
    }
    Some(FailureCause { denial: last.denial, also })
}

/// Returns `denial` as the cause, beside the others that were `told`.
pub(super) fn with_others(denial: RunDenial, told: Option<FailureCause>) -> FailureCause {
    let told = told.into_iter().flat_map(|told| std::iter::once(told.denial).chain(told.also));
    let also = told.filter(|one| one.rule != denial.rule || one.path != denial.path).collect();
    FailureCause { denial, also }
}

/// What make says of a failure that it goes on after.
static IGNORED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^g?make(?:\[[0-9]+\])?: \[.*\(ignored\)$").ok());

/// Returns whether the failure at line `at` is one that the program went on after: a warning, one that says what
/// is done instead, or one that the line behind it says is ignored.
pub(super) fn is_passed_over(lines: &[&str], at: usize) -> bool {
    let goes_on = lines[at].trim_start().to_lowercase().starts_with("defaulting to ");
    goes_on || is_warning(lines, at) || lines.get(at + 1).is_some_and(|next| is(&IGNORED, next))
}

/// Returns whether line `at` is only a warning, and another message follows it that is not about
/// something below what the warning names.
fn is_warning(lines: &[&str], at: usize) -> bool {
    let mut rest = lines.iter().skip(at + 1).filter(|line| !line.trim().is_empty() && !warns(line));
    let told = message::read(lines[at]).map(|told| told.paths).unwrap_or_default();
    let below = |line: &str| {
        told.iter().any(|path| line.contains(&format!("{}/", path.trim_end_matches('/'))))
    };
    warns(lines[at]) && rest.any(|line| !below(line))
}

/// Words by which a program says that it did not get to use a file.
static TROUBLE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(?:could ?n[o']t|cannot|can't|unable to|failed to|error|not)\b.{0,40}\b(?:sav|writ|creat|open|stor|lock|mak|mad|updat|usab|permi|access|remov|renam|mov|export|instal|copy|copi|dump|generat|prepar)",
    )
    .ok()
});
/// Results that checkers and test runners report as their job.
static VERDICT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b[1-9][0-9]* (?:[[:word:]]+ )?(?:fail(?:ed|ing|ures?)|errors?|problems?|warnings?|vulnerabilities|violations?)\b|(?-i:\bFAIL(?:ED|URE)?\b)|\bnot ok\b|\bwould\b|^usage: |\berror\b|\binvalid\b|\bmismatch|\bexpected\b",
    )
    .ok()
});

/// Returns whether `line` is a warning by its first word.
pub(super) fn warns(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("warning: ") || line.contains(": warning: ") && !is(&SKIPPED_FILE, line)
}

/// Returns whether one of `lines` is the result of a checker or a test runner.
pub(super) fn gives_verdict(lines: &[&str]) -> bool {
    lines.iter().any(|line| is(&VERDICT, line) && !line.contains(": *** ["))
}

/// Returns whether `line` says that a file could not be used: by the words for an errno, or others.
pub(super) fn tells_trouble(line: &str) -> bool {
    use errno_messages::RefusalClass::{Access, Busy, CrossDevice, Permission, ReadOnly};
    let refused = errno_messages::find(line).is_some_and(|(class, _)| {
        matches!(class, Access | Busy | CrossDevice | Permission | ReadOnly)
    });
    refused && !compares(line) || is(&TROUBLE, line)
}

/// Builtins of a shell that touch no file but by a redirection.
const BUILTINS: [&str; 3] = ["read", "true", ":"];

/// Programs that only show their input or arguments.
const SHOWING: [&str; 22] = [
    "cat", "grep", "egrep", "fgrep", "rg", "head", "tail", "sed", "awk", "gawk", "mawk", "cut",
    "sort", "uniq", "tr", "jq", "echo", "printf", "diff", "cmp", "less", "more",
];
/// Programs that only test, and print nothing of the result.
const LOOKING: [&str; 6] = ["test", "[", "[[", "false", "exit", "return"];

/// Returns whether `step` only shows or tests its input, so that neither the network nor its input
/// can have been refused to it.
pub(super) fn is_plain(step: &ScriptCommand) -> bool {
    let known = SHOWING.contains(&step.program()) || LOOKING.contains(&step.program());
    let starts = step.words.iter().skip(1).any(|word| word.contains("system("));
    known && !starts && !step.files.iter().any(|file| file.contains('$') || file.contains("{}"))
}

/// Returns whether all output on a stream is text that the deciding programs show as their job, and
/// `line` is no message of these programs.
pub(super) fn is_shown(deciders: &DecidingCommands<'_>, line: &str, on_stderr: bool) -> bool {
    let shows =
        |step: &ScriptCommand| SHOWING.contains(&step.program()) && (!on_stderr || step.to_stderr);
    let all = !deciders.own.is_empty() && deciders.own.iter().all(|step| shows(step));
    let mut known = deciders.own.iter().chain(&deciders.feeders);
    all && !known.any(|step| speaks(step, line))
}

/// Returns whether `line` begins with the name of `step`'s program, as its own messages do.
pub(super) fn speaks(step: &ScriptCommand, line: &str) -> bool {
    let name = line.split(": ").next().unwrap_or(line).rsplit('/').next().unwrap_or_default();
    !step.program().is_empty() && name == step.program()
}

/// Returns whether a refusal at a path can be the cause of the exit code. `line` is the message;
/// `steps` are all commands of the line; `leads` returns whether a word names the path (true) or a
/// place around it (false).
pub(super) fn decides(
    deciders: &DecidingCommands<'_>,
    steps: &[&ScriptCommand],
    line: &str,
    leads: &dyn Fn(&str) -> Option<bool>,
) -> bool {
    if deciders.own.is_empty() {
        // Only an `exit` is left, which was given its status; a shell of its own has no other.
        let known = |step: &&ScriptCommand| {
            LOOKING.contains(&step.program()) || BUILTINS.contains(&step.program())
        };
        return !deciders.feeders.is_empty() || steps.iter().all(known);
    }
    let named = |step: &ScriptCommand| {
        // What is printed is used by another.
        let prints = ["echo", "printf"].contains(&step.program());
        let words = step.words.iter().filter(|_| !prints).chain(&step.files);
        words.filter_map(|word| leads(word)).max()
    };
    let speaking: Vec<&ScriptCommand> =
        steps.iter().filter(|step| speaks(step, line)).copied().collect();
    let candidates: Vec<&ScriptCommand> = match speaking.is_empty() {
        true => steps.iter().filter(|step| named(step) == Some(true)).copied().collect(),
        false => {
            let naming: Vec<&ScriptCommand> =
                speaking.iter().filter(|step| named(step).is_some()).copied().collect();
            if naming.is_empty() { speaking } else { naming }
        }
    };
    if candidates.is_empty() {
        // One that looks at the status of others has it of them.
        let of_others = deciders.own.iter().any(|step| step.takes_status);
        let others = deciders.feeders.iter().filter(|_| of_others);
        return !deciders.own.iter().chain(others).all(|step| is_plain(step));
    }
    let among = |list: &[&ScriptCommand], step: &ScriptCommand| {
        list.iter().any(|one| std::ptr::eq(*one, step))
    };
    // The next command gets the same of tee, whether its files can be written or not.
    let feeds = |step: &ScriptCommand| step.program() != "tee" && named(step) == Some(true);
    candidates
        .iter()
        .any(|step| among(&deciders.own, step) || among(&deciders.feeders, step) && feeds(step))
}
