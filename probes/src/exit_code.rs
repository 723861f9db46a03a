//! Exit codes of the program, apart from those that a probe is asked to use.

/// The act succeeded.
pub const SUCCEEDED: i32 = 0;
/// A call of the act was refused.
pub const REFUSED: i32 = 1;
/// The call was wrong; nothing was tried and there is no record.
pub const USAGE: i32 = 64;
/// Nothing could be observed; there is no record.
pub const FAULT: i32 = 70;
/// The time limit ran out; there is no record.
pub const TIMED_OUT: i32 = 75;
/// Added to the number of the signal that killed the child.
pub const SIGNAL_BASE: i32 = 128;
