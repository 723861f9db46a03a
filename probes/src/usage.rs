//! The program's messages to its caller: [`UsageError`], `--help` and `--list`.

use thiserror::Error;

use crate::catalog::{ArgSpec, ProbeSpec, catalog};
use crate::kind::ValueKind;

/// A call that is wrong, so that nothing was tried.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UsageError {
    /// No such probe.
    #[error("unknown probe `{0}`; see --list")]
    UnknownProbe(String),
    /// The probe does not exist on this operating system.
    #[error("probe `{0}` does not exist on this operating system")]
    Elsewhere(String),
    /// The probe has no such argument.
    #[error("probe `{probe}` has no --{arg}; see --list")]
    UnknownArg {
        /// The probe.
        probe: String,
        /// The argument, without dashes.
        arg: String,
    },
    /// A required argument is absent.
    #[error("--{0} is missing")]
    Missing(String),
    /// An argument's value is not of its kind.
    #[error("--{arg}: {what}")]
    Bad {
        /// The argument, without dashes.
        arg: String,
        /// The problem with the argument.
        what: String,
    },
    /// A word where an option was expected.
    #[error("unexpected `{0}`; see --help")]
    Unexpected(String),
    /// The arguments are well formed but ask for what can't be tried.
    #[error("{0}")]
    Act(String),
}

impl UsageError {
    pub(crate) fn missing(arg: &str) -> Self {
        Self::Missing(arg.to_owned())
    }

    pub(crate) fn unknown(probe: &str, arg: &str) -> Self {
        Self::UnknownArg { probe: probe.to_owned(), arg: arg.to_owned() }
    }

    pub(crate) fn bad(arg: &str, what: impl Into<String>) -> Self {
        Self::Bad { arg: arg.to_owned(), what: what.into() }
    }
}

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

impl ArgSpec {
    /// The argument as usage shows it: `--path=PATH`, `[--ready]`, `(--flags=a|b)...`.
    #[must_use]
    pub fn synopsis(&self) -> String {
        let value = match self.kind {
            ValueKind::Switch => String::new(),
            kind => format!("={}", kind.expects()),
        };
        let (open, close) = match (self.required, self.many) {
            (true, false) => ("", ""),
            (true, true) => ("(", ")..."),
            (false, false) => ("[", "]"),
            (false, true) => ("[", "]..."),
        };
        format!("{open}--{}{value}{close}", self.name)
    }
}
