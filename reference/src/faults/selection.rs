//! The selection of faults: `--fault=NAME` before the verb, or the variable `REFBOX_FAULT`.

use std::ffi::OsString;

use super::registry;
use crate::stdout;

/// The variable that selects faults.
const VARIABLE: &str = "REFBOX_FAULT";
/// The word that selects faults, before the verb; a helper program hands it on.
const WORD: &str = "--fault=";
/// The verb that prints the registry, a JSON object a line.
const VERB: &str = "faults";

/// Selects the faults that are asked for, and runs the verb behind them.
pub(crate) fn main(
    prefix: &[&str],
    args: Vec<OsString>,
    run_verb: impl FnOnce(&[&str], Vec<OsString>) -> i32,
) -> i32 {
    let first = args.first().and_then(|first| first.to_str()).unwrap_or_default();
    if first == VERB {
        return print();
    }
    let (names, args) = match first.strip_prefix(WORD) {
        Some(names) => (Some(names.to_owned()), args[1..].to_vec()),
        None => (std::env::var(VARIABLE).ok(), args),
    };
    let Some(names) = names else { return run_verb(prefix, args) };
    crate::fault::select(&names);
    #[cfg(all(target_os = "linux", feature = "receipts"))]
    boxproof_receipts::select_faults(&names);
    let word = format!("{WORD}{names}");
    let prefix: Vec<&str> = prefix.iter().copied().chain([word.as_str()]).collect();
    run_verb(&prefix, args)
}

fn print() -> i32 {
    let lines = registry().and_then(|faults| {
        let lines = faults.iter().map(serde_json::to_string);
        lines.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())
    });
    match lines {
        Ok(lines) => {
            stdout::line(format_args!("{}", lines.join("\n")));
            0
        }
        Err(error) => {
            eprintln!("refbox: {error}");
            1
        }
    }
}
