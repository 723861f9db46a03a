//! The steps of the view, from writable roots and denies. Shallow paths come first, so that every
//! step lies on top of the steps that contain it; a deny is never below a root that could reopen
//! it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use boxproof_cases::protocol::{Policy, Readable, TmpPolicy, WirePath};

use super::denies::DenyRules;
use super::forbidden_names::{AbsentName, ForbiddenNames, ObservedCalls, ProfileBound};
use super::profile::{self, SurroundingAccess};
use super::{View, ViewStep, roots, skeleton};
use crate::error::Refusal;
use crate::host::{ExistingPath, HostSnapshot, PathPassage, PlatformEntry};

/// Mode of a private temp directory.
const TMP_MODE: u32 = 0o1777;
/// The mode of the empty directory in place of service state.
const SERVICE_MODE: u32 = 0o755;

/// Builds the view of `policy` on `host`; `cwd` is a real path.
pub(super) fn view(
    policy: &Policy,
    host: &HostSnapshot,
    cwd: &Path,
    host_network: bool,
) -> Result<View, Refusal> {
    let context = ViewContext::new(policy, host)?;
    context.check_cwd(cwd)?;
    let mut steps = context.system();
    steps.extend(context.grants(host_network)?);
    steps.extend(context.passages());
    steps.extend(context.pins().into_iter().map(ViewStep::Bind));
    steps.extend(context.reopened().map(ViewStep::Bind));
    steps.extend(context.denied());
    steps.extend(context.socket_masks()?);
    steps.extend(context.profile()?);
    steps.extend(context.sealed().map(ViewStep::Seal));
    // A sealed mount takes no further steps, so seals come last.
    steps.sort_by_cached_key(|step| {
        let first = fault!("plan.masks-first") && step.masks_one_file();
        (matches!(step, ViewStep::Seal(_)), !first, step.path().components().count())
    });
    let steps = skeleton::with_directories(steps);
    Ok(View { steps, mediate: context.mediated()?, host_network, egress: None })
}

impl ViewStep {
    /// Returns whether it puts one object of mode 000 over one that is no directory.
    pub(crate) fn masks_one_file(&self) -> bool {
        matches!(self, Self::MaskFile(_) | Self::MaskSocket(_))
    }

    /// Returns whether it makes a private temporary directory.
    pub(crate) fn is_temp(&self) -> bool {
        matches!(self, Self::Tmpfs(_, TMP_MODE))
    }

    /// Returns whether it shows the host's processes.
    pub(crate) fn shows_host_processes(&self) -> bool {
        matches!(self, Self::HostProc)
    }

    /// Returns the path that the step applies to.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Bind(path) | Self::BindReadOnly(path) => path,
            Self::MaskFile(path) | Self::MaskSocket(path) | Self::MaskDirectory(path) => path,
            Self::Tmpfs(path, _) | Self::Seal(path) => path,
            Self::Directory(path) | Self::Link(path, _) => path,
            Self::Dev => Path::new("/dev"),
            Self::Proc | Self::HostProc => Path::new("/proc"),
        }
    }
}

/// Returns the listed readable roots, and the command's own file; `None` if everything is readable.
fn readable(policy: &Policy, host: &HostSnapshot) -> Result<Option<Vec<PathBuf>>, Refusal> {
    let Readable::Only(roots) = &policy.readable else { return Ok(None) };
    if fault!("plan.unlisted-shown") {
        return Ok(None);
    }
    let real = |root: &WirePath| {
        host.at(root.as_path()).map(|found| found.real.clone()).ok_or_else(|| {
            Refusal::unsupported(format!(
                "policy.readable: {} {}, and nothing can be bound there; create it first or remove it",
                root.as_path().display(),
                host.absence(root.as_path())
            ))
        })
    };
    let mut listed: Vec<PathBuf> = roots.iter().map(real).collect::<Result<_, _>>()?;
    listed.extend(host.program.clone());
    let profiled =
        |path: &Path| host.tree.as_ref().is_some_and(|tree| path.starts_with(&tree.root.path));
    // A fresh /proc is there anyway.
    let own = |path: &Path| path.starts_with("/proc");
    listed.retain(|path| !is_platform(host, path) && !profiled(path) && !own(path));
    listed.sort();
    listed.dedup();
    Ok(Some(listed))
}

