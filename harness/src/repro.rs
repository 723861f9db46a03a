//! One case against one backend as a script that needs no harness ([`script`]): the fixture, the
//! rendered policy, the act, and a look from outside before and after. Pure.

mod commands;
mod fixture;
mod judgement;
mod query;
mod shell;

use boxproof_cases::case::{
    BackendStimulus, CaseStep, DuringEvent, ExpectedDecision, Moment, NetworkSpec, Oracle,
    PortSpec, RunSpec, SignalTarget,
};
use boxproof_cases::{Case, Suite};

use crate::backend::{Backend, BackendKind};
use crate::case_summary;
use crate::execution::ArmKind;
use crate::run::RenderedArm;

use shell::ScriptShell;

/// The functions that a script is written in; it stands beside the script under this name.
pub const LIBRARY: (&str, &str) = ("lib.sh", include_str!("repro/lib.sh"));
/// The name of the script.
pub const SCRIPT: &str = "repro.sh";
/// The directory of the probe program beside it, which holds nothing else: backends grant it whole.
pub const PROBE_DIRECTORY: &str = "probe";
/// The name of the probe program.
pub const PROBE: &str = "boxprobe";

/// The subject of a script.
#[derive(Debug, Clone, Copy)]
pub struct ScriptSubject<'a> {
    /// The case.
    pub case: &'a Case,
    /// The corpus it is of.
    pub suite: &'a Suite,
    /// The backend.
    pub backend: &'a Backend,
    /// The arm that the script is about.
    pub arm: ArmKind,
    /// The rendered arm.
    pub rendered: &'a RenderedArm,
    /// The control, where the script runs it first.
    pub control: Option<&'a RenderedArm>,
    /// The user it was rendered for: a backend may be told otherwise as root.
    pub uid: u32,
}

fn has_late_port(step: &CaseStep) -> bool {
    matches!(step.policy.network, Some(NetworkSpec::Proxy { port: PortSpec::Text(_) }))
}

/// Returns the reason why this case has no script, if there is one.
pub fn obstacle(case: &Case, backend: &Backend) -> Option<String> {
    let launcher = &case.launcher;
    let texts = || case.strings().into_iter().chain(case.shell_lines());
    let obstacles = [
        (
            matches!(backend.kind, BackendKind::Refuse | BackendKind::Double(_)),
            "this backend starts nothing that a script could show",
        ),
        (
            case.channel().is_some(),
            "it is about several processes and what passes between them, which `run` alone plays",
        ),
        (case.steps.iter().any(has_late_port), "its policy has a port that only a run knows"),
        (
            launcher.tty.is_some() || case.expect.oracle.iter().any(about_terminal),
            "it needs a terminal of its own, which a plain script cannot make",
        ),
        (
            case.question().is_some() && !matches!(backend.kind, BackendKind::Native { .. }),
            "this backend does not speak the verbs that ask",
        ),
        (
            case.repeat > 1 || case.parallel > 1,
            "it is about many runs, of which a script shows one",
        ),
        (
            case.run != RunSpec::default() || case.expect.result.is_some(),
            "it is about members of a native request or result, which a script does not read",
        ),
        (!case.expect.times.is_empty(), "it is about times, which a script cannot measure"),
        (
            launcher.nested.is_some() || !launcher.hosts.is_empty(),
            "it needs a host or a network inside this one, which a script does not build",
        ),
        (
            matches!(
                case.expect.decision,
                ExpectedDecision::Withheld(_) | ExpectedDecision::AllowedOrRefused(_)
            ),
            "it is about a backend that may start nothing, which a script does not tell apart",
        ),
        (
            launcher.apart || launcher.hold_stdin || launcher.has_process_state(),
            "it needs a launcher that is more than a shell",
        ),
        (
            launcher.inherit.keys().any(|number| *number > 9),
            "a shell can only pass on descriptors up to 9",
        ),
        (
            case.during.len() > 1 || !case.during.iter().all(is_plain_signal),
            "what happens meanwhile is more than one signal to the backend or its group when the act is ready",
        ),
        (
            texts().any(|text| text.contains('\0')),
            "a text of it holds a NUL byte, which a shell cannot write",
        ),
    ];
    obstacles.into_iter().find(|(there, _)| *there).map(|(_, why)| why.to_owned())
}

fn about_terminal(oracle: &Oracle) -> bool {
    use Oracle::{Displayed, TerminalRestored, Undisplayed, Untyped};
    matches!(oracle, Untyped(_) | Displayed(_) | Undisplayed(_) | TerminalRestored(_))
}

fn is_plain_signal(during: &DuringEvent) -> bool {
    during.when == Moment::Ready
        && during.after_ms == 0
        && matches!(
            during.what,
            BackendStimulus::Signal(_, SignalTarget::Backend | SignalTarget::Group)
        )
}

/// Returns the script.
///
/// # Errors
/// The reason why it cannot be written.
pub fn script(subject: &ScriptSubject<'_>) -> Result<String, String> {
    if let Some(why) = obstacle(subject.case, subject.backend) {
        return Err(why);
    }
    let shell = ScriptShell::for_arm(subject.rendered, subject.backend)?;
    let control = subject
        .control
        .map(|control| ScriptShell::for_arm(control, subject.backend))
        .transpose()?;
    let mut parts = vec![head(subject), settings(subject, &shell)];
    parts.push(fixture::fixture(subject.case, &shell)?);
    parts.push(judgement::looks(subject.case, &commands::besides(subject), &shell)?);
    parts.push(commands::meanings(subject.backend, &shell, subject.rendered));
    if let (Some(rendered), Some(shell)) = (subject.control, &control) {
        parts.push(commands::steps("control", subject.case, rendered, shell)?);
    }
    let word = arm_word(subject.arm);
    parts.push(commands::steps(word, subject.case, subject.rendered, &shell)?);
    parts.push(course(subject));
    Ok(parts.join("\n"))
}

