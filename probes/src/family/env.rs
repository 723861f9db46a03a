//! Family `env`: the inherited environment of the program.

use std::os::unix::ffi::OsStrExt;

use crate::args::ProbeArguments;
use crate::outcome::{CallContext, ProbeResult, names as name_list, succeed_with, text};
use crate::record::DetailValue;

/// Names only: values may be real secrets.
pub(crate) fn names(_: &ProbeArguments) -> ProbeResult {
    let names = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
    succeed_with([("names", name_list(names.collect()))])
}

/// `present` 1 with `data`, or `present` 0: absence is an observation, not a refusal.
pub(crate) fn get(args: &ProbeArguments) -> ProbeResult {
    match std::env::var_os(args.one("name")?) {
        Some(value) => {
            succeed_with([("present", DetailValue::Number(1)), ("data", text(value.as_bytes()))])
        }
        None => succeed_with([("present", DetailValue::Number(0))]),
    }
}

pub(crate) fn cwd(_: &ProbeArguments) -> ProbeResult {
    let cwd = nix::unistd::getcwd().at("getcwd")?;
    succeed_with([("data", text(cwd.as_os_str().as_bytes()))])
}
