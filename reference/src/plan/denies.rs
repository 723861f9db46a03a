//! The paths that must not be read or written: [`DenyRules`], real paths, each rule once, the stricter
//! first.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use boxproof_cases::protocol::{Policy, WirePath};

use super::forbidden_names::{AbsenceReason, AbsentName, FuturePattern};
use crate::error::Refusal;
use crate::host::{ExistingPath, HostSnapshot, MissingPath, PatternExpansion};

/// Denies from `deny_read`, `deny_write` and `protect`. A path that the command cannot reach
/// without capabilities needs no rule.
#[derive(Debug, Default)]
pub(super) struct DenyRules {
    /// Neither readable nor writable.
    pub(super) read: Vec<ExistingPath>,
    /// Paths that are not writable.
    pub(super) write: Vec<PathBuf>,
    /// Writable although they lie in something that is not.
    pub(super) parts: Vec<PathBuf>,
    /// Writable directories that must not be moved: some of their parts may be created.
    pub(super) passages: Vec<PathBuf>,
    /// Missing names that must not be created.
    pub(super) absent: Vec<AbsentName>,
    /// Patterns of names that must not be created.
    pub(super) later: Vec<FuturePattern>,
    /// The paths of both, for looking up.
    hidden: HashSet<PathBuf>,
    closed: HashSet<PathBuf>,
}

impl DenyRules {
    /// Collects the rules; `roots` are the writable roots.
    pub(super) fn collect(
        policy: &Policy,
        host: &HostSnapshot,
        roots: &[PathBuf],
    ) -> Result<Self, Refusal> {
        let (mut read, mut hidden_missing) = split("deny_read", &policy.deny_read, host)?;
        let read_globs = expanded("deny_read_globs", &policy.deny_read_globs, host)?;
        let write_globs = expanded("deny_write_globs", &policy.deny_write_globs, host)?;
        read_held(&read, &read_globs, roots)?;
        read.extend(read_globs.iter().flat_map(|one| one.there.iter().cloned()));
        read.retain(|found| found.reachable && !fault!("plan.read-denies-open"));
        read.sort_by(|a, b| a.real.cmp(&b.real));
        read.dedup_by(|a, b| a.real == b.real);
        let (mut write, mut missing) = split("deny_write", &policy.deny_write, host)?;
        let matched = write_globs.iter().filter(|_| !fault!("plan.present-matches-open"));
        write.extend(matched.flat_map(|one| one.there.iter().cloned()));
        let globs = || read_globs.iter().chain(&write_globs);
        hidden_missing.extend(read_globs.iter().flat_map(|one| one.missing.iter().cloned()));
        missing.extend(write_globs.iter().flat_map(|one| one.missing.iter().cloned()));
        globs().try_for_each(|one| held(&one.links, roots))?;
        let mut lacking = hidden_missing.iter().chain(&missing);
        lacking.try_for_each(|missing| held(&missing.links, roots))?;
        let open = || host.opened.iter().filter(|one| !one.whole);
        write.extend(open().flat_map(|one| one.rest.iter().cloned()));
        write.retain(|found| found.reachable);
        write.iter().try_for_each(|found| held(&found.links, roots))?;
        read.iter().try_for_each(|found| closable(&found.real))?;
        let denied = read.iter().map(|found| &found.real).chain(write.iter().map(|f| &f.real));
        denied.into_iter().try_for_each(|path| mountable(path, host))?;
        let protected = &host.protected;
        require_searchable(protected.closed.as_deref())?;
        protected.there.iter().try_for_each(|name| contradicted(&name.real, roots))?;
        let there = protected.there.iter().filter(|_| !fault!("plan.present-names-open"));
        write.extend(there.filter(|found| found.reachable).cloned());
        let mut write: Vec<PathBuf> = write.into_iter().map(|found| found.real).collect();
        write.sort();
        write.dedup();
        let hidden = read.iter().map(|found| found.real.clone()).collect();
        let closed = write.iter().cloned().collect();
        let denied = missing.iter().filter(|_| !fault!("plan.absent-denies"));
        let denied = denied.map(|missing| missing.by(AbsenceReason::Deny));
        let links = protected.links.iter().map(|link| link.by(AbsenceReason::Link));
        let protected = protected.missing.iter().filter(|_| !fault!("plan.absent-protected"));
        let protected = protected.map(|missing| missing.by(AbsenceReason::Protect));
        let inside = open().map(|one| AbsentName {
            path: one.directory.clone(),
            folds: one.folds,
            by: AbsenceReason::Deny,
        });
        let unread = hidden_missing.iter().filter(|_| !fault!("plan.absent-read-denies"));
        let unread = unread.map(|missing| missing.by(AbsenceReason::Hide));
        let absent = unread.chain(denied).chain(links).chain(protected).chain(inside).collect();
        let passages = open().map(|one| one.directory.clone()).collect();
        let whole = host.opened.iter().filter(|one| one.whole);
        let parts = whole.flat_map(|one| one.parts.iter().cloned()).collect();
        let later = read_globs.iter().map(|one| future_pattern(one, true));
        let later = later.chain(write_globs.iter().map(|one| future_pattern(one, false))).collect();
        Ok(Self { read, write, parts, passages, absent, later, hidden, closed }.pruned())
    }

