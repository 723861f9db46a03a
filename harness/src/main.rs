//! boxproof: one program that is the harness, the reference sandbox and the probes.

use std::ffi::OsString;

use boxproof::multicall::{dispatch, name};

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
        (_, "probe") => boxproof_probes::main(rest(2)),
        (_, "reference") => boxproof_reference::main(&["reference"], rest(2)),
        _ => boxproof::cli::main(),
    }
}
