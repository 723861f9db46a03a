//! Asking questions about policy documents: all that share documents and fixture in one call of the
//! backend, a few calls at once. Main function: [`ask_all`].

mod audit_fakes;
mod call;
mod compile;
mod executor;
mod finished;
mod settings;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use boxproof_cases::Case;
use boxproof_cases::protocol::{
    CommandFate, DocumentAnswer, Explanation, PROTOCOL, PathAnswer, PolicyAnswer, Status, WirePath,
    from_json,
};

use crate::backend::{Backend, BackendKind};
use crate::case_pair::CasePair;
use crate::execution::{CaseExecution, QueryAnswer, QueryReply};
use crate::host::program_answer::{self, ProgramAnswer};
use crate::workspace::ArmWorkspace;
use crate::{plain_file, termination};

pub use call::request;
use call::{QueryCall, calls};

/// The most bytes of an answer to a question.
const ANSWER_LIMIT: u64 = 16 << 20;

/// The context that every question of a run shares.
#[derive(Debug, Clone, Copy)]
pub struct QueryContext<'a> {
    /// The run's directory.
    pub scratch: &'a Path,
    /// The probe program.
    pub probe: &'a Path,
    /// The run's word.
    pub run_id: &'a str,
    /// The number of calls that are under way at once.
    pub slots: usize,
}

/// A call that is under way.
struct PendingCall {
    asked: program_answer::PendingProgram,
    workspace: ArmWorkspace,
    result: PathBuf,
    started: Instant,
}

/// The reply for a question that was not asked, and the workspace that was made all the same.
type UnaskedReply = (QueryReply, Option<Box<ArmWorkspace>>);

/// Asks every pair, each a question; returns the executions. A signal that ends
/// the run ends this early.
pub fn ask_all(
    desk: &QueryContext<'_>,
    (cases, backends): (&[Arc<Case>], &[Backend]),
    pairs: &[CasePair],
) -> HashMap<CasePair, CaseExecution> {
    let calls = calls(cases, backends, pairs);
    let mut seen = HashMap::new();
    for (round, some) in calls.chunks(desk.slots.max(1)).enumerate() {
        if termination::received().is_some() {
            break;
        }
        let directory = |at: usize| desk.scratch.join(format!("question-{round}-{at}"));
        let begun: Vec<Result<PendingCall, UnaskedReply>> =
            some.iter().enumerate().map(|(at, call)| begin(desk, call, &directory(at))).collect();
        for (call, begun) in some.iter().zip(begun) {
            let replies = match begun {
                Ok(begun) => finish(call, begun),
                Err((reply, workspace)) => each(call, reply, workspace.as_deref()),
            };
            let executions = replies.into_iter().map(CaseExecution::Answer);
            seen.extend(call.pairs.iter().copied().zip(executions));
        }
    }
    seen
}

/// Gives `reply` to every question of a call; a built-in answer differs from path to path.
fn each(
    call: &QueryCall<'_>,
    reply: QueryReply,
    workspace: Option<&ArmWorkspace>,
) -> Vec<QueryReply> {
    match audit_fakes::built_in_answer(call) {
        Some(told) => split(call, &told, &|case, told| {
            let due = exit_of(&told);
            let tried = workspace.map_or(Ok(None), |workspace| compile::tried(case, workspace));
            let tried = match tried {
                Ok(tried) => tried,
                Err(why) => return QueryReply::Fault(why),
            };
            QueryReply::Answered(Box::new(QueryAnswer {
                told,
                tried,
                exit: Some(due),
                due,
                stderr: String::new(),
                duration_ms: 0.0,
            }))
        }),
        None => vec![reply; call.cases.len()],
    }
}

