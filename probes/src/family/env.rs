//! Family `env`: the inherited environment of the program.

use std::os::unix::ffi::OsStrExt;

use crate::args::Args;
use crate::record::Value;
use crate::seen::{At, Seen, names as name_list, seen, text};

/// Names only: values may be real secrets.
pub(crate) fn names(_: &Args) -> Seen {
    let names = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
    seen([("names", name_list(names.collect()))])
}

/// `present` 1 with `data`, or `present` 0: absence is an observation, not a refusal.
pub(crate) fn get(args: &Args) -> Seen {
    match std::env::var_os(args.one("name")?) {
        Some(value) => seen([("present", Value::Number(1)), ("data", text(value.as_bytes()))]),
        None => seen([("present", Value::Number(0))]),
    }
}

pub(crate) fn cwd(_: &Args) -> Seen {
    let cwd = nix::unistd::getcwd().at("getcwd")?;
    seen([("data", text(cwd.as_os_str().as_bytes()))])
}
