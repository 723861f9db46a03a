//! boxproof: one program that is the harness, the reference sandbox and the probes.

use std::ffi::OsString;

use boxproof::multicall::{dispatch, name};

/// The exit code of a probe that could not do its part.
const PROBE_FAULT: i32 = 70;
/// The exit code of a verb whose output could not be written.
const UNWRITTEN: i32 = 3;

fn main() -> ! {
    let args: Vec<OsString> = std::env::args_os().collect();
    let code = dispatch(&args).unwrap_or_else(|| face(&args));
    std::process::exit(code)
}

/// Runs the interface for users: the verbs, and the programs that have a verb or a name of their
/// own.
fn face(args: &[OsString]) -> i32 {
    let verb = args.get(1).and_then(|verb| verb.to_str()).unwrap_or_default();
    let rest = |skip: usize| args.iter().skip(skip).cloned().collect::<Vec<_>>().into_iter();
    match (name(args), verb) {
        ("refbox", _) => boxproof_reference::main(&[], rest(1)),
        (_, "probe") => probe(rest(2)),
        (_, "reference") => boxproof_reference::main(&["reference"], rest(2)),
        _ => boxproof::cli::main(),
    }
}

/// Runs `boxproof probe` on `words`. A list or help that cannot be written ends like the output of every
/// other verb; a probe that runs has exit codes of its own.
fn probe(words: std::vec::IntoIter<OsString>) -> i32 {
    let pages = ["--list", "--help", "-h"].map(OsString::from);
    let is_page = words.as_slice().first().is_some_and(|word| pages.contains(word));
    match boxproof_probes::main(words) {
        PROBE_FAULT if is_page => UNWRITTEN,
        code => code,
    }
}
