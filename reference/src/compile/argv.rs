//! A plan as the words of `bwrap`, for whoever runs the command without us. Pure.

use std::path::Path;

use boxproof_cases::protocol::{Compiled, CompiledText};

use crate::error::Refusal;
use crate::mechanism::bubblewrap;
use crate::plan::{By, View};

/// The words for `view`, up to `--`.
pub(super) fn argv(view: &View, cwd: &Path) -> Result<Compiled, Refusal> {
    let words = bubblewrap::standalone(view, cwd)?.into_iter();
    let words = words.map(|word| super::text(Path::new(&word)).map(str::to_owned));
    let loose = view.mediate.names.iter().filter(|name| name.by == By::Protect);
    let limits = loose.map(|name| {
        format!("{} is protected and does not exist: a command can make it", name.path.display())
    });
    Ok(Compiled {
        text: CompiledText::Argv(words.collect::<Result<_, _>>()?),
        params: Vec::new(),
        limits: limits.collect(),
    })
}
