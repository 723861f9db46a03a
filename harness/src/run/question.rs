//! Asking questions about policy documents: all that share documents and fixture in one call of the
//! backend, a few calls at once. Main function: [`ask_all`].

mod call;
mod compile;
mod executor;
mod extreme;
mod finished;
mod settings;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use boxproof_cases::Case;
use boxproof_cases::protocol::{
    Explanation, PROTOCOL, PathAnswer, PolicyAnswer, Runs, Status, Told, WirePath, from_json,
};

use crate::backend::{Backend, Kind};
use crate::execution::{Answered, Execution, Reply};
use crate::host::ask::{self, Answer};
use crate::workspace::Workspace;
use crate::{plain_file, termination};

pub use call::request;
use call::{Call, calls};

/// The most bytes of an answer to a question.
const ANSWER_LIMIT: u64 = 16 << 20;

/// The context that every question of a run shares.
#[derive(Debug, Clone, Copy)]
pub struct Desk<'a> {
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
struct Begun {
    asked: ask::Asked,
    workspace: Workspace,
    result: PathBuf,
    started: Instant,
}

/// The reply for a question that was not asked, and the workspace that was made all the same.
type Unasked = (Reply, Option<Box<Workspace>>);

/// Asks every pair of (case, backend), each a question; returns the executions. A signal that ends
/// the run ends this early.
pub fn ask_all(
    desk: &Desk<'_>,
    (cases, backends): (&[Arc<Case>], &[Backend]),
    pairs: &[(usize, usize)],
) -> HashMap<(usize, usize), Execution> {
    let calls = calls(cases, backends, pairs);
    let mut seen = HashMap::new();
    for (round, some) in calls.chunks(desk.slots.max(1)).enumerate() {
        if termination::received().is_some() {
            break;
        }
        let folder = |at: usize| desk.scratch.join(format!("question-{round}-{at}"));
        let begun: Vec<Result<Begun, Unasked>> =
            some.iter().enumerate().map(|(at, call)| begin(desk, call, &folder(at))).collect();
        for (call, begun) in some.iter().zip(begun) {
            let replies = match begun {
                Ok(begun) => finish(call, begun),
                Err((reply, workspace)) => each(call, reply, workspace.as_deref()),
            };
            let executions = replies
                .into_iter()
                .map(|reply| Execution { reply: Some(reply), ..Execution::default() });
            seen.extend(call.pairs.iter().copied().zip(executions));
        }
    }
    seen
}

