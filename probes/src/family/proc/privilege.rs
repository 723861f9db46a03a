//! The privileges of this process: `nnp`, `caps`, `seccomp-mode`, `setuid0`.

use nix::unistd::{Uid, setuid};

use crate::args::Args;
#[cfg(target_os = "linux")]
use crate::record::Value;
use crate::seen::{At, Seen, done};
#[cfg(target_os = "linux")]
use crate::seen::{Stop, seen};

#[cfg(target_os = "linux")]
use super::see::slurp;

pub(crate) fn setuid0(_: &Args) -> Seen {
    setuid(Uid::from_raw(0)).at("setuid")?;
    done()
}

#[cfg(target_os = "linux")]
pub(crate) fn nnp(_: &Args) -> Seen {
    let set = nix::sys::prctl::get_no_new_privs().at("prctl")?;
    seen([("value", Value::Number(set.into()))])
}

/// `effective`, `permitted`, `inheritable`, `bounding`, `ambient`, in hexadecimal.
#[cfg(target_os = "linux")]
pub(crate) fn caps(_: &Args) -> Seen {
    let status = slurp("/proc/self/status")?;
    let set = |key| field(&status, key).map(Value::Text);
    seen([
        ("effective", set("CapEff:")?),
        ("permitted", set("CapPrm:")?),
        ("inheritable", set("CapInh:")?),
        ("bounding", set("CapBnd:")?),
        ("ambient", set("CapAmb:")?),
    ])
}

/// `mode` (0 none, 1 strict, 2 filter) and the number of `filters`.
#[cfg(target_os = "linux")]
pub(crate) fn seccomp_mode(_: &Args) -> Seen {
    let status = slurp("/proc/self/status")?;
    let (mode, filters) = (count(&status, "Seccomp:")?, count(&status, "Seccomp_filters:")?);
    seen([("mode", mode), ("filters", filters)])
}

#[cfg(target_os = "linux")]
fn count(status: &[u8], key: &str) -> Result<Value, Stop> {
    let number = field(status, key)?.parse();
    number.map(Value::Number).map_err(|_| Stop::Fault(format!("{key} is no number")))
}

/// A missing field is no observation, not an empty set.
#[cfg(target_os = "linux")]
fn field(status: &[u8], key: &str) -> Result<String, Stop> {
    let text = String::from_utf8_lossy(status);
    let value = text.lines().find_map(|line| line.strip_prefix(key));
    let value = value.ok_or_else(|| Stop::Fault(format!("/proc/self/status has no {key}")))?;
    Ok(value.trim().to_owned())
}
