//! Builds a view in a mount namespace of its own and moves into it: system calls only.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, OpenHow, ResolveFlag, openat, openat2};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::stat::{FchmodatFlags, Mode, fchmodat, fstat, mkdirat, umask};
use nix::unistd::{Gid, Uid, chdir, fchdir, fchownat, pivot_root, symlinkat};

use super::layout::{Layout, Root, Source, Work};
use super::place::{Call, Place};
use crate::sys::mounts::{self, NODEV, NOEXEC, NOSUID, RDONLY};

/// The place and the errno of a failure while building.
pub(super) type Failure = (Place, Errno);

/// Options of a fresh set of terminals.
const TERMINALS: [(&CStr, &CStr); 2] = [(c"mode", c"620"), (c"ptmxmode", c"666")];
/// Names in the scratch directory.
const VIEW: &CStr = c"view";
const MASK_FILE: &CStr = c"file";
const MASK_FOLDER: &CStr = c"folder";

/// A failure of `call` that concerns the whole box.
pub(super) fn whole(call: Call) -> impl Fn(Errno) -> Failure {
    move |errno| (Place { work: None, call }, errno)
}

/// Builds `layout` and makes it this process's root; the host's root is out of reach afterwards.
pub(super) fn build(layout: &Layout) -> Result<(), Failure> {
    // Modes are meant as they are written; the command's own mask is none of our business.
    let mask = umask(Mode::empty());
    let built = build_with_open_mask(layout);
    umask(mask);
    built
}

fn build_with_open_mask(layout: &Layout) -> Result<(), Failure> {
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(None::<&CStr>, c"/", None::<&CStr>, private, None::<&CStr>)
        .map_err(whole(Call::Private))?;
    let host = open(AT_FDCWD, c"/").map_err(whole(Call::Source))?;
    let view = ground(layout.root, host.as_fd())?;
    let scratch = scratch(host.as_fd()).map_err(whole(Call::Scratch))?;
    let place = open(scratch.as_fd(), VIEW).map_err(whole(Call::Target))?;
    mounts::attach(view.as_fd(), place.as_fd()).map_err(whole(Call::Attach))?;
    let site = Site { view, scratch };
    for (number, work) in layout.works.iter().enumerate() {
        let number = Some(number as u32);
        site.carry_out(work).map_err(|(call, errno)| (Place { work: number, call }, errno))?;
    }
    move_into(site)
}

/// The mount that the view begins with.
fn ground(root: Root, host: BorrowedFd<'_>) -> Result<OwnedFd, Failure> {
    match root {
        Root::Fresh(mode) => {
            let mode = fstat(host).map_or(mode, |found| found.st_mode & MODE_BITS);
            tmpfs(mode, NOSUID | NODEV).map_err(whole(Call::Fresh))
        }
        Root::Host(attributes) => {
            let view = mounts::clone_tree(host, true).map_err(whole(Call::Copy))?;
            let set = mounts::set_attributes(view.as_fd(), attributes, true);
            set.map_err(whole(Call::Attributes)).map(|()| view)
        }
    }
}

/// Makes the view the root. The host's root, with the scratch directory on it, then lies on top of
/// the view and is taken off, from above.
fn move_into(site: Site) -> Result<(), Failure> {
    let Site { view, scratch } = site;
    drop(scratch);
    fchdir(&view).map_err(whole(Call::Pivot))?;
    pivot_root(c".", c".").map_err(whole(Call::Pivot))?;
    for _scratch_then_host in 0..2 {
        umount2(c".", MntFlags::MNT_DETACH).map_err(whole(Call::Detach))?;
    }
    chdir(c"/").map_err(whole(Call::Detach))
}

/// Makes a read-only tmpfs on top of the host's root that holds the masks and the view's mount
/// point. It is unmounted with the host's root; copies of the masks keep their objects.
fn scratch(host: BorrowedFd<'_>) -> nix::Result<OwnedFd> {
    let context = mounts::fsopen(c"tmpfs")?;
    let mount = mounts::fsmount(&context, NOSUID | NODEV | NOEXEC)?;
    let nothing = Mode::empty();
    mkdirat(&mount, VIEW, nothing)?;
    mkdirat(&mount, MASK_FOLDER, nothing)?;
    make_file(mount.as_fd(), MASK_FILE)?;
    mounts::set_attributes(mount.as_fd(), RDONLY, false)?;
    mounts::attach(mount.as_fd(), host)?;
    Ok(mount)
}

fn make_file(at: BorrowedFd<'_>, name: &CStr) -> nix::Result<()> {
    let flags = OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW;
    openat(at, name, flags, Mode::empty()).map(drop)
}

