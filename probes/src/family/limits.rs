//! The inherited state of this process: `rlimits`, `umask`.

use nix::sys::resource::{Resource, getrlimit};
use nix::sys::stat::{Mode, umask as set_umask};

use crate::args::ProbeArguments;
use crate::outcome::{CallContext, ProbeResult, names, succeed_with};
use crate::record::DetailValue;

const LIMITS: [(&str, Resource); 7] = [
    ("as", Resource::RLIMIT_AS),
    ("core", Resource::RLIMIT_CORE),
    ("cpu", Resource::RLIMIT_CPU),
    ("data", Resource::RLIMIT_DATA),
    ("fsize", Resource::RLIMIT_FSIZE),
    ("nofile", Resource::RLIMIT_NOFILE),
    ("stack", Resource::RLIMIT_STACK),
];

/// `names` as `nofile 1024 4096`: soft, then hard, in bytes, seconds or pieces.
pub(crate) fn rlimits(_: &ProbeArguments) -> ProbeResult {
    let one = |(name, resource)| {
        getrlimit(resource).map(|(soft, hard)| format!("{name} {} {}", shown(soft), shown(hard)))
    };
    let all = LIMITS.into_iter().map(one).collect::<nix::Result<Vec<_>>>().at("getrlimit")?;
    succeed_with([("names", names(all))])
}

fn shown(limit: nix::sys::resource::rlim_t) -> String {
    if limit == libc::RLIM_INFINITY { "none".to_owned() } else { limit.to_string() }
}

/// `data` in octal. Asking means setting; the probe's child does nothing after it.
pub(crate) fn umask(_: &ProbeArguments) -> ProbeResult {
    let mask = set_umask(Mode::empty());
    succeed_with([("data", DetailValue::Text(format!("{:04o}", mask.bits())))])
}
