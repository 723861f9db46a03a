//! Residue of an arm in its directories: entries that the act made, by that name or another, and
//! entries that only the backend can have put there. Main functions: [`residue`] and
//! [`placeholder`].

use boxproof_cases::Case;
use boxproof_cases::case::{Compare, Oracle};
use boxproof_probes::ActOutcome;
use boxproof_reports::Verdict;

use super::entry::{ActEntries, holds, is_directory, is_empty, kind, parent, subtree, tree_path};
use super::exit::{self, RunEvidence};
use super::grants::{is_held, may_write};
use super::leaks;
use super::reason::{Reason, VerdictFinding};
use crate::execution::{ArmReport, OracleReading, ProcessExit, RunReport};

/// The message of EEXIST.
const EXISTS: &str = "File exists";

/// A hint for writers of cases, appended to a residue message.
const HINT: &str = " (if it is called otherwise each time, `compare` leaves `tree` out)";

/// Checks that the directories have no entry that the backend put there.
pub(super) fn residue(
    case: &Case,
    control: Option<&ArmReport>,
    confined: &ArmReport,
) -> Result<(), VerdictFinding> {
    let Some(control) = control.filter(|_| !leaks::timed_out(confined)) else { return Ok(()) };
    let arms = ComparedArms { case, control, confined };
    let leak = |message: String| Err(VerdictFinding::new(Verdict::Leak, Reason::Residue, message));
    if let Some(message) = confined.oracles.iter().find_map(|reading| arms.placeholder(reading)) {
        return leak(message);
    }
    match arms.unexplained() {
        Some(path) => {
            let compares = case.expect.compare.contains(&Compare::Tree);
            let hint = if compares && case.expect.decision.may_work() { HINT } else { "" };
            leak(format!("{path} is there, which the act does not make without a sandbox{hint}"))
        }
        None => Ok(()),
    }
}

/// Describes an observation of an oracle that is no effect of the act, but the backend's own.
pub(super) fn placeholder(
    case: &Case,
    control: &ArmReport,
    confined: &ArmReport,
    reading: &OracleReading,
) -> Option<String> {
    ComparedArms { case, control, confined }.placeholder(reading)
}

/// The two arms of a case that are compared.
struct ComparedArms<'a> {
    case: &'a Case,
    control: &'a ArmReport,
    confined: &'a ArmReport,
}

