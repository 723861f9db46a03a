//! A plan as a Seatbelt profile: each step of the view becomes rules about its place, in the order
//! of the steps, so that the last rule that matches is that of the topmost step. Pure.

mod agent_paths;
mod baseline;
pub(crate) mod orbit;
mod pattern;
pub(crate) mod sbpl;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use boxproof_cases::protocol::{Compiled, CompiledText, Policy, TMP_PARAM, TmpPolicy, WirePath};

use crate::error::Refusal;
use crate::mechanism::path_text;
use crate::plan::{AbsenceReason, AbsentName, View, ViewStep};
use crate::policy::caliban::ExtraOpenings;
use sbpl::{SbplAction, SbplText, literal, quoted, regex, subpath, unix_socket};

const BOTH: &str = "file-read* file-write*";

/// The limit of a profile that has the network of the host and not its unix sockets.
const OWN_SOCKETS: &str = "A unix socket that the command makes can be connected to in the directory \
    for temporary files alone, as a rule cannot tell it from one of the host.";

/// The limit that no rule of a profile can lift.
const MOVED_IN: &str = "A directory that is made elsewhere can be moved to where a name in it is then \
    a denied one: the profile closes what is in it from then on, and does not undo it.";

/// The profile for `view`.
pub(crate) fn profile(
    view: &View,
    policy: &Policy,
    opens: &ExtraOpenings,
) -> Result<Compiled, Refusal> {
    if let Some(profile) = &view.mediate.profile {
        let root = profile.root.display();
        return Err(Refusal::unsupported(format!("{root}: compile the documents themselves")));
    }
    let mut out = SbplText::new();
    baseline::processes(&mut out);
    view.steps.iter().try_for_each(|step| rules(step, view, &mut out))?;
    let names = &view.mediate.names;
    let held = names.iter().filter(|_| !fault!("compile.absent-names"));
    held.into_iter().try_for_each(|name| absent(name, &view.mediate.free, &mut out))?;
    for later in &view.mediate.globs {
        let operations = if later.hides { BOTH } else { "file-write*" };
        out.about(
            SbplAction::Deny,
            operations,
            regex(&pattern::of_glob(&later.glob, later.folds)?),
        );
    }
    if !fault!("compile.pins") {
        pins(view, &mut out)?;
    }
    let private = policy.tmp == TmpPolicy::Private;
    if private {
        out.about(SbplAction::Allow, BOTH, format!("(subpath (param {}))", quoted(TMP_PARAM)));
    }
    baseline::network(&mut out, view.host_network || fault!("compile.network-open"));
    sockets(policy, &mut out)?;
    if private && view.host_network {
        let own = format!("(remote unix-socket (subpath (param {})))", quoted(TMP_PARAM));
        out.about(SbplAction::Allow, "network-outbound", own);
    }
    baseline::opened(opens, &mut out);
    let moved_in = !names.is_empty() || !view.mediate.globs.is_empty();
    let closed = view.host_network && !opens.sockets;
    let limits = [moved_in.then_some(MOVED_IN), closed.then_some(OWN_SOCKETS)];
    Ok(Compiled {
        text: CompiledText::Sbpl(out.finish()),
        params: private.then(|| TMP_PARAM.to_owned()).into_iter().collect(),
        values: BTreeMap::new(),
        limits: limits.into_iter().flatten().map(str::to_owned).collect(),
    })
}

