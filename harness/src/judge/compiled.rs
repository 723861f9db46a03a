//! Judging a compiled policy by what its text means, whoever wrote it.

use boxproof_cases::protocol::{Compiled, CompiledText, TMP_PARAM};

use crate::execution::Tried;
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
