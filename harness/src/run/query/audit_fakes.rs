//! Answers of the built-in backends: the one that confines nothing allows all, the one that refuses
//! everything denies all. A question that both of them answer correctly tests nothing. Pure.

use std::collections::BTreeMap;

use boxproof_cases::case::PolicyQuery;
use boxproof_cases::protocol::{
    AskBy, AskDecision, BlockBackend, BlockMode, BlockNetwork, Blocked, CommandFate, CompileTarget,
    Compiled, CompiledText, DocumentAnswer, EffectiveProfile, ExecutorStart, Explanation,
    InferredGrants, PathAnswer, PathDecision, Permission, PolicyFault, RuleEffect, RuleInForce,
    RuleOrigin, Stage, Status,
};

use super::call::QueryCall;
use crate::backend::BackendKind;

/// The answer to a call, where the backend is a built-in one.
pub(super) fn built_in_answer(call: &QueryCall<'_>) -> Option<DocumentAnswer> {
    let allows = match call.backend.kind {
        BackendKind::Bare => true,
        BackendKind::Refuse => false,
        BackendKind::Argv(_)
        | BackendKind::Receipts(_)
        | BackendKind::Native { .. }
        | BackendKind::Double(_) => return None,
    };
    Some(match (call.verb(), allows) {
        ("check", _) => {
            DocumentAnswer::Decisions(call.cases.iter().map(|_| decided(allows)).collect())
        }
        ("explain", _) => {
            DocumentAnswer::Explained(Explanation { blocked: (!allows).then(denied) })
        }
        ("compile", allows) => DocumentAnswer::Compiled(compiled(call, allows)),
        ("effective", true) => DocumentAnswer::Effective(everything()),
        ("settings", true) => DocumentAnswer::Settings(Box::default()),
        ("decide-ask", allows) => DocumentAnswer::Asks(vec![asked(allows); call.cases.len()]),
        ("grants", allows) => DocumentAnswer::Grants(vec![inferred(allows); call.cases.len()]),
        ("executor", true) => DocumentAnswer::Starts(Box::new(anything())),
        ("status", true) => DocumentAnswer::Status(Box::new(nothing_confined())),
        (_, true) => DocumentAnswer::Valid {},
        (_, false) => DocumentAnswer::Invalid(PolicyFault {
            message: "everything is refused".to_owned(),
            file: None,
            line: None,
            column: None,
        }),
    })
}

fn asked(allows: bool) -> AskDecision {
    let decision = if allows { Permission::Allow } else { Permission::Deny };
    AskDecision { decision, by: AskBy::Rules, sandboxed: !allows, bypassed_by: None }
}

fn inferred(allows: bool) -> InferredGrants {
    let granted = if allows { vec!["git_metadata_write".to_owned()] } else { Vec::new() };
    InferredGrants { granted, subcommand: None, because: "everything is the same".to_owned() }
}

/// Returns the explanation of a backend that refuses everything: it is why everything fails.
fn denied() -> Blocked {
    Blocked {
        stage: Stage::Runtime,
        rule: "everything".to_owned(),
        operation: None,
        path: None,
        reason: "everything is refused".to_owned(),
        suggested_action: None,
        also: Vec::new(),
    }
}

/// A text that permits all, or nothing.
fn compiled(call: &QueryCall<'_>, allows: bool) -> Compiled {
    let target = match call.cases[0].question() {
        Some(PolicyQuery::Compile(target, _)) => *target,
        _ => CompileTarget::Seatbelt,
    };
    let text = match (target, allows) {
        (CompileTarget::Seatbelt, true) => CompiledText::Sbpl("(version 1)(allow default)".into()),
        (CompileTarget::Seatbelt, false) => CompiledText::Sbpl("(version 1)(deny default)".into()),
        (CompileTarget::Bubblewrap, true) => compiled_argv(&["--bind", "/", "/"]),
        (CompileTarget::Bubblewrap, false) => compiled_argv(&["--unshare-net", "--tmpfs", "/"]),
    };
    Compiled { text, params: Vec::new(), values: Default::default(), limits: Vec::new() }
}

fn compiled_argv(words: &[&str]) -> CompiledText {
    let words = ["bwrap"].iter().chain(words).chain(&["--"]);
    CompiledText::Argv(words.map(|word| (*word).to_owned()).collect())
}

fn decided(allowed: bool) -> PathAnswer {
    let matched_rule = if allowed { "**" } else { "[]" }.to_owned();
    PathAnswer::Decided(PathDecision {
        allowed,
        matched_rule,
        means: ".".into(),
        decided_by: None,
        warning: None,
    })
}

fn nothing_confined() -> Status {
    Status {
        runs: CommandFate::Unconfined,
        reason: None,
        mode: BlockMode::Off,
        configured_backend: BlockBackend::None,
        effective_backend: "none".to_owned(),
        network: BlockNetwork::Enabled,
        fail_closed: false,
        workspace: "/".into(),
        writable_roots: Vec::new(),
        protected: Vec::new(),
        artifacts: Vec::new(),
        env_passthrough: Vec::new(),
        limits: Vec::new(),
    }
}

/// An agent without any sandbox.
fn anything() -> ExecutorStart {
    ExecutorStart {
        argv: Vec::new(),
        config: BTreeMap::new(),
        enforced: false,
        side_roots: Vec::new(),
        warnings: Vec::new(),
    }
}

fn everything() -> EffectiveProfile {
    let all = || RuleInForce {
        rule: "**".to_owned(),
        effect: RuleEffect::Allows,
        origin: RuleOrigin::Fallback,
        file: None,
        line: None,
    };
    EffectiveProfile {
        policy: String::new(),
        profile: String::new(),
        read: vec![all()],
        modify: vec![all()],
    }
}
