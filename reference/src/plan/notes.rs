//! Notes on grants that give less than they say. Pure.

use boxproof_cases::protocol::{Policy, WirePath};

use crate::host::HostSnapshot;

/// A line for each.
pub(super) fn notes(policy: &Policy, host: &HostSnapshot) -> Vec<String> {
    let absent = policy.unix_sockets.iter().map(WirePath::as_path);
    let absent = absent.filter(|path| host.at(path).is_none()).map(|path| {
        format!("policy.unix_sockets: {} does not exist, and grants nothing", path.display())
    });
    let foreign = host.foreign_roots.iter().map(|(root, owner)| {
        format!(
            "policy: {} belongs to uid {owner}, and root has no capabilities inside: it may do there what its mode allows others; run refbox as uid {owner} (`setpriv --reuid {owner} …`) or change the owner",
            root.display()
        )
    });
    absent.chain(foreign).collect()
}
