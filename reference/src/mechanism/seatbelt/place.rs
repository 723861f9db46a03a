//! The place of a run's profile file: a private directory, or the session's own place.

use std::path::{Path, PathBuf};

use super::file::Name;
use super::folder::Folder;
use crate::error::Refusal;
use crate::plan::{Step, View};
use crate::request::ProfilePlace;

/// Our directory below the user's own.
const FOLDER: &str = "refbox";

/// The directory and the file's name, for the session's `wanted` place if it has one. No command of
/// this run can write there.
pub(super) fn of(wanted: Option<&ProfilePlace>, view: &View) -> Result<(Folder, Name), Refusal> {
    let refused = |error| Refusal::os("the profile's folder", error);
    let (folder, name) = match wanted {
        Some(ProfilePlace { base, folders, name }) => {
            (Folder::below(base, folders).map_err(refused)?, Name::Exactly(name.clone()))
        }
        None => (Folder::below(&base(), &[FOLDER]).map_err(refused)?, Name::Fresh),
    };
    match is_open(folder.path(), view) {
        false => Ok((folder, name)),
        true => Err(Refusal::setup(format!(
            "the profile's folder {} lies where the command can write; name another by XDG_RUNTIME_DIR",
            folder.path().display()
        ))),
    }
}

/// Returns the user's own directory for files that last as long as a session.
fn base() -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    runtime.filter(|path| path.is_absolute()).unwrap_or_else(std::env::temp_dir)
}

/// Returns whether `folder` is writable under `view`: the last step about it decides.
fn is_open(folder: &Path, view: &View) -> bool {
    let about = |step: &&Step| folder.starts_with(step.path());
    matches!(view.steps.iter().rev().find(about), Some(Step::Bind(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Held;
    use rstest::rstest;

    #[rstest]
    #[case::outside("/run/user/7/refbox", false)]
    #[case::workspace("/w/run", true)]
    #[case::closed_again("/w/closed/run", false)]
    fn a_folder_that_the_command_writes_is_none(#[case] folder: &str, #[case] open: bool) {
        let steps = vec![
            Step::BindReadOnly("/".into()),
            Step::Bind("/w".into()),
            Step::BindReadOnly("/w/closed".into()),
        ];
        let view = View { steps, mediate: Held::default(), host_network: false, egress: None };
        assert_eq!(is_open(Path::new(folder), &view), open);
    }

    #[test]
    fn a_session_in_a_writable_folder_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let steps = vec![Step::Bind(base.clone())];
        let view = View { steps, mediate: Held::default(), host_network: false, egress: None };
        let wanted = ProfilePlace { base, folders: &["caliban"], name: "s1.sb".to_owned() };
        let refusal = of(Some(&wanted), &view).unwrap_err();
        assert!(refusal.message.contains("where the command can write"), "{refusal}");
    }
}
