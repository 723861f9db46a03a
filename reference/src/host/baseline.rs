//! Paths that running programs needs besides the roots of a readable list: the platform, and the
//! command itself.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::paths;
use boxproof_cases::protocol::Run;
use nix::errno::Errno;
use nix::unistd::{AccessFlags, access};

/// Programs, libraries and their configuration. Of `/etc` only the files that ordinary programs
/// look up (loader, users, names, time, certificates, shells), and none that holds secrets.
pub(crate) const BASELINE: [&str; 44] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/gnu/store",
    "/etc/alternatives",
    "/etc/bash.bashrc",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/crypto-policies",
    "/etc/debian_version",
    "/etc/environment",
    "/etc/fonts",
    "/etc/gai.conf",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hostname",
    "/etc/hosts",
    "/etc/inputrc",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.alias",
    "/etc/locale.conf",
    "/etc/localtime",
    "/etc/lsb-release",
    "/etc/machine-id",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki",
    "/etc/profile",
    "/etc/profile.d",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/shells",
    "/etc/ssl/certs",
    "/etc/timezone",
];

/// One piece of the platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PlatformEntry {
    /// A file or directory with everything below it.
    Object(PathBuf),
    /// A symbolic link, and its target.
    Link(PathBuf, PathBuf),
}

/// The beginning of names in `/etc` that hold the settings of a Java runtime, by its version.
const JAVA: &str = "java-";

/// Returns the parts of the platform that exist.
pub(super) fn pieces() -> Vec<PlatformEntry> {
    let named = fs::read_dir("/etc").into_iter().flatten().flatten().map(|entry| entry.path());
    let java = named.filter(|path| is_of_java(path));
    BASELINE.iter().map(PathBuf::from).chain(java).filter_map(|path| piece(&path)).collect()
}

fn is_of_java(path: &Path) -> bool {
    let name = path.strip_prefix("/etc").ok().and_then(|below| below.iter().next());
    name.is_some_and(|name| name.to_string_lossy().starts_with(JAVA))
}

/// Returns whether the platform holds `path`.
pub(crate) fn is_platform(path: &Path) -> bool {
    BASELINE.iter().any(|place| path.starts_with(place)) || is_of_java(path)
}

fn piece(path: &Path) -> Option<PlatformEntry> {
    let found = fs::symlink_metadata(path).ok()?;
    match found.is_symlink() {
        true => Some(PlatformEntry::Link(path.to_owned(), fs::read_link(path).ok()?)),
        false => Some(PlatformEntry::Object(path.to_owned())),
    }
}

/// Returns the file that `run` executes, links resolved, where this is known beforehand.
pub(super) fn program(run: &Run, env: &[(OsString, OsString)]) -> Option<PathBuf> {
    paths::find(&program_name(run, env)?).map(|found| found.real)
}

/// Returns the path that the command is executed by, links unresolved.
pub(super) fn program_name(run: &Run, env: &[(OsString, OsString)]) -> Option<PathBuf> {
    let name = run.command.to_argv().into_iter().next()?;
    if name.contains('/') {
        return Some(run.cwd.as_path().join(name));
    }
    let search = env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value)?;
    let candidates = std::env::split_paths(search).filter(|directory| directory.is_absolute());
    let mut candidates = candidates.map(|directory| directory.join(&name));
    candidates.find(|path| paths::find(path).is_some_and(|found| !found.directory))
}

/// Returns the kernel's error for the file that `run` names, if it cannot be executed.
pub(crate) fn cannot_execute(run: &Run, env: &[(OsString, OsString)]) -> Option<io::Error> {
    match program(run, env) {
        None => Some(Errno::ENOENT.into()),
        Some(found) if found.is_dir() => Some(Errno::EACCES.into()),
        Some(found) => access(&found, AccessFlags::X_OK).err().map(io::Error::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boxproof_cases::protocol::Command;
    use rstest::rstest;

    #[test]
    fn the_platform_has_no_home_and_no_secrets() {
        let closed = ["/etc/shadow", "/etc/ssl/private", "/root", "/home", "/var", "/run", "/tmp"];
        for path in closed.map(Path::new) {
            assert!(!BASELINE.iter().any(|piece| path.starts_with(piece)), "{}", path.display());
        }
        assert!(pieces().contains(&PlatformEntry::Object("/usr".into())));
        let named = ["/etc/java-17-openjdk/security", "/etc/javascript", "/etc"].map(Path::new);
        assert_eq!(named.map(is_platform), [true, false, false]);
    }

    #[rstest]
    #[case::by_path("/usr/bin/env", true)]
    #[case::by_name("env", true)]
    #[case::missing("/usr/bin/none", false)]
    #[case::unknown("no-such-program", false)]
    fn the_program_is_found(#[case] name: &str, #[case] found: bool) {
        let run = Run::new(Command::Argv(vec![name.into()]), "/");
        let env = [(OsString::from("PATH"), OsString::from("/nowhere:/usr/bin"))];
        assert_eq!(program(&run, &env).is_some(), found);
    }
}
