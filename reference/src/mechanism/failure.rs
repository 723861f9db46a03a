//! The failures that only a mechanism can explain.

use crate::error::Refusal;

/// A failure that the mechanism has to explain.
pub(crate) enum MechanismFailure<'a> {
    /// The message of its program, if any, and its exit status.
    Ended(Option<&'a str>, &'a str),
    /// A place of its own, and the errno there.
    At(u32, i32),
}

impl MechanismFailure<'_> {
    /// Returns the refusal of a run by a mechanism that has nothing to add.
    pub(super) fn refusal(&self) -> Refusal {
        match self {
            Self::At(..) => Refusal::setup("the command could not be set up"),
            Self::Ended(said, ended) => Refusal::setup(format!(
                "the sandbox ended before it was set up ({})",
                said.unwrap_or(ended).trim()
            )),
        }
    }
}
