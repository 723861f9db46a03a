//! A plan as the arguments of `bwrap`, for a caller that runs the command without boxproof. Pure.

use std::collections::BTreeMap;
use std::path::Path;

use boxproof_cases::protocol::{Compiled, CompiledText};

use crate::error::Refusal;
use crate::mechanism::{bubblewrap, path_text};
use crate::plan::{AbsenceReason, View};
use crate::policy::caliban::ExtraOpenings;

/// The limit of settings that call themselves nested.
const NESTED: &str = "enable_weaker_nested_sandbox: no user namespace is asked for; a user who may make \
    the others without one, as root in a container does, has the host's own ids in there";

/// The words for `view`, up to `--`.
pub(super) fn argv(view: &View, cwd: &Path, opens: &ExtraOpenings) -> Result<Compiled, Refusal> {
    let words = bubblewrap::standalone(view, cwd, opens.nested)?.into_iter();
    let words = words.map(|word| path_text(Path::new(&word)).map(str::to_owned));
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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::plan::{ForbiddenNames, ViewStep};

    fn view() -> View {
        let path = PathBuf::from;
        let steps = vec![
            ViewStep::BindReadOnly(path("/")),
            ViewStep::Dev,
            ViewStep::Proc,
            ViewStep::Tmpfs(path("/tmp"), 0o1777),
            ViewStep::Bind(path("/w")),
            ViewStep::BindReadOnly(path("/w/ro \"x\\")),
            ViewStep::MaskFile(path("/w/key")),
            ViewStep::MaskDirectory(path("/w/secret")),
            ViewStep::Seal(path("/dev")),
        ];
        View { steps, mediate: ForbiddenNames::default(), host_network: false, egress: None }
    }

    #[test]
    fn bubblewrap_words() {
        let compiled = argv(&view(), Path::new("/w"), &ExtraOpenings::default()).unwrap();
        let CompiledText::Argv(words) = compiled.text else { panic!("no words") };
        insta::assert_snapshot!("bubblewrap_words", words.join("\n"));
    }
}
