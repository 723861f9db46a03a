//! Judging in a script: observations and expectations, as shell functions and settings.

use boxproof_cases::Case;
use boxproof_cases::case::{
    BackendStimulus, Compare, Denial, ExitExpect, ExpectedDecision, Oracle, SignalTarget,
    StreamExpect,
};
use nix::sys::signal::Signal;

use super::shell::{ScriptShell, quoted};
use crate::judge::reason_words;

/// Errnos that count as a refusal wherever something is to be contained.
const REFUSALS: [&str; 3] = ["EACCES", "EPERM", "EROFS"];

/// Returns the settings that the library reads; `besides` lists further errnos that are refusals.
pub(super) fn settings(case: &Case, besides: &[&str]) -> String {
    let kind = if case.act().is_probe() { "probe" } else { "other" };
    let decision = &case.expect.decision;
    let negative = u8::from(decision.is_negative());
    let may_fail = case.steps.iter().enumerate().filter(|(_, step)| step.may_fail);
    let may_fail: Vec<String> = may_fail.map(|(at, _)| (at + 1).to_string()).collect();
    let compared = |what| u8::from(case.expect.compare.contains(&what));
    let asks = u8::from(case.asks_for_survivors());
    let signal = case.during.first().map(|during| &during.what);
    let (signal, group) = match signal {
        Some(BackendStimulus::Signal(name, target)) => {
            (name.as_str(), if *target == SignalTarget::Group { "1" } else { "" })
        }
        _ => ("", ""),
    };
    let mut reasons = match decision {
        ExpectedDecision::Denied(denial) | ExpectedDecision::Contained(denial) => reasons(denial),
        _ => Vec::new(),
    };
    reasons.extend(besides.iter().map(|name| (*name).to_owned()));
    let reasons = reasons.join(" ");
    format!(
        "kind={kind} decision={} negative={negative} wanted_exit={} last={} may_fail='{}'\n\
         compare_exit={} compare_stdout={} compare_tree={} asks_for_survivors={asks} \
         signal={signal} group={group} reasons='{reasons}'",
        decision.keyword(),
        wanted_exit(case),
        case.steps.len(),
        may_fail.join(" "),
        compared(Compare::Exit),
        compared(Compare::Stdout),
        compared(Compare::Tree),
    )
}

/// Errnos and signals as the probe names them.
fn reasons(denial: &Denial) -> Vec<String> {
    let signals = denial.signal.iter().map(|signal| format!("SIG{signal}"));
    denial.errno.iter().cloned().chain(signals).collect()
}

fn wanted_exit(case: &Case) -> String {
    match (&case.expect.exit, &case.expect.decision) {
        (Some(ExitExpect::Code(code)), _) => code.to_string(),
        (Some(ExitExpect::Signal(name)), _) => {
            let number = format!("SIG{name}").parse::<Signal>().map(|signal| signal as i32);
            number.map_or_else(|_| "unknown".to_owned(), |number| (128 + number).to_string())
        }
        (Some(ExitExpect::Nonzero), _) | (None, ExpectedDecision::Denied(_)) => {
            "nonzero".to_owned()
        }
        (None, _) => "as_control".to_owned(),
    }
}

/// The functions `look`, `oracles`, `streams`, `spoken` and `told_reasons`.
pub(super) fn looks(case: &Case, besides: &[&str], shell: &ScriptShell) -> Result<String, String> {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for (number, oracle) in case.expect.oracle.iter().enumerate() {
        let name = quoted(&oracle.to_string());
        if let Oracle::Unchanged(path) | Oracle::Absent(path) = oracle {
            before.push(format!("remember {number} {} {name}", shell.place(path)));
        }
        let sign = if oracle.is_positive() { "+" } else { "-" };
        after.push(format!("oracle {sign} {name} {}", check(number, oracle, shell)?));
    }
    let streams = [("out", &case.expect.stdout), ("err", &case.expect.stderr)];
    let streams: Vec<String> =
        streams.iter().flat_map(|(name, asked)| stream(name, asked.as_ref(), shell)).collect();
    let parts = [
        ("look", before),
        ("oracles", after),
        ("streams", streams),
        ("spoken", spoken(case, shell)),
        ("told_reasons", vec![errno_pattern(case, besides)]),
    ];
    let functions: String = parts.into_iter().map(|(name, lines)| function(name, &lines)).collect();
    Ok(format!("# What is looked at before and after, and what must be seen.\n{functions}"))
}

