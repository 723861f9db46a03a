//! `open`: openat(2) with exactly the flags named.

use nix::fcntl::{AT_FDCWD, OFlag, openat};
use nix::sys::stat::Mode;

use crate::args::ProbeArguments;
use crate::outcome::{CallContext, ProbeResult, done};

/// Words of `--flags`. Without an access word the file is opened for reading.
pub(crate) const OPEN_WORDS: &[&str] =
    &["read", "write", "rdwr", "append", "creat", "trunc", "excl", "nofollow", "directory"];

pub(crate) fn open(args: &ProbeArguments) -> ProbeResult {
    let mode = Mode::from_bits_truncate(args.mode_or(0o644)? as libc::mode_t);
    openat(AT_FDCWD, args.path()?, flags(args), mode).at("openat")?;
    done()
}

fn flags(args: &ProbeArguments) -> OFlag {
    let words = args.list_values("flags");
    let has = |word: &str| words.iter().any(|given| *given == word);
    let access = match (has("read"), has("write"), has("rdwr")) {
        (_, _, true) | (true, true, _) => OFlag::O_RDWR,
        (false, true, false) => OFlag::O_WRONLY,
        _ => OFlag::O_RDONLY,
    };
    let rest = [
        ("append", OFlag::O_APPEND),
        ("creat", OFlag::O_CREAT),
        ("trunc", OFlag::O_TRUNC),
        ("excl", OFlag::O_EXCL),
        ("nofollow", OFlag::O_NOFOLLOW),
        ("directory", OFlag::O_DIRECTORY),
    ];
    rest.into_iter().filter(|(word, _)| has(word)).fold(access, |all, (_, flag)| all | flag)
}
