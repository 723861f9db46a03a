//! What the built-in backends answer: who confines nothing allows all, who refuses everything denies
//! all. An answer that neither of them gets wrong asks nothing. Pure.

use boxproof_cases::case::Question;
use boxproof_cases::protocol::{
    CompileTarget, Compiled, CompiledText, EffectiveProfile, PathAnswer, PathDecision, PolicyFault,
    RuleEffect, RuleInForce, RuleOrigin, Told,
};

use super::call::Call;
use crate::backend::Kind;

/// The answer to a call, where the backend is a built-in one.
pub(super) fn told(call: &Call<'_>) -> Option<Told> {
    let allows = match call.backend.kind {
        Kind::Bare => true,
        Kind::Refuse => false,
        Kind::Argv(_) | Kind::Native { .. } => return None,
    };
    Some(match (call.verb(), allows) {
        ("check", _) => Told::Decisions(call.cases.iter().map(|_| decided(allows)).collect()),
        ("compile", allows) => Told::Compiled(compiled(call, allows)),
        ("effective", true) => Told::Effective(everything()),
        (_, true) => Told::Valid {},
        (_, false) => Told::Invalid(PolicyFault {
            message: "everything is refused".to_owned(),
            file: None,
            line: None,
            column: None,
        }),
    })
}

/// A text that permits all, or nothing.
fn compiled(call: &Call<'_>, allows: bool) -> Compiled {
    let target = match call.cases[0].question() {
        Some(Question::Compile(target, _)) => *target,
        _ => CompileTarget::Seatbelt,
    };
    let text = match (target, allows) {
        (CompileTarget::Seatbelt, true) => CompiledText::Sbpl("(version 1)(allow default)".into()),
        (CompileTarget::Seatbelt, false) => CompiledText::Sbpl("(version 1)(deny default)".into()),
        (CompileTarget::Bubblewrap, true) => words(&["--bind", "/", "/"]),
        (CompileTarget::Bubblewrap, false) => words(&["--unshare-net", "--tmpfs", "/"]),
    };
    Compiled { text, params: Vec::new(), limits: Vec::new() }
}

fn words(words: &[&str]) -> CompiledText {
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
