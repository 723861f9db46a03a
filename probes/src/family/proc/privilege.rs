//! The privileges of this process: `nnp`, `caps`, `seccomp-mode`, `setuid0`.

use nix::unistd::{Uid, setuid};

use crate::args::ProbeArguments;
use crate::outcome::{CallContext, ProbeResult, done};
#[cfg(target_os = "linux")]
use crate::outcome::{ProbeError, succeed_with};
#[cfg(target_os = "linux")]
use crate::record::DetailValue;

#[cfg(target_os = "linux")]
use super::visibility::slurp;

pub(crate) fn setuid0(_: &ProbeArguments) -> ProbeResult {
    setuid(Uid::from_raw(0)).at("setuid")?;
    done()
}

#[cfg(target_os = "linux")]
pub(crate) fn nnp(_: &ProbeArguments) -> ProbeResult {
    let set = nix::sys::prctl::get_no_new_privs().at("prctl")?;
    succeed_with([("value", DetailValue::Number(set.into()))])
}

/// `effective`, `permitted`, `inheritable`, `bounding`, `ambient`, in hexadecimal.
#[cfg(target_os = "linux")]
pub(crate) fn caps(_: &ProbeArguments) -> ProbeResult {
    let status = slurp("/proc/self/status")?;
    let set = |key| field(&status, key).map(DetailValue::Text);
    succeed_with([
        ("effective", set("CapEff:")?),
        ("permitted", set("CapPrm:")?),
        ("inheritable", set("CapInh:")?),
        ("bounding", set("CapBnd:")?),
        ("ambient", set("CapAmb:")?),
    ])
}

/// `mode` (0 none, 1 strict, 2 filter) and the number of `filters`.
#[cfg(target_os = "linux")]
pub(crate) fn seccomp_mode(_: &ProbeArguments) -> ProbeResult {
    let status = slurp("/proc/self/status")?;
    let (mode, filters) = (count(&status, "Seccomp:")?, count(&status, "Seccomp_filters:")?);
    succeed_with([("mode", mode), ("filters", filters)])
}

#[cfg(target_os = "linux")]
fn count(status: &[u8], key: &str) -> Result<DetailValue, ProbeError> {
    let number = field(status, key)?.parse();
    number.map(DetailValue::Number).map_err(|_| ProbeError::Fault(format!("{key} is no number")))
}

/// A missing field is no observation, not an empty set.
#[cfg(target_os = "linux")]
fn field(status: &[u8], key: &str) -> Result<String, ProbeError> {
    let text = String::from_utf8_lossy(status);
    let value = text.lines().find_map(|line| line.strip_prefix(key));
    let value =
        value.ok_or_else(|| ProbeError::Fault(format!("/proc/self/status has no {key}")))?;
    Ok(value.trim().to_owned())
}
