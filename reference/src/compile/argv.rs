//! A plan as the arguments of `bwrap`, for a caller that runs the command without boxproof. Pure.

use std::collections::BTreeMap;
use std::path::Path;

use boxproof_cases::protocol::{Compiled, CompiledText};

use crate::dialect::caliban::ExtraOpenings;
use crate::error::Refusal;
use crate::mechanism::bubblewrap;
use crate::plan::{AbsenceReason, View};

/// The limit of settings that call themselves nested.
const NESTED: &str = "enable_weaker_nested_sandbox: no user namespace is asked for; a user who may make \
    the others without one, as root in a container does, has the host's own ids in there";

/// The words for `view`, up to `--`.
pub(super) fn argv(view: &View, cwd: &Path, opens: &ExtraOpenings) -> Result<Compiled, Refusal> {
    let words = bubblewrap::standalone(view, cwd, opens.nested)?.into_iter();
    let words = words.map(|word| super::text(Path::new(&word)).map(str::to_owned));
    let loose = view.mediate.names.iter().filter(|name| name.by == AbsenceReason::Protect);
    let limits = loose.map(|name| {
        format!("{} is protected and does not exist: a command can make it", name.path.display())
    });
    let nested = opens.nested.then(|| NESTED.to_owned());
    Ok(Compiled {
        text: CompiledText::Argv(words.collect::<Result<_, _>>()?),
        params: Vec::new(),
        values: BTreeMap::new(),
        limits: nested.into_iter().chain(limits).collect(),
    })
}