/// Lays out the fixture and starts the call in `directory`.
fn begin(
    desk: &QueryContext<'_>,
    call: &QueryCall<'_>,
    directory: &Path,
) -> Result<PendingCall, UnaskedReply> {
    if call.backend.double().is_some() {
        return Err((QueryReply::Silent("it answers nothing".to_owned()), None));
    }
    let BackendKind::Native { program, prefix, .. } = &call.backend.kind else {
        let why = "a question is asked by a verb of the protocol, which it does not speak";
        // The attempt at a compiled policy is expressed in the variables of a workspace.
        let workspace = match call.verb() {
            "compile" => {
                let laid = ArmWorkspace::lay_out(call.cases[0], directory, desk.probe, desk.run_id);
                laid.ok().map(Box::new)
            }
            _ => None,
        };
        return Err((QueryReply::Inexpressible(why.to_owned()), workspace));
    };
    let fault = |why: String| (QueryReply::Fault(why), None);
    let workspace =
        ArmWorkspace::lay_out(call.cases[0], directory, desk.probe, desk.run_id).map_err(fault)?;
    let [request, result] = ["request.json", "result.json"].map(|f| workspace.state().join(f));
    let text = call::request(&call.cases, &workspace).map_err(fault)?;
    std::fs::write(&request, text).map_err(|error| fault(error.to_string()))?;
    let mut argv = vec![program.into()];
    argv.extend(prefix.iter().map(Into::into));
    argv.push(call.verb().into());
    argv.extend(call.options().iter().map(Into::into));
    argv.extend(["--request".into(), request.into()]);
    argv.extend(["--result".into(), result.clone().into()]);
    let home = workspace.vars.get("HOME").map(PathBuf::from).unwrap_or_default();
    let asked = program_answer::start_at(&home, &argv).map_err(|error| {
        let why = format!("{} cannot be started: {error}", program.display());
        (QueryReply::Silent(why), None)
    })?;
    Ok(PendingCall { asked, workspace, result, started: Instant::now() })
}

fn finish(call: &QueryCall<'_>, begun: PendingCall) -> Vec<QueryReply> {
    let PendingCall { asked, workspace, result, started } = begun;
    let patience = call.cases.iter().map(|case| case.timeout_ms).max().unwrap_or_default();
    let ended = match asked.answer(started + Duration::from_millis(patience)) {
        Ok(ended) => ended,
        Err(error) => return vec![QueryReply::Silent(error.to_string()); call.cases.len()],
    };
    let told = match read(&result, &ended) {
        Ok(told) => told,
        Err(why) => return vec![QueryReply::Silent(why); call.cases.len()],
    };
    let due = exit_of(&told);
    let told = neutral(told, &workspace);
    let share = started.elapsed().as_secs_f64() * 1000.0 / call.cases.len() as f64;
    split(call, &told, &|case, told| {
        let tried = match compile::tried(case, &workspace) {
            Ok(tried) => tried,
            Err(why) => return QueryReply::Fault(why),
        };
        QueryReply::Answered(Box::new(QueryAnswer {
            told,
            tried,
            exit: ended.code,
            due,
            stderr: workspace.neutral_text(&String::from_utf8_lossy(&ended.stderr)),
            duration_ms: share,
        }))
    })
}

/// The answer in the file `result`.
fn read(result: &Path, ended: &ProgramAnswer) -> Result<DocumentAnswer, String> {
    let text = plain_file::read(result, ANSWER_LIMIT).map_err(|error| {
        let exit = ended.code.map_or("a signal".to_owned(), |code| format!("exit {code}"));
        format!("it ended with {exit} and wrote no answer ({error}): {}", ended.first_line())
    })?;
    let answer: PolicyAnswer =
        from_json(&text).map_err(|error| format!("the answer is not of the protocol: {error}"))?;
    match answer.protocol {
        PROTOCOL => Ok(answer.answer),
        other => Err(format!("the answer speaks protocol {other}")),
    }
}

