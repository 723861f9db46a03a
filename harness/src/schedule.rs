//! The order of work: which arms there are to execute, once each, and in which pool. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use boxproof_cases::Case;
use boxproof_cases::case::{Control, Exclusive, Twin};

use crate::backend::{Backend, BackendKind, StopMethod};
use crate::case_pair::CasePair;
use crate::execution::ArmKind;

/// The time that a job may take besides its time limits: for the layout, the sweep and a busy host.
pub const MARGIN: Duration = Duration::from_secs(45);
/// The deadline of a step of a channel that has no time limit of its own, in milliseconds.
const EXCHANGE_MS: u64 = 10_000;
/// A week, in milliseconds: time limits may add up to more than a clock can show.
const FOREVER_MS: u64 = 7 * 24 * 3_600_000;

/// Everything there is to execute.
#[derive(Debug)]
pub struct JobSchedule {
    /// The cases, as planned.
    pub cases: Vec<Arc<Case>>,
    /// The backends.
    pub backends: Vec<Backend>,
    /// Every arm to execute.
    pub jobs: Vec<ArmJob>,
    /// True if each arm is executed several times, to prove what it leaves on the host.
    pub confirms_strays: bool,
}

/// State of the host that jobs share, so that they are never executed at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SharedState {
    /// The state that the case names.
    Named(Exclusive),
    /// The places outside of an arm at which the backend of this index has files written.
    PlacedFiles(usize),
}

/// One arm to execute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArmJob {
    /// Index of the case.
    pub case: usize,
    /// Index of the backend; any for a control.
    pub backend: usize,
    /// The arm.
    pub arm: ArmKind,
    /// True if it mostly waits.
    pub waits: bool,
    /// The approximate time that it waits, in milliseconds: longest first.
    pub weight: u64,
    /// Host state it shares.
    pub exclusive: Vec<SharedState>,
    /// The (case, backend) pairs that this arm is for.
    pub serves: Vec<CasePair>,
}

impl JobSchedule {
    /// The arms of every (case, backend) pair to run. A control is executed once for all backends,
    /// unless chance or time play a part in it.
    pub fn new(cases: Vec<Arc<Case>>, backends: Vec<Backend>, pairs: &[CasePair]) -> Self {
        let mut jobs: Vec<ArmJob> = Vec::new();
        let mut controls: HashMap<usize, usize> = HashMap::new();
        for &pair in pairs {
            let CasePair { case, backend } = pair;
            let it = &cases[case];
            if !matches!(it.control, Control::None(_)) {
                match controls
                    .get(&case)
                    .filter(|_| repeatable(it) || backends[backend].double().is_some())
                {
                    Some(at) => jobs[*at].serves.push(pair),
                    None => {
                        controls.insert(case, jobs.len());
                        jobs.push(ArmJob::for_one(pair, ArmKind::Control, it));
                    }
                }
            }
            if matches!(it.twin, Some(Twin::Overlay(_))) {
                jobs.push(ArmJob::for_one(pair, ArmKind::Twin, it));
            }
            jobs.push(ArmJob::for_one(pair, ArmKind::Confined, it));
        }
        for job in jobs.iter_mut().filter(|job| job.arm != ArmKind::Control) {
            let places = backends[job.backend].places_files_outside();
            job.exclusive.extend(places.then_some(SharedState::PlacedFiles(job.backend)));
        }
        Self { cases, backends, jobs, confirms_strays: false }
    }

    /// Returns the order for one CPU slot, executed to prove what its arms leave on the host.
    pub fn confirming_strays(self) -> Self {
        Self { confirms_strays: true, ..self.alone() }
    }

    /// Splits the order into parts that are executed one after the other, so that no backend is at
    /// work beside an arm that another one is judged by: the controls, then each backend's own
    /// arms. One part where there is one backend.
    pub fn parts(self) -> Vec<Self> {
        if self.suspected().len() < 2 {
            return vec![self];
        }
        let whose = |job: &ArmJob| (job.arm != ArmKind::Control).then_some(job.backend);
        let mut parts: BTreeMap<Option<usize>, Vec<ArmJob>> = BTreeMap::new();
        for job in self.jobs {
            parts.entry(whose(&job)).or_default().push(job);
        }
        let (cases, backends, confirms_strays) = (self.cases, self.backends, self.confirms_strays);
        let part = |jobs| {
            let (cases, backends) = (cases.clone(), backends.clone());
            Self { cases, backends, jobs, confirms_strays }
        };
        parts.into_values().map(part).collect()
    }

    /// The backends that are at work in it.
    fn suspected(&self) -> BTreeSet<usize> {
        let jobs = self.jobs.iter().filter(|job| job.arm != ArmKind::Control);
        jobs.map(|job| job.backend).collect()
    }

    /// Names the backends that may have done an act in this part that no arm is to do, as the end
    /// of a sentence.
    pub(crate) fn suspects(&self) -> String {
        let names = self.suspected().into_iter().map(|at| format!("`{}`", self.backends[at].name));
        let names: Vec<String> = names.collect();
        match names.is_empty() {
            true => " by an act without a sandbox".to_owned(),
            false => format!(" while an arm of {} was executed", names.join(", ")),
        }
    }