fn rules(step: &ViewStep, view: &View, out: &mut SbplText) -> Result<(), Refusal> {
    let path = step.path();
    if path.starts_with("/proc") {
        return Ok(());
    }
    let place = path_text(path)?;
    match step {
        ViewStep::Bind(_) => {
            passage(path, view, out)?;
            out.about(SbplAction::Allow, BOTH, subpath(place));
            // A mount point cannot be moved, nor the denied paths in it; a rule has to pin it.
            let pin = match fault!("compile.unlink-below") {
                true => subpath(place),
                false => literal(place),
            };
            out.about(SbplAction::Deny, "file-write-unlink", pin);
        }
        ViewStep::BindReadOnly(_) => {
            passage(path, view, out)?;
            out.about(SbplAction::Allow, "file-read*", subpath(place));
            if !fault!("compile.write-denies") {
                out.about(SbplAction::Deny, "file-write*", subpath(place));
            }
        }
        ViewStep::MaskDirectory(_) if fault!("compile.directory-alone") => {
            out.about(SbplAction::Deny, BOTH, literal(place));
        }
        ViewStep::MaskFile(_) if fault!("compile.masks-lost") => {}
        ViewStep::MaskFile(_) | ViewStep::MaskSocket(_) | ViewStep::MaskDirectory(_) => {
            out.about(SbplAction::Deny, BOTH, subpath(place));
        }
        ViewStep::Tmpfs(..) => {
            // No directory is fresh here: the host's content is closed instead.
            out.about(SbplAction::Deny, BOTH, subpath(place));
            if place == "/" {
                baseline::platform(out);
            }
        }
        ViewStep::Link(..) => out.about(SbplAction::Allow, "file-read*", literal(place)),
        ViewStep::Dev => baseline::devices(out),
        ViewStep::Directory(_) | ViewStep::Seal(_) | ViewStep::Proc | ViewStep::HostProc => {}
    }
    Ok(())
}

/// Allows metadata access to the directories above `path`, also where these are closed: opening a
/// file requires it.
fn passage(path: &Path, view: &View, out: &mut SbplText) -> Result<(), Refusal> {
    let closed = |directory: &&Path| {
        view.steps.iter().any(|step| {
            matches!(step, ViewStep::Tmpfs(..) | ViewStep::MaskDirectory(_))
                && directory.starts_with(step.path())
        })
    };
    let above: Vec<&Path> = path.ancestors().skip(1).filter(closed).collect();
    let above = above.into_iter().rev().map(|directory| path_text(directory).map(literal));
    let above: Vec<String> = above.collect::<Result<_, _>>()?;
    if !above.is_empty() {
        out.rule(SbplAction::Allow, "file-read-metadata", &above);
    }
    Ok(())
}

/// Denies a missing name that must not be created, and everything in it but `free`.
fn absent(name: &AbsentName, free: &[PathBuf], out: &mut SbplText) -> Result<(), Refusal> {
    let place = path_text(&name.path)?;
    let filter = match name.folds {
        true => regex(&pattern::of_path(place, true)),
        false => subpath(place),
    };
    let free = free.iter().filter(|path| path.starts_with(&name.path));
    let free: Vec<String> = free
        .map(|path| Ok(format!("(require-not {})", subpath(path_text(path)?))))
        .collect::<Result<_, Refusal>>()?;
    let filter = match free.is_empty() {
        true => filter,
        false => format!("(require-all {filter} {})", free.join(" ")),
    };
    out.about(
        SbplAction::Deny,
        if name.by == AbsenceReason::Hide { BOTH } else { "file-write*" },
        filter,
    );
    Ok(())
}

/// Pins the directories of names that must not be created, up to the writable root.
fn pins(view: &View, out: &mut SbplText) -> Result<(), Refusal> {
    let within = |path: &&Path| {
        view.steps.iter().any(|step| matches!(step, ViewStep::Bind(root) if path.starts_with(root)))
    };
    let names = view.mediate.names.iter().filter_map(|name| name.path.parent());
    let directories = names.chain(view.mediate.globs.iter().map(|later| later.glob.base()));
    let held: BTreeSet<&Path> =
        directories.flat_map(|directory| directory.ancestors().take_while(within)).collect();
    if !held.is_empty() {
        let held = held.into_iter().map(|path| path_text(path).map(literal));
        out.rule(SbplAction::Deny, "file-write-unlink", &held.collect::<Result<Vec<_>, _>>()?);
    }
    Ok(())
}

fn sockets(policy: &Policy, out: &mut SbplText) -> Result<(), Refusal> {
    for path in policy.unix_sockets.iter().map(WirePath::as_path) {
        let name = path_text(path)?;
        if name.starts_with('@') {
            return Err(Refusal::unsupported(format!(
                "policy.unix_sockets: {name} is abstract, and macOS has no such sockets; remove it"
            )));
        }
        out.about(SbplAction::Allow, "network-outbound", unix_socket(name));
    }
    Ok(())
}
