//! The verb `compile`: a plan, or a profile of documents, as the text that another program
//! enforces. The same request on the same host gives the same text.

mod argv;
mod baseline;
mod orbit;
mod pattern;
mod sbpl;
mod seatbelt;
mod states;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use boxproof_cases::protocol::{
    Command, CompileProfile, CompileRequest, CompileRules, CompileTarget, Compiled, CompiledText,
    PROTOCOL, Policy, PolicyAnswer, PolicyFault, ProfileRequest, Run, RunRequest, Told,
};

use crate::answer;
use crate::error::Refusal;
use crate::host::Host;
use crate::plan::{self, View};
use crate::profile;
use crate::request::{self, Order};

/// Compiled.
const DONE: i32 = 0;
/// There is no text: the request is wrong, or the target cannot enforce it.
const INVALID: i32 = 2;

/// Compiles the request in `file`; the answer goes to `result`, or its text to stdout. The exit
/// code.
pub(crate) fn compile(target: CompileTarget, file: &Path, result: Option<&Path>) -> i32 {
    answered(target, file, result).unwrap_or_else(|why| {
        eprintln!("refbox: {why}");
        INVALID
    })
}

fn answered(target: CompileTarget, file: &Path, result: Option<&Path>) -> Result<i32, String> {
    let shown = file.display();
    if let Some(result) = result {
        answer::check_destination(result)
            .map_err(|error| format!("cannot write to {}: {error}", result.display()))?;
    }
    let text = std::fs::read(file).map_err(|error| format!("{shown}: {error}"))?;
    let request: CompileRequest =
        serde_json::from_slice(&text).map_err(|error| format!("{shown}: {error}"))?;
    if request.protocol != PROTOCOL {
        let other = request.protocol;
        return Err(format!("protocol: {other} is not spoken here; ask with {PROTOCOL}"));
    }
    let compiled = compiled(target, &request);
    match result {
        None => print(compiled),
        Some(result) => write(compiled, result),
    }
}

fn print(compiled: Result<Compiled, Refusal>) -> Result<i32, String> {
    let compiled = compiled.map_err(|refusal| refusal.message)?;
    match compiled.text {
        CompiledText::Sbpl(text) => print!("{text}"),
        CompiledText::Argv(words) => words.iter().for_each(|word| println!("{word}")),
    }
    compiled.limits.iter().for_each(|limit| eprintln!("refbox: {limit}"));
    Ok(DONE)
}

fn write(compiled: Result<Compiled, Refusal>, result: &Path) -> Result<i32, String> {
    let (told, code) = match compiled {
        Ok(compiled) => (Told::Compiled(compiled), DONE),
        Err(refusal) => {
            let message = refusal.message;
            (Told::Invalid(PolicyFault { message, file: None, line: None, column: None }), INVALID)
        }
    };
    answer::write(&PolicyAnswer { protocol: PROTOCOL, answer: told }, result)
        .map_err(|error| format!("cannot write to {}: {error}", result.display()))?;
    Ok(code)
}

/// The text for `target`.
fn compiled(target: CompileTarget, request: &CompileRequest) -> Result<Compiled, Refusal> {
    let order = order(request)?;
    request::check(&order)?;
    match (&request.rules, target) {
        (CompileRules::Profile(asked), CompileTarget::Seatbelt) => {
            let profile = profile::of(&asked.documents, &asked.profile)?;
            orbit::profile(&profile, &real(asked.workspace.as_path())?, &request.env)
        }
        (_, target) => {
            let host = Host::observe(&order.policy, order.law.as_ref(), &order.run);
            let plan = plan::resolve(&order.policy, &order.run, &host)?;
            let view = plan.view.ok_or_else(|| {
                Refusal::unsupported("policy.mode: unconfined has nothing to compile")
            })?;
            of_view(target, &view, &order, &plan.cwd)
        }
    }
}

fn of_view(
    target: CompileTarget,
    view: &View,
    order: &Order,
    cwd: &Path,
) -> Result<Compiled, Refusal> {
    match target {
        CompileTarget::Bubblewrap => argv::argv(view, cwd),
        CompileTarget::Seatbelt => seatbelt::profile(view, &order.policy),
    }
}

/// The profile for `view`.
pub(crate) fn seatbelt(view: &View, policy: &Policy) -> Result<Compiled, Refusal> {
    seatbelt::profile(view, policy)
}

/// The request as if it were to be run.
fn order(request: &CompileRequest) -> Result<Order, Refusal> {
    let run = Run::new(Command::Argv(vec!["/bin/sh".to_owned()]), request.cwd.clone());
    let protocol = request.protocol;
    match &request.rules {
        CompileRules::Policy(policy) => {
            Ok(RunRequest { protocol, policy: (**policy).clone(), run }.into())
        }
        CompileRules::Profile(CompileProfile { dialect, documents, profile, workspace }) => {
            Order::try_from(ProfileRequest {
                protocol,
                dialect: *dialect,
                documents: documents.clone(),
                profile: Some(profile.clone()),
                workspace: workspace.clone(),
                run,
            })
        }
    }
}

fn real(path: &Path) -> Result<PathBuf, Refusal> {
    path.canonicalize()
        .map_err(|error| Refusal::invalid(format!("workspace {}: {error}", path.display())))
}

/// A path as text; what is none cannot be written down.
fn text(path: &Path) -> Result<&str, Refusal> {
    path.to_str().ok_or_else(|| {
        Refusal::unsupported(format!(
            "{}: a path that is not UTF-8 cannot be compiled; rename it",
            path.display()
        ))
    })
}
