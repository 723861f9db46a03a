//! Hosts that lack something, or have mounts and files of their own: a child puts itself into
//! namespaces before it executes anything.

use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use boxproof_cases::case::{Namespace, Nested};

use super::host::write_at_once;
use super::nested_places::{MountPlace, NestedPlaces};

/// `SECBIT_NOROOT` and its lock: executing a file as uid 0 gives no capabilities.
const NO_ROOT: libc::c_ulong = 0b11;
/// The part of `/proc` that container engines cover.
const COVERED: &CStr = c"/proc/fs";

/// Makes `command` start inside `nested`, whose parts lie at `places`; it fails to start where that
/// cannot be built.
///
/// # Errors
/// A path that no mount can have.
pub(crate) fn nest(
    command: &mut Command,
    nested: &Nested,
    places: &NestedPlaces,
) -> io::Result<()> {
    let host = NestedHost::from_places(nested, places)?;
    // SAFETY: the closure only makes system calls on what was prepared before the fork.
    unsafe {
        command.pre_exec(move || host.enter());
    }
    Ok(())
}

/// A host, ready to be built by a process that may not allocate.
struct NestedHost {
    maps: [(&'static CStr, String); 3],
    /// Files of limits, each to become 0.
    limits: Vec<CString>,
    mounts: Vec<HostMount>,
    /// Its own root, and the working directory there.
    root: Option<(CString, CString)>,
    covered_proc: bool,
    powerless: bool,
}

/// A [`MountPlace`] whose paths the kernel takes.
struct HostMount {
    from: CString,
    over: CString,
    read_only: bool,
    deleted: bool,
    fleeting: bool,
}

impl HostMount {
    fn from_places(place: &MountPlace) -> io::Result<Self> {
        let (from, over) = (c_path(&place.from)?, c_path(&place.over)?);
        let MountPlace { read_only, deleted, fleeting, .. } = *place;
        Ok(Self { from, over, read_only, deleted, fleeting })
    }

    fn attach(&self) -> io::Result<()> {
        match bind(&self.from, &self.over) {
            Err(error) if self.fleeting && error.kind() == io::ErrorKind::NotFound => return Ok(()),
            bound => bound?,
        }
        if self.read_only {
            close_to_writers(&self.over)?;
        }
        // SAFETY: the path is a C string.
        if self.deleted { checked(unsafe { libc::unlink(self.from.as_ptr()) }) } else { Ok(()) }
    }
}

impl NestedHost {
    fn from_places(nested: &Nested, places: &NestedPlaces) -> io::Result<Self> {
        let (uid, gid) = (nix::unistd::geteuid(), nix::unistd::getegid());
        let limit = |kind: &Namespace| format!("/proc/sys/user/max_{}_namespaces", kind.keyword());
        let root = places.root.as_ref();
        let root = root.map(|(root, cwd)| Ok::<_, io::Error>((c_path(root)?, c_path(cwd)?)));
        Ok(Self {
            maps: [
                (c"/proc/self/setgroups", "deny".to_owned()),
                (c"/proc/self/uid_map", format!("{uid} {uid} 1")),
                (c"/proc/self/gid_map", format!("{gid} {gid} 1")),
            ],
            limits: nested.without.iter().filter_map(|k| CString::new(limit(k)).ok()).collect(),
            mounts: places.mounts.iter().map(HostMount::from_places).collect::<io::Result<_>>()?,
            root: root.transpose()?,
            covered_proc: nested.covered_proc,
            powerless: nested.without.contains(&Namespace::User),
        })
    }

    fn enter(&self) -> io::Result<()> {
        let mounts = self.covered_proc || self.root.is_some();
        let mounts = mounts || !self.mounts.is_empty();
        self.unshare(if mounts { libc::CLONE_NEWNS } else { 0 })?;
        if mounts {
            self.mount_all()?;
        }
        for file in &self.limits {
            write_at_once(file, "0")?;
        }
        if let Some((root, cwd)) = &self.root {
            // SAFETY: both paths are C strings.
            checked(unsafe { libc::chroot(root.as_ptr()) })?;
            // SAFETY: as above.
            checked(unsafe { libc::chdir(cwd.as_ptr()) })?;
        }
        if self.powerless { give_up() } else { Ok(()) }
    }

    /// Enters a user namespace of its own, with others.
    fn unshare(&self, others: libc::c_int) -> io::Result<()> {
        // SAFETY: takes flags only.
        checked(unsafe { libc::unshare(libc::CLONE_NEWUSER | others) })?;
        self.maps.iter().try_for_each(|(file, text)| Ok(write_at_once(file, text)?))
    }

    /// Mounts all that there is, then goes one user namespace further, where that cannot be undone.
    fn mount_all(&self) -> io::Result<()> {
        let none = std::ptr::null();
        let slave = libc::MS_REC | libc::MS_SLAVE;
        // SAFETY: the path is a C string; the other pointers may be null for these flags.
        checked(unsafe { libc::mount(none, c"/".as_ptr(), none, slave, none.cast()) })?;
        self.mounts.iter().try_for_each(HostMount::attach)?;
        if self.covered_proc {
            let kind = c"tmpfs".as_ptr();
            // SAFETY: source, place and type are C strings; there is no data.
            checked(unsafe { libc::mount(kind, COVERED.as_ptr(), kind, 0, none.cast()) })?;
        }
        if let Some((root, _)) = &self.root {
            bind(c"/", root)?;
        }
        self.unshare(libc::CLONE_NEWNS)
    }
}

fn c_path(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

/// Mounts `from`, with all that is mounted below it, over `over`.
fn bind(from: &CStr, over: &CStr) -> io::Result<()> {
    let none = std::ptr::null();
    let flags = libc::MS_BIND | libc::MS_REC;
    // SAFETY: both paths are C strings; the others may be null for these flags.
    checked(unsafe { libc::mount(from.as_ptr(), over.as_ptr(), none, flags, none.cast()) })
}

/// Makes the mount at `place`, and all below it, read-only; the other flags stay, as some cannot be
/// changed here.
fn close_to_writers(place: &CStr) -> io::Result<()> {
    /// `struct mount_attr` of mount_setattr(2): attributes to set, attributes to clear,
    /// propagation, a user namespace.
    const READ_ONLY: [u64; 4] = [0x1, 0, 0, 0];
    let (at, all, size) = (libc::AT_FDCWD, libc::AT_RECURSIVE, size_of_val(&READ_ONLY));
    // SAFETY: the path is a C string, and the attributes are as long as it says.
    let done = unsafe {
        libc::syscall(libc::SYS_mount_setattr, at, place.as_ptr(), all, READ_ONLY.as_ptr(), size)
    };
    checked(done as libc::c_int)
}

/// Gives up every capability, also those that uid 0 gets by executing a file.
fn give_up() -> io::Result<()> {
    // SAFETY: takes numbers and changes only this process.
    checked(unsafe { libc::prctl(libc::PR_SET_SECUREBITS, NO_ROOT, 0, 0, 0) })?;
    /// `_LINUX_CAPABILITY_VERSION_3`.
    const VERSION: u32 = 0x2008_0522;
    let header: [u32; 2] = [VERSION, 0];
    let nothing = [0_u32; 6];
    // SAFETY: header and words have the layout of that version and outlive the call.
    let done = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), nothing.as_ptr()) };
    checked(done as libc::c_int)
}

