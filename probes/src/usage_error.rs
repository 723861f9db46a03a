//! The reason why a call is wrong: [`UsageError`].

use thiserror::Error;

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
