//! Judging a compiled policy by what its text means, whoever wrote it.

use boxproof_cases::protocol::{Compiled, CompiledText, TMP_PARAM, Told};

use super::reason::{Finding, Reason};
use crate::execution::{Answered, Tried};
use crate::models::Flaw;
use crate::models::mounts::Mounts;
use crate::models::sbpl::Profile;

/// Whether what was tried can be done under `compiled`.
pub(super) fn permits(compiled: &Compiled, tried: &Tried) -> Result<bool, Flaw> {
    if let Some(other) = compiled.params.iter().find(|name| *name != TMP_PARAM) {
        return Err(Flaw::Unknown(format!("a value for the parameter {other}")));
    }
    let params = compiled.params.iter().map(|name| (name.as_str(), tried.tmp.as_str()));
    let (deed, object) = (tried.attempt.deed, tried.attempt.object.as_str());
    match &compiled.text {
        CompiledText::Sbpl(text) => Profile::read(text, params)?.permits(deed, object),
        CompiledText::Argv(argv) => Mounts::read(argv)?.permits(deed, object),
    }
}

/// Whether the text also has the pieces that the case asks for, and lacks those that it must not have.
pub(super) fn says(answered: &Answered) -> Result<(), Finding> {
    let (Told::Compiled(compiled), Some(tried)) = (&answered.told, &answered.tried) else {
        return Ok(());
    };
    let text = match &compiled.text {
        CompiledText::Sbpl(text) => text.clone(),
        CompiledText::Argv(words) => words.join(" "),
    };
    let differs = tried.text.differs(&text);
    differs.map_or(Ok(()), |why| Err(Finding::contract(Reason::Rule, why)))
}