/// Returns whether `path` is shown as part of the platform.
fn is_platform(host: &HostSnapshot, path: &Path) -> bool {
    host.platform.iter().any(|piece| match piece {
        PlatformEntry::Object(object) => path.starts_with(object),
        PlatformEntry::Link(..) => false,
    })
}

/// The input of the steps.
struct ViewContext<'a> {
    policy: &'a Policy,
    host: &'a HostSnapshot,
    /// The workspace's real path.
    workspace: PathBuf,
    /// Writable roots that no deny covers.
    roots: Vec<PathBuf>,
    denies: DenyRules,
    /// Directories that are replaced by empty ones.
    hidden: Vec<PathBuf>,
    /// Paths that are shown although a hidden directory contains them.
    shown: Vec<PathBuf>,
}

impl<'a> ViewContext<'a> {
    fn new(policy: &'a Policy, host: &'a HostSnapshot) -> Result<Self, Refusal> {
        let name = policy.workspace.as_path();
        let workspace = host.at(name).ok_or_else(|| {
            Refusal::invalid(format!("policy.workspace: {} does not exist", name.display()))
        })?;
        let mut roots = roots::writable(policy, host)?;
        let denies = DenyRules::collect(policy, host, &roots)?;
        roots.retain(|root| !denies.cover(root) || fault!("plan.root-in-deny"));
        let private = policy.tmp == TmpPolicy::Private && !fault!("plan.host-tmp");
        let private = private.then_some(&host.tmp);
        let mut hidden: Vec<PathBuf> = private.into_iter().flatten().cloned().collect();
        let workspace = workspace.real.clone();
        let mut shown = roots.clone();
        match readable(policy, host)? {
            None => hidden.extend(host.services.iter().cloned()),
            Some(listed) => {
                hidden.push("/".into());
                let covered = |path: &Path| denies.hide(path);
                let further = listed.into_iter().chain([workspace.clone()]);
                shown.extend(further.filter(|path| !covered(path)));
            }
        }
        Ok(Self { policy, host, workspace, roots, denies, hidden, shown })
    }

    /// Returns whether only listed roots can be read.
    fn lists(&self) -> bool {
        self.policy.readable != Readable::All && !fault!("plan.unlisted-shown")
    }

    fn check_cwd(&self, cwd: &Path) -> Result<(), Refusal> {
        let problem = match () {
            () if self.denies.hide(cwd) && !fault!("plan.cwd-in-deny") => {
                "is denied by policy.deny_read"
            }
            () if self.is_hidden(cwd) && !cwd.starts_with(&self.workspace) => {
                "lies in a directory that is private inside the sandbox"
            }
            () => return Ok(()),
        };
        Err(Refusal::unsupported(format!(
            "run.cwd: {} {problem}; choose one in the workspace",
            cwd.display()
        )))
    }

    /// The host read-only, fresh kernel trees, private directories.
    fn system(&self) -> Vec<ViewStep> {
        let mut steps = self.ground();
        steps.push(ViewStep::Dev);
        match self.host.lacks_proc || fault!("plan.host-proc") {
            true => steps.push(ViewStep::HostProc),
            false => {
                steps.push(ViewStep::Proc);
                let knobs = self.host.knobs.iter().filter(|_| !fault!("plan.kernel-knobs"));
                steps.extend(knobs.cloned().map(ViewStep::BindReadOnly));
            }
        }
        if self.policy.tmp == TmpPolicy::Private {
            steps.extend(self.host.tmp.iter().map(|path| match fault!("plan.host-tmp") {
                true => ViewStep::Bind(path.clone()),
                false => ViewStep::Tmpfs(path.clone(), TMP_MODE),
            }));
        }
        if self.policy.tmp != TmpPolicy::None {
            steps.push(match fault!("plan.host-shm") {
                true => ViewStep::Bind("/dev/shm".into()),
                false => ViewStep::Tmpfs("/dev/shm".into(), TMP_MODE),
            });
        }
        let services = self.host.services.iter().filter(|_| !self.lists()).cloned();
        let services = services.filter(|_| !fault!("plan.host-services"));
        steps.extend(services.map(|path| ViewStep::Tmpfs(path, SERVICE_MODE)));
        steps
    }