    /// Returns the time that job `number` can take: every time limit of its case and its backend
    /// together, and [`MARGIN`]. A worker that holds it for longer holds it for ever.
    pub fn patience(&self, number: usize) -> Duration {
        let job = &self.jobs[number];
        let (case, backend) = (&self.cases[job.case], &self.backends[job.backend]);
        let (steps, grace_ms) = match (&backend.kind, job.arm) {
            (_, ArmKind::Control) | (BackendKind::Bare | BackendKind::Refuse, _) => (0, 0),
            (BackendKind::Argv(manifest), _) => {
                let steps = manifest.set_up.len() + manifest.tear_down.len();
                (steps as u64, manifest.stop.grace_ms)
            }
            (_, _) => (0, StopMethod::default().grace_ms),
        };
        let rounds = case.steps.len() as u64 + u64::from(case.repeat);
        let commands = rounds.saturating_mul(1 + steps.saturating_mul(case.parallel.into())) + 1;
        let exchanges = case.channel().map_or(0, |channel| channel.steps.len() as u64);
        let limits_ms = case
            .timeout_ms
            .saturating_mul(commands)
            .saturating_add(grace_ms.saturating_mul(rounds))
            .saturating_add(EXCHANGE_MS.saturating_mul(exchanges));
        // Leftovers of an arm on the host are proved by executing it twice.
        let executions = if self.confirms_strays { 2 } else { 1 };
        let limits_ms = limits_ms.saturating_mul(executions);
        Duration::from_millis(limits_ms.min(FOREVER_MS)) + MARGIN
    }

    /// Returns the order without an arm beside another one where there is one CPU slot: waiting
    /// needs a slot, too.
    pub fn alone(mut self) -> Self {
        for job in &mut self.jobs {
            job.waits = false;
        }
        self
    }
}

/// Returns whether one control may stand for all backends: not where chance or time play a part.
fn repeatable(case: &Case) -> bool {
    case.repeat == 1 && case.parallel == 1 && case.during.is_empty()
}

