//! Built-in false backends: [`DoubleReply`]. A case that passes on one of them proves nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer of a false backend instead of running a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DoubleReply {
    /// Nothing; it exits with 0.
    SilentSuccess,
    /// Nothing; it exits with 1.
    SilentFailure,
    /// Nothing; it exits with 126, as a shell does for what it may not execute.
    SilentRefusal,
    /// The command line it was given; it exits with 0.
    Echo,
    /// The record of a probe whose act was refused, and the words of a tool that was.
    ForgerDenies,
    /// The record of a probe whose act succeeded, and the output and exit that the command line
    /// tells of.
    ForgerAllows,
    /// As [`DoubleReply::ForgerDenies`], where it knows the act and the corpus forbids it; all else it
    /// runs, and confines nothing.
    KnowsCorpus,
}

impl DoubleReply {
    /// Every double.
    pub const ALL: [Self; 7] = [
        Self::SilentSuccess,
        Self::SilentFailure,
        Self::SilentRefusal,
        Self::Echo,
        Self::ForgerDenies,
        Self::ForgerAllows,
        Self::KnowsCorpus,
    ];

    /// Its name, which its manifest has, too.
    pub fn name(self) -> &'static str {
        match self {
            Self::SilentSuccess => "silent-success",
            Self::SilentFailure => "silent-failure",
            Self::SilentRefusal => "silent-refusal",
            Self::Echo => "echo",
            Self::ForgerDenies => "forger-denies",
            Self::ForgerAllows => "forger-allows",
            Self::KnowsCorpus => "knows-corpus",
        }
    }

    /// The one called `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|double| double.name() == name)
    }

    /// Returns whether the double writes records in the probe's name.
    pub fn forges(self) -> bool {
        matches!(self, Self::ForgerDenies | Self::ForgerAllows | Self::KnowsCorpus)
    }

    /// Returns whether the double runs the acts that it gives no answer to.
    pub fn runs(self) -> bool {
        self == Self::KnowsCorpus
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_called_what_its_manifest_says() {
        for double in DoubleReply::ALL {
            assert_eq!(serde_json::to_value(double).unwrap(), double.name());
            assert_eq!(DoubleReply::named(double.name()), Some(double));
        }
    }
}
