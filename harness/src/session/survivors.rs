//! Processes that escaped every worker: each is an observation of the case that started it, joined
//! before that case is judged. Main function: [`join`].

use std::sync::Arc;

use boxproof_cases::Case;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::SeenExecutions;
use crate::execution::{ArmRecord, CaseExecution};
use crate::judge::judge;
use crate::sweep;
use crate::tries::JudgedPairs;

/// Ends every process that carries a nonce of the run `run_id`, and joins it to what was seen of
/// its case: to one of `executions`, or to one that was `judged` before, which is judged again.
pub(super) fn join(
    run_id: &str,
    cases: &[Arc<Case>],
    executions: &mut SeenExecutions,
    judged: &mut JudgedPairs,
) {
    for pid in sweep::outlasting(run_id) {
        let process = format!("process {pid} ({})", sweep::command_line(pid).unwrap_or_default());
        if !executions.values_mut().any(|seen| add(seen, pid, &process)) {
            let found = judged.iter_mut().find_map(|(pair, (seen, judgement))| {
                add(seen, pid, &process).then_some((pair, seen, judgement))
            });
            if let Some((pair, seen, judgement)) = found {
                *judgement = judge(&cases[pair.case], seen);
            }
        }
        let _ = kill(pid, Signal::SIGKILL);
    }
}

/// Adds `process` to what was `seen` if an arm of it has started `pid`; returns whether it has.
fn add(seen: &mut CaseExecution, pid: Pid, process: &str) -> bool {
    let leaks = match seen {
        CaseExecution::Arms(arms) => {
            let mut reports = arms.sandboxed_mut().filter_map(ArmRecord::done_mut);
            let report = reports.find(|report| sweep::carries(pid, &report.nonce));
            report.map(|report| &mut report.outlasting)
        }
        CaseExecution::Channel(arms) => {
            let mut channels = arms.sandboxed_mut().filter_map(ArmRecord::done_mut);
            let channel = channels.find(|channel| sweep::carries(pid, &channel.nonce));
            channel.map(|channel| &mut channel.leaks)
        }
        CaseExecution::Answer(_) => None,
    };
    leaks.map(|leaks| leaks.push(process.to_owned())).is_some()
}
