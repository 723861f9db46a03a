//! Options of `bwrap`'s command line: the number of arguments of each, and its mounts.

use crate::models::ModelError;

/// The meaning of one option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OptionMeaning<'a> {
    /// The host's object at a place.
    Bind {
        source: &'a str,
        place: &'a str,
        writable: bool,
    },
    /// A fresh object at a place.
    Fresh(&'a str),
    /// A mount becomes read-only.
    RemountReadOnly(&'a str),
    NoNetwork,
    HostNetwork,
    /// An option without effect on mounts or the network.
    Nothing,
}

/// The options without an argument, and without a meaning here.
const PLAIN: [&str; 14] = [
    "--as-pid-1",
    "--clearenv",
    "--die-with-parent",
    "--disable-userns",
    "--assert-userns-disabled",
    "--new-session",
    "--unshare-cgroup",
    "--unshare-cgroup-try",
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-user",
    "--unshare-user-try",
    "--unshare-uts",
    "--level-prefix",
];

/// The options with one argument, and without a meaning here.
const ONE: [&str; 14] = [
    "--add-seccomp-fd",
    "--argv0",
    "--block-fd",
    "--cap-add",
    "--cap-drop",
    "--chdir",
    "--gid",
    "--hostname",
    "--info-fd",
    "--perms",
    "--seccomp",
    "--size",
    "--uid",
    "--unsetenv",
];

/// Parses every option up to the command.
pub(super) fn parse_options(argv: &[String]) -> Result<Vec<OptionMeaning<'_>>, ModelError> {
    let mut rest =
        argv.get(1..).ok_or_else(|| ModelError::Void("there is no program".to_owned()))?;
    let mut words = Vec::new();
    while let Some((first, after)) = rest.split_first() {
        if first == "--" || !first.starts_with("--") {
            return Ok(words);
        }
        let argument = |at: usize| {
            after
                .get(at)
                .map(String::as_str)
                .ok_or_else(|| ModelError::Void(format!("{first} lacks an argument")))
        };
        let path = |at: usize| sound(first, argument(at)?);
        let bind = |writable: bool| -> Result<(OptionMeaning<'_>, usize), ModelError> {
            Ok((OptionMeaning::Bind { source: path(0)?, place: path(1)?, writable }, 2))
        };
        let (word, taken) = match first.as_str() {
            "--bind" | "--dev-bind" => bind(true)?,
            "--ro-bind" => bind(false)?,
            "--tmpfs" | "--dev" | "--proc" | "--mqueue" => (OptionMeaning::Fresh(path(0)?), 1),
            "--bind-data" | "--ro-bind-data" => {
                descriptor(first, argument(0)?)?;
                (OptionMeaning::Fresh(path(1)?), 2)
            }
            "--remount-ro" => (OptionMeaning::RemountReadOnly(path(0)?), 1),
            "--unshare-net" | "--unshare-all" => (OptionMeaning::NoNetwork, 0),
            "--share-net" => (OptionMeaning::HostNetwork, 0),
            "--setenv" => (OptionMeaning::Nothing, 2),
            // A symbolic link in a fresh directory gives nothing of the host another real path.
            "--symlink" => (OptionMeaning::Nothing, 2),
            plain if PLAIN.contains(&plain) => (OptionMeaning::Nothing, 0),
            one if ONE.contains(&one) => (OptionMeaning::Nothing, 1),
            other => return Err(ModelError::Unknown(format!("the word {other} of bwrap"))),
        };
        if after.len() < taken {
            return Err(ModelError::Void(format!("{first} lacks an argument")));
        }
        words.push(word);
        rest = &after[taken..];
    }
    Ok(words)
}

/// A number that can be an open descriptor; anything else ends the program.
fn descriptor(word: &str, number: &str) -> Result<(), ModelError> {
    match number.parse::<u32>() {
        Ok(_) => Ok(()),
        Err(_) => Err(ModelError::Void(format!("{number} after {word} is no descriptor"))),
    }
}

/// A path that means what it says: absolute and without dots.
fn sound<'a>(word: &str, path: &'a str) -> Result<&'a str, ModelError> {
    let plain = path == "/"
        || path.strip_prefix('/').is_some_and(|rest| {
            rest.split('/').all(|name| !name.is_empty() && name != "." && name != "..")
        });
    match plain {
        true => Ok(path),
        false => Err(ModelError::Unknown(format!("what {path:?} after {word} stands for"))),
    }
}
