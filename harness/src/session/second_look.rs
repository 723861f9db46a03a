//! The second look at a sample of the cases: by ordinary programs, below ordinary names, and from a
//! process with an ordinary title. A result that differs from the first look becomes the verdict.
//! Main function: [`look_again`].

use std::collections::HashMap;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use boxproof_cases::Case;
use boxproof_reports::{BlindLook, BlindShown, Verdict};

use super::watch::CutReason;
use super::{
    JudgedPairs, OrderRunner, SeenExecutions, SessionRequest, abreast, default_jobs, merge,
    take_whole,
};
use crate::blind::{self, SampleShare};
use crate::case_pair::CasePair;
use crate::execution::{CaseExecution, GatheredArms};
use crate::judge::{LookedAgain, look_again as judge_again, set_beside};
use crate::pool::{PoolEnd, PoolProgress};
use crate::probe::InstalledProbe;
use crate::schedule::JobSchedule;
use crate::scratch::{self, ScratchDirectory};
use crate::sys::{self, ProcessTitle};
use crate::tries::BlindLooks;

/// The program whose path backends get in place of the probe's.
const ORDINARY_PROGRAM: &str = "/bin/sh";

/// What ordinary programs showed of each pair, and the observations that it rests on.
type BlindExecutions = HashMap<CasePair, (LookedAgain, CaseExecution)>;

/// Looks again at a `share` of what was judged, and puts what differs into `judged`.
///
/// # Errors
/// As [`super::conduct`].
pub(super) fn look_again(
    request: &SessionRequest,
    share: SampleShare,
    judged: &mut JudgedPairs,
    progress: &mut impl FnMut(usize, usize),
) -> io::Result<Result<BlindLooks, CutReason>> {
    let mut looks = BlindLooks::new();
    let mut cases: Vec<Arc<Case>> = request.suite.cases.iter().cloned().map(Arc::new).collect();
    let mut pairs = Vec::new();
    for pair in sample(request, share, judged)? {
        match blind::ordinary(&request.suite.cases[pair.case]) {
            Ok(ordinary) => {
                cases[pair.case] = Arc::new(ordinary);
                pairs.push(pair);
            }
            Err(why) => drop(looks.insert(pair, (unable(why), None))),
        }
    }
    let seen = match executed(request, &cases, &pairs, progress)? {
        Ok(seen) => seen,
        Err(cut) => return Ok(Err(cut)),
    };
    for (pair, (looked, seen)) in seen {
        if let Some((_, judgement)) = judged.get_mut(&pair) {
            looks.insert(pair, (set_beside(judgement, looked), Some(seen)));
        }
    }
    Ok(Ok(looks))
}

fn unable(saw: String) -> BlindLook {
    BlindLook { shown: BlindShown::Unable, saw }
}

/// The pairs to look at again, in the order of the suite.
fn sample(
    request: &SessionRequest,
    share: SampleShare,
    judged: &JudgedPairs,
) -> io::Result<Vec<CasePair>> {
    let seed = sys::random::<16>()?;
    let taken = |pair: &CasePair| {
        let case = &request.suite.cases[pair.case];
        let plays = request.backends[pair.backend].double().is_some_and(|double| !double.runs());
        !plays && blind::runs(case) && share.takes(&seed, case.id.as_str())
    };
    let mut pairs: Vec<_> = judged.keys().copied().filter(taken).collect();
    pairs.sort_unstable();
    Ok(pairs)
}

/// Executes the second look at `pairs`; a result that is not as promised gets one more, alone.
fn executed(
    request: &SessionRequest,
    cases: &[Arc<Case>],
    pairs: &[CasePair],
    progress: &mut impl FnMut(usize, usize),
) -> io::Result<Result<BlindExecutions, CutReason>> {
    let mut looked = BlindExecutions::new();
    if pairs.is_empty() {
        return Ok(Ok(looked));
    }
    let _title = ProcessTitle::take();
    let base = request.scratch.clone().unwrap_or_else(scratch::ordinary_base);
    let scratch = ScratchDirectory::make_ordinary(&base)?;
    let probe = InstalledProbe::remember(Path::new(ORDINARY_PROGRAM).canonicalize()?)?;
    let runner = OrderRunner { scratch: &scratch, probe, renewals: 0 };
    let order = |pairs: &[_]| JobSchedule::new(cases.to_vec(), request.backends.clone(), pairs);
    let slots = request.jobs.unwrap_or_else(default_jobs);
    let first = all_seen(&runner, order(pairs), slots, progress)?;
    let look = |(pair, seen): (CasePair, CaseExecution)| {
        (pair, (judge_again(&cases[pair.case], &seen), seen))
    };
    let first = match first {
        Ok(first) => first,
        Err(cut) => return Ok(Err(cut)),
    };
    looked.extend(first.into_iter().map(look));
    let doubtful: Vec<_> = looked
        .iter()
        .filter(|(_, (looked, _))| is_doubtful(looked))
        .map(|(pair, _)| *pair)
        .collect();
    if !doubtful.is_empty() {
        let slots = abreast(doubtful.len());
        match all_seen(&runner, order(&doubtful).alone(), slots, progress)? {
            Ok(second) => looked.extend(second.into_iter().map(look)),
            Err(cut) => return Ok(Err(cut)),
        }
    }
    Ok(Ok(looked))
}

/// Returns whether the result may be chance, or the doing of a busy host. A forbidden effect that
/// was seen once is neither.
fn is_doubtful(looked: &LookedAgain) -> bool {
    match looked {
        LookedAgain::AsPromised => false,
        LookedAgain::Otherwise { verdict, .. } => *verdict != Verdict::UnderBlock,
        LookedAgain::Unable(_) => true,
    }
}

/// Executes every part of `order`.
fn all_seen(
    runner: &OrderRunner<'_>,
    order: JobSchedule,
    slots: usize,
    progress: &mut impl FnMut(usize, usize),
) -> io::Result<Result<SeenExecutions, CutReason>> {
    let (cases, mut seen) = (order.cases.clone(), GatheredArms::new());
    for part in order.parts() {
        let follow = |now: PoolProgress<'_>| {
            progress(now.done, now.total);
            ControlFlow::Continue(())
        };
        match runner.execute_order(&part, slots, follow)? {
            PoolEnd::Complete(arms) => merge(&mut seen, arms),
            PoolEnd::Cut(signal, _) => return Ok(Err(CutReason::from_signal(signal))),
        }
    }
    Ok(Ok(take_whole(&cases, &mut seen)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happened_once_is_not_asked_again() {
        let verdict = Verdict::UnderBlock;
        let happened = LookedAgain::Otherwise { verdict, saw: String::new() };
        assert!(!is_doubtful(&happened) && !is_doubtful(&LookedAgain::AsPromised));
        assert!(is_doubtful(&LookedAgain::Unable(String::new())));
    }
}
