//! The report for people and programs. Pure.

use boxproof_cases::protocol::{
    BlockMode, CommandFate, PROTECTED_NAMES, RootKind, Status, WirePath, WritableRoot,
};
use serde::Serialize;

use super::resolve::ResolvedBlock;

/// Returns the status of `settled` with a mechanism of this name.
pub(crate) fn status(settled: &ResolvedBlock, given: &str, mechanism: &str) -> Status {
    let ResolvedBlock { block, roots, policy, unavailable, .. } = settled;
    let runs = settled.runs();
    let confined = runs == CommandFate::Confined;
    let writes = confined && block.mode == BlockMode::WorkspaceWrite;
    let root = |kind, written: &str, path: WirePath| WritableRoot {
        kind,
        written: written.to_owned(),
        path,
    };
    let mut writable_roots = Vec::new();
    let mut protected: Vec<WirePath> = Vec::new();
    if writes {
        writable_roots.push(root(RootKind::Workspace, given, roots.workspace.clone().into()));
        writable_roots.push(root(RootKind::Tmp, "private", "/tmp".into()));
        let extra = roots.extra.iter();
        writable_roots
            .extend(extra.map(|(text, path)| root(RootKind::Extra, text, path.clone().into())));
        let below = std::iter::once(&roots.workspace).chain(roots.extra.iter().map(|(_, p)| p));
        protected = below
            .flat_map(|root| PROTECTED_NAMES.iter().map(|name| root.join(name).into()))
            .collect();
    }
    Status {
        runs,
        reason: unavailable.clone(),
        mode: block.mode,
        configured_backend: block.backend,
        effective_backend: if confined { mechanism } else { "none" }.to_owned(),
        network: block.network,
        fail_closed: block.fail_closed,
        workspace: roots.workspace.clone().into(),
        writable_roots,
        protected,
        artifacts: if writes { policy.reopen.clone() } else { Vec::new() },
        env_passthrough: block.env.clone(),
        limits: Vec::new(),
    }
}

/// Formats the status for people, one line a member.
pub(crate) fn text(status: &Status) -> String {
    let paths = |paths: &[WirePath]| {
        let shown = paths.iter().map(|path| path.as_path().display().to_string());
        listed(&shown.collect::<Vec<_>>())
    };
    let roots = status.writable_roots.iter().map(|root| {
        let path = root.path.as_path().display();
        match root.kind == RootKind::Tmp {
            true => format!("{}: {path} ({})", protocol_name(root.kind), root.written),
            false => format!("{}: {path}", protocol_name(root.kind)),
        }
    });
    let rows = [
        ("Commands", protocol_name(status.runs)),
        ("Reason", status.reason.clone().unwrap_or_default()),
        ("Mode", protocol_name(status.mode)),
        ("Configured backend", protocol_name(status.configured_backend)),
        ("Effective backend", status.effective_backend.clone()),
        ("Network", protocol_name(status.network)),
        ("Workspace", status.workspace.as_path().display().to_string()),
        ("Fail closed", protocol_name(status.fail_closed)),
        ("Writable roots", listed(&roots.collect::<Vec<_>>())),
        ("Protected", paths(&status.protected)),
        ("Artifacts", paths(&status.artifacts)),
        ("Env passthrough", listed(&status.env_passthrough)),
        ("Limits", status.limits.join("; ")),
    ];
    let said = rows.iter().filter(|(_, value)| !value.is_empty());
    said.map(|(name, value)| format!("{:<20}{value}\n", format!("{name}:"))).collect()
}

fn listed(words: &[String]) -> String {
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

/// The word that the protocol has for it.
fn protocol_name(value: impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
