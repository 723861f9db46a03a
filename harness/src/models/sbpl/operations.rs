//! The names of operations, and which name stands for which others. Pure.

/// Families: a name of one, with or without `*`, is an operation.
const FAMILIES: [&str; 20] = [
    "file-read",
    "file-write",
    "file-ioctl",
    "file-map-executable",
    "file-issue-extension",
    "file-link",
    "file-test-existence",
    "iokit",
    "ipc-posix",
    "ipc-sysv",
    "mach",
    "network",
    "process",
    "pseudo-tty",
    "signal",
    "sysctl",
    "system",
    "user-preference",
    "job-creation",
    "lsopen",
];

/// Members of families that are not spelt freely: a slip in one of these is a rule that is dead.
const MEMBERS: [(&str, &[&str]); 5] = [
    ("file-read", &["file-read*", "file-read-data", "file-read-metadata", "file-read-xattr"]),
    (
        "file-write",
        &[
            "file-write*",
            "file-write-acl",
            "file-write-create",
            "file-write-data",
            "file-write-flags",
            "file-write-mode",
            "file-write-owner",
            "file-write-setugid",
            "file-write-times",
            "file-write-unlink",
            "file-write-xattr",
        ],
    ),
    ("network", &["network*", "network-bind", "network-inbound", "network-outbound"]),
    (
        "mach",
        &[
            "mach*",
            "mach-bootstrap",
            "mach-lookup",
            "mach-register",
            "mach-per-user-lookup",
            "mach-priv*",
            "mach-priv-host-port",
            "mach-priv-task-port",
            "mach-task-name",
        ],
    ),
    (
        "process",
        &[
            "process*",
            "process-exec",
            "process-exec*",
            "process-exec-interpreter",
            "process-fork",
            "process-info*",
            "process-info-pidinfo",
            "process-info-setcontrol",
            "process-info-dirtycontrol",
            "process-info-rusage",
            "process-info-codesignature",
            "process-codesigning-status*",
        ],
    ),
];

/// Whether there is such an operation.
pub(super) fn exists(name: &str) -> bool {
    if matches!(name, "default" | "file*" | "ipc*") {
        return true;
    }
    let of = |family: &str| {
        name.strip_prefix(family)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '*']))
    };
    match MEMBERS.iter().find(|(family, _)| of(family)) {
        Some((_, members)) => members.contains(&name),
        None => FAMILIES.iter().any(|family| of(family)),
    }
}

/// Whether a rule about `name` is about the operation `one`.
pub(super) fn covers(name: &str, one: &str) -> bool {
    match name.strip_suffix('*') {
        Some(family) => one.starts_with(family),
        None => name == one || name == "default",
    }
}
