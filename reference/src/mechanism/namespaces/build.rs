//! Builds a view in a mount namespace of its own and moves into it: system calls only.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, OpenHow, ResolveFlag, openat, openat2};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::stat::{FchmodatFlags, Mode, fchmodat, fstat, mkdirat, umask};
use nix::unistd::{Gid, Uid, chdir, fchdir, fchownat, pivot_root, symlinkat};

use super::failure_point::{BuildCall, FailurePoint};
use super::layout::{MountSource, MountWork, ViewLayout, ViewRoot};
use crate::sys::mounts::{self, NODEV, NOEXEC, NOSUID, RDONLY};

/// The place and the errno of a failure while building.
pub(super) type BuildFailure = (FailurePoint, Errno);

/// Options of a fresh set of terminals.
const TERMINALS: [(&CStr, &CStr); 2] = [(c"mode", c"620"), (c"ptmxmode", c"666")];
/// Names in the scratch directory.
const VIEW: &CStr = c"view";
const MASK_FILE: &CStr = c"file";
const MASK_DIRECTORY: &CStr = c"directory";

/// A failure of `call` that concerns the whole box.
pub(super) fn whole(call: BuildCall) -> impl Fn(Errno) -> BuildFailure {
    move |errno| (FailurePoint { work: None, call }, errno)
}

/// Builds `layout` and makes it this process's root; the host's root is out of reach afterwards.
pub(super) fn build(layout: &ViewLayout) -> Result<(), BuildFailure> {
    // Modes are meant as they are written; the command's own mask is none of our business.
    let mask = umask(Mode::empty());
    let built = build_with_open_mask(layout);
    if !fault!("mechanism.umask") {
        umask(mask);
    }
    built
}

fn build_with_open_mask(layout: &ViewLayout) -> Result<(), BuildFailure> {
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(None::<&CStr>, c"/", None::<&CStr>, private, None::<&CStr>)
        .map_err(whole(BuildCall::Private))?;
    let host = open(AT_FDCWD, c"/").map_err(whole(BuildCall::Source))?;
    let view = ground(layout.root, host.as_fd())?;
    let scratch = scratch(host.as_fd()).map_err(whole(BuildCall::Scratch))?;
    let place = open(scratch.as_fd(), VIEW).map_err(whole(BuildCall::Target))?;
    mounts::attach(view.as_fd(), place.as_fd()).map_err(whole(BuildCall::Attach))?;
    let site = BuildSite { view, scratch };
    for (number, work) in layout.works.iter().enumerate() {
        let number = Some(number as u32);
        site.carry_out(work)
            .map_err(|(call, errno)| (FailurePoint { work: number, call }, errno))?;
    }
    move_into(site)
}

/// The mount that the view begins with.
fn ground(root: ViewRoot, host: BorrowedFd<'_>) -> Result<OwnedFd, BuildFailure> {
    match root {
        ViewRoot::Fresh(mode) => {
            let mode = fstat(host).map_or(mode, |found| found.st_mode & MODE_BITS);
            tmpfs(mode, NOSUID | NODEV).map_err(whole(BuildCall::Fresh))
        }
        ViewRoot::Host(attributes) => {
            let view = mounts::clone_tree(host, true).map_err(whole(BuildCall::Copy))?;
            let set = mounts::set_attributes(view.as_fd(), attributes, true);
            set.map_err(whole(BuildCall::Attributes)).map(|()| view)
        }
    }
}

/// Makes the view the root. The host's root, with the scratch directory on it, then lies on top of
/// the view and is taken off, from above.
fn move_into(site: BuildSite) -> Result<(), BuildFailure> {
    let BuildSite { view, scratch } = site;
    drop(scratch);
    fchdir(&view).map_err(whole(BuildCall::Pivot))?;
    pivot_root(c".", c".").map_err(whole(BuildCall::Pivot))?;
    for _scratch_then_host in 0..2 {
        umount2(c".", MntFlags::MNT_DETACH).map_err(whole(BuildCall::Detach))?;
    }
    chdir(c"/").map_err(whole(BuildCall::Detach))
}

