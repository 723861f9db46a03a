//! Patterns in place of plain paths: taken for a name, one would close or open nothing. Pure.

use boxproof_cases::protocol::{Policy, Readable, WirePath};

use crate::error::Refusal;
use crate::host::HostSnapshot;

/// Refuses a text that looks like a pattern in a list of plain paths, unless an object of that very
/// name exists.
pub(super) fn none_in_lists(policy: &Policy, host: &HostSnapshot) -> Result<(), Refusal> {
    let readable = match &policy.readable {
        Readable::All => [].as_slice(),
        Readable::Only(roots) => roots.as_slice(),
    };
    let plain = "name the directory itself";
    let lists = [
        ("workspace", std::slice::from_ref(&policy.workspace), plain),
        ("writable", &policy.writable, plain),
        ("readable", readable, plain),
        ("deny_read", &policy.deny_read, "write it to `deny_read_globs`, which takes patterns"),
        ("deny_write", &policy.deny_write, "write it to `deny_write_globs`, which takes patterns"),
        ("unix_sockets", &policy.unix_sockets, "name each socket itself"),
    ];
    for (member, list, remedy) in lists {
        let pattern = |path: &&WirePath| host.patterns.iter().any(|one| one == path.as_path());
        if let Some(path) = list.iter().find(pattern) {
            return Err(Refusal::invalid(format!(
                "policy.{member}: {} has a wildcard character, and nothing of that name exists; `{member}` takes plain paths: {remedy}",
                path.as_path().display()
            )));
        }
    }
    Ok(())
}
