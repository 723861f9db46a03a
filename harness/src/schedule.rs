//! The order of work: which arms there are to execute, once each, and in which pool. Pure.

use std::collections::HashMap;
use std::sync::Arc;

use boxproof_cases::Case;
use boxproof_cases::case::{Control, Exclusive, Twin};

use crate::backend::Backend;
use crate::execution::ArmKind;

/// Everything there is to execute.
#[derive(Debug)]
pub struct Order {
    /// The cases, as planned.
    pub cases: Vec<Arc<Case>>,
    /// The backends.
    pub backends: Vec<Backend>,
    /// Every arm to execute.
    pub jobs: Vec<Job>,
}

/// One arm to execute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Index of the case.
    pub case: usize,
    /// Index of the backend; any for a control.
    pub backend: usize,
    /// Which arm.
    pub arm: ArmKind,
    /// Whether it mostly waits.
    pub waits: bool,
    /// About how long it waits, in milliseconds: longest first.
    pub weight: u64,
    /// Host state it shares.
    pub exclusive: Vec<Exclusive>,
    /// The (case, backend) pairs that this arm is for.
    pub serves: Vec<(usize, usize)>,
}

impl Order {
    /// The arms of every (case, backend) pair to run. A control is executed once for all backends,
    /// unless chance or time play a part in it.
    pub fn new(cases: Vec<Arc<Case>>, backends: Vec<Backend>, pairs: &[(usize, usize)]) -> Self {
        let mut jobs: Vec<Job> = Vec::new();
        let mut controls: HashMap<usize, usize> = HashMap::new();
        for &(case, backend) in pairs {
            let it = &cases[case];
            if !matches!(it.control, Control::None(_)) {
                match controls
                    .get(&case)
                    .filter(|_| repeatable(it) || backends[backend].double().is_some())
                {
                    Some(at) => jobs[*at].serves.push((case, backend)),
                    None => {
                        controls.insert(case, jobs.len());
                        jobs.push(Job::for_one(case, backend, ArmKind::Control, it));
                    }
                }
            }
            if matches!(it.twin, Some(Twin::Overlay(_))) {
                jobs.push(Job::for_one(case, backend, ArmKind::Twin, it));
            }
            jobs.push(Job::for_one(case, backend, ArmKind::Confined, it));
        }
        Self { cases, backends, jobs }
    }

    /// The same, but no arm is executed beside another one where there is one CPU slot: waiting
    /// needs a slot, too.
    pub fn alone(mut self) -> Self {
        for job in &mut self.jobs {
            job.waits = false;
        }
        self
    }
}

/// Whether one control may stand for all backends: not where chance or time play a part.
fn repeatable(case: &Case) -> bool {
    case.repeat == 1 && case.parallel == 1 && case.during.is_empty()
}

impl Job {
    fn for_one(case: usize, backend: usize, arm: ArmKind, it: &Case) -> Self {
        Self {
            case,
            backend,
            arm,
            waits: it.waits(),
            weight: it.wait_ms(),
            exclusive: it.exclusive.clone(),
            serves: vec![(case, backend)],
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

    fn order(text: &str, pairs: &[(usize, usize)]) -> Order {
        let cases = vec![Arc::new(case(text)), Arc::new(case(text))];
        Order::new(cases, vec![bare("one"), bare("two")], pairs)
    }

    fn arms(order: &Order) -> Vec<(ArmKind, usize, usize)> {
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
        assert!(order.jobs.iter().all(|job| job.serves == [(0, 0)]));
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
        assert_eq!(serves[0], [(0, 0), (0, 1)]);
        assert_eq!(serves[3], [(1, 0)]);
        for (job, serves) in order.jobs.iter().zip(&serves).filter(|(job, _)| job.arm != Control) {
            assert_eq!(*serves, [(job.case, job.backend)]);
        }
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
        assert!(order.jobs.iter().all(|job| job.serves == [(job.case, job.backend)]));
    }

    #[test]
    fn alone_nothing_waits_beside_another() {
        let line = "during: [{when: ready, signal: TERM}]";
        let order = order(&format!("{ACT}expect: {{allowed: {{}}}}\n{line}\n"), &[(0, 0)]);
        assert!(order.jobs.iter().all(|job| job.waits));
        assert!(order.alone().jobs.iter().all(|job| !job.waits));
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
            assert_eq!(job.exclusive, [Exclusive::Tmp, Exclusive::Mounts]);
            assert_eq!((job.weight, job.waits), (7, true));
        }
        let plain = self::order(&format!("{ACT}expect: {{allowed: {{}}}}\n"), &[(0, 0)]);
        assert!(plain.jobs.iter().all(|job| job.exclusive.is_empty() && !job.waits));
    }
}
