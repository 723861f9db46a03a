//! The verb `compile`: a plan, or a profile of documents, as the text that another program
//! enforces. The same request on the same host gives the same text.

mod argv;
#[cfg(test)]
mod goldens;
mod input;

use std::path::{Path, PathBuf};

use boxproof_cases::protocol::{
    CompileProfile, CompileRequest, CompileRules, CompileTarget, Compiled, CompiledText, Dialect,
    DocumentAnswer, PROTOCOL, PolicyAnswer, PolicyFault, UNRESTRICTED_PROFILE, from_json,
};

use input::CompileInput;

use crate::mechanism::seatbelt::profile;

use crate::error::Refusal;
use crate::host::HostSnapshot;
use crate::plan::{self, View, ViewStep};
use crate::policy::caliban::ExtraOpenings;
use crate::request::orbit as orbit_request;
use crate::request::{self, RunJob};
use crate::result::destination::FileDestination;

/// Compiled.
const DONE: i32 = 0;
/// There is no text: the request is wrong, or the target cannot enforce it.
const INVALID: i32 = 2;

/// Compiles the request in `file`, and writes the answer to `result`, or its text to stdout.
/// Returns the exit code.
pub(crate) fn compile(target: CompileTarget, file: &Path, result: Option<&Path>) -> i32 {
    answered(target, file, result).unwrap_or_else(|why| {
        eprintln!("refbox: {why}");
        INVALID
    })
}

fn answered(target: CompileTarget, file: &Path, result: Option<&Path>) -> Result<i32, String> {
    let shown = file.display();
    if let Some(result) = result {
        FileDestination::open(result)
            .map_err(|error| format!("cannot write to {}: {error}", result.display()))?;
    }
    let text = std::fs::read(file).map_err(|error| format!("{shown}: {error}"))?;
    let request: CompileRequest = from_json(&text).map_err(|error| format!("{shown}: {error}"))?;
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
        CompiledText::Sbpl(text) => crate::stdout::text(format_args!("{text}")),
        CompiledText::Argv(words) => {
            words.iter().for_each(|word| crate::stdout::line(format_args!("{word}")));
        }
    }
    compiled.limits.iter().for_each(|limit| eprintln!("refbox: {limit}"));
    Ok(DONE)
}

fn write(compiled: Result<Compiled, Refusal>, result: &Path) -> Result<i32, String> {
    let (told, code) = match compiled {
        Ok(compiled) => (DocumentAnswer::Compiled(compiled), DONE),
        Err(refusal) => {
            let message = refusal.message;
            (
                DocumentAnswer::Invalid(PolicyFault {
                    message,
                    file: None,
                    line: None,
                    column: None,
                }),
                INVALID,
            )
        }
    };
    FileDestination::open(result)
        .and_then(|place| place.write(&PolicyAnswer { protocol: PROTOCOL, answer: told }))
        .map_err(|error| format!("cannot write to {}: {error}", result.display()))?;
    Ok(code)
}

/// The text for `target`, with the names and limits of the system that is to enforce it.
fn compiled(target: CompileTarget, request: &CompileRequest) -> Result<Compiled, Refusal> {
    let mut compiled = compiled_here(target, request)?;
    if let CompiledText::Sbpl(text) = &mut compiled.text {
        if !cfg!(target_os = "macos") {
            *text = profile::sbpl::with_real_names(text);
        }
        compiled.limits.extend(profile::sbpl::too_large(text));
    }
    Ok(compiled)
}

fn compiled_here(target: CompileTarget, request: &CompileRequest) -> Result<Compiled, Refusal> {
    let asked = input::asked(target, request)?;
    request::check(&asked.order)?;
    match (&request.rules, target) {
        (
            CompileRules::Profile(CompileProfile { dialect: Dialect::Orbit, .. }),
            CompileTarget::Seatbelt,
        ) => of_documents(request, &asked.sides),
        _ => {
            let RunJob { policy, law, run, notes, .. } = &asked.order;
            let mut compiled =
                of_plan(target, &asked, HostSnapshot::observe(policy, law.as_ref(), run))?;
            compiled.limits.extend(notes.iter().cloned());
            Ok(compiled)
        }
    }
}

/// Returns the text of the plan for `asked` on `host`. Pure.
fn of_plan(
    target: CompileTarget,
    asked: &CompileInput,
    mut host: HostSnapshot,
) -> Result<Compiled, Refusal> {
    let CompileInput { order, opens, sides } = asked;
    let closed = match target {
        CompileTarget::Bubblewrap => close(&mut host),
        CompileTarget::Seatbelt => Vec::new(),
    };
    let plan = plan::resolve(&order.policy, &order.run, &host)?;
    let mut view = plan
        .view
        .ok_or_else(|| Refusal::unsupported("policy.mode: unconfined has nothing to compile"))?;
    if view.egress.is_some() {
        return Err(Refusal::unsupported(
            "policy.network: a proxy port and domains are served by a running sandbox, no text holds them; use none or host",
        ));
    }
    open_behind(sides, &mut view);
    let mut compiled = of_view(target, &view, order, &plan.cwd, opens)?;
    compiled.limits.extend(closed);
    Ok(compiled)
}

/// Opens `sides` on top of all steps but seals, which take nothing more.
fn open_behind(sides: &[PathBuf], view: &mut View) {
    let sealed = view.steps.iter().position(|step| matches!(step, ViewStep::Seal(_)));
    let at = sealed.unwrap_or(view.steps.len());
    let real = |side: &PathBuf| side.canonicalize().unwrap_or_else(|_| side.clone());
    view.steps.splice(at..at, sides.iter().map(|side| ViewStep::Bind(real(side))));
}

/// Closes names that no supervisor will be there to decide about; returns a note for each
/// directory.
fn close(host: &mut HostSnapshot) -> Vec<String> {
    let parted: Vec<String> =
        host.freeze_reopened().iter().map(|directory| said(directory)).collect();
    let Some((tree, closed)) = host.tree.as_ref().map(plan::narrowed) else { return parted };
    host.tree = Some(tree);
    parted.into_iter().chain(closed.iter().map(|directory| said(directory))).collect()
}

fn said(directory: &Path) -> String {
    format!("{}: what is there is as the rules say; no name can be made in it", directory.display())
}

/// The rules of documents one by one, as in a profile the last one that matches decides, too.
fn of_documents(request: &CompileRequest, sides: &[PathBuf]) -> Result<Compiled, Refusal> {
    let CompileRules::Profile(asked) = &request.rules else {
        return Err(Refusal::invalid("rules: these are no documents"));
    };
    let name = asked.profile.as_deref().unwrap_or(UNRESTRICTED_PROFILE);
    let profile = orbit_request::resolve_profile(&asked.documents, name)?;
    profile::orbit::profile(&profile, &real(asked.workspace.as_path())?, &request.env, sides)
}

fn of_view(
    target: CompileTarget,
    view: &View,
    order: &RunJob,
    cwd: &Path,
    opens: &ExtraOpenings,
) -> Result<Compiled, Refusal> {
    match target {
        CompileTarget::Bubblewrap => argv::argv(view, cwd, opens),
        CompileTarget::Seatbelt => profile::profile(view, &order.policy, opens),
    }
}

fn real(path: &Path) -> Result<PathBuf, Refusal> {
    path.canonicalize()
        .map_err(|error| Refusal::invalid(format!("workspace {}: {error}", path.display())))
}
