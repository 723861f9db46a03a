//! Family `ipc`: shared memory and keyrings.

use crate::args::Args;
use crate::out::write_all;
#[cfg(target_os = "linux")]
use crate::record::Value;
use crate::seen::{At, Seen, done};
#[cfg(target_os = "linux")]
use crate::seen::{Stop, seen};
use crate::sys;

/// Keeps the object, so that its presence on the host can be checked; the caller removes it.
pub(crate) fn shm_create(args: &Args) -> Seen {
    let object = sys::shm_open(args.one("name")?).at("shm_open")?;
    write_all(&object, args.bytes("text")).at("write")?;
    done()
}

#[cfg(target_os = "linux")]
pub(crate) fn sysv_shm(args: &Args) -> Seen {
    let key = i32::try_from(args.number_or("key", 0)?).unwrap_or(i32::MAX);
    sys::attach_shm(key).map_err(|(call, errno)| Stop::Refused { call, errno })?;
    done()
}

#[cfg(target_os = "linux")]
pub(crate) fn keyctl_join(_: &Args) -> Seen {
    seen([("serial", Value::Number(sys::join_session_keyring().at("keyctl")?))])
}

#[cfg(target_os = "linux")]
pub(crate) fn keyctl_get(_: &Args) -> Seen {
    seen([("serial", Value::Number(sys::session_keyring().at("keyctl")?))])
}

/// Into the keyring of the probe's process, which goes with it.
#[cfg(target_os = "linux")]
pub(crate) fn keyctl_add(args: &Args) -> Seen {
    let name = key_name(args)?;
    seen([("serial", Value::Number(sys::add_key(&name).at("add_key")?))])
}

#[cfg(target_os = "linux")]
pub(crate) fn keyctl_request(args: &Args) -> Seen {
    let name = key_name(args)?;
    seen([("serial", Value::Number(sys::request_key(&name).at("request_key")?))])
}

#[cfg(target_os = "linux")]
fn key_name(args: &Args) -> Result<std::ffi::CString, Stop> {
    let name = sys::c_string(args.one("name")?);
    name.map_err(|_| Stop::Fault("a NUL byte in an argument".to_owned()))
}