    /// Returns the lowest steps of the view: the host's tree, or only the listed roots and the
    /// platform.
    fn ground(&self) -> Vec<ViewStep> {
        let root = PathBuf::from("/");
        if self.roots.contains(&root) {
            return vec![ViewStep::Bind(root)];
        }
        if !self.lists() {
            return vec![ViewStep::BindReadOnly(root)];
        }
        // Paths in a listed root exist already, and no place is made for them twice.
        let covered = |path: &Path| self.shown.iter().any(|root| path.starts_with(root));
        let platform = self.host.platform.iter().filter(|piece| match piece {
            PlatformEntry::Object(path) | PlatformEntry::Link(path, _) => !covered(path),
        });
        let platform = platform.map(|piece| match piece {
            PlatformEntry::Object(path) => ViewStep::BindReadOnly(path.clone()),
            PlatformEntry::Link(path, says) => ViewStep::Link(path.clone(), says.clone()),
        });
        let profiled = self.host.tree.as_ref().map(|tree| &tree.root.path);
        let read_only =
            self.shown.iter().filter(|path| !self.is_writable(path) && Some(*path) != profiled);
        let listed = read_only.cloned().map(ViewStep::BindReadOnly);
        std::iter::once(ViewStep::Tmpfs(root, SERVICE_MODE)).chain(platform).chain(listed).collect()
    }

    /// Fresh directories that nothing more is put into.
    fn sealed(&self) -> impl Iterator<Item = PathBuf> {
        let fresh = match self.lists() && !self.roots.contains(&PathBuf::from("/")) {
            true => vec!["/".into()],
            false if fault!("plan.host-services") => Vec::new(),
            false => self.host.services.clone(),
        };
        let sealed = std::iter::once(PathBuf::from("/dev")).chain(fresh);
        sealed.filter(|_| !fault!("plan.seals"))
    }

    /// Returns the steps of writable roots, and of paths that must be visible although their
    /// surroundings are hidden.
    fn grants(&self, host_network: bool) -> Result<Vec<ViewStep>, Refusal> {
        let below = |path: &&PathBuf| path.as_path() != Path::new("/");
        let mut steps: Vec<ViewStep> =
            self.mounted_roots().filter(below).cloned().map(ViewStep::Bind).collect();
        let workspace = &self.workspace;
        let read_only = !self.roots.contains(workspace)
            && !self.denies.hide(workspace)
            && self.host.tree.is_none();
        if read_only && (self.is_hidden(workspace) || self.is_writable(workspace)) {
            steps.push(ViewStep::BindReadOnly(workspace.clone()));
        }
        let resolver = self.host.resolver.iter().filter(|_| host_network).cloned();
        let resolver = resolver.filter(|_| !fault!("plan.resolver-lacking"));
        let shown = resolver.chain(self.listed_sockets()?);
        let shown = shown.filter(|path| self.is_hidden(path) && !self.denies.hide(path));
        steps.extend(shown.map(ViewStep::BindReadOnly));
        Ok(steps)
    }

    /// Writable roots but for those that another one brings along: a mount of its own would be a
    /// border that no name can move across.
    fn mounted_roots(&self) -> impl Iterator<Item = &PathBuf> {
        let brings = |outer: &PathBuf, root: &PathBuf| {
            let replaced = |directory: &PathBuf| {
                directory != outer && directory.starts_with(outer) && root.starts_with(directory)
            };
            outer != root && root.starts_with(outer) && !self.hidden.iter().any(replaced)
        };
        self.roots.iter().filter(move |root| !self.roots.iter().any(|outer| brings(outer, root)))
    }

