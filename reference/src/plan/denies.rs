//! What must not be read or written: [`Denies`], real paths, each rule once, the stricter first.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use boxproof_cases::protocol::{Policy, WirePath};

use crate::error::Refusal;
use crate::host::{Found, Host};

/// Rules that take away, from `deny_read`, `deny_write` and `protect`. What the command cannot get
/// to without capabilities needs no rule.
#[derive(Debug, Default)]
pub(super) struct Denies {
    /// Neither readable nor writable.
    pub(super) read: Vec<Found>,
    /// Not writable.
    pub(super) write: Vec<PathBuf>,
    /// The paths of both, for looking up.
    hidden: HashSet<PathBuf>,
    closed: HashSet<PathBuf>,
}

impl Denies {
    /// Collects the rules; `roots` are the writable roots.
    pub(super) fn collect(
        policy: &Policy,
        host: &Host,
        roots: &[PathBuf],
    ) -> Result<Self, Refusal> {
        let read = policy.deny_read.iter().map(|path| existing("deny_read", path, host));
        let mut read: Vec<Found> = read.collect::<Result<_, _>>()?;
        read.retain(|found| found.reachable);
        read.sort_by(|a, b| a.real.cmp(&b.real));
        read.dedup_by(|a, b| a.real == b.real);
        let write = policy.deny_write.iter().map(|path| existing("deny_write", path, host));
        let mut write: Vec<Found> = write.collect::<Result<_, _>>()?;
        write.extend(host.protected.iter().cloned());
        write.retain(|found| found.reachable);
        write.iter().try_for_each(|found| held(found, roots))?;
        let mut write: Vec<PathBuf> = write.into_iter().map(|found| found.real).collect();
        write.sort();
        write.dedup();
        let hidden = read.iter().map(|found| found.real.clone()).collect();
        let closed = write.iter().cloned().collect();
        Ok(Self { read, write, hidden, closed }.pruned())
    }

    /// Whether `path` is or lies below something denied.
    pub(super) fn cover(&self, path: &Path) -> bool {
        self.hide(path) || above(path).any(|folder| self.closed.contains(folder))
    }

    /// Whether `path` is or lies below something read-denied.
    pub(super) fn hide(&self, path: &Path) -> bool {
        above(path).any(|folder| self.hidden.contains(folder))
    }

    /// A rule below a stricter one would re-open part of it.
    fn pruned(mut self) -> Self {
        let Self { read, write, hidden, closed } = &mut self;
        read.retain(|inner| !above(&inner.real).skip(1).any(|outer| hidden.contains(outer)));
        write.retain(|inner| !above(inner).skip(1).any(|outer| closed.contains(outer)));
        write.retain(|inner| !above(inner).any(|outer| hidden.contains(outer)));
        self
    }
}

/// `path` and every folder above it.
fn above(path: &Path) -> impl Iterator<Item = &Path> {
    path.ancestors()
}

fn existing(rule: &str, path: &WirePath, host: &Host) -> Result<Found, Refusal> {
    host.at(path.as_path()).cloned().ok_or_else(|| {
        Refusal::unsupported(format!(
            "policy.{rule}: {} does not exist, and a mount cannot hold a name that is not there; create it or remove the rule",
            path.as_path().display()
        ))
    })
}

/// A mount lies on what a link leads to; a link that can be replaced is not held by it.
fn held(found: &Found, roots: &[PathBuf]) -> Result<(), Refusal> {
    let loose = |link: &&PathBuf| roots.iter().any(|root| link.starts_with(root));
    match found.links.iter().find(loose) {
        None => Ok(()),
        Some(link) => Err(Refusal::unsupported(format!(
            "{} is a symbolic link in a writable root, and a mount cannot hold a link; replace it by what it leads to",
            link.display()
        ))),
    }
}
