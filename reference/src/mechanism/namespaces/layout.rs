//! The plan's steps as mount work, in order: [`ViewLayout`], pure and ready for a process that only
//! makes system calls.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::plan::{View, ViewStep};
use crate::sys::mounts::{NODEV, NOEXEC, NOSUID, RDONLY};

/// Devices of the host that are harmless.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
/// Links in `/dev`, and where they lead.
const LINKS: [(&CStr, &CStr); 6] = [
    (c"dev/fd", c"/proc/self/fd"),
    (c"dev/stdin", c"/proc/self/fd/0"),
    (c"dev/stdout", c"/proc/self/fd/1"),
    (c"dev/stderr", c"/proc/self/fd/2"),
    (c"dev/core", c"/proc/kcore"),
    (c"dev/ptmx", c"pts/ptmx"),
];
const DEV_MODE: u32 = 0o755;

/// The object that is attached at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MountSource {
    /// The host's object with everything mounted below it.
    Host(CString),
    /// The view's own object at the place.
    Same,
    /// The file of mode 000.
    MaskFile,
    /// The directory of mode 000.
    MaskDirectory,
    /// An empty directory with this mode.
    Tmpfs(u32),
    /// The processes of this pid namespace.
    Proc,
    /// Terminals of its own.
    Terminals,
}

/// One piece of work. Places are relative to the view's root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MountWork {
    /// Puts `source` over `at` with at least these mount attributes; with `make` the place is
    /// made first, as it lies in a fresh directory.
    Attach { source: MountSource, at: CString, attributes: u64, make: bool },
    /// Makes a directory in a fresh one, with the mode and owner that it has on the host.
    Directory(CString),
    /// Makes a link in a fresh directory.
    Link { at: CString, to: CString },
    /// Makes the mount at this place read-only.
    Seal(CString),
}

/// The root that a view begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ViewRoot {
    /// The host's root and everything mounted below it, with these attributes.
    Host(u64),
    /// An empty directory with this mode.
    Fresh(u32),
}

/// A whole view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ViewLayout {
    /// The root below all other work.
    pub(super) root: ViewRoot,
    /// The work on top of it.
    pub(super) works: Vec<MountWork>,
}

impl ViewLayout {
    /// The work that `view` takes.
    pub(super) fn from_view(view: &View) -> Self {
        let mut made = FreshDirectories::default();
        let root = ViewRoot::Host(RDONLY | NOSUID | NODEV);
        let mut layout = Self { root, works: Vec::new() };
        for step in &view.steps {
            match step {
                ViewStep::Bind(path) if path == Path::new("/") => {
                    layout.root = ViewRoot::Host(NOSUID | NODEV);
                }
                ViewStep::BindReadOnly(path) if path == Path::new("/") => {}
                ViewStep::Tmpfs(path, mode) if path == Path::new("/") => {
                    made.mark(path, true);
                    layout.root = ViewRoot::Fresh(*mode);
                }
                other => layout.works.extend(works(other, &mut made)),
            }
        }
        layout
    }
}

/// The fresh directories, in which places can be made.
#[derive(Default)]
struct FreshDirectories(HashMap<PathBuf, bool>);

impl FreshDirectories {
    fn mark(&mut self, path: &Path, fresh: bool) {
        self.0.insert(path.to_owned(), fresh);
    }

    /// Returns whether the innermost directory attached above `path` is fresh, so that its place
    /// has to be made.
    fn holds(&self, path: &Path) -> bool {
        path.ancestors()
            .skip(1)
            .find_map(|directory| self.0.get(directory))
            .copied()
            .unwrap_or(false)
    }
}