/// Makes a read-only tmpfs on top of the host's root that holds the masks and the view's mount
/// point. It is unmounted with the host's root; copies of the masks keep their objects.
fn scratch(host: BorrowedFd<'_>) -> nix::Result<OwnedFd> {
    let context = mounts::fsopen(c"tmpfs")?;
    let mount = mounts::fsmount(&context, NOSUID | NODEV | NOEXEC)?;
    let nothing = Mode::empty();
    mkdirat(&mount, VIEW, nothing)?;
    mkdirat(&mount, MASK_DIRECTORY, nothing)?;
    make_file(mount.as_fd(), MASK_FILE, mask_mode())?;
    if !fault!("plan.mask-writable") {
        mounts::set_attributes(mount.as_fd(), RDONLY, false)?;
    }
    mounts::attach(mount.as_fd(), host)?;
    Ok(mount)
}

/// The mode of the mask: none can open it.
fn mask_mode() -> Mode {
    match () {
        () if fault!("plan.mask-readable") => Mode::from_bits_truncate(0o444),
        () if fault!("plan.mask-writable") => Mode::from_bits_truncate(0o222),
        () => Mode::empty(),
    }
}

fn make_file(at: BorrowedFd<'_>, name: &CStr, mode: Mode) -> nix::Result<()> {
    let flags = OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW;
    openat(at, name, flags, mode).map(drop)
}

/// The object that `path` names below `at`; links are never followed, planning did that.
fn open(at: BorrowedFd<'_>, path: &CStr) -> nix::Result<OwnedFd> {
    let how = OpenHow::new()
        .flags(OFlag::O_PATH | OFlag::O_CLOEXEC)
        .resolve(ResolveFlag::RESOLVE_NO_SYMLINKS);
    openat2(at, path, how)
}

struct BuildSite {
    /// The view's root.
    view: OwnedFd,
    scratch: OwnedFd,
}

impl BuildSite {
    fn carry_out(&self, work: &MountWork) -> Result<(), (BuildCall, Errno)> {
        let failed = |call| move |errno| (call, errno);
        match work {
            MountWork::Attach { source, at, attributes, make } => {
                let mount = self.mount(source, at, *attributes)?;
                let place = self.place(at, *make, mount.as_fd())?;
                mounts::attach(mount.as_fd(), place.as_fd()).map_err(failed(BuildCall::Attach))
            }
            MountWork::Directory(at) => self.make_alike(at).map_err(failed(BuildCall::Make)),
            MountWork::Link { at, to } => self.link(at, to).map_err(failed(BuildCall::Make)),
            MountWork::Seal(at) => {
                let place = open(self.view.as_fd(), at).map_err(failed(BuildCall::Target))?;
                mounts::set_attributes(place.as_fd(), RDONLY, false)
                    .map_err(failed(BuildCall::Attributes))
            }
        }
    }

    /// A detached mount of `source`.
    fn mount(
        &self,
        source: &MountSource,
        at: &CStr,
        attributes: u64,
    ) -> Result<OwnedFd, (BuildCall, Errno)> {
        let failed = |errno| (BuildCall::Fresh, errno);
        match source {
            MountSource::Host(path) => copy(AT_FDCWD, path, attributes),
            MountSource::Same => copy(self.view.as_fd(), at, attributes),
            MountSource::MaskFile => self.mask(MASK_FILE),
            MountSource::MaskDirectory => self.mask(MASK_DIRECTORY),
            MountSource::Tmpfs(mode) => tmpfs(*mode, attributes).map_err(failed),
            MountSource::Proc => fresh(c"proc", &[], attributes).map_err(failed),
            MountSource::Terminals => fresh(c"devpts", &TERMINALS, attributes).map_err(failed),
        }
    }

    fn mask(&self, name: &CStr) -> Result<OwnedFd, (BuildCall, Errno)> {
        mounts::clone_named(self.scratch.as_fd(), name).map_err(|errno| (BuildCall::Copy, errno))
    }

    /// Opens the place `at`, after making an object like `mount` there if requested.
    fn place(
        &self,
        at: &CStr,
        make: bool,
        mount: BorrowedFd<'_>,
    ) -> Result<OwnedFd, (BuildCall, Errno)> {
        if make {
            self.make(at, is_directory(mount)).map_err(|errno| (BuildCall::Make, errno))?;
        }
        open(self.view.as_fd(), at).map_err(|errno| (BuildCall::Target, errno))
    }

    fn link(&self, at: &CStr, to: &CStr) -> nix::Result<()> {
        let (parent, name) = split(at);
        symlinkat(to, open(self.view.as_fd(), &parent)?, name.as_c_str())
    }

