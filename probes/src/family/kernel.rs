//! Kernel surface of family `sys`: settings and rarely needed calls. Linux only.

use nix::fcntl::{AT_FDCWD, OFlag, openat};
use nix::sys::stat::Mode;

use crate::args::ProbeArguments;
use crate::outcome::{CallContext, ProbeResult, TEXT_CAP, done, succeed_with};
use crate::output::{read_up_to, write_all};
use crate::record::DetailValue;
use crate::sys;
use crate::usage_error::UsageError;

/// Writes what it has just read, so that the setting keeps its value either way.
pub(crate) fn sysctl_same(args: &ProbeArguments) -> ProbeResult {
    let path = args.path()?;
    let inside = |text: &str| text.starts_with("/proc/sys/") && !text.contains("..");
    if !path.to_str().is_some_and(inside) {
        return Err(UsageError::bad("path", "expected a path under /proc/sys").into());
    }
    let read = openat(AT_FDCWD, path, OFlag::O_RDONLY, Mode::empty()).at("openat")?;
    let value = read_up_to(&read, TEXT_CAP).at("read")?;
    let write = openat(AT_FDCWD, path, OFlag::O_WRONLY, Mode::empty()).at("openat")?;
    write_all(&write, &value).at("write")?;
    done()
}

pub(crate) fn io_uring_setup(_: &ProbeArguments) -> ProbeResult {
    sys::io_uring_setup().at("io_uring_setup")?;
    done()
}

pub(crate) fn personality(_: &ProbeArguments) -> ProbeResult {
    succeed_with([("value", DetailValue::Number(sys::personality().at("personality")?))])
}

pub(crate) fn bpf_map(_: &ProbeArguments) -> ProbeResult {
    sys::bpf_map().at("bpf")?;
    done()
}

pub(crate) fn perf_event(_: &ProbeArguments) -> ProbeResult {
    sys::perf_event().at("perf_event_open")?;
    done()
}

pub(crate) fn userfaultfd(_: &ProbeArguments) -> ProbeResult {
    sys::userfaultfd().at("userfaultfd")?;
    done()
}

/// EPERM: refused. EINVAL: permitted, and the kernel did not like the numbers.
pub(crate) fn reboot_invalid(_: &ProbeArguments) -> ProbeResult {
    sys::reboot_invalid().at("reboot")?;
    done()
}

/// EPERM: refused. ENOEXEC: permitted, and the kernel saw that there is nothing to load.
pub(crate) fn init_module_empty(_: &ProbeArguments) -> ProbeResult {
    sys::init_module_empty().at("init_module")?;
    done()
}
