//! The plan's steps as mount work, in order: [`Layout`], pure and ready for a process that only
//! makes system calls.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::plan::{Step, View};
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
pub(super) enum Source {
    /// The host's object with everything mounted below it.
    Host(CString),
    /// The view's own object at the place.
    Same,
    /// The file of mode 000.
    MaskFile,
    /// The directory of mode 000.
    MaskFolder,
    /// An empty directory with this mode.
    Tmpfs(u32),
    /// The processes of this pid namespace.
    Proc,
    /// Terminals of its own.
    Terminals,
}

/// One piece of work. Places are relative to the view's root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Work {
    /// Puts `source` over `at` with at least these mount attributes; with `make` the place is
    /// made first, as it lies in a fresh directory.
    Attach { source: Source, at: CString, attributes: u64, make: bool },
    /// Makes a directory in a fresh one, with the mode and owner that it has on the host.
    Folder(CString),
    /// Makes a link in a fresh directory.
    Link { at: CString, to: CString },
    /// Makes the mount at this place read-only.
    Seal(CString),
}

/// The root that a view begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Root {
    /// The host's root and everything mounted below it, with these attributes.
    Host(u64),
    /// An empty directory with this mode.
    Fresh(u32),
}

/// A whole view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    /// The root below all other work.
    pub(super) root: Root,
    /// The work on top of it.
    pub(super) works: Vec<Work>,
}

impl Layout {
    /// The work that `view` takes.
    pub(super) fn of(view: &View) -> Self {
        let mut made = Fresh::default();
        let root = Root::Host(RDONLY | NOSUID | NODEV);
        let mut layout = Self { root, works: Vec::new() };
        for step in &view.steps {
            match step {
                Step::Bind(path) if path == Path::new("/") => {
                    layout.root = Root::Host(NOSUID | NODEV);
                }
                Step::BindReadOnly(path) if path == Path::new("/") => {}
                Step::Tmpfs(path, mode) if path == Path::new("/") => {
                    made.mark(path, true);
                    layout.root = Root::Fresh(*mode);
                }
                other => layout.works.extend(works(other, &mut made)),
            }
        }
        layout
    }
}

/// The fresh directories, in which places can be made.
#[derive(Default)]
struct Fresh(HashMap<PathBuf, bool>);

impl Fresh {
    fn mark(&mut self, path: &Path, fresh: bool) {
        self.0.insert(path.to_owned(), fresh);
    }

    /// Returns whether the innermost directory attached above `path` is fresh, so that its place
    /// has to be made.
    fn holds(&self, path: &Path) -> bool {
        path.ancestors().skip(1).find_map(|folder| self.0.get(folder)).copied().unwrap_or(false)
    }
}

fn works(step: &Step, fresh: &mut Fresh) -> Vec<Work> {
    let make = fresh.holds(step.path());
    let attach = |source, attributes| {
        vec![Work::Attach { source, at: place(step.path()), attributes, make }]
    };
    match step {
        Step::Bind(path) => {
            fresh.mark(path, false);
            attach(Source::Host(text(path)), NOSUID | NODEV)
        }
        Step::BindReadOnly(path) => {
            fresh.mark(path, false);
            // The host's /proc shows the host's processes.
            let own = path.starts_with("/proc");
            let source = if own { Source::Same } else { Source::Host(text(path)) };
            attach(source, RDONLY | NOSUID | NODEV)
        }
        Step::MaskFile(_) | Step::MaskSocket(_) => attach(Source::MaskFile, 0),
        Step::MaskFolder(_) => attach(Source::MaskFolder, 0),
        Step::Tmpfs(path, mode) => {
            fresh.mark(path, true);
            attach(Source::Tmpfs(*mode), NOSUID | NODEV)
        }
        Step::Seal(path) => vec![Work::Seal(place(path))],
        Step::Folder(path) => {
            fresh.mark(path, true);
            vec![Work::Folder(place(path))]
        }
        Step::Link(path, says) => vec![Work::Link { at: place(path), to: text(says) }],
        Step::Dev => {
            fresh.mark(step.path(), true);
            attach(Source::Tmpfs(DEV_MODE), NOSUID | NOEXEC).into_iter().chain(devices()).collect()
        }
        Step::Proc => {
            fresh.mark(step.path(), false);
            attach(Source::Proc, NOSUID | NODEV | NOEXEC)
        }
        Step::HostProc => {
            fresh.mark(step.path(), false);
            attach(Source::Host(c"/proc".into()), RDONLY | NOSUID | NODEV | NOEXEC)
        }
    }
}

/// Returns the work for a fresh `/dev`. Devices are on read-only mounts: they can be used but not
/// changed.
fn devices() -> impl Iterator<Item = Work> {
    let devices = DEVICES.iter().map(|name| {
        let path = Path::new("/dev").join(name);
        let attributes = RDONLY | NOSUID | NOEXEC;
        Work::Attach { source: Source::Host(text(&path)), at: place(&path), attributes, make: true }
    });
    let links = LINKS.iter().map(|(at, to)| Work::Link { at: (*at).into(), to: (*to).into() });
    let terminals = Work::Attach {
        source: Source::Terminals,
        at: c"dev/pts".into(),
        attributes: NOSUID | NOEXEC,
        make: true,
    };
    devices.chain(links).chain([terminals, Work::Folder(c"dev/shm".into())])
}

/// Returns the path as a C string. A path found on this host holds no NUL.
fn text(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap_or_default()
}

fn place(path: &Path) -> CString {
    let below = path.strip_prefix("/").unwrap_or(path);
    text(if below.as_os_str().is_empty() { Path::new(".") } else { below })
}

impl Work {
    /// The place, as a path of the view.
    pub(super) fn at(&self) -> &CStr {
        match self {
            Self::Attach { at, .. } | Self::Link { at, .. } => at,
            Self::Folder(at) | Self::Seal(at) => at,
        }
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self {
            Self::Attach { source, .. } => match source {
                Source::Host(_) => "the host's object",
                Source::Same => "the read-only view",
                Source::MaskFile => "the mask",
                Source::MaskFolder => "the folder mask",
                Source::Tmpfs(_) => "an empty folder",
                Source::Proc => "a fresh proc",
                Source::Terminals => "fresh terminals",
            },
            Self::Folder(_) => "a folder",
            Self::Link { .. } => "a link",
            Self::Seal(_) => "the seal",
        };
        write!(f, "{what} over /{}", self.at().to_string_lossy())
    }
}