fn works(step: &ViewStep, fresh: &mut FreshDirectories) -> Vec<MountWork> {
    let make = fresh.holds(step.path());
    let attach = |source, attributes| {
        vec![MountWork::Attach { source, at: place(step.path()), attributes, make }]
    };
    match step {
        ViewStep::Bind(path) => {
            fresh.mark(path, false);
            attach(MountSource::Host(text(path)), NOSUID | NODEV)
        }
        ViewStep::BindReadOnly(path) => {
            fresh.mark(path, false);
            // The host's /proc shows the host's processes.
            let own = path.starts_with("/proc");
            let source = if own { MountSource::Same } else { MountSource::Host(text(path)) };
            let read_only = if fault!("mechanism.read-only-binds") { 0 } else { RDONLY };
            attach(source, read_only | NOSUID | NODEV)
        }
        ViewStep::MaskDirectory(_) if fault!("mechanism.masked-directories") => Vec::new(),
        ViewStep::MaskSocket(_) if fault!("mechanism.masked-sockets") => Vec::new(),
        ViewStep::MaskFile(_) | ViewStep::MaskSocket(_) => attach(MountSource::MaskFile, 0),
        ViewStep::MaskDirectory(_) => attach(MountSource::MaskDirectory, 0),
        ViewStep::Tmpfs(path, mode) => {
            fresh.mark(path, true);
            let mode = if fault!("mechanism.closed-temp") { 0o700 } else { *mode };
            let no_exec = if fault!("mechanism.temp-not-executable") { NOEXEC } else { 0 };
            attach(MountSource::Tmpfs(mode), NOSUID | NODEV | no_exec)
        }
        ViewStep::Seal(path) => vec![MountWork::Seal(place(path))],
        ViewStep::Directory(path) => {
            fresh.mark(path, true);
            vec![MountWork::Directory(place(path))]
        }
        ViewStep::Link(..) if fault!("mechanism.links-lacking") => Vec::new(),
        ViewStep::Link(path, says) => vec![MountWork::Link { at: place(path), to: text(says) }],
        ViewStep::Dev => {
            fresh.mark(step.path(), true);
            attach(MountSource::Tmpfs(DEV_MODE), NOSUID | NOEXEC)
                .into_iter()
                .chain(devices())
                .collect()
        }
        ViewStep::Proc => {
            fresh.mark(step.path(), false);
            attach(MountSource::Proc, NOSUID | NODEV | NOEXEC)
        }
        ViewStep::HostProc => {
            fresh.mark(step.path(), false);
            attach(MountSource::Host(c"/proc".into()), RDONLY | NOSUID | NODEV | NOEXEC)
        }
    }
}

/// Returns the work for a fresh `/dev`. Devices are on read-only mounts: they can be used but not
/// changed.
fn devices() -> impl Iterator<Item = MountWork> {
    let devices = DEVICES.iter().filter(|name| !dropped!("devices", name)).map(|name| {
        let path = Path::new("/dev").join(name);
        let attributes = RDONLY | NOSUID | NOEXEC;
        MountWork::Attach {
            source: MountSource::Host(text(&path)),
            at: place(&path),
            attributes,
            make: true,
        }
    });
    let links = LINKS.iter().map(|(at, to)| MountWork::Link { at: (*at).into(), to: (*to).into() });
    let terminals = MountWork::Attach {
        source: MountSource::Terminals,
        at: c"dev/pts".into(),
        attributes: NOSUID | NOEXEC,
        make: true,
    };
    devices.chain(links).chain([terminals, MountWork::Directory(c"dev/shm".into())])
}

/// Returns the path as a C string. A path found on this host holds no NUL.
fn text(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap_or_default()
}

fn place(path: &Path) -> CString {
    let below = path.strip_prefix("/").unwrap_or(path);
    text(if below.as_os_str().is_empty() { Path::new(".") } else { below })
}

impl MountWork {
    /// The place, as a path of the view.
    pub(super) fn at(&self) -> &CStr {
        match self {
            Self::Attach { at, .. } | Self::Link { at, .. } => at,
            Self::Directory(at) | Self::Seal(at) => at,
        }
    }
}

impl fmt::Display for MountWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self {
            Self::Attach { source, .. } => match source {
                MountSource::Host(_) => "the host's object",
                MountSource::Same => "the read-only view",
                MountSource::MaskFile => "the mask",
                MountSource::MaskDirectory => "the directory mask",
                MountSource::Tmpfs(_) => "an empty directory",
                MountSource::Proc => "a fresh proc",
                MountSource::Terminals => "fresh terminals",
            },
            Self::Directory(_) => "a directory",
            Self::Link { .. } => "a link",
            Self::Seal(_) => "the seal",
        };
        write!(f, "{what} over /{}", self.at().to_string_lossy())
    }
}
