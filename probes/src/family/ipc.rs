//! Family `ipc`: shared memory and keyrings.

use crate::args::Args;
use crate::out::write_all;
#[cfg(target_os = "linux")]
use crate::record::Value;
use crate::seen::{At, Seen, done};
#[cfg(target_os = "linux")]
use crate::seen::{Stop, seen};
use crate::sys;

/// The object stays, so that its presence on the host can be looked at; who asked removes it.
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
