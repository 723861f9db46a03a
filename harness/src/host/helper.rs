//! The helper program bubblewrap: which one it is, its version, and whether it is a sandbox at all.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::unistd::{AccessFlags, access, geteuid};

use super::FactObservation;
use super::ability::HostAbility;
use super::program_answer;

/// The deadline of its answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The first version that knows what is asked of it.
const NEEDED: (u32, u32) = (0, 5);
/// Set-user-id.
const SETUID: u32 = 0o4000;

/// Tests bubblewrap: `named`, or the first in PATH that can be executed.
pub(super) fn bubblewrap(named: Option<PathBuf>) -> HostAbility {
    HostAbility {
        name: "bubblewrap".to_owned(),
        seen: find_bubblewrap(named),
        meaning: "sandboxes that start bwrap do not work".to_owned(),
        remedy:
            "install bubblewrap 0.5 or later where PATH finds it first, and allow user namespaces"
                .to_owned(),
    }
}

fn find_bubblewrap(named: Option<PathBuf>) -> FactObservation {
    let program = match named {
        Some(named) if is_program(&named) => named,
        // Another than the one that was meant is not taken in its place.
        Some(named) => {
            return Err(format!("{} is no program that can be executed", named.display()));
        }
        None => in_path().ok_or("no bwrap in PATH can be executed")?,
    };
    let at = program.display().to_string();
    if let Some(why) = program_answer::changeable(&program).filter(|_| geteuid().is_root()) {
        return Err(format!("{at} is not started by root, since {why}: run this as that user"));
    }
    let said = answer(&[program.clone().into(), "--version".into()])
        .map_err(|why| format!("{at}: {why}"))?;
    match version(&said) {
        None => return Err(format!("{at} says no version of bubblewrap: {said:?}")),
        Some(found) if found < NEEDED => {
            return Err(format!("{at} is too old: {said}, 0.5 is needed"));
        }
        Some(_) => {}
    }
    let becomes_root = is_setuid(&program);
    let sort = if becomes_root { ", set-user-id" } else { "" };
    match confines(&program, &["--unshare-user"]) {
        Ok(()) => Ok(format!("{at} ({said}{sort}) makes namespaces")),
        Err(why) => {
            let without = becomes_root && confines(&program, &[]).is_ok();
            let without = if without { WITHOUT } else { "" };
            Err(format!("{at} ({said}{sort}): {why}{without}"))
        }
    }
}

/// The use of a set-user-id bwrap.
const WITHOUT: &str =
    "; being set-user-id it does without a user namespace: sandboxes that ask it for none work";

/// Checks that a command that `program` starts, asked for the options `also`, is in another pid
/// namespace than we are.
fn confines(program: &Path, also: &[&str]) -> Result<(), String> {
    let own = std::fs::read_link("/proc/self/ns/pid").map_err(|error| error.to_string())?;
    let options = ["--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "--"];
    let line = ["/bin/sh", "-c", "readlink /proc/self/ns/pid"];
    let argv: Vec<OsString> = std::iter::once(program.into())
        .chain(also.iter().chain(&options).chain(&line).map(OsString::from))
        .collect();
    let inside = answer(&argv)?;
    match inside.starts_with("pid:[") && Path::new(&inside) != own {
        true => Ok(()),
        false => Err(format!("it is no sandbox: what it starts sees {inside:?}")),
    }
}

/// The first line that `argv` writes, if it ends well and in time.
pub(super) fn answer(argv: &[OsString]) -> FactObservation {
    let answer =
        program_answer::start(argv, None).and_then(|asked| asked.answer(Instant::now() + PATIENCE));
    let answer = answer.map_err(|error| error.to_string())?;
    match answer.code {
        Some(0) => Ok(answer.first_line()),
        Some(code) => Err(format!("exited with {code}: {}", answer.first_line())),
        None => Err("died of a signal".to_owned()),
    }
}

fn in_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let programs = std::env::split_paths(&path).map(|directory| directory.join("bwrap"));
    programs.filter(|program| program.is_absolute()).find(|program| is_program(program))
}

fn is_program(path: &Path) -> bool {
    path.is_file() && access(path, AccessFlags::X_OK).is_ok()
}

fn is_setuid(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.mode() & SETUID != 0)
}

/// The first word whose first two parts are numbers.
fn version(said: &str) -> Option<(u32, u32)> {
    said.split_whitespace().find_map(|word| {
        let mut parts = word.split('.');
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use std::os::unix::fs::PermissionsExt;

    fn fake(line: &str, mode: u32) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("bwrap");
        // Another process writes it: one that some test forks meanwhile would hold it open for
        // writing, and it could not be executed.
        let make = "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$2\"";
        let mut writer = std::process::Command::new("sh");
        writer.args(["-c", make, "sh", line]).arg(&program);
        assert!(writer.status().unwrap().success());
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(mode)).unwrap();
        (directory, program)
    }

    #[rstest]
    #[case::old("echo bubblewrap 0.4.1", 0o755, "too old: bubblewrap 0.4.1")]
    #[case::foreign("echo hello", 0o755, "says no version")]
    #[case::hangs("exec sleep 100000", 0o755, "does not answer")]
    #[case::fails("exit 3", 0o755, "exited with 3")]
    #[case::closed("exit 0", 0o644, "can be executed")]
    #[case::forwards(
        "[ \"$1\" = --version ] && { echo bubblewrap 0.9.0; exit; }; while [ \"$1\" != -- ]; do shift; done; shift; exec \"$@\"",
        0o755,
        "it is no sandbox"
    )]
    #[case::claims("echo bubblewrap 0.9.0", 0o755, "it is no sandbox")]
    fn what_is_no_bubblewrap_is_told(#[case] line: &str, #[case] mode: u32, #[case] words: &str) {
        let (_directory, program) = fake(line, mode);
        let why = find_bubblewrap(Some(program)).unwrap_err();
        assert!(why.contains(words), "{why}");
    }

    /// One that makes namespaces only where no user namespace is asked for.
    const OLD_STYLE: &str = "[ \"$1\" = --version ] && { echo bubblewrap 0.9.0; exit; }; \
        [ \"$1\" = --unshare-user ] && { echo no namespaces; exit 1; }; echo 'pid:[1]'";

    #[rstest]
    #[case::set_user_id(0o4755, true)]
    #[case::plain(0o755, false)]
    fn what_set_user_id_means_is_told(#[case] mode: u32, #[case] told: bool) {
        let (_directory, program) = fake(OLD_STYLE, mode);
        let why = find_bubblewrap(Some(program)).unwrap_err();
        assert!(why.contains("exited with 1"), "{why}");
        assert_eq!(why.contains(", set-user-id)"), told, "{why}");
        assert_eq!(why.contains("sandboxes that ask it for none work"), told, "{why}");
    }

    #[test]
    fn set_user_id_is_seen() {
        let (_directory, program) = fake("exit 0", 0o4755);
        assert!(is_setuid(&program));
        assert!(!is_setuid(&fake("exit 0", 0o755).1));
    }
}
