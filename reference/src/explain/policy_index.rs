//! The policy of a run as rules about paths ([`PolicyIndex`]): which paths are readable and writable,
//! and which rule refuses an operation. Pure but for reading links.

mod remedy;

use std::path::{Path, PathBuf};

use boxproof_cases::protocol::{
    Mode, Network, PROTECTED_NAMES, Policy, Protect, Readable, TmpPolicy,
};

use super::errno_messages::RefusalClass;
use super::resolve_path::{ReadLink, resolve};
use super::rule::DenialRule;
use super::{CompletedRun, RunDenial};
use crate::host;
use crate::policy::grant;
use crate::policy::path_glob::{GlobMatch, PathGlob};
use crate::policy::path_rules::{PathAccess as Asked, PathRules};
use crate::policy::{GIT_CONFIG_GRANT, GIT_GRANT};
pub(super) use remedy::{DenyList, MeantPath, PolicyRemedy};

/// An operation on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AccessKind {
    /// Made, changed, moved or removed.
    Write,
    /// Read, listed, entered or executed.
    Read,
    /// One of both.
    Unknown,
}

/// Names of git among those that are protected.
const GIT: &str = ".git";
/// File systems of the kernel: no policy makes them writable.
const KERNEL: [&str; 2] = ["/proc", "/sys"];
/// Devices that the command has, too.
const SHOWN_DEVICES: [&str; 7] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx"];
/// Names under `/dev` that stand for the command's own descriptors or are writable.
const OWN_DEVICES: [&str; 6] =
    ["/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/pts", "/dev/shm"];

/// The policy's rules over real paths.
pub(super) struct PolicyIndex<'a> {
    policy: &'a Policy,
    law: Option<&'a PathRules>,
    workspace: PathBuf,
    /// Directories and whether they can be written; the innermost decides.
    places: Vec<(PathBuf, bool)>,
    /// Directories whose protected names are protected.
    roots: Vec<PathBuf>,
    /// Paths protected elsewhere: nested repositories, and the targets of links and pointers.
    held: &'a [PathBuf],
    deny_read: Vec<PathBuf>,
    deny_write: Vec<PathBuf>,
    read_globs: Vec<PathGlob>,
    write_globs: Vec<PathGlob>,
    readable: Option<Vec<PathBuf>>,
}

impl<'a> PolicyIndex<'a> {
    /// Builds the ground from the policy of `run` and the profile of its workspace.
    pub(super) fn new(run: &CompletedRun<'a>, link: ReadLink<'_>) -> Self {
        let CompletedRun { policy, law, held, .. } = *run;
        let real = |path: &Path| resolve(Path::new("/"), path, true, link);
        let all = |paths: &[boxproof_cases::protocol::WirePath]| -> Vec<PathBuf> {
            paths.iter().map(|path| real(path.as_path())).collect()
        };
        let workspace = real(policy.workspace.as_path());
        let writes = policy.mode == Mode::WorkspaceWrite;
        // What a profile does not let modify is refused by its rules, not by its place.
        let mut places =
            vec![(PathBuf::from("/"), false), (workspace.clone(), writes || law.is_some())];
        let further = all(&policy.writable);
        places.extend(further.iter().filter(|_| writes).map(|path| (path.clone(), true)));
        if policy.tmp != TmpPolicy::None {
            places.extend(["/tmp", "/var/tmp", "/dev/shm"].map(|path| (path.into(), true)));
        }
        places.extend(["/proc", "/sys"].map(|path| (path.into(), false)));
        let globs =
            |texts: &[String]| texts.iter().filter_map(|t| PathGlob::parse(t).ok()).collect();
        let readable = match &policy.readable {
            Readable::All => None,
            Readable::Only(roots) => Some(all(roots)),
        };
        let protects = writes && policy.protect == Protect::Metadata;
        let roots =
            std::iter::once(workspace.clone()).chain(further).filter(|_| protects).collect();
        Self {
            policy,
            law,
            workspace,
            places,
            roots,
            held,
            deny_read: all(&policy.deny_read),
            deny_write: all(&policy.deny_write),
            read_globs: globs(&policy.deny_read_globs),
            write_globs: globs(&policy.deny_write_globs),
            readable,
        }
    }

    /// Returns whether the policy restricts the network.
    pub(super) fn restricts_network(&self) -> bool {
        self.policy.network != Network::Host {} && !fault!("explain.network-silent")
    }

    /// Returns whether the command has a loopback of its own.
    pub(super) fn is_private(&self) -> bool {
        matches!(self.policy.network, Network::None {} | Network::Domains { .. })
    }

