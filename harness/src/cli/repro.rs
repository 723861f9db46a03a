//! `boxproof repro`: one case against one backend, as a script that runs without the harness.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use boxproof_cases::case::{Control, Twin};
use boxproof_cases::{Case, Suite};
use clap::ValueEnum;

use super::user::settle_questions;
use super::{CliFailure, CorpusArgs, backends, me, note, print, print_text, unusable};
use crate::arm_context::ArmContext;
use crate::backend::Backend;
use crate::execution::ArmKind;
use crate::output::OutputDirectory;
use crate::repro::{
    LIBRARY, PROBE, PROBE_DIRECTORY, SCRIPT, ScriptSubject, arm_word, obstacle, preview,
    question_script, script,
};
use crate::run::{RenderedArm, render, render_question};
use crate::scratch::{self, ScratchDirectory};

/// Arguments of `repro`.
#[derive(Debug, clap::Args)]
pub(super) struct ReproArgs {
    /// The case's id.
    #[arg(value_name = "CASE")]
    id: String,
    /// The backend: a shipped NAME, a PROGRAM or a manifest FILE.yaml.
    #[arg(long, value_name = "BACKEND", default_value = "reference")]
    backend: String,
    /// The arm that the script is about. The script of the confined arm runs the control first.
    #[arg(long, value_enum, default_value_t = ArmArg::Confined)]
    arm: ArmArg,
    /// Write script, library, probe and policy to this directory, which must not exist or be empty.
    /// Without it, the layout and the commands are printed.
    #[arg(long, value_name = "DIR")]
    export: Option<PathBuf>,
    /// The user id that the script is for; by default yours. Backends may be told otherwise as
    /// root.
    #[arg(long, value_name = "UID")]
    uid: Option<u32>,
    #[command(flatten)]
    corpus: CorpusArgs,
    /// The directory in which the scratch directory is made.
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
}

/// An arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ArmArg {
    /// Under the policy of the case.
    Confined,
    /// Without a sandbox.
    Control,
    /// In the same sandbox, one grant wider.
    Twin,
}

impl From<ArmArg> for ArmKind {
    fn from(arm: ArmArg) -> Self {
        match arm {
            ArmArg::Confined => Self::Confined,
            ArmArg::Control => Self::Control,
            ArmArg::Twin => Self::Twin,
        }
    }
}

pub(super) fn run(args: &ReproArgs) -> Result<i32, CliFailure> {
    if let Some(directory) = &args.export {
        scratch::check_export(directory).map_err(unusable)?;
    }
    let named = args.corpus.settle()?.cases(std::slice::from_ref(&args.id));
    let suite = named.corpus.suite_of(&named.selection(None)?)?;
    let case = find(&suite, &args.id)?;
    let settled = settle_questions(None)?;
    let backend = backends(std::slice::from_ref(&args.backend), &settled)?.remove(0);
    if let Some(missing) = &backend.missing {
        note(format_args!("{}: {}", missing.what, missing.hint));
        return Ok(3);
    }
    has_arm(case, args.arm)?;
    let arm = ArmKind::from(args.arm);
    if let Some(why) = obstacle(case, &backend) {
        return Err(CliFailure::usage(format!("{} has no script: {why}", case.id)));
    }
    let base = args.scratch.clone().unwrap_or_else(scratch::default_base);
    let scratch = ScratchDirectory::make(&base)?;
    let uid = args.uid.unwrap_or_else(|| nix::unistd::geteuid().as_raw());
    if case.question().is_some() {
        return question(case, &suite, (&backend, &scratch, uid), args);
    }
    let rendered = rendered(case, arm, &backend, (&scratch, uid))?;
    let control = match (arm, &case.control) {
        (ArmKind::Confined, Control::Host | Control::PrivateNs) => {
            Some(self::rendered(case, ArmKind::Control, &backend, (&scratch, uid))?)
        }
        _ => None,
    };
    let subject = ScriptSubject {
        case,
        suite: &suite,
        backend: &backend,
        arm,
        rendered: &rendered,
        control: control.as_ref(),
        uid,
    };
    match &args.export {
        Some(directory) => {
            let text = script(&subject)
                .map_err(|why| CliFailure::usage(format!("{} has no script: {why}", case.id)))?;
            export(directory, &text, Some(policy(&subject)?))
        }
        None => show(&subject, args),
    }
}

/// Renders a question, which has no arms.
fn question(
    case: &Case,
    suite: &Suite,
    (backend, scratch, uid): (&Backend, &ScratchDirectory, u32),
    args: &ReproArgs,
) -> Result<i32, CliFailure> {
    let (directory, probe) = scene_of(ArmKind::Confined, scratch)?;
    let context = render_context(&directory, &probe, scratch);
    let (rendered, request) = render_question(case, &context)
        .map_err(|error| CliFailure::usage(format!("{}: {error}", case.id)))?;
    let (arm, rendered, control) = (ArmKind::Confined, &rendered, None);
    let subject = ScriptSubject { case, suite, backend, arm, rendered, control, uid };
    let text = question_script(&subject, &request)
        .map_err(|why| CliFailure::usage(format!("{} has no script: {why}", case.id)))?;
    match &args.export {
        Some(directory) => export(directory, &text, None),
        None => {
            print(&text)?;
            Ok(0)
        }
    }
}