    /// Returns the steps of links that name granted paths, and of `/run` links to readable targets,
    /// with the directories that such names leave by `..`: as far as they would be missing.
    fn passages(&self) -> Vec<ViewStep> {
        let leads = self.host.service_links.iter().filter(|link| self.is_seen(&link.target));
        let ways = self.host.ways.iter().chain(leads.flat_map(|link| &link.way));
        let ways = ways.filter(|_| !fault!("plan.ways-lacking"));
        let lacking: BTreeSet<&PathPassage> = ways.filter(|way| self.lacks(way.place())).collect();
        let step = |passage: &PathPassage| match passage {
            PathPassage::Link(at, says) => ViewStep::Link(at.clone(), says.clone()),
            PathPassage::Directory(at) => ViewStep::Directory(at.clone()),
        };
        lacking.into_iter().map(step).collect()
    }

    /// Returns whether the host's object at `path` is absent in the view, without a substitute.
    fn lacks(&self, path: &Path) -> bool {
        let fresh = ["/dev", "/proc"].iter().any(|tree| path.starts_with(tree));
        let made =
            |piece: &PlatformEntry| matches!(piece, PlatformEntry::Link(at, _) if at == path);
        let platform = is_platform(self.host, path) || self.host.platform.iter().any(made);
        self.is_hidden(path) && !self.denies.hide(path) && !fresh && !platform
    }

    /// Returns whether the host's object at `path` can be read.
    fn is_seen(&self, path: &Path) -> bool {
        let shown = !self.is_hidden(path) || is_platform(self.host, path);
        shown && !self.denies.hide(path)
    }

    /// Sockets the policy grants, as far as they exist.
    fn listed_sockets(&self) -> Result<Vec<PathBuf>, Refusal> {
        let names = self.policy.unix_sockets.iter().map(WirePath::as_path);
        let mut listed = Vec::new();
        for name in names {
            if name.as_os_str().as_encoded_bytes().starts_with(b"@") {
                return Err(Refusal::unsupported(format!(
                    "policy.unix_sockets: {} is abstract, and no abstract socket can be granted alone; remove it",
                    name.display()
                )));
            }
            if let Some((_, kind)) = self.host.no_sockets.iter().find(|(path, _)| path == name) {
                return Err(Refusal::unsupported(format!(
                    "policy.unix_sockets: {} is {kind}, no socket; name the socket itself, or list the path in `readable`",
                    name.display()
                )));
            }
            listed.extend(self.host.at(name).map(|found| found.real.clone()));
        }
        Ok(listed)
    }

    /// Directories between a writable root and a deny, each bound onto itself: a mount point cannot
    /// be renamed, so the denied path cannot be moved away under a new name.
    fn pins(&self) -> BTreeSet<PathBuf> {
        let denied = self.denies.read.iter().map(|found| &found.real).chain(&self.denies.write);
        let denied = denied.filter(|_| !fault!("plan.denied-parents-move"));
        let inside = denied.flat_map(|path| self.pins_of(path));
        let passages = self.denies.passages.iter().filter(|_| !fault!("plan.passages-move"));
        let passages = passages.flat_map(|path| self.pins_of(&path.join("any")));
        inside.chain(passages).collect()
    }

    fn pins_of(&self, denied: &Path) -> Vec<PathBuf> {
        let outermost = self.roots.iter().filter(|root| denied.starts_with(root)).min();
        let Some(root) = outermost else { return Vec::new() };
        let between = denied.ancestors().skip(1).take_while(|directory| directory != root);
        between
            .filter(|directory| !self.mounted_roots().any(|root| root == directory))
            .filter(|directory| !self.denies.cover(directory) && !self.is_hidden(directory))
            .map(Path::to_owned)
            .collect()
    }

    /// Returns the writable directories inside read-only ones.
    fn reopened(&self) -> impl Iterator<Item = PathBuf> {
        let parts = self.denies.parts.iter().filter(|_| !fault!("plan.parts-closed"));
        parts.filter(|path| self.is_writable(path)).cloned()
    }