impl ArmJob {
    fn for_one(pair: CasePair, arm: ArmKind, it: &Case) -> Self {
        Self {
            case: pair.case,
            backend: pair.backend,
            arm,
            waits: it.waits(),
            weight: it.wait_ms(),
            exclusive: it.exclusive.iter().copied().map(SharedState::Named).collect(),
            serves: vec![pair],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{bare, case};
    use rstest::rstest;

    const ACT: &str = "act: {sh: 'true'}\n";
    const DENIED: &str = "fixture: {f: x}\nact: {sh: 'true'}\n\
        expect: {denied: {errno: [EROFS]}, oracle: [{unchanged: f}]}\n";

    fn pair(case: usize, backend: usize) -> CasePair {
        CasePair { case, backend }
    }

    fn order(text: &str, pairs: &[(usize, usize)]) -> JobSchedule {
        let cases = vec![Arc::new(case(text)), Arc::new(case(text))];
        let pairs: Vec<CasePair> =
            pairs.iter().map(|(case, backend)| pair(*case, *backend)).collect();
        JobSchedule::new(cases, vec![bare("one"), bare("two")], &pairs)
    }

    fn arms(order: &JobSchedule) -> Vec<(ArmKind, usize, usize)> {
        order.jobs.iter().map(|job| (job.arm, job.case, job.backend)).collect()
    }

    #[rstest]
    #[case::allowed(ACT, "expect: {allowed: {}}", &[ArmKind::Control, ArmKind::Confined])]
    #[case::private_ns(ACT, "expect: {allowed: {}}\ncontrol: private_ns", &[ArmKind::Control, ArmKind::Confined])]
    #[case::no_control(ACT, "expect: {allowed: {}}\ncontrol: {none: why}", &[ArmKind::Confined])]
    #[case::twin(DENIED, "twin: {mode: workspace_write}", &[ArmKind::Control, ArmKind::Twin, ArmKind::Confined])]
    #[case::no_twin(DENIED, "twin: {none: why}", &[ArmKind::Control, ArmKind::Confined])]
    #[case::only_confined(DENIED, "twin: {none: why}\ncontrol: {none: why}", &[ArmKind::Confined])]
    fn a_case_has_the_arms_it_asks_for(
        #[case] case: &str,
        #[case] more: &str,
        #[case] kinds: &[ArmKind],
    ) {
        let order = order(&format!("{case}{more}\n"), &[(0, 0)]);
        assert_eq!(order.jobs.iter().map(|job| job.arm).collect::<Vec<_>>(), kinds);
        assert!(order.jobs.iter().all(|job| job.serves == [pair(0, 0)]));
    }

    #[test]
    fn backends_share_the_control_and_nothing_else() {
        let text = format!("{DENIED}twin: {{mode: workspace_write}}\n");
        let order = order(&text, &[(0, 0), (1, 0), (0, 1)]);
        use ArmKind::{Confined, Control, Twin};
        let wanted = [
            (Control, 0, 0),
            (Twin, 0, 0),
            (Confined, 0, 0),
            (Control, 1, 0),
            (Twin, 1, 0),
            (Confined, 1, 0),
            (Twin, 0, 1),
            (Confined, 0, 1),
        ];
        assert_eq!(arms(&order), wanted);
        let serves: Vec<_> = order.jobs.iter().map(|job| job.serves.as_slice()).collect();
        assert_eq!(serves[0], [pair(0, 0), pair(0, 1)]);
        assert_eq!(serves[3], [pair(1, 0)]);
        for (job, serves) in order.jobs.iter().zip(&serves).filter(|(job, _)| job.arm != Control) {
            assert_eq!(*serves, [pair(job.case, job.backend)]);
        }
    }

    #[test]
    fn no_backend_is_at_work_beside_what_another_one_is_judged_by() {
        let text = format!("{DENIED}twin: {{mode: workspace_write}}\n");
        use ArmKind::{Confined, Control, Twin};
        let parts: Vec<_> = order(&text, &[(0, 0), (0, 1)]).parts();
        let wanted = [
            vec![(Control, 0, 0)],
            vec![(Twin, 0, 0), (Confined, 0, 0)],
            vec![(Twin, 0, 1), (Confined, 0, 1)],
        ];
        assert_eq!(parts.iter().map(arms).collect::<Vec<_>>(), wanted);
        let whole = order(&text, &[(0, 1), (1, 1)]).parts();
        assert_eq!(whole.iter().map(|part| part.jobs.len()).collect::<Vec<_>>(), [6]);
        assert!(whole[0].suspects().contains("`two`") && parts[1].suspects().contains("`one`"));
        assert!(!parts[0].suspects().contains('`'));
    }

    #[rstest]
    #[case("repeat: 2")]
    #[case("parallel: 2")]
    #[case("during: [{when: ready, signal: TERM}]")]
    fn where_chance_or_time_plays_a_part_each_backend_has_its_own_control(#[case] line: &str) {
        let order = order(&format!("{ACT}expect: {{allowed: {{}}}}\n{line}\n"), &[(0, 0), (0, 1)]);
        use ArmKind::{Confined, Control};
        let wanted = [(Control, 0, 0), (Confined, 0, 0), (Control, 0, 1), (Confined, 0, 1)];
        assert_eq!(arms(&order), wanted);
        assert!(order.jobs.iter().all(|job| job.serves == [pair(job.case, job.backend)]));
    }

    #[test]
    fn alone_nothing_waits_beside_another() {
        let line = "during: [{when: ready, signal: TERM}]";
        let order = order(&format!("{ACT}expect: {{allowed: {{}}}}\n{line}\n"), &[(0, 0)]);
        assert!(order.jobs.iter().all(|job| job.waits));
        assert!(order.alone().jobs.iter().all(|job| !job.waits));
    }

    #[rstest]
    #[case::once("timeout_ms: 1000", 3_000)]
    #[case::repeated("timeout_ms: 1000\nrepeat: 4", 6_000)]
    #[case::for_weeks("timeout_ms: 3600000\nrepeat: 1000", FOREVER_MS)]
    fn a_job_has_all_its_time_limits_together(#[case] lines: &str, #[case] limits_ms: u64) {
        let order = order(&format!("{ACT}expect: {{allowed: {{}}}}\n{lines}\n"), &[(0, 0)]);
        assert_eq!(order.patience(0), MARGIN + Duration::from_millis(limits_ms));
        assert!(order.patience(1) >= order.patience(0));
    }

    #[test]
    fn only_what_is_to_run_is_ordered() {
        assert_eq!(order(&format!("{ACT}expect: {{allowed: {{}}}}\n"), &[]).jobs, []);
        let order = order(&format!("{ACT}expect: {{allowed: {{}}}}\n"), &[(1, 1)]);
        assert_eq!(arms(&order), [(ArmKind::Control, 1, 1), (ArmKind::Confined, 1, 1)]);
    }

    #[test]
    fn every_arm_keeps_what_the_case_shares_and_how_long_it_takes() {
        let text = format!(
            "{DENIED}twin: {{mode: workspace_write}}\nexclusive: [tmp, mounts]\nwaits_ms: 7\n\
             during: [{{when: ready, signal: TERM}}]\n"
        );
        let order = order(&text, &[(0, 0)]);
        assert_eq!(order.jobs.len(), 3);
        for job in &order.jobs {
            assert_eq!(job.exclusive, [Exclusive::Tmp, Exclusive::Mounts].map(SharedState::Named));
            assert_eq!((job.weight, job.waits), (7, true));
        }
        let plain = self::order(&format!("{ACT}expect: {{allowed: {{}}}}\n"), &[(0, 0)]);
        assert!(plain.jobs.iter().all(|job| job.exclusive.is_empty() && !job.waits));
    }
}
