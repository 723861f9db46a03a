//! Judging a compiled policy by what its text means, independently of its author.

use boxproof_cases::protocol::{Compiled, CompiledText, DocumentAnswer, TMP_PARAM};

use super::reason::{Reason, VerdictFinding};
use crate::execution::{ModelAttempt, QueryAnswer};
use crate::models::ModelError;
use crate::models::mounts::Mounts;
use crate::models::sbpl::{Profile, real_name};

/// Returns whether the attempt `tried` is possible under `compiled`.
pub(super) fn permits(compiled: &Compiled, tried: &ModelAttempt) -> Result<bool, ModelError> {
    let value = |name: &str| match compiled.values.get(name) {
        Some(value) => Some(real_names(value, &tried.root)),
        None => (name == TMP_PARAM).then(|| real_name(&tried.tmp)),
    };
    let given = compiled.params.iter().chain(compiled.values.keys());
    let params: Vec<(&str, String)> = given
        .map(|name| {
            let value = value(name)
                .ok_or_else(|| ModelError::Unknown(format!("a value for the parameter {name}")))?;
            Ok((name.as_str(), value))
        })
        .collect::<Result<_, ModelError>>()?;
    let params = params.iter().map(|(name, value)| (*name, value.as_str()));
    let (deed, object) = (tried.attempt.deed, tried.attempt.object.as_str());
    match &compiled.text {
        CompiledText::Sbpl(text) => {
            Profile::read(&real_names(text, &tried.root), params)?.permits(deed, object)
        }
        CompiledText::Argv(argv) => Mounts::read(argv)?.permits(deed, object),
    }
}

/// Replaces the name that macOS would have for the arm's own directory by `root`, and the reverse.
/// The place of that directory is not the backend's choice, so that either name is right.
fn real_names(text: &str, root: &str) -> String {
    let real = real_name(root);
    match real == root {
        true => text.to_owned(),
        false => text.replace(&real, root).replace(root, &real),
    }
}

/// Checks that the text also has the pieces that the case asks for, and lacks those that it must
/// not have.
pub(super) fn says(answered: &QueryAnswer) -> Result<(), VerdictFinding> {
    let (DocumentAnswer::Compiled(compiled), Some(tried)) = (&answered.told, &answered.tried)
    else {
        return Ok(());
    };
    let text = match &compiled.text {
        // The pieces of a case are put together from the arm's directory as it is named here.
        CompiledText::Sbpl(text) => text.replace(&real_name(&tried.root), &tried.root),
        CompiledText::Argv(words) => words.join(" "),
    };
    let differs = tried.text.differs(&text);
    differs.map_or(Ok(()), |why| Err(VerdictFinding::contract(Reason::Rule, why)))
}
