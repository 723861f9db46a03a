//! The place of a run's profile file: a private directory, or the session's own place.

use std::path::{Path, PathBuf};

use super::private_directory::PrivateDirectory;
use super::profile_file::ProfileFileName;
use crate::error::Refusal;
use crate::plan::{View, ViewStep};
use crate::request::ProfileLocation;

/// Our directory below the user's own.
const DIRECTORY: &str = "refbox";

/// The directory and the file's name, for the session's `wanted` place if it has one. No command of
/// this run can write there.
pub(super) fn profile_location(
    wanted: Option<&ProfileLocation>,
    view: &View,
) -> Result<(PrivateDirectory, ProfileFileName), Refusal> {
    let refused = |error| Refusal::os("the profile's directory", error);
    let (directory, name) = match wanted {
        Some(ProfileLocation { base, directories, name }) => (
            PrivateDirectory::below(base, directories).map_err(refused)?,
            ProfileFileName::Exactly(name.clone()),
        ),
        None => (
            PrivateDirectory::below(&base(), &[DIRECTORY]).map_err(refused)?,
            ProfileFileName::Fresh,
        ),
    };
    match is_open(directory.path(), view) {
        false => Ok((directory, name)),
        true => Err(Refusal::setup(format!(
            "the profile's directory {} lies where the command can write; name another by XDG_RUNTIME_DIR",
            directory.path().display()
        ))),
    }
}

/// Returns the user's own directory for files that last as long as a session.
fn base() -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    runtime.filter(|path| path.is_absolute()).unwrap_or_else(std::env::temp_dir)
}

/// Returns whether `directory` is writable under `view`: the last step about it decides.
fn is_open(directory: &Path, view: &View) -> bool {
    let about = |step: &&ViewStep| directory.starts_with(step.path());
    matches!(view.steps.iter().rev().find(about), Some(ViewStep::Bind(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::ForbiddenNames;
    use rstest::rstest;

    #[rstest]
    #[case::outside("/run/user/7/refbox", false)]
    #[case::workspace("/w/run", true)]
    #[case::closed_again("/w/closed/run", false)]
    fn a_directory_that_the_command_writes_is_none(#[case] directory: &str, #[case] open: bool) {
        let steps = vec![
            ViewStep::BindReadOnly("/".into()),
            ViewStep::Bind("/w".into()),
            ViewStep::BindReadOnly("/w/closed".into()),
        ];
        let view =
            View { steps, mediate: ForbiddenNames::default(), host_network: false, egress: None };
        assert_eq!(is_open(Path::new(directory), &view), open);
    }

    #[test]
    fn a_session_in_a_writable_directory_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let steps = vec![ViewStep::Bind(base.clone())];
        let view =
            View { steps, mediate: ForbiddenNames::default(), host_network: false, egress: None };
        let wanted = ProfileLocation { base, directories: &["caliban"], name: "s1.sb".to_owned() };
        let refusal = profile_location(Some(&wanted), &view).unwrap_err();
        assert!(refusal.message.contains("where the command can write"), "{refusal}");
    }
}
