//! The check of values that can never hold: [`faults`].

use std::collections::BTreeSet;

use super::{FieldFault, fixture};
use crate::case::{Case, Denial, ExitExpect, ExpectedDecision};
use crate::names::{errno_fault, signal_fault};

/// The descriptors that a backend can inherit besides its streams: as many as Linux lets a process
/// have, unless it is told otherwise.
const DESCRIPTORS: std::ops::RangeInclusive<u32> = 3..=1_048_575;

/// Returns what `case` says that can never hold.
pub(super) fn faults(case: &Case) -> Vec<FieldFault> {
    let checks = [check_timeout, check_platforms, check_needs, check_sources, fixture::check_below];
    let mut found: Vec<_> = checks.into_iter().filter_map(|check| check(case).err()).collect();
    found.extend(reasons(&case.expect.decision));
    found.extend(ends(case));
    found.extend(events(case));
    found.extend(launcher(case));
    found.extend(nul(case));
    found
}

fn check_timeout(case: &Case) -> Result<(), FieldFault> {
    match case.timeout_ms {
        0 => Err(("timeout_ms", "an arm needs at least 1 ms".to_owned())),
        _ => Ok(()),
    }
}

fn check_platforms(case: &Case) -> Result<(), FieldFault> {
    match case.platforms.is_empty() {
        true => Err(("platforms", "on none, the case never runs: name linux or macos".to_owned())),
        false => Ok(()),
    }
}

fn check_needs(case: &Case) -> Result<(), FieldFault> {
    let mut seen = BTreeSet::new();
    match case.needs.iter().find(|needed| !seen.insert(*needed)) {
        Some(twice) => Err(("needs", format!("`{twice}` is named twice"))),
        None => Ok(()),
    }
}

fn check_sources(case: &Case) -> Result<(), FieldFault> {
    match case.sources.iter().find(|source| !is_source(source)) {
        Some(source) => {
            let forms =
                "CVE-YEAR-NUMBER, owner/repo#NUMBER, owner/repo@COMMIT, page(SECTION) or a URL";
            Err(("sources", format!("`{source}` is no public report: use {forms}")))
        }
        None => Ok(()),
    }
}

/// Returns whether `text` has the form of a public report, a commit, a manual page or an address.
fn is_source(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let name = |text: &str| {
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
    };
    let repository = |text: &str| text.split_once('/').is_some_and(|(o, r)| name(o) && name(r));
    let commit = |text: &str| text.len() >= 7 && text.bytes().all(|b| b.is_ascii_hexdigit());
    let cve = text.strip_prefix("CVE-").and_then(|rest| rest.split_once('-'));
    let page = text.strip_suffix(')').and_then(|rest| rest.split_once('('));
    cve.is_some_and(|(year, number)| year.len() == 4 && digits(year) && digits(number))
        || text.split_once('#').is_some_and(|(of, number)| repository(of) && digits(number))
        || text.split_once('@').is_some_and(|(of, hash)| repository(of) && commit(hash))
        || page.is_some_and(|(page, section)| name(page) && name(section))
        || text.starts_with("https://")
}

/// The names of errnos and signals that a denial may have.
fn reasons(decision: &ExpectedDecision) -> Vec<FieldFault> {
    let (errno, signal, denial): (_, _, &Denial) = match decision {
        ExpectedDecision::Denied(d) => ("expect.denied.errno", "expect.denied.signal", d),
        ExpectedDecision::Contained(d) => ("expect.contained.errno", "expect.contained.signal", d),
        ExpectedDecision::Withheld(d) => ("expect.withheld.errno", "expect.withheld.signal", d),
        _ => return Vec::new(),
    };
    let errnos = denial.errno.iter().filter_map(|name| Some((errno, errno_fault(name)?)));
    let signals = denial.signal.iter().filter_map(|name| Some((signal, signal_fault(name)?)));
    errnos.chain(signals).collect()
}

/// The names of signals that the run ends by.
fn ends(case: &Case) -> Vec<FieldFault> {
    let exit = match &case.expect.exit {
        Some(ExitExpect::Signal(name)) => Some(("expect.exit.signal", name)),
        _ => None,
    };
    let result = case.expect.result.as_ref();
    let died = result.and_then(|result| result.signal.as_ref()?.as_ref());
    let stopped = result.and_then(|result| result.interrupted_by.as_ref()?.as_ref());
    let named = [
        exit,
        died.map(|name| ("expect.result.signal", name)),
        stopped.map(|name| ("expect.result.interrupted_by", name)),
    ];
    named
        .into_iter()
        .flatten()
        .filter_map(|(field, name)| Some((field, signal_fault(name)?)))
        .collect()
}

/// The names of errnos that events may have, and numbers of events that no run has.
fn events(case: &Case) -> Vec<FieldFault> {
    let result = case.expect.result.as_ref();
    let Some(expected) = result.and_then(|result| result.events.as_ref()) else {
        return Vec::new();
    };
    let errnos = expected.given.iter().flat_map(|event| &event.errno);
    let errnos = errnos.filter_map(|name| Some(("expect.result.events.given", errno_fault(name)?)));
    let numbers = match (expected.at_least, expected.at_most) {
        (Some(least), Some(most)) if least > most => {
            let message = format!("at least {least} and at most {most} is no number of events");
            Some(("expect.result.events.at_most", message))
        }
        _ => None,
    };
    errnos.chain(numbers).collect()
}

/// The descriptors and variables that no process can have.
fn launcher(case: &Case) -> Vec<FieldFault> {
    let numbers = case.launcher.inherit.keys().filter(|number| !DESCRIPTORS.contains(number));
    let number = |number: &u32| {
        let (least, most) = (DESCRIPTORS.start(), DESCRIPTORS.end());
        let why = "0 to 2 are the backend's own streams";
        ("launcher.inherit", format!("`{number}` is not {least} to {most}: {why}"))
    };
    let names = case.launcher.env.keys().filter(|n| n.is_empty() || n.contains(['=', '\0']));
    let name = |name: &String| {
        let fault = match name.is_empty() {
            true => "a variable without a name: give it one".to_owned(),
            false => format!("`{name}` is no name of a variable: leave out = and NUL"),
        };
        ("launcher.env", fault)
    };
    numbers.map(number).chain(names.map(name)).collect()
}

/// The texts with a NUL byte, which no argument, variable or path can have.
fn nul(case: &Case) -> Vec<FieldFault> {
    let acts = case.steps.iter().flat_map(|step| step.act.strings()).map(|text| ("act", text));
    let prepare = case.prepare.iter().map(|line| ("prepare", line.as_str()));
    let launcher = case.launcher.strings().into_iter().map(|text| ("launcher", text));
    let paths = case.fixture.keys().map(|path| ("fixture", path.as_str()));
    let texts = acts.chain(prepare).chain(launcher).chain(paths);
    let fault = |(field, text): (&'static str, &str)| {
        let message = format!("a NUL byte in {text:?}: no argument, variable or path can have one");
        (field, message)
    };
    texts.filter(|(_, text)| text.contains('\0')).map(fault).collect()
}