    /// Returns the rule that refuses `op` at `path`, and the operation that it refuses. None if the
    /// policy allows the operation: then the refusal was not the sandbox's.
    pub(super) fn refuses(
        &self,
        path: &Path,
        op: AccessKind,
        class: RefusalClass,
    ) -> Option<(DenialRule, AccessKind)> {
        let mounted = matches!(class, RefusalClass::Busy | RefusalClass::CrossDevice);
        if self.hides(path) || mounted && holds(&self.deny_read, path) {
            let op = if op == AccessKind::Unknown { AccessKind::Read } else { op };
            return Some((DenialRule::ReadDenied, op));
        }
        let change = match op {
            AccessKind::Read => None,
            _ => self.change(path, op, class).map(|rule| (rule, AccessKind::Write)),
        };
        let read = match op {
            AccessKind::Write => None,
            _ => self.read(path).map(|rule| (rule, AccessKind::Read)),
        };
        change.or(read)
    }

    fn change(&self, path: &Path, op: AccessKind, class: RefusalClass) -> Option<DenialRule> {
        let mounted = matches!(class, RefusalClass::Busy | RefusalClass::CrossDevice);
        // Nothing else is refused at a root for being read-only.
        let removes = mounted || class == RefusalClass::ReadOnly;
        if is_device(path) || KERNEL.iter().any(|tree| path.starts_with(tree)) {
            return Some(DenialRule::PlatformDenied);
        }
        if let Some(rule) = self.protected(path, mounted) {
            return Some(rule);
        }
        let denied = covers(&self.deny_write, path)
            || self.write_globs.iter().any(|glob| matches(glob, path))
            || self.against_the_law(path, Asked::Modify)
            || mounted && holds(&self.deny_write, path)
            || removes && self.is_root(path);
        if denied && !fault!("explain.denies-silent") {
            return Some(DenialRule::RuntimeDenied);
        }
        if self.against_the_law(path, Asked::Read) {
            // A path that cannot be read cannot be changed either.
            return Some(DenialRule::ReadDenied);
        }
        let outside = op == AccessKind::Write && !self.is_writable(path);
        (outside && !fault!("explain.outside-silent")).then_some(DenialRule::OutsideWrite)
    }

    fn read(&self, path: &Path) -> Option<DenialRule> {
        if is_device(path) {
            return Some(DenialRule::PlatformDenied);
        }
        if self.against_the_law(path, Asked::Read) {
            return Some(DenialRule::ReadDenied);
        }
        let listed = self.readable.as_ref()?;
        let shown = covers(listed, path)
            || path.starts_with(&self.workspace)
            || self.is_writable(path)
            || path == Path::new("/etc")
            || host::is_platform(path)
            || KERNEL.iter().any(|tree| path.starts_with(tree));
        (!shown).then_some(DenialRule::ReadDenied)
    }

    /// The rule by which the command finds nothing at `path`, where the host has something.
    pub(super) fn lacks(&self, path: &Path) -> Option<DenialRule> {
        if is_device(path) && !SHOWN_DEVICES.iter().any(|shown| path == Path::new(shown)) {
            return Some(DenialRule::PlatformDenied);
        }
        let elsewhere = !path.starts_with("/dev") && path != Path::new("/");
        self.read(path).filter(|_| elsewhere)
    }