/// Gives `reply` to every question of a call; a built-in answer differs from path to path.
fn each(call: &Call<'_>, reply: Reply, workspace: Option<&Workspace>) -> Vec<Reply> {
    match extreme::told(call) {
        Some(told) => split(call, &told, &|case, told| {
            let due = exit_of(&told);
            let tried = workspace.map_or(Ok(None), |workspace| compile::tried(case, workspace));
            let tried = match tried {
                Ok(tried) => tried,
                Err(why) => return Reply::Fault(why),
            };
            Reply::Answered(Box::new(Answered {
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

/// Lays out the fixture and starts the call in `folder`.
fn begin(desk: &Desk<'_>, call: &Call<'_>, folder: &Path) -> Result<Begun, Unasked> {
    if call.backend.double().is_some() {
        return Err((Reply::Silent("it answers nothing".to_owned()), None));
    }
    let Kind::Native { program, prefix, .. } = &call.backend.kind else {
        let why = "a question is asked by a verb of the protocol, which it does not speak";
        // The attempt at a compiled policy is expressed in the variables of a workspace.
        let workspace = match call.verb() {
            "compile" => {
                let laid = Workspace::lay_out(call.cases[0], folder, desk.probe, desk.run_id);
                laid.ok().map(Box::new)
            }
            _ => None,
        };
        return Err((Reply::Inexpressible(why.to_owned()), workspace));
    };
    let fault = |why: String| (Reply::Fault(why), None);
    let workspace =
        Workspace::lay_out(call.cases[0], folder, desk.probe, desk.run_id).map_err(fault)?;
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
    let asked = ask::start_at(&home, &argv).map_err(|error| {
        let why = format!("{} cannot be started: {error}", program.display());
        (Reply::Silent(why), None)
    })?;
    Ok(Begun { asked, workspace, result, started: Instant::now() })
}

fn finish(call: &Call<'_>, begun: Begun) -> Vec<Reply> {
    let Begun { asked, workspace, result, started } = begun;
    let patience = call.cases.iter().map(|case| case.timeout_ms).max().unwrap_or_default();
    let ended = match asked.answer(started + Duration::from_millis(patience)) {
        Ok(ended) => ended,
        Err(error) => return vec![Reply::Silent(error.to_string()); call.cases.len()],
    };
    let told = match read(&result, &ended) {
        Ok(told) => told,
        Err(why) => return vec![Reply::Silent(why); call.cases.len()],
    };
    let due = exit_of(&told);
    let told = neutral(told, &workspace);
    let share = started.elapsed().as_secs_f64() * 1000.0 / call.cases.len() as f64;
    split(call, &told, &|case, told| {
        let tried = match compile::tried(case, &workspace) {
            Ok(tried) => tried,
            Err(why) => return Reply::Fault(why),
        };
        Reply::Answered(Box::new(Answered {
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
fn read(result: &Path, ended: &Answer) -> Result<Told, String> {
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
fn exit_of(told: &Told) -> i32 {
    let of_one = |answer: &PathAnswer| match answer {
        PathAnswer::Decided(decision) => i32::from(!decision.allowed),
        PathAnswer::Invalid(_) => 2,
    };
    match told {
        Told::Decisions(answers) => answers.iter().map(of_one).max().unwrap_or(0),
        Told::Explained(why) => i32::from(why.blocked.is_some()),
        Told::Asks(asked) => i32::from(!settings::all_allowed(asked)),
        Told::Status(status) => i32::from(status.runs == Runs::Refused),
        Told::Grants(lines) => i32::from(lines.iter().any(|line| line.granted.is_empty())),
        Told::Starts(_) => 0,
        Told::Effective(_) | Told::Valid {} | Told::Settings(_) | Told::Compiled(_) => 0,
        Told::Invalid(_) => 2,
    }
}

/// Returns the reply to each question of the call.
fn split(call: &Call<'_>, told: &Told, reply: &dyn Fn(&Case, Told) -> Reply) -> Vec<Reply> {
    let count = call.cases.len();
    match told {
        Told::Decisions(answers) if answers.len() == count => {
            let each = call.cases.iter().zip(answers);
            each.map(|(case, answer)| reply(case, Told::Decisions(vec![answer.clone()]))).collect()
        }
        Told::Decisions(answers) => {
            let why = format!("{} answers to {count} paths", answers.len());
            vec![Reply::Silent(why); count]
        }
        Told::Asks(asked) if asked.len() == count => {
            let each = call.cases.iter().zip(asked);
            each.map(|(case, asked)| reply(case, Told::Asks(vec![asked.clone()]))).collect()
        }
        Told::Asks(asked) => {
            let why = format!("{} answers to {count} commands", asked.len());
            vec![Reply::Silent(why); count]
        }
        Told::Grants(lines) if lines.len() == count => {
            let each = call.cases.iter().zip(lines);
            each.map(|(case, line)| reply(case, Told::Grants(vec![line.clone()]))).collect()
        }
        Told::Grants(lines) => {
            let why = format!("{} answers to {count} lines", lines.len());
            vec![Reply::Silent(why); count]
        }
        told => call.cases.iter().map(|case| reply(case, told.clone())).collect(),
    }
}

/// Replaces the directories of this call by `$WS` and `$OUT` in the answer.
fn neutral(mut told: Told, workspace: &Workspace) -> Told {
    if let Told::Settings(_) | Told::Starts(_) | Told::Invalid(_) = &told {
        return settings::neutral(told, &|text| workspace.neutral_text(text));
    }
    if let Told::Status(status) = &mut told {
        neutral_status(status, workspace);
    }
    if let Told::Decisions(answers) = &mut told {
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
    if let Told::Explained(Explanation { blocked: Some(blocked) }) = &mut told {
        blocked.reason = workspace.neutral_text(&blocked.reason);
        if let Some(path) = &mut blocked.path {
            *path = workspace.neutral_text(&path.as_path().to_string_lossy()).into();
        }
    }
    told
}

fn neutral_status(status: &mut Status, workspace: &Workspace) {
    let paths = status.protected.iter_mut().chain(&mut status.artifacts);
    let roots = status.writable_roots.iter_mut().map(|root| &mut root.path);
    for path in paths.chain(roots).chain([&mut status.workspace]) {
        let text = path.as_path().to_string_lossy();
        *path = WirePath::from(workspace.neutral_text(&text));
    }
    status.reason = status.reason.take().map(|why| workspace.neutral_text(&why));
}
