//! The metadata of a file: mode, owner, times, attributes, permission to use it.

use std::ffi::OsStr;

use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::sys::stat::{
    FchmodatFlags, FileStat, Mode, SFlag, UtimensatFlags, fchmodat, fstatat, utimensat,
};
use nix::sys::time::TimeSpec;
use nix::unistd::{AccessFlags, Gid, Uid, fchownat};

use crate::args::ProbeArguments;
use crate::outcome::{CallContext, ProbeError, ProbeResult, done, succeed_with, text};
use crate::record::DetailValue;
use crate::sys;

/// Words of `access --flags`.
pub(crate) const ACCESS_WORDS: &[&str] = &["exists", "read", "write", "exec"];

pub(crate) fn chmod(args: &ProbeArguments) -> ProbeResult {
    let mode = Mode::from_bits_truncate(args.mode_or(0)? as libc::mode_t);
    fchmodat(AT_FDCWD, args.path()?, mode, FchmodatFlags::FollowSymlink).at("fchmodat")?;
    done()
}

pub(crate) fn chown(args: &ProbeArguments) -> ProbeResult {
    let (user, group) = (id(args, "uid")?, id(args, "gid")?);
    let (user, group) = (user.map(Uid::from_raw), group.map(Gid::from_raw));
    fchownat(AT_FDCWD, args.path()?, user, group, nofollow(args)).at("fchownat")?;
    done()
}

pub(crate) fn utimes(args: &ProbeArguments) -> ProbeResult {
    let seconds = args.number_or("seconds", 0)?;
    let time = TimeSpec::new(seconds.cast_signed(), 0);
    let flags = UtimensatFlags::FollowSymlink;
    utimensat(AT_FDCWD, args.path()?, &time, &time, flags).at("utimensat")?;
    done()
}

pub(crate) fn setxattr(args: &ProbeArguments) -> ProbeResult {
    sys::setxattr(args.path()?, args.one("name")?, args.bytes("text")).at("setxattr")?;
    done()
}

pub(crate) fn getxattr(args: &ProbeArguments) -> ProbeResult {
    let value = sys::getxattr(args.path()?, args.one("name")?).at("getxattr")?;
    succeed_with([("data", text(&value))])
}

pub(crate) fn access(args: &ProbeArguments) -> ProbeResult {
    let flags = args.list_values("flags").into_iter().map(access_flag);
    let flags = flags.fold(AccessFlags::F_OK, |all, flag| all | flag);
    nix::unistd::access(args.path()?, flags).at("access")?;
    done()
}

fn access_flag(word: &OsStr) -> AccessFlags {
    match word.as_encoded_bytes() {
        b"read" => AccessFlags::R_OK,
        b"write" => AccessFlags::W_OK,
        b"exec" => AccessFlags::X_OK,
        _ => AccessFlags::F_OK,
    }
}

/// `kind`, `mode` (octal), `size`, `mtime` (seconds.nanoseconds), `ino`, `nlink`, `uid`, `gid`.
pub(crate) fn stat(args: &ProbeArguments) -> ProbeResult {
    let stat = fstatat(AT_FDCWD, args.path()?, nofollow(args)).at("fstatat")?;
    let mode = stat.st_mode as libc::mode_t;
    succeed_with([
        ("kind", DetailValue::Text(kind(mode).to_owned())),
        ("mode", DetailValue::Text(format!("{:04o}", mode & 0o7777))),
        ("size", DetailValue::Number(stat.st_size.unsigned_abs())),
        ("mtime", DetailValue::Text(mtime(&stat))),
        ("ino", number(stat.st_ino)),
        ("nlink", number(stat.st_nlink)),
        ("uid", number(stat.st_uid)),
        ("gid", number(stat.st_gid)),
    ])
}

/// The width of these fields differs between systems.
fn number(field: impl Into<u64>) -> DetailValue {
    DetailValue::Number(field.into())
}

fn mtime(stat: &FileStat) -> String {
    format!("{}.{:09}", stat.st_mtime, stat.st_mtime_nsec)
}

fn kind(mode: libc::mode_t) -> &'static str {
    match SFlag::from_bits_truncate(mode & SFlag::S_IFMT.bits()) {
        SFlag::S_IFREG => "file",
        SFlag::S_IFDIR => "dir",
        SFlag::S_IFLNK => "symlink",
        SFlag::S_IFIFO => "fifo",
        SFlag::S_IFSOCK => "socket",
        SFlag::S_IFCHR => "char",
        SFlag::S_IFBLK => "block",
        _ => "other",
    }
}

fn id(args: &ProbeArguments, name: &str) -> Result<Option<u32>, ProbeError> {
    if !args.has(name) {
        return Ok(None);
    }
    Ok(u32::try_from(args.number_or(name, 0)?).ok())
}

fn nofollow(args: &ProbeArguments) -> AtFlags {
    if args.has("nofollow") { AtFlags::AT_SYMLINK_NOFOLLOW } else { AtFlags::empty() }
}