    fn denied(&self) -> Vec<ViewStep> {
        let seen = |path: &Path| !self.lists() || !self.is_hidden(path);
        let open = |found: &ExistingPath| fault!("plan.denied-files-readable") && !found.directory;
        let read = self.denies.read.iter().filter(|found| seen(&found.real) && !open(found));
        let read = read.map(|found| match found.directory {
            true => ViewStep::MaskDirectory(found.real.clone()),
            false => ViewStep::MaskFile(found.real.clone()),
        });
        let write = self.denies.write.iter().filter(|path| self.is_writable(path));
        let write = write.filter(|_| !fault!("plan.write-denies-open"));
        read.chain(write.cloned().map(ViewStep::BindReadOnly)).collect()
    }

    /// Returns the absent names that could be created, and where the host can tell sockets apart the
    /// ones that may be reached. Elsewhere no name can be created anyway.
    fn mediated(&self) -> Result<ForbiddenNames, Refusal> {
        let names = self.denies.absent.iter().filter(|name| self.is_makeable(&name.path)).cloned();
        let later = self.denies.later.iter().filter(|_| !fault!("plan.later-patterns"));
        let later = later.filter(|later| {
            let base = later.glob.base();
            self.is_makeable(base) || self.places().any(|place| place.starts_with(base))
        });
        let tree =
            self.host.tree.as_ref().filter(|tree| !tree.settled && profile::has_room(&tree.root));
        let tree = tree.filter(|_| !fault!("plan.later-profile"));
        let profile = tree
            .map(|tree| ProfileBound { root: tree.root.path.clone(), law: Arc::clone(&tree.law) });
        let names: Vec<AbsentName> = names.collect();
        let reopened = self.policy.reopen.iter().filter(|_| !fault!("plan.reopened-closed"));
        let free = reopened.map(|path| path.as_path().to_owned());
        let free = free.filter(|path| names.iter().any(|name| path.starts_with(&name.path)));
        let free = free.collect();
        let sockets = self.host.tells_sockets.then(|| self.listed_sockets()).transpose()?;
        let globs = later.cloned().collect();
        Ok(ForbiddenNames {
            names,
            free,
            globs,
            profile,
            sockets,
            observed: ObservedCalls::Nothing,
        })
    }

    /// The workspace, if it is under a profile.
    fn profile(&self) -> Result<Vec<ViewStep>, Refusal> {
        let Some(tree) = &self.host.tree else { return Ok(Vec::new()) };
        let around = match is_platform(self.host, &tree.root.path) {
            true => SurroundingAccess::ReadOnly,
            false => SurroundingAccess::Nothing,
        };
        profile::steps(tree, around)
    }

    /// Returns the directories in which names can be created: writable roots and private temporary
    /// directories.
    fn places(&self) -> impl Iterator<Item = &PathBuf> {
        let private = self.policy.tmp == TmpPolicy::Private;
        self.roots.iter().chain(self.host.tmp.iter().filter(move |_| private))
    }

    fn is_makeable(&self, path: &Path) -> bool {
        self.is_writable(path)
            || self.places().any(|place| path.starts_with(place)) && self.is_hidden(path)
    }

    /// Host sockets that would be visible though the policy does not list them.
    fn socket_masks(&self) -> Result<Vec<ViewStep>, Refusal> {
        let listed = self.listed_sockets()?;
        let profiled = |path: &Path| {
            self.host.tree.as_ref().is_some_and(|tree| path.starts_with(&tree.root.path))
        };
        let loose = self.host.sockets.iter().filter(|path| {
            !listed.contains(path)
                && !profiled(path)
                && !self.is_hidden(path)
                && !self.denies.hide(path)
        });
        let loose = loose.filter(|_| !fault!("plan.sockets-open"));
        let loose = loose.filter(|_| listed.is_empty() || !fault!("plan.one-socket-opens-all"));
        Ok(loose.cloned().map(ViewStep::MaskSocket).collect())
    }

    fn is_writable(&self, path: &Path) -> bool {
        !self.is_hidden(path) && self.roots.iter().any(|root| path.starts_with(root))
    }

    /// Returns whether `path` lies in a replaced directory, and in no path reopened inside it.
    fn is_hidden(&self, path: &Path) -> bool {
        self.hidden.iter().filter(|directory| path.starts_with(directory)).any(|directory| {
            let reopened = |root: &PathBuf| path.starts_with(root) && root.starts_with(directory);
            !self.shown.iter().any(reopened)
        })
    }
}