    /// Makes a directory like the host's at `at`, unless something is there already.
    fn make_alike(&self, at: &CStr) -> nix::Result<()> {
        let (parent, name) = split(at);
        let parent = open(self.view.as_fd(), &parent)?;
        match mkdirat(&parent, name.as_c_str(), Mode::from_bits_truncate(DIRECTORY_MODE)) {
            Err(Errno::EEXIST) => Ok(()),
            Err(errno) => Err(errno),
            Ok(()) => match open(AT_FDCWD, &on_the_host(at)).and_then(fstat) {
                Ok(_) if fault!("plan.plain-directories") => Ok(()),
                Ok(found) => resemble(parent.as_fd(), &name, &found),
                // The host has none, or none any more.
                Err(_) => Ok(()),
            },
        }
    }

    /// Makes an empty directory or file at `at`, unless something is there already.
    fn make(&self, at: &CStr, directory: bool) -> nix::Result<()> {
        let (parent, name) = split(at);
        let parent = open(self.view.as_fd(), &parent)?;
        let made = match directory {
            true => mkdirat(&parent, name.as_c_str(), Mode::from_bits_truncate(DIRECTORY_MODE)),
            false => make_file(parent.as_fd(), &name, Mode::empty()),
        };
        match made {
            Err(Errno::EEXIST) => Ok(()),
            other => other,
        }
    }
}

/// Mode of a directory that is made for a mount, and of one that the host has no such directory
/// for.
const DIRECTORY_MODE: libc::mode_t = 0o755;
/// The bits of a mode that are not its file type.
const MODE_BITS: libc::mode_t = 0o7777;

/// Gives the directory `name` in `parent` the mode and owner of `found`: the owner as far as the
/// user namespace knows it, and where the command, which has no capabilities, still gets through.
fn resemble(parent: BorrowedFd<'_>, name: &CStr, found: &libc::stat) -> nix::Result<()> {
    let open_to_all = found.st_mode & libc::S_IXOTH != 0;
    let owner = open_to_all.then_some(Uid::from_raw(found.st_uid));
    let group = Some(Gid::from_raw(found.st_gid));
    let _unknown_here = fchownat(parent, name, owner, group, AtFlags::AT_SYMLINK_NOFOLLOW);
    let mode = Mode::from_bits_truncate(found.st_mode & MODE_BITS);
    fchmodat(parent, name, mode, FchmodatFlags::FollowSymlink)
}

/// The path that the place `at` of the view has on the host.
fn on_the_host(at: &CStr) -> CString {
    CString::new([b"/", at.to_bytes()].concat()).unwrap_or_default()
}

fn is_directory(mount: BorrowedFd<'_>) -> bool {
    fstat(mount).is_ok_and(|found| found.st_mode & libc::S_IFMT == libc::S_IFDIR)
}

/// The directory above a relative path, and the last name.
fn split(path: &CStr) -> (CString, CString) {
    let bytes = path.to_bytes();
    let slash = bytes.iter().rposition(|byte| *byte == b'/');
    let (parent, name) = slash.map_or((&b"."[..], bytes), |at| (&bytes[..at], &bytes[at + 1..]));
    let text = |bytes| CString::new(bytes).unwrap_or_default();
    (text(parent), text(name))
}

/// Clones the mount at `path` below `from`, with these attributes throughout.
fn copy(from: BorrowedFd<'_>, path: &CStr, attributes: u64) -> Result<OwnedFd, (BuildCall, Errno)> {
    let source = open(from, path).map_err(|errno| (BuildCall::Source, errno))?;
    let mount =
        mounts::clone_tree(source.as_fd(), true).map_err(|errno| (BuildCall::Copy, errno))?;
    mounts::set_attributes(mount.as_fd(), attributes, true)
        .map_err(|errno| (BuildCall::Attributes, errno))?;
    Ok(mount)
}

fn tmpfs(mode: u32, attributes: u64) -> nix::Result<OwnedFd> {
    let mode = CString::new(format!("{mode:o}")).map_err(|_| Errno::EINVAL)?;
    fresh(c"tmpfs", &[(c"mode", &mode)], attributes)
}

/// A new file system of type `kind`.
fn fresh(kind: &CStr, options: &[(&CStr, &CStr)], attributes: u64) -> nix::Result<OwnedFd> {
    let context = mounts::fsopen(kind)?;
    options.iter().try_for_each(|(key, value)| mounts::fsoption(&context, key, value))?;
    mounts::fsmount(&context, attributes)
}