fn function(name: &str, lines: &[String]) -> String {
    let nothing = [":".to_owned()];
    let lines = if lines.is_empty() { &nothing } else { lines };
    let body: String = lines.iter().map(|line| format!("    {line}\n")).collect();
    format!("{name}() {{\n{body}}}\n")
}

fn check(number: usize, oracle: &Oracle, shell: &ScriptShell) -> Result<String, String> {
    let listener = |name: &str| name.trim_start_matches('$').to_owned();
    Ok(match oracle {
        Oracle::Unchanged(path) | Oracle::Absent(path) => {
            format!("same {number} {}", shell.place(path))
        }
        Oracle::Exists(path) => format!("there {}", shell.place(path)),
        Oracle::Content(content) => {
            format!("holds {} {}", shell.place(&content.path), shell.expanded(&content.equals))
        }
        Oracle::Undisclosed(_) => "undisclosed".to_owned(),
        Oracle::Unreached(name) => format!("unreached {}", listener(name)),
        Oracle::Reached(name) => format!("reached {}", listener(name)),
        Oracle::Untouched(_) => "untouched".to_owned(),
        Oracle::NoSurvivors(_) => "no_survivors".to_owned(),
        Oracle::MountsUnchanged(_) => "mounts_unchanged".to_owned(),
        Oracle::Untyped(_)
        | Oracle::Displayed(_)
        | Oracle::Undisplayed(_)
        | Oracle::TerminalRestored(_) => {
            return Err("a script has no terminal to look at".to_owned());
        }
    })
}

fn stream(name: &str, asked: Option<&StreamExpect>, shell: &ScriptShell) -> Vec<String> {
    let Some(asked) = asked else { return Vec::new() };
    let line = |check: &str, text: &String| format!("{check} {name} {}", shell.expanded(text));
    let whole = asked.equals.iter().map(|text| line("is", text));
    let has = asked.contains.iter().map(|text| line("has", text)).chain(whole);
    has.chain(asked.lacks.iter().map(|text| line("lacks", text))).collect()
}

/// Returns the tests for the text that the case looks for in the act's output, which shows that it
/// ran.
fn spoken(case: &Case, shell: &ScriptShell) -> Vec<String> {
    let stdout = case.expect.stdout.as_ref();
    let whole = stdout.and_then(|stdout| stdout.equals.as_ref()).filter(|text| !text.is_empty());
    if let Some(whole) = whole {
        let whole = shell.expanded(whole);
        return vec![format!("printf '%s' {whole} | cmp -s - \"$work/$run.own.out\"")];
    }
    let wanted = stdout.into_iter().flat_map(|stdout| &stdout.contains);
    let wanted: Vec<String> = wanted
        .filter(|text| !text.is_empty())
        .map(|text| format!("grep -qaF -- {} \"$work/$run.own.out\"", shell.expanded(text)))
        .collect();
    vec![if wanted.is_empty() { "false".to_owned() } else { wanted.join(" && ") }]
}

/// Returns the texts of the errnos that count for acts that report nothing.
fn errno_pattern(case: &Case, besides: &[&str]) -> String {
    let mut listed: Vec<&str> = match &case.expect.decision {
        ExpectedDecision::Denied(denial) => denial.errno.iter().map(String::as_str).collect(),
        ExpectedDecision::Contained(denial) | ExpectedDecision::Withheld(denial) => {
            denial.errno.iter().map(String::as_str).chain(REFUSALS).collect()
        }
        ExpectedDecision::Allowed
        | ExpectedDecision::AllowedOrRefused(_)
        | ExpectedDecision::Refused
        | ExpectedDecision::Answer(_)
        | ExpectedDecision::Receipts(_) => Vec::new(),
    };
    listed.extend(besides);
    let texts: Vec<String> = reason_words(&listed).iter().map(|text| quoted(text)).collect();
    format!("told {}", texts.join(" "))
}