fn find<'a>(suite: &'a Suite, id: &str) -> Result<&'a Case, CliFailure> {
    let found = suite.cases.iter().find(|case| case.id.as_str() == id);
    found.ok_or_else(|| {
        let rows =
            suite.cases.iter().filter(|case| case.id.as_str().starts_with(&format!("{id}/")));
        let rows: Vec<&str> = rows.map(|case| case.id.as_str()).take(20).collect();
        match rows.is_empty() {
            true => CliFailure::usage(format!("no case `{id}`; see `boxproof list`")),
            false => CliFailure::usage(format!("`{id}` has rows, name one: {}", rows.join(" "))),
        }
    })
}

fn has_arm(case: &Case, arm: ArmArg) -> Result<(), CliFailure> {
    let lacks = match (arm, &case.control, &case.twin) {
        (ArmArg::Control, Control::None(why), _) => Some(format!("no control: {why}")),
        (ArmArg::Twin, _, Some(Twin::None(why))) => Some(format!("no twin: {why}")),
        (ArmArg::Twin, _, None) => Some("no twin: nothing is denied".to_owned()),
        _ => None,
    };
    lacks.map_or(Ok(()), |why| Err(CliFailure::usage(format!("{} has {why}", case.id))))
}

fn rendered(
    case: &Case,
    arm: ArmKind,
    backend: &Backend,
    (scratch, uid): (&ScratchDirectory, u32),
) -> Result<RenderedArm, CliFailure> {
    let (directory, probe) = scene_of(arm, scratch)?;
    let context = render_context(&directory, &probe, scratch);
    render(case, arm, backend, &context, uid)
        .map_err(|error| CliFailure::usage(format!("{}: {error}", case.id)))
}

/// Returns the context of an arm that is rendered and not executed.
fn render_context<'a>(
    directory: &'a Path,
    probe: &'a Path,
    scratch: &'a ScratchDirectory,
) -> ArmContext<'a> {
    ArmContext { directory, probe, run_id: &scratch.run_id, boss: None, own_mounts: false }
}

/// Makes a directory for one arm, with the probe program in it.
fn scene_of(arm: ArmKind, scratch: &ScratchDirectory) -> Result<(PathBuf, PathBuf), CliFailure> {
    let directory = scratch.path.join(arm_word(arm));
    std::fs::create_dir(&directory)?;
    // A name that nothing else has, in a directory that holds nothing else.
    let above = scratch.path.join(format!("{PROBE_DIRECTORY}-{}", arm_word(arm)));
    std::fs::create_dir(&above)?;
    let probe = above.join(PROBE);
    std::os::unix::fs::symlink(me()?, &probe)?;
    Ok((directory, probe))
}

fn show(subject: &ScriptSubject<'_>, args: &ReproArgs) -> Result<i32, CliFailure> {
    let text = preview(subject).map_err(CliFailure::usage)?;
    print_text(&format!(
        "{text}\n# `boxproof repro {} --backend {} --arm {} --export DIR` writes a script of it.\n",
        crate::shell_quoting::shell_word(&args.id),
        crate::shell_quoting::shell_word(&args.backend),
        arm_word(subject.arm)
    ))?;
    Ok(0)
}

/// The policy as it would be sent, with `$root` for where everything lies.
fn policy(subject: &ScriptSubject<'_>) -> Result<String, CliFailure> {
    let policy = subject.rendered.steps.last().map(|step| &step.policy);
    let policy = serde_json::to_string_pretty(&policy)
        .map_err(|error| CliFailure::usage(format!("{}: {error}", subject.case.id)))?;
    let root = subject.rendered.vars.get("WS").and_then(|ws| ws.strip_suffix("/ws"));
    Ok(policy.replace(root.unwrap_or_default(), "$root"))
}

/// Writes the script and what it needs; the policy besides, where there is one to look at.
fn export(path: &Path, text: &str, policy: Option<String>) -> Result<i32, CliFailure> {
    let directory = OutputDirectory::make(path).map_err(unusable)?;
    if !directory.names().map_err(unusable)?.is_empty() {
        return Err(CliFailure::usage(format!(
            "{}: it is not empty: name a directory that is, or none that exists",
            path.display()
        )));
    }
    let write =
        |name: &str, bytes: &[u8], mode: u32| directory.replace(OsStr::new(name), bytes, mode);
    let (library, functions) = LIBRARY;
    write(SCRIPT, text.as_bytes(), 0o777)?;
    write(library, functions.as_bytes(), 0o666)?;
    if let Some(policy) = policy {
        write("policy.json", format!("{policy}\n").as_bytes(), 0o666)?;
    }
    let probe = OutputDirectory::make(&path.join(PROBE_DIRECTORY)).map_err(unusable)?;
    probe.replace(OsStr::new(PROBE), &std::fs::read(me()?)?, 0o777)?;
    print_text(&format!("{}\n", path.join(SCRIPT).display()))?;
    Ok(0)
}
