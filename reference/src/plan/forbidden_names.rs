//! Names that must not be created: [`AbsentName`] and [`FuturePattern`]. No mount can lie on them, so the calls
//! that create names must be mediated. Nor can one lie on a link, so the calls that remove names
//! must be, too.

use std::path::PathBuf;
use std::sync::Arc;

use crate::policy::path_glob::PathGlob;
use crate::policy::path_rules::PathRules;

/// The reason why a name must not be created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AbsenceReason {
    /// A deny of reading names it.
    Hide,
    /// A deny of writing names it.
    Deny,
    /// A link to a protected object, which must not be replaced.
    Link,
    /// `protect` covers it. A mechanism that cannot hold it claims less.
    Protect,
}

/// A name that does not exist, or is a link.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AbsentName {
    /// Its path: real as far as it exists, then without `.` and `..`.
    pub(crate) path: PathBuf,
    /// Its volume ignores case.
    pub(crate) folds: bool,
    /// The reason why it must not be created.
    pub(crate) by: AbsenceReason,
}

/// A pattern that names created later must not match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FuturePattern {
    /// The pattern; its beginning is a real path as far as it exists.
    pub(crate) glob: PathGlob,
    /// Its volume ignores case.
    pub(crate) folds: bool,
    /// Matches are denied for reading, too.
    pub(crate) hides: bool,
}

/// A profile over its workspace: names that it does not allow must not be created there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProfileBound {
    /// The workspace (real path).
    pub(crate) root: PathBuf,
    /// The profile.
    pub(crate) law: Arc<PathRules>,
}

/// The calls that are only looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ObservedCalls {
    /// None.
    #[default]
    Nothing,
    /// Those that ordinary work makes seldom.
    Seldom,
    /// All that change something by a path.
    All,
}

/// All names that must not be created.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ForbiddenNames {
    /// Single names.
    pub(crate) names: Vec<AbsentName>,
    /// Places below a held name at which names may be created all the same.
    pub(crate) free: Vec<PathBuf>,
    /// Patterns.
    pub(crate) globs: Vec<FuturePattern>,
    /// A profile.
    pub(crate) profile: Option<ProfileBound>,
    /// Sockets of the host that may be reached, where others are kept from the command by what they
    /// are.
    pub(crate) sockets: Option<Vec<PathBuf>>,
    /// The calls that are looked at where anything is held, as the kernel itself may refuse them.
    pub(crate) observed: ObservedCalls,
}

impl ForbiddenNames {
    /// Returns whether names are held.
    pub(crate) fn holds_names(&self) -> bool {
        !self.names.is_empty() || !self.globs.is_empty() || self.profile.is_some()
    }

    /// Returns whether an existing object must not be removed.
    pub(crate) fn keeps(&self) -> bool {
        self.names.iter().any(|name| name.by == AbsenceReason::Link)
    }

    /// Returns whether nothing has to be held.
    pub(crate) fn is_empty(&self) -> bool {
        !self.holds_names() && self.sockets.is_none()
    }
}
