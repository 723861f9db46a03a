//! Family `ipc`: shared memory and keyrings.

use crate::args::ProbeArguments;
use crate::outcome::{CallContext, ProbeResult, done};
#[cfg(target_os = "linux")]
use crate::outcome::{ProbeError, succeed_with};
use crate::output::write_all;
#[cfg(target_os = "linux")]
use crate::record::DetailValue;
use crate::sys;

/// Keeps the object, so that its presence on the host can be checked; the caller removes it.
pub(crate) fn shm_create(args: &ProbeArguments) -> ProbeResult {
    let object = sys::shm_open(args.one("name")?).at("shm_open")?;
    write_all(&object, args.bytes("text")).at("write")?;
    done()
}

#[cfg(target_os = "linux")]
pub(crate) fn sysv_shm(args: &ProbeArguments) -> ProbeResult {
    let key = i32::try_from(args.number_or("key", 0)?).unwrap_or(i32::MAX);
    sys::attach_shm(key).map_err(|(call, errno)| ProbeError::Refused { call, errno })?;
    done()
}

#[cfg(target_os = "linux")]
pub(crate) fn keyctl_join(_: &ProbeArguments) -> ProbeResult {
    succeed_with([("serial", DetailValue::Number(sys::join_session_keyring().at("keyctl")?))])
}

#[cfg(target_os = "linux")]
pub(crate) fn keyctl_get(_: &ProbeArguments) -> ProbeResult {
    succeed_with([("serial", DetailValue::Number(sys::session_keyring().at("keyctl")?))])
}

/// Into the keyring of the probe's process, which goes with it.
#[cfg(target_os = "linux")]
pub(crate) fn keyctl_add(args: &ProbeArguments) -> ProbeResult {
    let name = key_name(args)?;
    succeed_with([("serial", DetailValue::Number(sys::add_key(&name).at("add_key")?))])
}

#[cfg(target_os = "linux")]
pub(crate) fn keyctl_request(args: &ProbeArguments) -> ProbeResult {
    let name = key_name(args)?;
    succeed_with([("serial", DetailValue::Number(sys::request_key(&name).at("request_key")?))])
}

#[cfg(target_os = "linux")]
fn key_name(args: &ProbeArguments) -> Result<std::ffi::CString, ProbeError> {
    let name = sys::c_string(args.one("name")?);
    name.map_err(|_| ProbeError::Fault("a NUL byte in an argument".to_owned()))
}