    /// Returns whether `path` is or lies below a denied path.
    pub(super) fn cover(&self, path: &Path) -> bool {
        self.hide(path) || above(path).any(|directory| self.closed.contains(directory))
    }

    /// Returns whether `path` is or lies below a read-denied path.
    pub(super) fn hide(&self, path: &Path) -> bool {
        above(path).any(|directory| self.hidden.contains(directory))
    }

    /// A rule below a stricter one would re-open part of it.
    fn pruned(mut self) -> Self {
        let Self { read, write, absent, later, hidden, closed, parts, passages } = &mut self;
        parts.retain(|part| !above(part).any(|outer| hidden.contains(outer)));
        passages.retain(|directory| {
            !above(directory).any(|o| hidden.contains(o) || closed.contains(o))
        });
        read.retain(|inner| !above(&inner.real).skip(1).any(|outer| hidden.contains(outer)));
        write.retain(|inner| !above(inner).skip(1).any(|outer| closed.contains(outer)));
        write.retain(|inner| !above(inner).any(|outer| hidden.contains(outer)));
        let covered = |path: &Path| above(path).any(|o| hidden.contains(o) || closed.contains(o));
        absent.retain(|name| !covered(&name.path));
        later.retain(|later| !covered(later.glob.base()));
        // A deny comes before a protection of the same name.
        absent.sort();
        absent.dedup_by(|a, b| a.path == b.path);
        self
    }
}

/// A writable root below a protected name would start and then refuse all work.
///
/// # Errors
/// The names of both.
fn contradicted(closed: &Path, roots: &[PathBuf]) -> Result<(), Refusal> {
    match roots.iter().find(|root| root.starts_with(closed) && *root != closed) {
        Some(root) => Err(Refusal::invalid(format!(
            "policy: {} is a writable root below {}, which `protect` closes: remove the root, \
             or protect nothing",
            root.display(),
            closed.display()
        ))),
        None => Ok(()),
    }
}

/// `path` and every directory above it.
fn above(path: &Path) -> impl Iterator<Item = &Path> {
    path.ancestors()
}

/// Splits `paths` into existing and missing ones.
fn split(
    rule: &str,
    paths: &[WirePath],
    host: &HostSnapshot,
) -> Result<(Vec<ExistingPath>, Vec<MissingPath>), Refusal> {
    let (mut there, mut missing) = (Vec::new(), Vec::new());
    for path in paths.iter().map(WirePath::as_path) {
        match (host.at(path), host.missing(path)) {
            (Some(found), _) => there.push(found.clone()),
            (None, Some(absent)) => missing.push(absent.clone()),
            (None, None) => {
                return Err(Refusal::unsupported(format!(
                    "policy.{rule}: {} cannot be looked up (it {}), so nothing can hold it; make it reachable or remove the rule",
                    path.display(),
                    host.absence(path)
                )));
            }
        }
    }
    Ok((there, missing))
}

