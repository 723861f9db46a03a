//! Asking a `bwrap` that failed for its version, for no longer than it takes to answer.

use std::path::Path;
use std::process::{Command, Stdio};

use boxproof_cases::protocol::ErrorKind;

use super::super::bounded_run;
use super::REMEDY;
use crate::error::Refusal;
use crate::sys;

/// The first version that knows every option which is used here (`--perms`).
const NEEDED: (u32, u32) = (0, 5);
/// The time limit for `--version`, in milliseconds.
const PATIENCE: u16 = 2000;

/// Checks that `program` is recent enough; quotes its output where it is not.
pub(super) fn check(program: &Path) -> Result<(), Refusal> {
    let refuse = |why: String| {
        let message = format!("{} {why}; {REMEDY}", program.display());
        Err(Refusal::new(ErrorKind::Unavailable, message))
    };
    let said = match query_version(program) {
        Ok(Some(said)) => said,
        Ok(None) => return refuse("does not say its version: given up".to_owned()),
        Err(error) => return refuse(format!("cannot be asked for its version: {error}")),
    };
    match parse(&said) {
        Some(version) if version >= NEEDED => Ok(()),
        Some((major, minor)) => {
            refuse(format!("is too old: found {major}.{minor}, need >= {}.{}", NEEDED.0, NEEDED.1))
        }
        None => refuse(format!("says no version of bubblewrap: {:?}", said.trim())),
    }
}

/// Returns the output of `program --version`; `None` if it does not end.
fn query_version(program: &Path) -> std::io::Result<Option<String>> {
    let said = sys::memory_file(b"")?;
    let mut command = Command::new(program);
    command.arg("--version").env_clear().stdin(Stdio::null());
    command.stdout(said.try_clone()?).stderr(Stdio::null());
    match bounded_run::ended(&mut command, PATIENCE)? {
        Some(_) => bounded_run::text(said).map(Some),
        None => Ok(None),
    }
}

/// Returns the version in the first word with two numbers at its beginning.
fn parse(said: &str) -> Option<(u32, u32)> {
    said.split_whitespace().find_map(|word| {
        let mut parts = word.split('.');
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("bubblewrap 0.8.0\n", Some((0, 8)))]
    #[case("bubblewrap 1.0.0", Some((1, 0)))]
    #[case("0.4.2", Some((0, 4)))]
    #[case("0.11.0", Some((0, 11)))]
    #[case("v0.8.0", None)]
    #[case("0.8-rc1", None)]
    #[case("bubblewrap dev", None)]
    #[case("", None)]
    fn a_version_is_two_numbers(#[case] said: &str, #[case] version: Option<(u32, u32)>) {
        assert_eq!(parse(said), version);
    }

    #[rstest]
    #[case::old("echo bubblewrap 0.4.1", Some("too old: found 0.4, need >= 0.5"))]
    #[case::nonsense("echo hello", Some("says no version of bubblewrap: \"hello\""))]
    #[case::hangs("while :; do :; done", Some("given up"))]
    #[case::new("echo bubblewrap 0.5.0", None)]
    fn who_is_no_usable_bubblewrap_is_named(#[case] line: &str, #[case] words: Option<&str>) {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("bwrap");
        // Another process writes it: one that some test forks meanwhile would hold it open for
        // writing, and it could not be executed.
        let make = "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$2\" && chmod 755 \"$2\"";
        let mut writer = Command::new("sh");
        writer.args(["-c", make, "sh", line]).arg(&program);
        assert!(writer.status().unwrap().success());
        let said = check(&program).err().map(|refusal| refusal.message);
        assert_eq!(said.is_some(), words.is_some(), "{said:?}");
        assert!(said.unwrap_or_default().contains(words.unwrap_or_default()));
    }
}
