//! The names of operations, and which name stands for which others. Pure.
//!
//! The list is of the names that published profiles and descriptions of the system use. A profile
//! with a name that does not exist is refused by the system, so that a name outside the list makes
//! the whole profile unknown.

/// Family → the rest of the names of its members; the family itself with `*` is one, too.
const FAMILIES: &[(&str, &str)] = &[
    (
        "file",
        "chroot clone ioctl issue-extension link map-executable mknod mount mount-update revoke search test-existence unmount",
    ),
    ("file-read", "data metadata xattr"),
    (
        "file-write",
        "acl create data finderinfo flags mode mount owner setugid times umount unlink xattr",
    ),
    ("device", "camera microphone"),
    ("fs-quota", "get off on set set-limits stat sync"),
    ("fs-snapshot", "create delete mount rename revert"),
    (
        "iokit",
        "async-external-method external-method external-trap get-properties issue-extension open open-service open-user-client set-properties",
    ),
    ("iokit-open", ""),
    ("ipc", ""),
    ("ipc-posix", "issue-extension sem shm"),
    ("ipc-posix-sem", "create open post unlink wait"),
    ("ipc-posix-shm", "read read-data read-metadata write write-create write-data write-unlink"),
    ("ipc-posix-shm-read", "data metadata"),
    ("ipc-posix-shm-write", "create data unlink"),
    ("ipc-sysv", "msg sem shm"),
    ("job", "creation"),
    (
        "mach",
        "bootstrap cross-domain-lookup derive-port issue-extension kernel-endpoint lookup message-send per-user-lookup register task-name",
    ),
    ("mach-host", "exception-port-set special-port-set"),
    ("mach-priv", "host-port task-port"),
    ("mach-task", "exception-port-set inspect name read special-port-get special-port-set"),
    ("mach-task-special-port", "get set"),
    ("managed-preference", "read"),
    ("network", "bind inbound outbound"),
    ("nvram", "delete get set"),
    ("process", "exec exec-interpreter exec-update-label fork iopolicy swap-suspend"),
    (
        "process-codesigning",
        "blob-get entitlements-blob-get entitlements-der-blob-get identity-get status-get status-set teamid-get text-offset-get",
    ),
    ("process-codesigning-status", "get set"),
    ("process-exec", ""),
    (
        "process-info",
        "codesignature dirtycontrol ledger listpids pidfdinfo pidfileportinfo pidinfo rusage setcontrol",
    ),
    ("process-legacy-codesigning-status", "get set"),
    ("socket-option", "get set"),
    ("sysctl", "read write"),
    ("syscall", "mach mig unix"),
    (
        "system",
        "acct audit automount chud debug fcntl fsctl graphics info kas-info lcid mac-label mac-syscall necp-client-action nfssvc package-check privilege reboot sched set-time socket suspend-resume swap write-bootstrap",
    ),
    ("system-kext", "load query unload"),
    ("user-preference", "read write"),
];

/// Names that stand alone.
const SINGLE: &[&str] = &[
    "appleevent-send",
    "authorization-right-obtain",
    "boot-arg-set",
    "darwin-notification-post",
    "default",
    "distributed-notification-post",
    "dynamic-code-generation",
    "generic-issue-extension",
    "hid-control",
    "job-creation",
    "load-unsigned-code",
    "lsopen",
    "necp-client-open",
    "opendirectory-user-modify",
    "pseudo-tty",
    "qtn-download",
    "qtn-sandbox",
    "qtn-user",
    "sandbox-check",
    "signal",
    "socket-ioctl",
    "storage-class-map",
    "xpc-message-send",
];

/// Returns whether there is such an operation.
pub(super) fn exists(name: &str) -> bool {
    let plain = name.strip_suffix('*');
    let family = |wanted: &str| FAMILIES.iter().any(|(family, _)| *family == wanted);
    let member = FAMILIES.iter().any(|(family, members)| {
        let rest = name.strip_prefix(family).and_then(|rest| rest.strip_prefix('-'));
        rest.is_some_and(|rest| members.split_whitespace().any(|member| member == rest))
    });
    SINGLE.contains(&name) || member || plain.is_some_and(family)
}

/// Returns whether a rule about `name` is about the operation `one`.
pub(super) fn covers(name: &str, one: &str) -> bool {
    match name.strip_suffix('*') {
        Some(family) => {
            one == family || one.strip_prefix(family).is_some_and(|rest| rest.starts_with('-'))
        }
        None => name == one || name == "default",
    }
}

/// The names that cover the operation `one`, its own first and the widest last, the default apart.
pub(super) fn names_of(one: &str) -> Vec<String> {
    let ends = one.match_indices('-').map(|(at, _)| at).chain([one.len()]);
    let families = ends.map(|end| format!("{}*", &one[..end]));
    let mut names: Vec<String> = families.filter(|name| exists(name)).collect();
    names.push(one.to_owned());
    names.reverse();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("file-write-create", &["file-write-create", "file-write*", "file*"])]
    #[case("process-exec", &["process-exec", "process-exec*", "process*"])]
    #[case("network-outbound", &["network-outbound", "network*"])]
    #[case("mach-lookup", &["mach-lookup", "mach*"])]
    fn the_own_name_comes_first(#[case] one: &str, #[case] names: &[&str]) {
        assert_eq!(names_of(one), names);
        assert!(names.iter().all(|name| covers(name, one)));
    }

    #[rstest]
    #[case("file-read-data", true)]
    #[case("file-read*", true)]
    #[case("mach-host*", true)]
    #[case("distributed-notification-post", true)]
    #[case("device-microphone", true)]
    #[case("file-wirte*", false)]
    #[case("file-write-unlnik", false)]
    #[case("file-read", false)]
    #[case("network-outbound*", false)]
    fn a_slip_is_no_operation(#[case] name: &str, #[case] there: bool) {
        assert_eq!(exists(name), there);
    }
}
