//! Commands of an arm, as shell functions ([`steps`]), and the settings that tell a backend's own
//! endings from the command's ([`meanings`]).

use std::ffi::OsString;

use boxproof_cases::Case;

use super::ScriptSubject;
use super::shell::{ScriptShell, quoted};
use crate::backend::{
    Backend, BackendKind, BytePattern, ExitRule, LaunchPlan, NoisePattern, SpawnPlan,
};
use crate::run::RenderedArm;

/// Returns one function for each step.
pub(super) fn steps(
    arm: &str,
    case: &Case,
    rendered: &RenderedArm,
    shell: &ScriptShell,
) -> Result<String, String> {
    let functions = rendered.steps.iter().enumerate().map(|(at, step)| match &step.start {
        LaunchPlan::Refuse { message } => Err(format!("nothing is started: {message}")),
        LaunchPlan::Spawn(spawn) => {
            let function = function(&format!("{arm}_{}", at + 1), case, spawn, shell)?;
            let state = format!("{{\n    directory \"$root/state/{}\"\n", at + 1);
            Ok(function.replacen("{\n", &state, 1))
        }
    });
    Ok(functions.collect::<Result<Vec<_>, _>>()?.join("\n"))
}

fn function(
    name: &str,
    case: &Case,
    spawn: &SpawnPlan,
    shell: &ScriptShell,
) -> Result<String, String> {
    let mut lines = Vec::new();
    for (path, content) in &spawn.files {
        let text =
            std::str::from_utf8(content).map_err(|_| format!("{} is not UTF-8", path.display()))?;
        lines.push(format!(
            "place {} {}",
            shell.quoted_word(&path.to_string_lossy()),
            shell.quoted_word(text)
        ));
    }
    let env = spawn.env.iter().map(|(name, value)| format!("{name}={}", shell.quoted_word(value)));
    let env = format!("env -i {}", env.collect::<Vec<_>>().join(" \\\n        "));
    let cwd = shell.quoted_word(&spawn.cwd.to_string_lossy());
    for step in &spawn.set_up {
        let words = quoted_argv(step, shell)?.join(" ");
        lines.push(format!(
            "( in_directory {cwd} {env} {words} ) </dev/null || give_up \"set-up failed\""
        ));
    }
    let redirections = case.launcher.inherit.iter().map(|(number, inherit)| {
        let mark = if inherit.write { "<>" } else { "<" };
        format!(" {number}{mark}{}", shell.place(&inherit.path))
    });
    let redirections: String = redirections.collect();
    let words = quoted_argv(&spawn.argv, shell)?.join(" \\\n        ");
    lines.push(format!("in_directory {cwd} $1 {env} \\\n        {words}{redirections}"));
    let body: String = lines.iter().map(|line| format!("    {line}\n")).collect();
    let tear_down = tear_down(name, spawn, &env, &cwd, shell)?;
    Ok(format!("{name}() {{\n{body}}}\n{tear_down}"))
}

/// The commands after the end; the launching function has turned into the backend by then.
fn tear_down(
    name: &str,
    spawn: &SpawnPlan,
    env: &str,
    cwd: &str,
    shell: &ScriptShell,
) -> Result<String, String> {
    let mut lines = String::new();
    for step in &spawn.tear_down {
        let words = quoted_argv(step, shell)?.join(" ");
        lines += &format!("    ( in_directory {cwd} {env} {words} ) </dev/null\n");
    }
    Ok(if lines.is_empty() { lines } else { format!("after_{name}() {{\n{lines}}}\n") })
}

fn quoted_argv(argv: &[OsString], shell: &ScriptShell) -> Result<Vec<String>, String> {
    let word = |argument: &OsString| {
        let text = argument.to_str().ok_or_else(|| format!("{argument:?} is not UTF-8"))?;
        Ok(shell.quoted_word(text))
    };
    argv.iter().map(word).collect()
}

