//! Rules that contradict each other: a run by a grant in what a rule closes would start, and then
//! refuse all work or show nothing. A compiled text lists what it closes. Pure.

use std::path::Path;

use boxproof_cases::protocol::{Mode, Policy, Readable, WirePath};

use crate::error::Refusal;
use crate::host::HostSnapshot;

/// Refuses a policy with a rule that closes what another opens, naming both.
pub(crate) fn refuse_contradictions(policy: &Policy, host: &HostSnapshot) -> Result<(), Refusal> {
    for (member, rule, closed) in closed(policy, host) {
        for (opens, grant) in granted(policy, member) {
            let Some(real) = host.at(grant).map(|found| found.real.as_path()) else { continue };
            // One path in both lists of reading is closed: that is no mistake of a place.
            let same = real == closed && member.starts_with("deny_read");
            if real.starts_with(closed) && !same {
                return Err(Refusal::invalid(format!(
                    "policy: {} of `{opens}` lies in {rule} of `{member}`, which closes it; remove one of the two, or let `{member}` name what is to be closed in {}",
                    grant.display(),
                    grant.display()
                )));
            }
        }
    }
    Ok(())
}

/// Returns the paths that `deny_read` and `deny_write` close: the member, the rule as it is
/// written, the real path.
fn closed<'a>(
    policy: &'a Policy,
    host: &'a HostSnapshot,
) -> impl Iterator<Item = (&'static str, String, &'a Path)> {
    let lists = [("deny_read", &policy.deny_read), ("deny_write", &policy.deny_write)];
    let paths = lists.into_iter().flat_map(|(member, list)| {
        list.iter().map(WirePath::as_path).map(move |path| (member, path))
    });
    let paths = paths.filter_map(|(member, path)| {
        Some((member, path.display().to_string(), host.at(path)?.real.as_path()))
    });
    let globs = [
        ("deny_read_globs", &policy.deny_read_globs),
        ("deny_write_globs", &policy.deny_write_globs),
    ];
    let globs = globs
        .into_iter()
        .flat_map(|(member, list)| list.iter().map(move |glob| (member, glob)))
        .filter_map(|(member, glob)| Some((member, glob, host.globs.get(glob)?)))
        .flat_map(|(member, glob, expansion)| {
            expansion.there.iter().map(move |found| (member, glob.clone(), found.real.as_path()))
        });
    paths.chain(globs)
}

/// Returns the paths that the policy grants and that a rule of `member` would close.
fn granted<'a>(policy: &'a Policy, member: &str) -> Vec<(&'static str, &'a Path)> {
    let reads = member.starts_with("deny_read");
    let writes = policy.mode == Mode::WorkspaceWrite;
    let mut granted = Vec::new();
    if writes {
        granted.push(("workspace", policy.workspace.as_path()));
        granted.extend(policy.writable.iter().map(|root| ("writable", root.as_path())));
    }
    if let (true, Readable::Only(roots)) = (reads, &policy.readable) {
        granted.extend(roots.iter().map(|root| ("readable", root.as_path())));
    }
    granted
}
