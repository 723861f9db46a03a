//! The failures that only a mechanism can explain.

/// A failure that the mechanism has to explain.
pub(crate) enum MechanismFailure<'a> {
    /// The message of its program, if any, and its exit status.
    Ended(Option<&'a str>, &'a str),
    /// A place of its own, and the errno there.
    At(u32, i32),
}
