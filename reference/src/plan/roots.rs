//! The writable roots: real paths, none that a deny covers, none that a link smuggled in.

use std::path::{Path, PathBuf};

use boxproof_cases::protocol::{Mode, Policy, TmpPolicy, WirePath};

use crate::error::Refusal;
use crate::host::{ExistingPath, HostSnapshot};

/// Trees that are made afresh or describe the kernel: never writable.
const NEVER: [&str; 3] = ["/proc", "/dev", "/sys"];

/// The real paths that `policy` makes writable, before denies are taken out.
pub(super) fn writable(policy: &Policy, host: &HostSnapshot) -> Result<Vec<PathBuf>, Refusal> {
    let mut roots = match policy.mode {
        Mode::WorkspaceWrite => named(policy, host)?,
        Mode::ReadOnly if fault!("plan.read-only-writable") => named(policy, host)?,
        // The profile says how much of its workspace.
        Mode::ReadOnly if host.tree.is_some() => real(&policy.writable, host)?,
        Mode::ReadOnly | Mode::Unconfined => Vec::new(),
    };
    if policy.tmp == TmpPolicy::Host {
        roots.extend(host.tmp.iter().cloned());
    }
    roots.sort();
    roots.dedup();
    Ok(roots)
}

fn real(names: &[WirePath], host: &HostSnapshot) -> Result<Vec<PathBuf>, Refusal> {
    let names = names.iter().map(WirePath::as_path);
    let found = |name: &Path| host.at(name).map(|found| found.real.clone());
    names.map(|name| found(name).ok_or_else(|| absent(name, host))).collect()
}

fn named(policy: &Policy, host: &HostSnapshot) -> Result<Vec<PathBuf>, Refusal> {
    let extra = policy.writable.iter().filter(|_| !fault!("plan.extra-roots-closed"));
    let names = std::iter::once(&policy.workspace).chain(extra);
    let roots: Vec<(&Path, &ExistingPath)> = names
        .map(|name| {
            let found = host.at(name.as_path()).ok_or_else(|| absent(name.as_path(), host))?;
            Ok((name.as_path(), found))
        })
        .collect::<Result<_, Refusal>>()?;
    // The workspace is the first.
    let members = std::iter::once("workspace").chain(std::iter::repeat("writable"));
    let mut named = members.zip(&roots);
    named.try_for_each(|(member, (name, found))| acceptable(member, name, found, &roots))?;
    let opened = host.protected.history.iter();
    Ok(roots.into_iter().map(|(_, found)| found).chain(opened).map(|f| f.real.clone()).collect())
}

fn absent(name: &Path, host: &HostSnapshot) -> Refusal {
    Refusal::unsupported(format!(
        "policy.writable: {} {}, and nothing can be bound there; create it first",
        name.display(),
        host.absence(name)
    ))
}

/// A link inside a writable root may have been planted by an earlier run: it must not lead out.
fn acceptable(
    member: &str,
    name: &Path,
    found: &ExistingPath,
    roots: &[(&Path, &ExistingPath)],
) -> Result<(), Refusal> {
    let remedy = if member == "workspace" { "choose another" } else { "remove it" };
    let refused = |why: String| {
        Err(Refusal::unsupported(format!("policy.{member}: {} {why}; {remedy}", name.display())))
    };
    if let Some(tree) = NEVER.iter().find(|tree| found.real.starts_with(tree)) {
        return refused(format!("cannot be made writable: the sandbox has a {tree} of its own"));
    }
    if found.device {
        return refused("is a device file, which a sandbox does not open".to_owned());
    }
    let leaves = |link: &PathBuf| {
        let mut holders = roots.iter().map(|(_, root)| &root.real);
        let out = |root: &PathBuf| link.starts_with(root) && !found.real.starts_with(root);
        holders.any(out) && !fault!("plan.planted-root")
    };
    match found.links.iter().find(|link| leaves(link)) {
        None => Ok(()),
        Some(link) => Err(Refusal::unsupported(format!(
            "policy.{member}: {} leads out of the writable roots through the link {}; name {} itself if it is meant",
            name.display(),
            link.display(),
            found.real.display()
        ))),
    }
}