/// Returns the script that asks the question of a case; `request` is the request of the call.
///
/// # Errors
/// The reason why it cannot be written.
pub fn question_script(subject: &ScriptSubject<'_>, request: &str) -> Result<String, String> {
    let shell = ScriptShell::for_arm(subject.rendered, subject.backend)?;
    let body = query::body(subject.case, subject.backend, &shell, request)?;
    Ok(format!("{}\n{body}", head(subject)))
}

/// Returns the layout and the commands, for people.
///
/// # Errors
/// A part that cannot be written in a shell.
pub fn preview(subject: &ScriptSubject<'_>) -> Result<String, String> {
    let shell = ScriptShell::for_arm(subject.rendered, subject.backend)?;
    let laid = fixture::fixture(subject.case, &shell)?;
    let word = arm_word(subject.arm);
    Ok(format!("{laid}\n{}", commands::steps(word, subject.case, subject.rendered, &shell)?))
}

/// The name of an arm's functions.
pub fn arm_word(arm: ArmKind) -> &'static str {
    match arm {
        ArmKind::Control => "control",
        ArmKind::Twin => "twin",
        ArmKind::Confined => "confined",
    }
}

fn head(subject: &ScriptSubject<'_>) -> String {
    let ScriptSubject { case, backend, arm, suite, .. } = subject;
    let version = backend.version.as_deref().unwrap_or("without a version");
    let mut lines = vec![
        format!("{} against {} {version}, arm {}", case.id, backend.name, arm_word(*arm)),
        String::new(),
        case.purpose.clone(),
    ];
    for id in &case.requirements {
        let text = suite.requirements.get(id).map(|r| format!("{id}: {} ({})", r.text, r.source));
        lines.push(text.unwrap_or_else(|| id.to_string()));
    }
    lines.push(String::new());
    let asked = case_summary::summarize_case(case);
    lines.extend(asked.parts().map(|(name, text)| format!("{name}: {text}")));
    let meaning = match arm {
        ArmKind::Confined => "0 the failure shows, 1 it does not, 2 nothing was learnt",
        _ => "0 the act does not work in this arm, 1 it does, 2 nothing was learnt",
    };
    lines.push(String::new());
    lines.push(format!("Exit: {meaning}. Written by `boxproof repro`; BACKEND=PATH tries another"));
    lines.push("program. What a structured result says is not looked at.".to_owned());
    let text = lines.join("\n");
    let commented = text.lines().map(|line| format!("# {line}").trim_end().to_owned() + "\n");
    format!("#!/bin/sh\n{}", commented.collect::<String>())
}

fn settings(subject: &ScriptSubject<'_>, shell: &ScriptShell) -> String {
    let ScriptSubject { case, backend, rendered, .. } = subject;
    let text = |name: &str| shell::quoted(rendered.vars.get(name).unwrap_or_default());
    let program = backend.program.as_ref().map(|program| program.display().to_string());
    let limit = case.timeout_ms.div_ceil(1000);
    let mut lines = vec![
        "set -u".to_owned(),
        "here=$(CDPATH='' cd -- \"$(dirname -- \"$0\")\" && pwd -P) || exit 2".to_owned(),
        format!("nonce={} canary={} limit={limit}", text("NONCE"), text("CANARY")),
        format!("backend=${{BACKEND:-{}}}", shell::quoted(&program.unwrap_or_default())),
    ];
    lines.push(judgement::settings(case, &commands::besides(subject)));
    lines.push(". \"$here/lib.sh\"".to_owned());
    let stdin = match &case.stdin {
        Some(text) => format!(
            "mkdir -p \"$work\" && printf '%s' {} >\"$work/stdin\"\nstdin=$work/stdin",
            shell.expanded(text)
        ),
        None => "stdin=/dev/null".to_owned(),
    };
    lines.push(stdin);
    lines.join("\n") + "\n"
}

/// Returns the lines of the script's course, in order.
fn course(subject: &ScriptSubject<'_>) -> String {
    let case = subject.case;
    let check = if case.expect.decision.is_negative() { "shown" } else { "works" };
    let expected = format!(
        "say {}\nsay {}\n",
        shell::quoted(&format!("case:     {}", case.purpose)),
        shell::quoted(&format!("expected: {}", case_summary::summarize_case(case).expect))
    );
    let root = if subject.uid == 0 { "=" } else { "!=" };
    let who = if subject.uid == 0 { "root" } else { "an ordinary user" };
    let mut lines = vec![
        format!("[ \"$(id -u)\" {root} 0 ] || give_up \"this was rendered for {who}\""),
        "ready_to_run".to_owned(),
        expected,
    ];
    match subject.arm {
        ArmKind::Confined => {
            if subject.control.is_some() {
                lines.push("arm control".to_owned());
                lines.push(format!(
                    "{check} || give_up \"without a sandbox the act is not possible here: $why\""
                ));
            }
            lines.extend(["arm confined", "judge", "conclude"].map(str::to_owned));
        }
        arm => {
            let word = arm_word(arm);
            lines.extend([format!("arm {word}"), format!("possible {word} {check}")]);
        }
    }
    if subject.backend.program.is_some() && subject.arm != ArmKind::Control {
        lines.insert(
            1,
            "command -v \"$backend\" >/dev/null || give_up \"$backend is not installed\""
                .to_owned(),
        );
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests;
