//! The program's messages to its caller: `--help` and `--list`.

use crate::arg_spec::ArgSpec;
use crate::catalog::{ProbeSpec, catalog};

/// `--help`.
pub(crate) const HELP: &str = "\
Tries one thing and says what it saw. Never judges.

Usage: boxprobe --nonce NONCE [--record stdout|stderr] [--limit SECONDS] PROBE [--ARG=VALUE ...]
       boxprobe --list
       boxprobe --help

  --nonce NONCE    marks this run's record; letters, digits and . _ - (required)
  --record STREAM  where the record goes: stdout (default) or stderr
  --limit SECONDS  how long the probe may live: 1 to 60 (default 60)
  --list           one line a probe: name, family, arguments, purpose

An argument is `--name=value` or `--name value`; lists repeat the name.

Examples:
  boxprobe --nonce n1 write --path .git/config --text evil
  boxprobe --nonce n1 tcp-connect --addr 127.0.0.1:8080 --send n1
  boxprobe --nonce n1 open --path log --flags write --flags append
  boxprobe --nonce n1 --record stderr echo-stdin

Exit: 0 succeeded, 1 refused, 128+n killed by signal n, 64 usage,
70 nothing could be observed, 75 out of time. Only 0, 1 and 128+n come with a record.
";

/// `--list`.
pub(crate) fn list() -> String {
    catalog().iter().map(line).collect()
}

fn line(spec: &ProbeSpec) -> String {
    format!("{}\t{}\t{}\t{}\n", spec.name, spec.family.name(), synopsis(spec.args), spec.purpose)
}

/// All arguments; `-` for none.
fn synopsis(args: &[ArgSpec]) -> String {
    if args.is_empty() {
        return "-".to_owned();
    }
    args.iter().map(ArgSpec::synopsis).collect::<Vec<_>>().join(" ")
}
