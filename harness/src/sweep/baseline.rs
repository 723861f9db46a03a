//! The baseline after a fixture was laid out and before the act: mounts, and the processes and
//! sockets that the case's own `prepare` line left. None of it is the backend's. Main type:
//! [`Baseline`].

use nix::unistd::{Pid, getpid};

use super::sockets::bound;
use super::table::{self, Origin};
use crate::sys;

/// The state before the act.
#[derive(Debug, Default)]
pub(crate) struct Baseline {
    /// The mount table.
    pub(crate) mounts: String,
    /// Processes that `prepare` left, the harness's own apart.
    helpers: Vec<(Pid, Origin)>,
    /// The names of the Unix sockets that were there after `prepare`.
    pub(crate) sockets: Vec<String>,
}

impl Baseline {
    /// Looks at the mount table alone, for a case that prepares nothing.
    pub(crate) fn without_helpers() -> Self {
        Self { mounts: table::mounts(), ..Self::default() }
    }

    /// Looks after a `prepare` line; `ours` are the harness's own processes.
    pub(crate) fn with_helpers(ours: &[i32]) -> Self {
        let children = sys::children_of(getpid());
        let helpers = children.into_iter().filter(|pid| !ours.contains(&pid.as_raw()));
        let helpers = helpers.filter_map(|pid| Some((pid, table::origin(pid)?))).collect();
        Self { mounts: table::mounts(), helpers, sockets: bound() }
    }

    /// Returns whether `prepare` left processes.
    pub(crate) fn has_helpers(&self) -> bool {
        !self.helpers.is_empty()
    }

    /// Returns whether `pid` is a process that `prepare` left, or descends from one.
    pub(crate) fn is_helper(&self, pid: Pid) -> bool {
        let mut at = pid;
        while !self.helpers.is_empty() && at.as_raw() > 1 && at != getpid() {
            let Some(origin) = table::origin(at) else { return false };
            let is_same =
                |(helper, then): &(Pid, Origin)| *helper == at && then.started == origin.started;
            if self.helpers.iter().any(is_same) {
                return true;
            }
            at = origin.parent;
        }
        false
    }
}
