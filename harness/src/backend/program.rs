//! Finding a program and telling which one it is.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::errno::Errno;
use nix::unistd::{AccessFlags, User, access, geteuid};
use sha2::{Digest, Sha256};

use crate::host::program_answer::{self, AskedAs};

/// The deadline of a program's answer about its version.
const PATIENCE: Duration = Duration::from_secs(10);

/// The executable that `program` names: a path, or a name to look up in PATH.
pub(super) fn find(program: &str) -> Option<PathBuf> {
    let candidates: Vec<PathBuf> = if program.contains('/') {
        vec![std::path::absolute(program).ok()?]
    } else {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path)
            .filter(|dir| dir.is_absolute())
            .map(|dir| dir.join(program))
            .collect()
    };
    candidates.into_iter().find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    file.is_file() && access(file, AccessFlags::X_OK).is_ok()
}

/// Returns why the program at the path `program` cannot be started by this process, and the remedy;
/// none where nothing stands in the way, where nothing is there, and for a name to look up in PATH.
pub(super) fn obstacle(program: &str) -> Option<(String, String)> {
    let path = std::path::absolute(program).ok().filter(|_| program.contains('/'))?;
    let shown = path.display();
    if let Some(closed) = closed_directory(&path) {
        return Some((format!("{shown} is out of reach: {closed}"), ENTER.to_owned()));
    }
    let meta = path.metadata().ok()?;
    match meta.is_dir() {
        true => Some((format!("{shown} is a directory"), "name the program in it".to_owned())),
        false if is_executable(&path) => None,
        false => Some((format!("{shown} is not executable"), format!("chmod +x {shown}"))),
    }
}

/// The remedy for a directory that cannot be entered.
pub(super) const ENTER: &str =
    "put it where that account can enter every directory above it, or name another one by --user";

/// Names the directory above `path` that this process's user cannot enter, if there is one.
pub(super) fn closed_directory(path: &Path) -> Option<String> {
    let path = std::path::absolute(path).ok()?;
    let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
    above.reverse();
    let closed = above
        .into_iter()
        .find(|directory| access(*directory, AccessFlags::X_OK) == Err(Errno::EACCES))?;
    let uid = geteuid();
    let name = User::from_uid(uid).ok().flatten().map(|user| format!("{} ", user.name));
    let name = name.unwrap_or_default();
    Some(format!("account {name}(uid {uid}) cannot enter {}", closed.display()))
}

/// The version that `program`, started as `user`, prints with `arguments`; none when it prints none.
pub(super) fn version(
    program: &Path,
    arguments: &[String],
    user: Option<&AskedAs>,
) -> Option<String> {
    if arguments.is_empty() {
        return None;
    }
    let argv: Vec<OsString> =
        std::iter::once(program.into()).chain(arguments.iter().map(Into::into)).collect();
    // Some write a log or a configuration wherever they are started.
    let answer = program_answer::ask_at_home_of_its_own(&argv, user, PATIENCE).ok();
    let answer = answer.filter(|answer| answer.code == Some(0))?;
    version_in(&answer.first_line())
}

/// The first word that starts like a version number, or else the whole line.
fn version_in(line: &str) -> Option<String> {
    let number = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
    let words = line.split_whitespace().map(|word| word.trim_start_matches('v'));
    let line = (!line.is_empty()).then_some(line);
    words.into_iter().find(number).or(line).map(str::to_owned)
}

/// Returns the SHA-256 of the file, in lower-case hex.
pub(super) fn sha256(file: &Path) -> Option<String> {
    let mut file = std::fs::File::open(file).ok()?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer).ok()? {
            0 => return Some(format!("{:x}", hash.finalize())),
            read => hash.update(&buffer[..read]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use std::os::unix::fs::PermissionsExt;

    #[rstest]
    #[case("bubblewrap 0.8.0", Some("0.8.0"))]
    #[case("tool version v1.2-rc1 (abc)", Some("1.2-rc1"))]
    #[case("no number", Some("no number"))]
    #[case("", None)]
    fn a_version_is_the_first_number(#[case] line: &str, #[case] version: Option<&str>) {
        assert_eq!(version_in(line).as_deref(), version);
    }

    #[test]
    fn who_is_asked_for_its_version_writes_to_no_home_of_ours() {
        let dir = tempfile::tempdir().unwrap();
        let script = format!(
            "[ -w \"$HOME\" ] && [ \"$HOME\" != '{}' ] && [ -z \"$XDG_STATE_HOME\" ] && \
             echo x > \"$HOME/log\" && echo tool 1.2",
            std::env::var("HOME").unwrap_or_default()
        );
        let file = dir.path().join("script");
        std::fs::write(&file, script).unwrap();
        let found = version(Path::new("/bin/sh"), &[file.to_str().unwrap().to_owned()], None);
        assert_eq!(found.as_deref(), Some("1.2"));
    }

    #[test]
    fn programs_are_found_and_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("tool");
        std::fs::write(&file, "abc").unwrap();
        assert_eq!(find(file.to_str().unwrap()), None, "it cannot be executed");
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
        assert_eq!(find(file.to_str().unwrap()), Some(file.clone()));
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(&file).as_deref(), Some(abc));
        assert!(find("sh").is_some_and(|sh| sh.is_absolute()));
        assert_eq!(find(dir.path().to_str().unwrap()), None, "a directory is no program");
    }
}