impl<'a> ComparedArms<'a> {
    /// The first path that appeared and that the act does not account for.
    fn unexplained(&self) -> Option<&'a str> {
        let extra = self.extra();
        let is_extra = |path: &str| extra.contains(&path);
        let top = |path: &'a str| {
            std::iter::successors(Some(path), |path| parent(path).filter(|up| is_extra(up)))
                .last()
                .unwrap_or(path)
        };
        let mut paths =
            extra.iter().copied().filter(|path| !self.differs_by_nature(top(path), &extra));
        paths.find(|path| !self.is_put_elsewhere(path, &extra))
    }

    /// Lists in order the paths that appeared here and did not appear without a sandbox, or not
    /// with that type.
    fn extra(&self) -> Vec<&'a str> {
        let appeared = self.confined.appeared.iter();
        let extra = appeared
            .filter(|path| !self.control.appeared.contains(path) || self.is_in_its_way(path));
        extra.map(String::as_str).collect()
    }

    /// Returns whether an empty entry of another type stands where the act makes something that is
    /// denied.
    fn is_in_its_way(&self, path: &str) -> bool {
        let [there, made] = [self.confined, self.control].map(|arm| arm.tree.get(path));
        let (Some(there), Some(made)) = (there, made) else { return false };
        is_empty(there) && kind(there) != kind(made) && is_held(self.case, path)
    }

    /// Returns whether `top` may be an entry that the act names differently each time. An entry
    /// that the case does not compare differs so; of the compared ones, a name that came in the
    /// place of another.
    fn differs_by_nature(&self, top: &str, extra: &[&str]) -> bool {
        let granted = may_write(self.case, top);
        if !self.case.expect.compare.contains(&Compare::Tree) {
            let holds = std::iter::once(top)
                .chain(below(top, extra))
                .any(|path| self.confined.tree.get(path).is_some_and(|what| !is_empty(what)));
            return granted && holds || self.namesakes(top).next().is_some();
        }
        let missing = |path: &&str| !self.confined.appeared.iter().any(|other| other == path);
        self.case.expect.decision.may_work() && granted && self.namesakes(top).any(|p| missing(&p))
    }

    /// Returns the entries of the same type that the act makes beside `path` without a sandbox.
    fn namesakes(&self, path: &str) -> impl Iterator<Item = &'a str> {
        let (beside, of) = (parent(path).map(str::to_owned), self.kind_of(self.confined, path));
        let made = self.control.appeared.iter().map(String::as_str);
        made.filter(move |other| {
            parent(other) == beside.as_deref() && self.kind_of(self.control, other) == of
        })
    }

    fn kind_of(&self, report: &'a ArmReport, path: &str) -> Option<&'a str> {
        report.tree.get(path).map(|what| kind(what))
    }

    /// Returns whether `path` is an entry that the act makes elsewhere without a sandbox, or moves
    /// or copies: it got there because an object of the backend stood in its way.
    fn is_put_elsewhere(&self, path: &str, extra: &[&str]) -> bool {
        let Some(what) = self.confined.tree.get(path).filter(|_| may_write(self.case, path)) else {
            return false;
        };
        let known = ActEntries::from_control(self.case, self.control);
        if is_directory(what) && below(path, extra).next().is_some() {
            return below(path, extra).any(|path| {
                self.confined.tree.get(path).is_some_and(|what| known.explain(path, what))
            });
        }
        known.explain(path, what) && !(is_empty(what) && is_held(self.case, path))
    }

    /// Returns whether the act itself says that it was refused, if it says anything.
    fn is_refused(&self) -> Option<bool> {
        let outcomes =
            self.confined.runs.iter().map(|run| match exit::run_evidence(self.case, run) {
                RunEvidence::Outcome(outcome) => Some(*outcome != ActOutcome::Succeeded),
                _ => None,
            });
        outcomes.reduce(|one, other| Some(one? && other?))?
    }

    /// Returns whether the act failed, and a message of its says that `path` was there already, which
    /// it is not without a sandbox.
    fn found_there(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let met = |run: &RunReport| {
            let failed = !matches!(run.exit, ProcessExit::Code(0));
            let mut lines = run.stderr.text.lines();
            failed && lines.any(|line| line.contains(EXISTS) && line.contains(name))
        };
        !self.confined.runs.is_empty() && self.confined.runs.iter().all(met)
    }

    /// Does the work of the function [`placeholder`].
    fn placeholder(&self, reading: &OracleReading) -> Option<String> {
        if reading.holds {
            return None;
        }
        let named = |oracle: &&Oracle| oracle.to_string() == reading.oracle;
        let Oracle::Absent(path) = self.case.expect.oracle.iter().find(named)? else { return None };
        let path = tree_path(path);
        let [there, made] = [self.confined, self.control].map(|arm| subtree(arm, &path));
        let what = there.first()?.1;
        if there.iter().any(|(_, what)| !is_empty(what)) {
            return None;
        }
        let fills = made.iter().any(|(_, what)| !is_empty(what));
        let is_alike = made.first().is_some_and(|(_, made)| *made == what);
        let is_backends = match self.is_refused() {
            Some(refused) => refused,
            None => fills || !is_alike || self.found_there(&path),
        };
        is_backends.then(|| {
            format!(
                "{path} is there ({}), which the act does not leave without a sandbox",
                holds(what)
            )
        })
    }
}

/// Returns those of `paths` that are below the directory `directory`.
fn below<'a>(directory: &str, paths: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    let start = format!("{directory}/");
    paths.iter().copied().filter(move |path| path.starts_with(&start))
}
