//! Ways to a file that only Linux has: other calls, files without names, handles.

use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, OpenHow, ResolveFlag, openat, openat2};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::stat::Mode;

use super::content::{existing, shown};
use crate::args::ProbeArguments;
use crate::outcome::{CallContext, ProbeResult, TEXT_CAP, done, succeed_with};
use crate::output::{raw, read_up_to, write_all};
use crate::record::DetailValue;
use crate::sys;

/// Sends into a file in memory, since older kernels can't send into a pipe.
pub(crate) fn sendfile_read(args: &ProbeArguments) -> ProbeResult {
    let file = existing(args.path()?, OFlag::O_RDONLY)?;
    let memory = memfd_create("boxprobe", MFdFlags::MFD_CLOEXEC).at("memfd_create")?;
    let sent = sys::sendfile(&memory, &file, TEXT_CAP).at("sendfile")?;
    let mut data = vec![0; sent];
    let count = nix::sys::uio::pread(&memory, &mut data, 0).at("pread")?;
    shown(&data[..count])
}

pub(crate) fn splice_read(args: &ProbeArguments) -> ProbeResult {
    let file = existing(args.path()?, OFlag::O_RDONLY)?;
    let (read, write) = nix::unistd::pipe().at("pipe")?;
    sys::splice(&file, &write, TEXT_CAP).at("splice")?;
    drop(write);
    shown(&read_up_to(&read, TEXT_CAP).at("read")?)
}

/// Overwrites the start of `--to` with that of `--path`; both exist.
pub(crate) fn copy_file_range(args: &ProbeArguments) -> ProbeResult {
    let from = existing(args.path()?, OFlag::O_RDONLY)?;
    let to = existing(args.one("to")?, OFlag::O_WRONLY)?;
    let copied = sys::copy_file_range(&from, &to, TEXT_CAP).at("copy_file_range")?;
    succeed_with([("bytes", DetailValue::Number(copied as u64))])
}

/// A file without a name, written and then given one.
pub(crate) fn tmpfile_link(args: &ProbeArguments) -> ProbeResult {
    let flags = OFlag::O_TMPFILE | OFlag::O_RDWR;
    let file = openat(AT_FDCWD, args.path()?, flags, Mode::from_bits_truncate(0o644));
    let file = file.at("openat")?;
    write_all(&file, args.bytes("text")).at("write")?;
    // Links through /proc, because an empty path takes a privilege.
    let name = format!("/proc/self/fd/{}", raw(&file));
    let follow = AtFlags::AT_SYMLINK_FOLLOW;
    nix::unistd::linkat(AT_FDCWD, name.as_str(), AT_FDCWD, args.one("to")?, follow).at("linkat")?;
    done()
}

/// Opens `--path` by its handle in the mount of `--at`, whose flags then hold instead of its own.
pub(crate) fn open_by_handle(args: &ProbeArguments) -> ProbeResult {
    let handle = sys::name_to_handle(args.path()?).at("name_to_handle_at")?;
    let at = args.maybe("at").unwrap_or(".".as_ref());
    let mount = existing(at, OFlag::O_RDONLY | OFlag::O_DIRECTORY)?;
    let open = |flags| sys::open_by_handle(&mount, &handle, flags).at("open_by_handle_at");
    if args.has("text") {
        write_all(&open(libc::O_WRONLY)?, args.bytes("text")).at("write")?;
        return done();
    }
    shown(&read_up_to(&open(libc::O_RDONLY)?, TEXT_CAP).at("read")?)
}

/// openat2(2) with the `--resolve` rules named, then a read.
pub(crate) fn open_resolve(args: &ProbeArguments) -> ProbeResult {
    let how = OpenHow::new().flags(OFlag::O_RDONLY).resolve(resolve(args));
    let file = openat2(AT_FDCWD, args.path()?, how).at("openat2")?;
    shown(&read_up_to(&file, TEXT_CAP).at("read")?)
}

fn resolve(args: &ProbeArguments) -> ResolveFlag {
    let flag = |word: &std::ffi::OsStr| match word.to_str() {
        Some("beneath") => ResolveFlag::RESOLVE_BENEATH,
        Some("in-root") => ResolveFlag::RESOLVE_IN_ROOT,
        Some("no-magiclinks") => ResolveFlag::RESOLVE_NO_MAGICLINKS,
        Some("no-symlinks") => ResolveFlag::RESOLVE_NO_SYMLINKS,
        Some("no-xdev") => ResolveFlag::RESOLVE_NO_XDEV,
        _ => ResolveFlag::empty(),
    };
    args.list_values("resolve").into_iter().map(flag).collect()
}
