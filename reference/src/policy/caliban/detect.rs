//! Detection of a sandbox: the program that the settings name, its version, its namespaces.

use std::path::Path;

use boxproof_cases::protocol::SettingsPlatform;

use super::error::{SettingsError, SettingsErrorKind};
use super::validate::ValidSettings;
use crate::policy::orbit::SourceLocation;

/// The oldest `bwrap` that is taken.
const NEED: (u32, u32) = (0, 5);
/// The path of sandbox-exec on macOS.
const SANDBOX_EXEC: &str = "/usr/bin/sandbox-exec";

/// Queries to a host.
pub trait HostInspector {
    /// Returns whether it is a regular file with an execute bit.
    fn is_program(&self, path: &Path) -> bool;
    /// Returns its output for `--version`; none if it cannot be run.
    fn version(&self, path: &Path) -> Option<Vec<u8>>;
    /// Returns whether it can create a user namespace.
    fn can_confine(&self, path: &Path) -> bool;
    /// Returns the reason why no built-in mechanism confines on this host; none if one does.
    fn own(&self) -> Option<String>;
}

/// The availability of confinement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SandboxAvailability {
    /// They are.
    Active,
    /// Commands are not confined: the settings disable the sandbox.
    Disabled,
    /// Commands are not confined although the settings enable the sandbox.
    Missing(SettingsError),
}

/// Returns the availability of the sandbox that `sound` asks for on `platform`, seen through
/// `look`.
///
/// # Errors
/// The reason why it is missing, where the settings make that an error.
pub fn available(
    sound: &ValidSettings,
    platform: SettingsPlatform,
    look: &dyn HostInspector,
) -> Result<SandboxAvailability, SettingsError> {
    if !sound.enabled {
        return Ok(SandboxAvailability::Disabled);
    }
    let found = match platform {
        SettingsPlatform::Linux => linux(sound, look),
        SettingsPlatform::Macos => macos(sound, look),
        SettingsPlatform::Windows => Err(nowhere("windows")),
        SettingsPlatform::Wsl1 => Err(nowhere("wsl1")),
    };
    match found {
        Ok(()) => Ok(SandboxAvailability::Active),
        Err(error) if sound.strict && !fault!("dialects.fail-open") => Err(error),
        Err(error) => Ok(SandboxAvailability::Missing(error)),
    }
}

fn nowhere(os: &str) -> SettingsError {
    SettingsError {
        kind: SettingsErrorKind::UnsupportedPlatform { os: os.to_owned() },
        place: None,
    }
}

fn missing(backend: &str, looked_at: &str, place: Option<&SourceLocation>) -> SettingsError {
    let (backend, looked_at) = (backend.to_owned(), looked_at.to_owned());
    SettingsError {
        kind: SettingsErrorKind::BackendUnavailable { backend, looked_at },
        place: place.cloned(),
    }
}

/// A bad program that settings name is never made up for by another one.
fn linux(sound: &ValidSettings, look: &dyn HostInspector) -> Result<(), SettingsError> {
    let Some((path, place)) = &sound.bwrap else {
        return match look.own() {
            None => Ok(()),
            Some(_) => Err(missing("bwrap", "bwrap", None)),
        };
    };
    let program = Path::new(path);
    let unusable = || missing("bwrap", path, Some(place));
    if !look.is_program(program) {
        return Err(unusable());
    }
    new_enough(&look.version(program).ok_or_else(unusable)?, place)?;
    match sound.nested || look.can_confine(program) {
        true => Ok(()),
        false => Err(unusable()),
    }
}

/// Checks the version, compared by numbers; a text without a version is too old.
fn new_enough(said: &[u8], place: &SourceLocation) -> Result<(), SettingsError> {
    let said = String::from_utf8_lossy(said);
    let version = said.split_whitespace().find_map(parsed);
    if version.is_some_and(|version| version >= NEED) || fault!("dialects.old-helper") {
        return Ok(());
    }
    let found = version.map_or(said.into_owned(), |(major, minor)| format!("{major}.{minor}"));
    let (backend, need) = ("bwrap".to_owned(), format!("{}.{}", NEED.0, NEED.1));
    let kind = SettingsErrorKind::BackendTooOld { backend, found, need };
    Err(SettingsError { kind, place: Some(place.clone()) })
}

/// The first two parts of a word such as `0.8.0`.
fn parsed(word: &str) -> Option<(u32, u32)> {
    let mut parts = word.split('.');
    let mut number = || parts.next()?.parse().ok();
    Some((number()?, number()?))
}

fn macos(sound: &ValidSettings, look: &dyn HostInspector) -> Result<(), SettingsError> {
    let named = sound.sandbox_exec.as_ref();
    let path = named.map_or(SANDBOX_EXEC, |(path, _)| path);
    match look.is_program(Path::new(path)) {
        true => Ok(()),
        false => Err(missing("sandbox-exec", path, named.map(|(_, place)| place))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("bubblewrap 0.8.0\n", Some((0, 8)))]
    #[case("bubblewrap 0.11.0\n", Some((0, 11)))]
    #[case("bubblewrap 1.0.0", Some((1, 0)))]
    #[case("v0.8.0", None)]
    #[case("0.8-rc1", None)]
    #[case("bubblewrap dev\n", None)]
    #[case("", None)]
    fn versions_are_read(#[case] said: &str, #[case] version: Option<(u32, u32)>) {
        assert_eq!(said.split_whitespace().find_map(parsed), version);
    }
}
