//! The rules that every program on macOS needs under any policy: without them nothing starts. Pure.

use super::sbpl::{SbplAction, SbplText, literal, quoted, regex, service, subpath, unix_socket};
use crate::policy::caliban::ExtraOpenings;

/// Services for looking up users, writing logs and similar. None of them starts programs or keeps
/// secrets.
const SERVICES: [&str; 6] = [
    "com.apple.bsd.dirhelper",
    "com.apple.logd",
    "com.apple.system.logger",
    "com.apple.system.notification_center",
    "com.apple.system.opendirectoryd.libinfo",
    "com.apple.system.opendirectoryd.membership",
];
/// Services for resolving names and checking certificates.
const NETWORK_SERVICES: [&str; 4] = [
    "com.apple.SystemConfiguration.DNSConfiguration",
    "com.apple.SystemConfiguration.configd",
    "com.apple.mDNSResponder",
    "com.apple.trustd.agent",
];
/// The socket by which names are resolved.
const RESOLVER_SOCKET: &str = "/private/var/run/mDNSResponder";
/// Devices that every program may write to.
const DEVICES: [&str; 7] = [
    "/dev/dtracehelper",
    "/dev/null",
    "/dev/ptmx",
    "/dev/stderr",
    "/dev/stdout",
    "/dev/tty",
    "/dev/zero",
];
/// Devices that are only read.
const SOURCES: [&str; 4] = ["/dev", "/dev/random", "/dev/stdin", "/dev/urandom"];
/// Terminals.
const TERMINALS: &str = "^/dev/ttys[0-9]+$";
/// The paths of programs, libraries and lookups on macOS; none of them holds secrets.
const PLATFORM: [&str; 12] = [
    "/Library/Apple",
    "/System",
    "/bin",
    "/private/etc/hosts",
    "/private/etc/passwd",
    "/private/etc/protocols",
    "/private/etc/resolv.conf",
    "/private/etc/services",
    "/private/etc/ssl",
    "/private/var/db/dyld",
    "/private/var/db/timezone",
    "/sbin",
];

/// Processes, settings and services.
pub(super) fn processes(text: &mut SbplText) {
    text.rule(SbplAction::Allow, "process-exec process-fork", &[]);
    text.about(SbplAction::Allow, "process-info*", "(target same-sandbox)".to_owned());
    text.about(SbplAction::Allow, "signal", "(target same-sandbox)".to_owned());
    text.rule(SbplAction::Allow, "sysctl-read", &[]);
    text.rule(SbplAction::Allow, "ipc-posix-sem ipc-posix-shm*", &[]);
    text.rule(SbplAction::Allow, "mach-lookup", &SERVICES.map(service));
    text.rule(SbplAction::Allow, "pseudo-tty", &[]);
}

/// The devices, and no others.
pub(super) fn devices(text: &mut SbplText) {
    text.about(SbplAction::Deny, "file-read* file-write*", subpath("/dev"));
    text.rule(SbplAction::Allow, "file-read*", &SOURCES.map(literal));
    let mut written: Vec<String> = DEVICES.map(literal).into();
    written.extend([subpath("/dev/fd"), regex(TERMINALS)]);
    text.rule(SbplAction::Allow, "file-read* file-write-data file-ioctl", &written);
}

/// The network of the host, or none. Unix sockets are no part of it: a connection to one is
/// `network-outbound`, and no rule about files closes it.
pub(super) fn network(text: &mut SbplText, host: bool) {
    if host {
        whole_network(text);
        text.about(SbplAction::Deny, "network-outbound", "(remote unix-socket)".to_owned());
        text.about(SbplAction::Allow, "network-outbound", unix_socket(RESOLVER_SOCKET));
    } else {
        text.rule(SbplAction::Deny, "network*", &[]);
    }
}

/// The network of the host with its unix sockets.
pub(super) fn whole_network(text: &mut SbplText) {
    text.rule(SbplAction::Allow, "network* system-socket", &[]);
    text.rule(SbplAction::Allow, "mach-lookup", &NETWORK_SERVICES.map(service));
}

/// Writes the rules that settings open besides. A host in a rule is `localhost` or `*`: any other
/// name, or a port 0, voids the whole profile.
pub(super) fn opened(opens: &ExtraOpenings, text: &mut SbplText) {
    let local =
        |end: &str, port: &str| format!("({end} ip {})", quoted(&format!("localhost:{port}")));
    match (opens.proxy, opens.loopback) {
        (Some(port), _) => {
            text.about(SbplAction::Allow, "network-outbound", local("remote", &port.to_string()));
        }
        (None, true) => text.about(SbplAction::Allow, "network-outbound", local("remote", "*")),
        (None, false) => {}
    }
    if opens.loopback {
        text.about(SbplAction::Allow, "network-bind network-inbound", local("local", "*"));
    }
    if opens.sockets {
        text.about(SbplAction::Allow, "network-outbound", "(remote unix-socket)".to_owned());
    }
    if !opens.services.is_empty() {
        let names: Vec<String> = opens.services.iter().map(|name| service(name)).collect();
        text.rule(SbplAction::Allow, "mach-lookup", &names);
    }
}

/// Writes the rules for loading programs, where only listed roots can be read.
pub(super) fn platform(text: &mut SbplText) {
    text.about(SbplAction::Allow, "file-read*", literal("/"));
    text.rule(SbplAction::Allow, "file-read*", &PLATFORM.map(subpath));
}
