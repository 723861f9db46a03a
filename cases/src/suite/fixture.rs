//! The check of fixture paths: a fixture lies only in the directories that every arm has for
//! itself, including through the links that it makes.

use std::collections::BTreeMap;

use super::FieldFault;
use crate::case::{Case, EntryKind, FixtureEntry, HostFact};

/// Directories that every arm has for itself; a relative path lies below the first.
const OWN: [&str; 4] = ["$WS", "$OUT", "$HOME", "$TMPDIR"];

/// A path by the directory it lies below and the names that lead to it.
type EntryLocation<'a> = (&'a str, Vec<&'a str>);

/// Every entry lies in a directory of the arm, by a way without links, each in a place of its own;
/// a program that becomes another user has one to become.
pub(super) fn check(case: &Case) -> Result<(), FieldFault> {
    let mut locations: BTreeMap<EntryLocation<'_>, &FixtureEntry> = BTreeMap::new();
    for (path, entry) in &case.fixture {
        if locations.insert(locate(path)?, entry).is_some() {
            return Err(("fixture", format!("{path} is the same place as another entry")));
        }
    }
    for (path, entry) in &case.fixture {
        check_links(path, &locations)?;
        if let EntryKind::Hardlink(target) = &entry.kind {
            check_links(target, &locations)?;
        }
        if entry.becomes_another() && !case.host.contains(&HostFact::Root) {
            let why = format!(
                "{path}: who lays out a set-user-id program owns it, and only as root that is \
                 another user: add root to host"
            );
            return Err(("fixture", why));
        }
    }
    Ok(())
}

/// Nothing lies below an entry that is no directory.
pub(super) fn check_below(case: &Case) -> Result<(), FieldFault> {
    let is_end = |kind: &EntryKind| {
        matches!(kind, EntryKind::File(_) | EntryKind::Hardlink(_) | EntryKind::Fifo)
    };
    let ends = case.fixture.iter().filter(|(_, entry)| is_end(&entry.kind));
    let ends: BTreeMap<EntryLocation<'_>, &String> =
        ends.filter_map(|(path, _)| Some((locate(path).ok()?, path))).collect();
    for path in case.fixture.keys() {
        let Ok((own, names)) = locate(path) else { continue };
        let mut above = (0..names.len()).map(|end| (own, names[..end].to_vec()));
        if let Some(end) = above.find_map(|way| ends.get(&way)) {
            let why = format!("`{path}` lies below `{end}`, which is no directory");
            return Err(("fixture", why));
        }
    }
    Ok(())
}

/// Returns the directory of the arm that `path` lies in, and the path within it.
fn locate(path: &str) -> Result<EntryLocation<'_>, FieldFault> {
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    let (own, names) = match OWN.iter().find(|own| **own == first) {
        Some(own) => (*own, rest),
        None => (OWN[0], path),
    };
    let names: Vec<&str> = names.split('/').filter(|name| !["", "."].contains(name)).collect();
    let is_relative = !path.starts_with('/') && (own == first || !path.starts_with('$'));
    match is_relative && !names.contains(&"..") {
        true => Ok((own, names)),
        false => {
            let why = format!("{path} lies outside: a fixture lies below {}", OWN.join(", "));
            Err(("fixture", why))
        }
    }
}

/// Returns the reason why `path` is not in a directory of the arm, if it is not.
pub(super) fn outside(path: &str) -> Option<String> {
    locate(path).err().map(|(_, why)| why.replace("a fixture lies", "such a file lies"))
}

/// No link of the fixture leads to `path`.
fn check_links(
    path: &str,
    entries: &BTreeMap<EntryLocation<'_>, &FixtureEntry>,
) -> Result<(), FieldFault> {
    let (own, names) = locate(path)?;
    let ways = (0..names.len()).map(|end| (own, names[..end].to_vec()));
    let is_link = |way: &EntryLocation<'_>| {
        entries.get(way).is_some_and(|entry| matches!(entry.kind, EntryKind::Link(_)))
    };
    match ways.into_iter().find(is_link) {
        Some((own, names)) => {
            let link = names.join("/");
            Err(("fixture", format!("{path} lies below the link {own}/{link}: name its target")))
        }
        None => Ok(()),
    }
}