/// The object that `path` names below `at`; links are never followed, planning did that.
fn open(at: BorrowedFd<'_>, path: &CStr) -> nix::Result<OwnedFd> {
    let how = OpenHow::new()
        .flags(OFlag::O_PATH | OFlag::O_CLOEXEC)
        .resolve(ResolveFlag::RESOLVE_NO_SYMLINKS);
    openat2(at, path, how)
}

struct Site {
    /// The view's root.
    view: OwnedFd,
    scratch: OwnedFd,
}

impl Site {
    fn carry_out(&self, work: &Work) -> Result<(), (Call, Errno)> {
        let failed = |call| move |errno| (call, errno);
        match work {
            Work::Attach { source, at, attributes, make } => {
                let mount = self.mount(source, at, *attributes)?;
                let place = self.place(at, *make, mount.as_fd())?;
                mounts::attach(mount.as_fd(), place.as_fd()).map_err(failed(Call::Attach))
            }
            Work::Folder(at) => self.make_alike(at).map_err(failed(Call::Make)),
            Work::Link { at, to } => self.link(at, to).map_err(failed(Call::Make)),
            Work::Seal(at) => {
                let place = open(self.view.as_fd(), at).map_err(failed(Call::Target))?;
                mounts::set_attributes(place.as_fd(), RDONLY, false)
                    .map_err(failed(Call::Attributes))
            }
        }
    }

    /// A detached mount of `source`.
    fn mount(&self, source: &Source, at: &CStr, attributes: u64) -> Result<OwnedFd, (Call, Errno)> {
        let failed = |errno| (Call::Fresh, errno);
        match source {
            Source::Host(path) => copy(AT_FDCWD, path, attributes),
            Source::Same => copy(self.view.as_fd(), at, attributes),
            Source::MaskFile => self.mask(MASK_FILE),
            Source::MaskFolder => self.mask(MASK_FOLDER),
            Source::Tmpfs(mode) => tmpfs(*mode, attributes).map_err(failed),
            Source::Proc => fresh(c"proc", &[], attributes).map_err(failed),
            Source::Terminals => fresh(c"devpts", &TERMINALS, attributes).map_err(failed),
        }
    }

    fn mask(&self, name: &CStr) -> Result<OwnedFd, (Call, Errno)> {
        mounts::clone_named(self.scratch.as_fd(), name).map_err(|errno| (Call::Copy, errno))
    }

    /// Opens the place `at`, after making an object like `mount` there if requested.
    fn place(
        &self,
        at: &CStr,
        make: bool,
        mount: BorrowedFd<'_>,
    ) -> Result<OwnedFd, (Call, Errno)> {
        if make {
            self.make(at, is_folder(mount)).map_err(|errno| (Call::Make, errno))?;
        }
        open(self.view.as_fd(), at).map_err(|errno| (Call::Target, errno))
    }

    fn link(&self, at: &CStr, to: &CStr) -> nix::Result<()> {
        let (parent, name) = split(at);
        symlinkat(to, open(self.view.as_fd(), &parent)?, name.as_c_str())
    }

    /// Makes a directory like the host's at `at`, unless something is there already.
    fn make_alike(&self, at: &CStr) -> nix::Result<()> {
        let (parent, name) = split(at);
        let parent = open(self.view.as_fd(), &parent)?;
        match mkdirat(&parent, name.as_c_str(), Mode::from_bits_truncate(FOLDER_MODE)) {
            Err(Errno::EEXIST) => Ok(()),
            Err(errno) => Err(errno),
            Ok(()) => match open(AT_FDCWD, &on_the_host(at)).and_then(fstat) {
                Ok(found) => resemble(parent.as_fd(), &name, &found),
                // The host has none, or none any more.
                Err(_) => Ok(()),
            },
        }
    }

    /// Makes an empty directory or file at `at`, unless something is there already.
    fn make(&self, at: &CStr, folder: bool) -> nix::Result<()> {
        let (parent, name) = split(at);
        let parent = open(self.view.as_fd(), &parent)?;
        let made = match folder {
            true => mkdirat(&parent, name.as_c_str(), Mode::from_bits_truncate(FOLDER_MODE)),
            false => make_file(parent.as_fd(), &name),
        };
        match made {
            Err(Errno::EEXIST) => Ok(()),
            other => other,
        }
    }
}

/// Mode of a directory that is made for a mount, and of one that the host has no such directory
/// for.
const FOLDER_MODE: libc::mode_t = 0o755;
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

fn is_folder(mount: BorrowedFd<'_>) -> bool {
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
fn copy(from: BorrowedFd<'_>, path: &CStr, attributes: u64) -> Result<OwnedFd, (Call, Errno)> {
    let source = open(from, path).map_err(|errno| (Call::Source, errno))?;
    let mount = mounts::clone_tree(source.as_fd(), true).map_err(|errno| (Call::Copy, errno))?;
    mounts::set_attributes(mount.as_fd(), attributes, true)
        .map_err(|errno| (Call::Attributes, errno))?;
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
