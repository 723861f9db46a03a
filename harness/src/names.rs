//! Names of a run's directories, and the nonces of its arms: names of the harness's own, or such as
//! ordinary work has. The run's identifier decides between them. Main type: [`ArmNames`].

use sha2::{Digest, Sha256};

/// The start of the identifier of a run that uses names of the harness's own.
pub const OPEN: &str = "bx";

/// Words for ordinary names, by what they stand for.
const RUNS: [&str; 8] = ["web", "api", "docs", "shop", "mail", "blog", "data", "chat"];
const WORKERS: [&str; 8] = ["job", "build", "task", "node", "batch", "slot", "run", "unit"];
const ROOTS: [&str; 8] = ["work", "checkout", "current", "stage", "local", "main", "live", "dev"];
const WORKSPACES: [&str; 8] = ["app", "site", "service", "project", "src", "repo", "code", "tool"];
/// A case may say this one itself, where no variable can stand.
const OUTSIDE: &str = "out";
const HOMES: [&str; 8] = ["alex", "sam", "kim", "robin", "chris", "jo", "max", "lee"];
const TEMPORARIES: [&str; 4] = ["tmp", "temp", "scratch", "t"];
const STATES: [&str; 4] = ["state", "var", "meta", "ctl"];

/// The names of an arm's directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArmNames {
    /// True if no name tells a test from ordinary work.
    pub ordinary: bool,
    /// The start of the worker directory's name; its number follows.
    pub worker: &'static str,
    /// The arm's own directory.
    pub root: &'static str,
    /// The workspace.
    pub workspace: &'static str,
    /// The directory outside every grant.
    pub outside: &'static str,
    /// The home.
    pub home: &'static str,
    /// The host's temp directory.
    pub temporary: &'static str,
    /// The backend's own state.
    pub state: &'static str,
}

impl ArmNames {
    /// Returns the names of the run `run_id`.
    pub fn for_run(run_id: &str) -> Self {
        if run_id.starts_with(OPEN) {
            return Self {
                ordinary: false,
                worker: "w",
                root: "arm",
                workspace: "ws",
                outside: OUTSIDE,
                home: "home",
                temporary: "tmp",
                state: "state",
            };
        }
        let hash = Sha256::digest(run_id);
        let pick = |at: usize, words: &[&'static str]| words[usize::from(hash[at]) % words.len()];
        Self {
            ordinary: true,
            worker: pick(0, &WORKERS),
            root: pick(1, &ROOTS),
            workspace: pick(2, &WORKSPACES),
            outside: OUTSIDE,
            home: pick(3, &HOMES),
            temporary: pick(4, &TEMPORARIES),
            state: pick(5, &STATES),
        }
    }

    /// The directories a command could write to, with the variable each is known by.
    pub fn directories(self) -> [(&'static str, &'static str); 4] {
        [
            (self.workspace, "WS"),
            (self.outside, "OUT"),
            (self.home, "HOME"),
            (self.temporary, "TMPDIR"),
        ]
    }
}

/// The identifier of a run with names of the harness's own; `digits` are random.
pub(crate) fn open_run(digits: &str) -> String {
    format!("{OPEN}{digits}")
}

/// The identifier of a run with ordinary names.
pub(crate) fn ordinary_run(digits: &str) -> String {
    let hash = Sha256::digest(digits);
    format!("{}-{digits}", RUNS[usize::from(hash[0]) % RUNS.len()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn ordinary_names_are_apart_and_none_is_the_harness_own() {
        for number in 0..2000 {
            let run_id = ordinary_run(&format!("{number:08x}"));
            assert!(!run_id.contains(OPEN), "{run_id}");
            let names = ArmNames::for_run(&run_id);
            assert!(names.ordinary);
            let beside = names.directories().map(|(name, _)| name).into_iter().chain([names.state]);
            assert_eq!(beside.collect::<BTreeSet<_>>().len(), 5, "{names:?}");
        }
        assert!(!ArmNames::for_run(&open_run("00000000")).ordinary);
    }

    #[test]
    fn runs_have_names_that_differ() {
        let runs =
            (0..100).map(|number| format!("{:?}", ArmNames::for_run(&format!("web-{number}"))));
        assert!(runs.collect::<BTreeSet<_>>().len() > 90);
    }
}