/// The exit code that fits an answer: that of the worst part of it.
fn exit_of(told: &DocumentAnswer) -> i32 {
    let of_one = |answer: &PathAnswer| match answer {
        PathAnswer::Decided(decision) => i32::from(!decision.allowed),
        PathAnswer::Invalid(_) => 2,
    };
    match told {
        DocumentAnswer::Decisions(answers) => answers.iter().map(of_one).max().unwrap_or(0),
        DocumentAnswer::Explained(why) => i32::from(why.blocked.is_some()),
        DocumentAnswer::Asks(asked) => i32::from(!settings::all_allowed(asked)),
        DocumentAnswer::Status(status) => i32::from(status.runs == CommandFate::Refused),
        DocumentAnswer::Grants(lines) => {
            i32::from(lines.iter().any(|line| line.granted.is_empty()))
        }
        DocumentAnswer::Starts(_) => 0,
        DocumentAnswer::Effective(_)
        | DocumentAnswer::Valid {}
        | DocumentAnswer::Settings(_)
        | DocumentAnswer::Compiled(_) => 0,
        DocumentAnswer::Invalid(_) => 2,
    }
}

/// Returns the reply to each question of the call.
fn split(
    call: &QueryCall<'_>,
    told: &DocumentAnswer,
    reply: &dyn Fn(&Case, DocumentAnswer) -> QueryReply,
) -> Vec<QueryReply> {
    let count = call.cases.len();
    match told {
        DocumentAnswer::Decisions(answers) if answers.len() == count => {
            let each = call.cases.iter().zip(answers);
            each.map(|(case, answer)| reply(case, DocumentAnswer::Decisions(vec![answer.clone()])))
                .collect()
        }
        DocumentAnswer::Decisions(answers) => {
            let why = format!("{} answers to {count} paths", answers.len());
            vec![QueryReply::Silent(why); count]
        }
        DocumentAnswer::Asks(asked) if asked.len() == count => {
            let each = call.cases.iter().zip(asked);
            each.map(|(case, asked)| reply(case, DocumentAnswer::Asks(vec![asked.clone()])))
                .collect()
        }
        DocumentAnswer::Asks(asked) => {
            let why = format!("{} answers to {count} commands", asked.len());
            vec![QueryReply::Silent(why); count]
        }
        DocumentAnswer::Grants(lines) if lines.len() == count => {
            let each = call.cases.iter().zip(lines);
            each.map(|(case, line)| reply(case, DocumentAnswer::Grants(vec![line.clone()])))
                .collect()
        }
        DocumentAnswer::Grants(lines) => {
            let why = format!("{} answers to {count} lines", lines.len());
            vec![QueryReply::Silent(why); count]
        }
        told => call.cases.iter().map(|case| reply(case, told.clone())).collect(),
    }
}

/// Replaces the directories of this call by `$WS` and `$OUT` in the answer.
fn neutral(mut told: DocumentAnswer, workspace: &ArmWorkspace) -> DocumentAnswer {
    if let DocumentAnswer::Settings(_) | DocumentAnswer::Starts(_) | DocumentAnswer::Invalid(_) =
        &told
    {
        return settings::neutral(told, &|text| workspace.neutral_text(text));
    }
    if let DocumentAnswer::Status(status) = &mut told {
        neutral_status(status, workspace);
    }
    if let DocumentAnswer::Decisions(answers) = &mut told {
        for answer in answers {
            match answer {
                PathAnswer::Decided(decision) => {
                    let means = decision.means.as_path().to_string_lossy();
                    decision.means = workspace.neutral_text(&means).into();
                }
                PathAnswer::Invalid(why) => *why = workspace.neutral_text(why),
            }
        }
    }
    if let DocumentAnswer::Explained(Explanation { blocked: Some(blocked) }) = &mut told {
        blocked.reason = workspace.neutral_text(&blocked.reason);
        if let Some(path) = &mut blocked.path {
            *path = workspace.neutral_text(&path.as_path().to_string_lossy()).into();
        }
    }
    told
}

fn neutral_status(status: &mut Status, workspace: &ArmWorkspace) {
    let paths = status.protected.iter_mut().chain(&mut status.artifacts);
    let roots = status.writable_roots.iter_mut().map(|root| &mut root.path);
    for path in paths.chain(roots).chain([&mut status.workspace]) {
        let text = path.as_path().to_string_lossy();
        *path = WirePath::from(workspace.neutral_text(&text));
    }
    status.reason = status.reason.take().map(|why| workspace.neutral_text(&why));
}