/// Returns the endings and lines that are the backend's own, as settings.
pub(super) fn meanings(backend: &Backend, shell: &ScriptShell, rendered: &RenderedArm) -> String {
    let (mut not_found, mut declined, mut not_set_up) = (Vec::new(), Vec::new(), Vec::new());
    let (mut noise, mut residue) = (Vec::new(), Vec::new());
    match &backend.kind {
        BackendKind::Argv(manifest) => {
            not_found.extend(manifest.exits.not_found.iter().map(rule));
            declined.extend(manifest.exits.refused.iter().map(rule));
            not_set_up.extend(manifest.exits.setup_failed.iter().map(rule));
            // As rendered: the end of a stretch is a template.
            if let Some(LaunchPlan::Spawn(spawn)) = rendered.steps.last().map(|step| &step.start) {
                let streams = [("out", &spawn.noise.stdout), ("err", &spawn.noise.stderr)];
                let sounds =
                    streams.into_iter().flat_map(|(s, all)| all.iter().map(move |n| (s, n)));
                noise.extend(sounds.map(|(stream, sound)| silence(stream, sound, shell)));
            }
            residue.extend(manifest.residue.iter().map(|glob| pattern(glob)));
        }
        BackendKind::Native { .. } => {
            let says = |kinds: &str| format!("says_not_started {kinds}");
            declined.push(says("invalid_request unsupported unavailable"));
            not_set_up.push(says("setup"));
        }
        BackendKind::Receipts(_)
        | BackendKind::Bare
        | BackendKind::Refuse
        | BackendKind::Double(_) => {}
    }
    let any = |rules: Vec<String>| match rules.is_empty() {
        true => "false".to_owned(),
        false => rules.join(" || "),
    };
    let noise = if noise.is_empty() { ":".to_owned() } else { noise.join("; ") };
    let residue = match residue.is_empty() {
        true => "false".to_owned(),
        false => format!("case $1 in {}) ;; *) false ;; esac", residue.join(" | ")),
    };
    format!(
        "# What is the backend's own, and not the command's.\n\
         answers_for_missing_program() {{ {}; }}\ndeclined() {{ {}; }}\nnot_set_up() {{ {}; }}\n\
         own_noise() {{ {noise}; }}\nis_residue() {{ {residue}; }}\n",
        any(not_found),
        any(declined),
        any(not_set_up)
    )
}

/// Takes one piece of noise out of a stream.
fn silence(stream: &str, sound: &NoisePattern, shell: &ScriptShell) -> String {
    let file = format!("\"$work/$1.own.{stream}\"");
    match sound {
        NoisePattern::Prefix(prefix) => format!("without_lines {file} {}", quoted(prefix)),
        NoisePattern::Whole { line } => {
            format!("without_matching {file} {}", quoted(line.as_str()))
        }
        NoisePattern::Stretch { from, to } => {
            format!("without_stretches {file} {} {}", quoted(from.as_str()), shell.quoted_word(to))
        }
    }
}

fn rule(rule: &ExitRule) -> String {
    let code = rule.exit.map_or_else(|| "any".to_owned(), |code| code.to_string());
    let pattern = rule.stderr.as_ref().map(BytePattern::as_str).unwrap_or_default();
    format!("ended {code} {} {}", quoted(&rule.stderr_prefix), quoted(pattern))
}

/// Errnos that are refusals besides: the backend closes things so, and there is a control.
pub(super) fn besides(subject: &ScriptSubject<'_>) -> Vec<&'static str> {
    match subject.rendered.steps.last().map(|step| &step.start) {
        Some(LaunchPlan::Spawn(spawn)) if subject.control.is_some() => spawn.besides.clone(),
        _ => Vec::new(),
    }
}

/// A glob of a manifest as a pattern of `case`, in which `*` crosses slashes as `**` does.
fn pattern(glob: &str) -> String {
    let glob = glob.replace("$WS/", "ws/").replace("$HOME/", "home/").replace("$TMPDIR/", "tmp/");
    let escaped = |c: char| match c {
        '*' | '?' => c.to_string(),
        c => quoted(&c.to_string()),
    };
    glob.chars().map(escaped).collect()
}
