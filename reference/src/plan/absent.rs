//! Names that must not come to be: [`Absent`]. No mount can lie on them, so what makes names has to
//! be asked.

use std::path::PathBuf;

/// Why a name must not come to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum By {
    /// A deny of the policy names it.
    Deny,
    /// `protect` covers it. A mechanism that cannot hold it claims less.
    Protect,
}

/// A name that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Absent {
    /// Its path: real as far as it exists, then without `.` and `..`.
    pub(crate) path: PathBuf,
    /// Whether its volume takes names that differ in case for one.
    pub(crate) folds: bool,
    /// Why it must not come to be.
    pub(crate) by: By,
}
