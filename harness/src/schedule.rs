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
    /// How long it may take, in milliseconds: longest first.
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
                match controls.get(&case).filter(|_| repeatable(it)) {
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
}

/// Whether one control may stand for all backends: not where chance or time play a part.
fn repeatable(case: &Case) -> bool {
    case.repeat == 1 && case.parallel == 1 && case.during.is_empty()
}

impl Job {
    fn new(case: usize, backend: usize, arm: ArmKind, it: &Case) -> Self {
        Self {
            case,
            backend,
            arm,
            waits: it.waits(),
            weight: it.timeout_ms,
            exclusive: it.exclusive.clone(),
            serves: Vec::new(),
        }
    }

    fn for_one(case: usize, backend: usize, arm: ArmKind, it: &Case) -> Self {
        Self { serves: vec![(case, backend)], ..Self::new(case, backend, arm, it) }
    }
}