    /// Returns what `path` has beyond the directories that it and the workspace have in common.
    pub(super) fn beyond_common<'p>(&self, path: &'p Path) -> &'p Path {
        let mut rest = path.components();
        for of_workspace in self.workspace.components() {
            let mut next = rest.clone();
            if next.next() != Some(of_workspace) {
                break;
            }
            rest = next;
        }
        rest.as_path()
    }

    /// Returns the denial of what lies in `directory`, is `there` and denied to be read.
    pub(super) fn unread_below(
        &self,
        directory: &Path,
        there: &dyn Fn(&Path) -> bool,
    ) -> Option<RunDenial> {
        let mut below = self.deny_read.iter().filter(|path| path.starts_with(directory));
        let path = below.find(|path| there(path))?.clone();
        let rule = DenialRule::ReadDenied;
        Some(RunDenial { rule, op: Some("read"), path: Some(path), what: None })
    }

    /// Returns whether a socket at `path` could be listed: nothing denies that it is read.
    pub(super) fn may_list(&self, path: &Path) -> bool {
        !self.hides(path) && !self.against_the_law(path, Asked::Read)
    }

    fn hides(&self, path: &Path) -> bool {
        covers(&self.deny_read, path) || self.read_globs.iter().any(|glob| matches(glob, path))
    }

    fn against_the_law(&self, path: &Path, op: Asked) -> bool {
        let below = path.strip_prefix(&self.workspace);
        let law = self.law.zip(below.ok());
        law.is_some_and(|(law, below)| !law.allows(op, below))
    }

    /// The rule that keeps a file from being moved from one of `paths` to the other: each may be
    /// written, and each is a file system of its own in the sandbox.
    pub(super) fn moves(&self, paths: [&Path; 2]) -> Option<DenialRule> {
        let place = |path: &Path| {
            let within = self.places.iter().filter(|(place, _)| path.starts_with(place));
            within.max_by_key(|(place, _)| place.components().count()).filter(|(_, open)| *open)
        };
        let [one, other] = paths.map(place);
        (one?.0 != other?.0).then_some(DenialRule::RuntimeDenied)
    }

    fn is_root(&self, path: &Path) -> bool {
        self.places.iter().skip(1).any(|(place, writable)| *writable && place == path)
    }

    fn is_writable(&self, path: &Path) -> bool {
        let within = self.places.iter().filter(|(place, _)| path.starts_with(place));
        let innermost =
            within.max_by_key(|(place, writable)| (place.components().count(), *writable));
        innermost.is_some_and(|(_, writable)| *writable)
    }

    /// Returns the rule of the protected name that `path` is or lies below; of one below `path`, if
    /// a mount there (`mounted`) keeps `path` from being moved.
    fn protected(&self, path: &Path, mounted: bool) -> Option<DenialRule> {
        let open = self.grants(GIT_CONFIG_GRANT);
        let names = PROTECTED_NAMES.iter().filter(|name| !(open && **name == GIT));
        let mut held =
            names.flat_map(|name| self.roots.iter().map(move |root| (*name, root.join(name))));
        let found = held
            .find(|(_, place)| path.starts_with(place) || mounted && place.parent() == Some(path));
        let Some((name, place)) = found else { return self.held(path, mounted) };
        match name {
            GIT => self.git(path.strip_prefix(&place).ok(), mounted),
            _ if fault!("explain.metadata-as-outside") => Some(DenialRule::OutsideWrite),
            _ => Some(DenialRule::Metadata),
        }
    }

    /// Returns the rule of another held path that `path` is or lies below, or that lies below
    /// `path`.
    fn held(&self, path: &Path, mounted: bool) -> Option<DenialRule> {
        let within = |place: &&PathBuf| {
            path.starts_with(place) || mounted && place.starts_with(path) && !self.is_root(path)
        };
        let place = self.held.iter().filter(|_| !fault!("explain.held-unknown")).find(within)?;
        let is_git = |part: std::path::Component<'_>| part.as_os_str() == GIT;
        let Some(at) = place.components().position(is_git) else {
            return Some(DenialRule::Metadata);
        };
        let below = path.components().skip(at + 1).collect::<PathBuf>();
        self.git(path.starts_with(place).then_some(below.as_path()), mounted)
    }

    /// Returns the rule of a path `below` a git directory, or of a directory around one.
    fn git(&self, below: Option<&Path>, mounted: bool) -> Option<DenialRule> {
        let whole = below.is_some_and(|below| below.as_os_str().is_empty());
        let steering = whole || below.is_some_and(grant::steers);
        match self.grants(GIT_GRANT) {
            _ if steering => Some(DenialRule::GitSteering),
            true => mounted.then_some(DenialRule::GitSteering),
            false => Some(DenialRule::GitMetadata),
        }
    }

    fn grants(&self, name: &str) -> bool {
        self.policy.grants.iter().any(|grant| grant == name)
    }
}

fn is_device(path: &Path) -> bool {
    path.starts_with("/dev")
        && path != Path::new("/dev")
        && !OWN_DEVICES.iter().any(|own| path.starts_with(own))
}

fn covers(places: &[PathBuf], path: &Path) -> bool {
    places.iter().any(|place| path.starts_with(place))
}

/// Returns whether one of `places` is at or below `path`, so that `path` cannot be moved.
fn holds(places: &[PathBuf], path: &Path) -> bool {
    places.iter().any(|place| place.starts_with(path))
}

/// Returns whether `glob` matches `path` or a directory above it.
fn matches(glob: &PathGlob, path: &Path) -> bool {
    let below = path.strip_prefix(glob.base());
    below.is_ok_and(|below| {
        glob.match_names(glob.start(), below.iter(), false).0 == GlobMatch::Matches
    })
}