/// The patterns of `globs` over the host.
fn expanded<'a>(
    rule: &str,
    globs: &[String],
    host: &'a HostSnapshot,
) -> Result<Vec<&'a PatternExpansion>, Refusal> {
    let blind = |glob: &str, place: &Path| {
        Refusal::unsupported(format!(
            "policy.{rule}: {glob} cannot be looked up below {}, so nothing can hold it; make that readable or remove the rule",
            place.display()
        ))
    };
    let one = |glob: &String| match host.globs.get(glob) {
        None => Err(blind(glob, Path::new("/"))),
        Some(PatternExpansion { closed: Some(place), .. }) => Err(blind(glob, place)),
        Some(expansion) => Ok(expansion),
    };
    globs.iter().map(one).collect()
}

impl PatternExpansion {
    /// Checks the links that its matches lead through. A match that is a link itself may be
    /// removed, and nothing else comes to be at its name.
    fn held_behind_its_names(&self, roots: &[PathBuf]) -> Result<(), Refusal> {
        let reached = self.there.iter().filter(|found| found.reachable);
        let names: HashSet<&PathBuf> =
            self.there.iter().filter_map(|found| found.links.first()).collect();
        let behind = reached.flat_map(|found| &found.links).filter(|link| !names.contains(link));
        held(&behind.cloned().collect::<Vec<_>>(), roots)
    }
}

impl MissingPath {
    fn by(&self, by: AbsenceReason) -> AbsentName {
        AbsentName { path: self.real.clone(), folds: self.folds, by }
    }
}

/// Refuses a path that is created afresh inside: it has nothing of the host's that could be closed.
fn closable(path: &Path) -> Result<(), Refusal> {
    let name = path.strip_prefix("/proc").ok().and_then(|below| below.iter().next());
    let process = name.is_some_and(|name| name.as_encoded_bytes().iter().all(u8::is_ascii_digit));
    let whole = [Path::new("/proc"), Path::new("/dev")].contains(&path);
    if !process && !whole {
        return Ok(());
    }
    Err(Refusal::unsupported(format!(
        "policy.deny_read: {} is made afresh inside, and nothing of the host's is in it; remove the rule",
        path.display()
    )))
}

/// Checks that a mount is possible: the kernel mounts nothing on a removed object.
fn mountable(path: &Path, host: &HostSnapshot) -> Result<(), Refusal> {
    if !host.unlinked.iter().any(|mount| mount == path) {
        return Ok(());
    }
    Err(Refusal::unsupported(format!(
        "policy: {} is denied, and it is a mount whose source was removed on the host, which nothing can be mounted on; mount it anew, or deny the directory that it lies in",
        path.display()
    )))
}

/// Checks that the whole root was searched, as repositories can be anywhere below it.
fn require_searchable(closed: Option<&Path>) -> Result<(), Refusal> {
    let Some(directory) = closed else { return Ok(()) };
    Err(Refusal::unsupported(format!(
        "policy.protect: {} cannot be looked into for repositories; make it readable, remove it, or use {{\"protect\":\"none\"}}",
        directory.display()
    )))
}

/// Checks the links on the way: a mount lies on the target of a link, so that a replaceable link
/// would evade it.
fn held(links: &[PathBuf], roots: &[PathBuf]) -> Result<(), Refusal> {
    let loose = |link: &&PathBuf| roots.iter().any(|root| link.starts_with(root));
    match links.iter().find(loose) {
        None => Ok(()),
        Some(link) => Err(Refusal::unsupported(format!(
            "{} is a symbolic link in a writable root, and a mount cannot hold a link; replace it by what it leads to",
            link.display()
        ))),
    }
}

/// Checks the links that lead to paths that must not be read: those of `named`, and of matches.
fn read_held(
    named: &[ExistingPath],
    globs: &[&PatternExpansion],
    roots: &[PathBuf],
) -> Result<(), Refusal> {
    let mut reached = named.iter().filter(|found| found.reachable);
    reached.try_for_each(|found| held(&found.links, roots))?;
    globs.iter().try_for_each(|one| one.held_behind_its_names(roots))
}

/// Returns the pattern that names of the run are held to; one that `hides` is about reading.
fn future_pattern(one: &PatternExpansion, hides: bool) -> FuturePattern {
    FuturePattern { glob: one.glob.clone(), folds: one.folds, hides }
}