fn checked(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use std::collections::BTreeSet;
    use std::process::Output;

    fn inside(without: &[Namespace], covered_proc: bool, line: &str) -> Output {
        let without = without.iter().copied().collect::<BTreeSet<_>>();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", line]);
        let nested = Nested { without, covered_proc, ..Nested::default() };
        nest(&mut command, &nested, &NestedPlaces::default()).unwrap();
        command.output().unwrap()
    }

    #[rstest]
    #[case(Namespace::User, "--user")]
    #[case(Namespace::Mnt, "--user --mount")]
    #[case(Namespace::Pid, "--user --pid --fork")]
    #[case(Namespace::Net, "--user --net")]
    #[case(Namespace::Ipc, "--user --ipc")]
    #[case(Namespace::Uts, "--user --uts")]
    #[case(Namespace::Cgroup, "--user --cgroup")]
    fn what_is_lacking_cannot_be_made(#[case] kind: Namespace, #[case] flags: &str) {
        let line = format!("unshare --map-current-user {flags} true");
        let output = inside(&[], false, &line);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let output = inside(&[kind], false, &line);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains("No space left"), "{said}");
    }

    #[test]
    fn a_covered_proc_forbids_another() {
        let line = "unshare --map-root-user --user --pid --mount --fork mount -t proc p /proc";
        let [open, covered] = [false, true].map(|covered| inside(&[], covered, line));
        assert!(open.status.success(), "{}", String::from_utf8_lossy(&open.stderr));
        let said = String::from_utf8_lossy(&covered.stderr).into_owned();
        assert!(!covered.status.success() && said.contains("permission denied"), "{said}");
    }

    #[test]
    fn who_has_no_user_namespaces_has_no_capabilities() {
        let line = "grep ^CapEff /proc/self/status; id -u";
        let output = inside(&[Namespace::User], false, line);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let uid = nix::unistd::geteuid();
        assert_eq!(said, format!("CapEff:\t0000000000000000\n{uid}\n"));
    }
}
