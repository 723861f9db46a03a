//! The one table of all probes: dispatch, usage, `--list` and [`crate::check_args`] derive from it.

use crate::arg_spec::ArgSpec;
use crate::args::ProbeArguments;
#[cfg(target_os = "linux")]
use crate::family::kernel;
use crate::family::{acts, env, fs, ipc, limits, linux_arguments, net, proc, terminal};
use crate::kind::ValueKind;
use crate::outcome::{ProbeError, ProbeResult};
use crate::output::RecordOutput;

/// The subject of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProbeFamily {
    /// Files, directories and their metadata.
    Fs,
    /// Sockets of every kind.
    Net,
    /// Other processes, descriptors, mounts, privilege.
    Proc,
    /// Environment and working directory.
    Env,
    /// Shared memory and keyrings.
    Ipc,
    /// Exits, streams, signals, survivors, kernel surface.
    Sys,
}

impl ProbeFamily {
    /// The family's name in `--list` and the README.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fs => "fs",
            Self::Net => "net",
            Self::Proc => "proc",
            Self::Env => "env",
            Self::Ipc => "ipc",
            Self::Sys => "sys",
        }
    }
}

/// One probe.
#[derive(Debug, Clone, Copy)]
pub struct ProbeSpec {
    /// The probe's name on the command line.
    pub name: &'static str,
    /// The probe's family.
    pub family: ProbeFamily,
    /// The act of the probe, in one sentence.
    pub purpose: &'static str,
    /// Every argument it takes.
    pub args: &'static [ArgSpec],
    /// `None`: does not exist on this operating system.
    pub(crate) run: Option<ProbeFunction>,
}

impl ProbeSpec {
    /// The argument of that name.
    #[must_use]
    pub fn arg(&self, name: &str) -> Option<&'static ArgSpec> {
        self.args.iter().find(|arg| arg.name == name)
    }

    /// Returns whether the probe's streams are judged. Such a probe writes a record only when told
    /// `--record stderr`.
    #[must_use]
    pub fn stdout_is_judged(&self) -> bool {
        matches!(self.run, Some(ProbeFunction::Emit(_)))
    }

    /// Returns whether this operating system supports the act.
    #[must_use]
    pub fn exists_here(&self) -> bool {
        self.run.is_some()
    }
}

/// The implementation of a probe.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ProbeFunction {
    /// Looks from a forked child and returns what it saw.
    See(fn(&ProbeArguments) -> ProbeResult),
    /// Acts in the front process and returns its exit code.
    Act(fn(&ProbeArguments, &RecordOutput<'_>) -> Result<i32, ProbeError>),
    /// Acts like `Act`, but its stdout is judged.
    Emit(fn(&ProbeArguments, &RecordOutput<'_>) -> Result<i32, ProbeError>),
}

/// Every probe, grouped by family.
#[must_use]
pub fn catalog() -> &'static [ProbeSpec] {
    CATALOG
}

/// The probe of that name.
#[must_use]
pub fn probe(name: &str) -> Option<&'static ProbeSpec> {
    CATALOG.iter().find(|spec| spec.name == name)
}

const fn required(name: &'static str, kind: ValueKind) -> ArgSpec {
    ArgSpec { name, kind, required: true, many: false }
}

const fn optional(arg: ArgSpec) -> ArgSpec {
    ArgSpec { required: false, ..arg }
}

const fn many(arg: ArgSpec) -> ArgSpec {
    ArgSpec { many: true, ..arg }
}

const PATH: ArgSpec = required("path", ValueKind::Path);
const TO: ArgSpec = required("to", ValueKind::Path);
const TEXT: ArgSpec = required("text", ValueKind::Text);
const NAME: ArgSpec = required("name", ValueKind::Text);
const ADDR: ArgSpec = required("addr", ValueKind::Address);
const PID: ArgSpec = required("pid", ValueKind::Pid);
/// Higher numbers are the probe's own.
const FD: ArgSpec = required("fd", ValueKind::UpTo(199));
const MODE: ArgSpec = required("mode", ValueKind::Octal);
const SEND: ArgSpec = optional(required("send", ValueKind::Text));
const MATCH: ArgSpec = optional(required("match", ValueKind::Text));
const NOFOLLOW: ArgSpec = optional(required("nofollow", ValueKind::Switch));
const READY: ArgSpec = optional(required("ready", ValueKind::Switch));
const SIGNAL: ArgSpec = required("signal", ValueKind::Signal);
const FLAGS: ArgSpec = many(required("flags", ValueKind::OneOf(fs::OPEN_WORDS)));
const ACCESS: ArgSpec = many(required("flags", ValueKind::OneOf(fs::ACCESS_WORDS)));
const MAPPED: ArgSpec = optional(required("mapped", ValueKind::Switch));
const DEVICE: ValueKind = ValueKind::UpTo(4095);
const ID: ValueKind = ValueKind::UpTo(u32::MAX as u64 - 1);

/// A row: family, name, how it runs, arguments, purpose. `linux`: nowhere else.
macro_rules! table {
    ($($family:ident $name:literal $how:ident $run:path, [$($arg:expr),*] $purpose:literal;)*) => {
        &[$(ProbeSpec {
            name: $name,
            family: ProbeFamily::$family,
            purpose: $purpose,
            args: &[$($arg),*],
            run: how!($how $run),
        }),*]
    };
}

#[cfg(target_os = "linux")]
macro_rules! how {
    (linux $run:path) => {
        Some(ProbeFunction::See($run))
    };
    (see $run:path) => {
        Some(ProbeFunction::See($run))
    };
    (act $run:path) => {
        Some(ProbeFunction::Act($run))
    };
    (emit $run:path) => {
        Some(ProbeFunction::Emit($run))
    };
}

#[cfg(not(target_os = "linux"))]
macro_rules! how {
    (linux $run:path) => {
        None
    };
    (see $run:path) => {
        Some(ProbeFunction::See($run))
    };
    (act $run:path) => {
        Some(ProbeFunction::Act($run))
    };
    (emit $run:path) => {
        Some(ProbeFunction::Emit($run))
    };
}

static CATALOG: &[ProbeSpec] = table! {
    Fs "open" see fs::open, [PATH, FLAGS, optional(MODE)]
        "Opens a path with exactly the flags named.";
    Fs "read" see fs::read, [PATH]
        "Opens a file for reading and reads up to 4 KiB.";
    Fs "write" see fs::write, [PATH, TEXT]
        "Opens an existing file with O_TRUNC and writes text.";
    Fs "append" see fs::append, [PATH, TEXT]
        "Opens an existing file with O_APPEND and writes text.";
    Fs "truncate" see fs::truncate, [PATH, optional(required("size", ValueKind::UpTo(1 << 40)))]
        "Cuts or stretches a file by path, to 0 bytes unless told.";
    Fs "create" see fs::create, [PATH, optional(TEXT), optional(MODE)]
        "Creates a file that must not exist and writes text into it.";
    Fs "mkdir" see fs::mkdir, [PATH, optional(MODE)] "Makes a directory.";
    Fs "rmdir" see fs::rmdir, [PATH] "Removes an empty directory.";
    Fs "unlink" see fs::unlink, [PATH] "Removes a name of a file.";
    Fs "rename" see fs::rename, [PATH, TO, optional(required("via", ValueKind::OneOf(fs::RENAME_WORDS)))]
        "Renames or exchanges two names, by the call named.";
    Fs "link" see fs::link, [PATH, TO] "Makes the hard link --to to the file --path.";
    Fs "symlink" see fs::symlink, [PATH, TO] "Makes the symbolic link --path that says --to.";
    Fs "chmod" see fs::chmod, [PATH, MODE] "Changes permission bits.";
    Fs "chown" see fs::chown, [PATH, optional(required("uid", ID)), optional(required("gid", ID)), NOFOLLOW]
        "Changes owner and group; what is not named stays.";
    Fs "utimes" see fs::utimes, [PATH, optional(required("seconds", ValueKind::UpTo(u32::MAX as u64)))]
        "Sets both times, to the epoch unless told.";
    Fs "setxattr" see fs::setxattr, [PATH, NAME, TEXT] "Sets an extended attribute.";
    Fs "getxattr" see fs::getxattr, [PATH, NAME] "Reads an extended attribute.";
    Fs "readdir" see fs::readdir, [PATH] "Lists a directory.";
    Fs "stat" see fs::stat, [PATH, NOFOLLOW] "Reads a file's metadata.";
    Fs "readlink" see fs::readlink, [PATH] "Reads what a symbolic link says.";
    Fs "access" see fs::access, [PATH, ACCESS] "Asks access(2) with the real uid.";
    Fs "mknod-fifo" see fs::mknod_fifo, [PATH, optional(MODE)] "Makes a named pipe.";
    Fs "mknod-device" linux fs::mknod_device, [PATH,
            required("kind", ValueKind::OneOf(linux_arguments::DEVICE)),
            optional(required("major", DEVICE)), optional(required("minor", DEVICE)), optional(MODE)]
        "Makes a device node, of the null device unless told, and does not open it.";
    Fs "read-at" see fs::read_at, [required("dir", ValueKind::Path), PATH]
        "Opens a directory, then a file from there, and reads up to 4 KiB.";
    Fs "open-resolve" linux fs::open_resolve, [PATH,
            optional(many(required("resolve", ValueKind::OneOf(linux_arguments::RESOLVE))))]
        "Opens a file by openat2(2) with the rules named and reads up to 4 KiB.";
    Fs "open-swapped" see fs::open_swapped, [PATH, required("name", ValueKind::Path), optional(TO),
            required("or", ValueKind::Path), optional(required("tries", ValueKind::UpTo(100_000))), optional(TEXT)]
        "Opens a path while --name leads to --to, or is the directory itself, and to --or in turn, and counts.";
    Fs "mmap-read" see fs::mmap_read, [PATH] "Reads up to 4 KiB of a file by mapping it.";
    Fs "mmap-write" see fs::mmap_write, [PATH, TEXT]
        "Maps a file for writing and stores text over its start.";
    Fs "sendfile-read" linux fs::sendfile_read, [PATH] "Reads up to 4 KiB of a file by sendfile(2).";
    Fs "splice-read" linux fs::splice_read, [PATH] "Reads up to 4 KiB of a file by splice(2).";
    Fs "copy-file-range" linux fs::copy_file_range, [PATH, TO]
        "Copies up to 4 KiB over the start of the existing file --to.";
    Fs "tmpfile-link" linux fs::tmpfile_link, [PATH, TEXT, TO]
        "Writes a nameless file in the directory --path and gives it the name --to.";
    Fs "open-by-handle" linux fs::open_by_handle, [PATH, optional(required("at", ValueKind::Path)), optional(TEXT)]
        "Opens a file by its handle in the mount of --at, and reads it, or writes text over its start.";

    Net "tcp-connect" see net::tcp_connect, [ADDR, MAPPED, SEND]
        "Connects over TCP within 2 s, with --mapped by IPv6 to an IPv4 address.";
    Net "tcp-fastopen" linux net::tcp_fastopen, [ADDR, MAPPED, TEXT]
        "Connects over TCP and sends text in one call.";
    Net "fetch" see net::fetch, [ADDR, optional(required("host", ValueKind::Text)),
            required("way", ValueKind::OneOf(net::WAYS)), optional(required("follow", ValueKind::Switch)), SEND]
        "Reaches a host as it is spelled, through the proxy of the environment, if any, with the account of its URL; --follow: where it sends us, too.";
    Net "tcp-listen" see net::tcp_listen, [optional(ADDR)]
        "Listens on loopback, on a port of the kernel's choice unless told.";
    Net "udp-send" see net::udp_send, [ADDR, MAPPED, TEXT,
            optional(required("via", ValueKind::OneOf(net::SEND_WORDS)))]
        "Sends one datagram, by the call named.";
    Net "raw-udp-send" linux net::raw_udp_send, [ADDR, TEXT]
        "Sends one datagram by a raw socket, with headers of its own.";
    Net "dns-query" see net::dns_query, [ADDR, MAPPED, NAME,
            optional(required("over", ValueKind::OneOf(net::OVER_WORDS)))]
        "Sends one question for an address to a name server, over UDP unless told.";
    Net "socket" linux net::socket, [required("kind", ValueKind::OneOf(linux_arguments::SOCKET))]
        "Opens a socket of some kind.";
    Net "unix-connect" see net::unix_connect, [PATH, SEND]
        "Connects to a unix stream socket bound to a path.";
    Net "abstract-connect" linux net::abstract_connect, [NAME, SEND]
        "Connects to an abstract unix stream socket.";
    Net "seqpacket-connect" linux net::seqpacket_connect, [PATH, SEND]
        "Connects to a unix socket of whole messages bound to a path.";
    Net "unix-dgram-send" see net::unix_dgram_send, [PATH, TEXT,
            optional(required("via", ValueKind::OneOf(net::SEND_WORDS)))]
        "Sends one datagram to a unix socket bound to a path, by the call named.";
    Net "socketpair" see net::socketpair, [] "Makes a socket pair and passes a byte through it.";
    Net "tcp-listen-connect" see net::tcp_listen_connect, [optional(ADDR)]
        "Listens on loopback, on a port of the kernel's choice, and connects to itself.";
    Net "unix-listen" see net::unix_listen, [PATH]
        "Binds a unix socket, leaves it there and connects to itself.";
    Net "unix-seqpacket" linux net::unix_seqpacket, [PATH]
        "Binds a unix socket of whole messages, leaves it there and sends one to itself.";
    Net "unix-send-fd" see net::unix_send_fd, [PATH, required("file", ValueKind::Path), SEND]
        "Hands a descriptor open on --file to a unix socket bound to a path.";
    Net "scm-rights" see net::scm_rights, [] "Passes a descriptor to itself and uses it.";

    Proc "kill" see proc::kill, [PID, required("signal", ValueKind::SignalOrZero)]
        "Sends a signal; 0 only asks whether it could.";
    Proc "ptrace-attach" linux proc::ptrace_attach, [PID]
        "Attaches to a process as a debugger, then lets it go.";
    Proc "read-environ" linux proc::read_environ, [PID, MATCH]
        "Reads a process's environment: names, never values; --match counts the entries with it.";
    Proc "list-pids" linux proc::list_pids, [MATCH]
        "Lists the processes seen; --match counts the command lines with it, ancestors aside.";
    Proc "fds" linux proc::fds, [] "Lists inherited descriptors above 2 and where they lead.";
    Proc "read-fd" see proc::read_fd, [FD] "Reads up to 4 KiB from an inherited descriptor.";
    Proc "write-fd" see proc::write_fd, [FD, TEXT] "Writes text to an inherited descriptor.";
    Proc "proc-root-read" linux proc::proc_root_read, [PATH]
        "Reads a file by way of /proc/self/root.";
    Proc "process-vm-readv" linux proc::process_vm_read, [PID, optional(TO)]
        "Reads a byte of a process's memory, and copies it to the file --to.";
    Proc "pidfd-open" linux proc::pidfd_open, [PID] "Opens a descriptor of a process.";
    Proc "pidfd-signal" linux proc::pidfd_signal, [PID, required("signal", ValueKind::SignalOrZero)]
        "Sends a signal by a descriptor of the process.";
    Proc "pidfd-getfd" linux proc::pidfd_getfd, [PID, FD, optional(TEXT)]
        "Takes a copy of a process's descriptor, and writes text to it.";
    Proc "memfd-exec" linux proc::memfd_exec, [PATH]
        "Copies a program into memory and executes it there.";
    Proc "unshare" linux proc::unshare, [
            many(required("flags", ValueKind::OneOf(linux_arguments::NAMESPACE))), optional(required("sh", ValueKind::Text))]
        "Makes namespaces, and runs a shell line in them.";
    Proc "unshare-user" linux proc::unshare_user, [] "Makes a user namespace.";
    Proc "mount-tmpfs" linux proc::mount_tmpfs, [PATH,
            optional(required("via", ValueKind::OneOf(linux_arguments::TMPFS)))]
        "Mounts a tmpfs, by the calls named.";
    Proc "bind-mount" linux proc::bind_mount, [PATH, TO,
            optional(required("via", ValueKind::OneOf(linux_arguments::BIND)))]
        "Mounts --path at --to as well, without what is mounted below it.";
    Proc "umount" linux proc::umount, [PATH, optional(required("detach", ValueKind::Switch))]
        "Unmounts, lazily if told.";
    Proc "remount-rw" linux proc::remount_rw, [PATH,
            optional(required("via", ValueKind::OneOf(linux_arguments::REMOUNT)))]
        "Makes a read-only mount writable, by the call named.";
    Proc "pivot-root" linux proc::pivot_root, [PATH]
        "In namespaces of its own, mounts a tmpfs and makes it the root.";
    Proc "chroot" linux proc::chroot, [PATH] "Changes its root.";
    Proc "hostname-same" linux proc::hostname_same, [] "Sets the host name to what it is.";
    Proc "nnp" linux proc::nnp, [] "Asks whether no_new_privs is set.";
    Proc "caps" linux proc::caps, [] "Reads the capability sets.";
    Proc "seccomp-mode" linux proc::seccomp_mode, [] "Reads the seccomp mode and number of filters.";
    Proc "setuid0" see proc::setuid0, [] "Becomes root by setuid(2).";

    Env "names" see env::names, [] "Lists the names of the environment, never values.";
    Env "get" see env::get, [NAME] "Reads one environment variable.";
    Env "cwd" see env::cwd, [] "Asks for the working directory.";

    Ipc "shm-create" see ipc::shm_create, [NAME, optional(TEXT)]
        "Creates a POSIX shared memory object and leaves it there.";
    Ipc "sysv-shm" linux ipc::sysv_shm, [required("key", ValueKind::UpTo(i32::MAX as u64))]
        "Attaches to an existing System V shared memory segment.";
    Ipc "keyctl-join" linux ipc::keyctl_join, [] "Joins a new session keyring.";
    Ipc "keyctl-get" linux ipc::keyctl_get, [] "Asks for the session keyring.";
    Ipc "keyctl-add" linux ipc::keyctl_add, [NAME] "Adds a key to its process's keyring.";
    Ipc "keyctl-request" linux ipc::keyctl_request, [NAME] "Looks for a key in its keyrings.";

    Sys "exit" emit acts::exit, [required("code", ValueKind::UpTo(255))] "Exits with a code.";
    Sys "die" emit acts::die, [required("signal", ValueKind::FatalSignal)]
        "Ends itself by a signal, without a core file.";
    Sys "echo-stdin" emit acts::echo_stdin, [] "Copies stdin to stdout.";
    Sys "streams" emit acts::streams, [
            optional(required("stdout", ValueKind::Text)), optional(required("stderr", ValueKind::Text)),
            optional(required("stdout-hex", ValueKind::Hex)), optional(required("stderr-hex", ValueKind::Hex))]
        "Writes to stdout and stderr; text first, then hex.";
    Sys "flood" emit acts::flood, [required("bytes", ValueKind::UpTo(1 << 32))]
        "Writes that many bytes of 64-byte lines to stdout.";
    Sys "argv" emit acts::argv, [many(optional(required("item", ValueKind::Text)))]
        "Prints each --item as its length, a colon, its bytes and a newline.";
    Sys "ready" act acts::ready, [] "Announces ready and nothing else.";
    Sys "mark" act acts::mark, [NAME] "Announces a moment by a name and nothing else.";
    Sys "hold" act acts::hold, [READY] "Waits for a signal, all with their default action.";
    Sys "trap" act acts::trap, [
            SIGNAL, optional(required("linger-ms", ValueKind::UpTo(10_000))),
            required("write", ValueKind::Path), TEXT, required("exit", ValueKind::UpTo(255)), READY]
        "Waits for a signal, lingers if told, then writes a file and exits with a code.";
    Sys "signals" act acts::signals, [
            many(SIGNAL), required("last", ValueKind::Signal), required("exit", ValueKind::UpTo(255)), READY]
        "Prints the name of each signal that comes, and exits with a code at the last.";
    Sys "ignore" act acts::ignore, [many(SIGNAL), READY] "Ignores signals and waits.";
    Sys "background" act acts::background, [
            required("how", ValueKind::OneOf(&["plain", "setsid", "double-fork"])),
            required("stdio", ValueKind::OneOf(&["hold", "close"])),
            optional(many(SIGNAL)),
            required("heartbeat", ValueKind::Path), optional(required("tag", ValueKind::Text))]
        "Leaves a child behind that adds to a heartbeat file, deaf to the signals, and returns at once.";
    Sys "sysctl-same" linux kernel::sysctl_same, [PATH]
        "Reads a setting under /proc/sys and writes the same value back.";
    Sys "rlimits" see limits::rlimits, [] "Reads the resource limits.";
    Sys "umask" see limits::umask, [] "Reads the file mode mask.";
    Sys "isatty" see terminal::isatty, [] "Asks which standard streams are terminals.";
    Sys "tty-name" see terminal::tty_name, [optional(FD)] "Asks for the path of a terminal.";
    Sys "ctty" see terminal::ctty, []
        "Opens the controlling terminal and asks for its size and foreground group.";
    Sys "open-terminal" see terminal::open_terminal, []
        "Makes a terminal of its own and passes a line through it.";
    Sys "job-control" see terminal::job_control, []
        "Puts a group of its own into the terminal's foreground, and the former one back.";
    Sys "tiocsti" see terminal::tiocsti, [optional(TEXT), optional(required("high", ValueKind::Switch))]
        "Types a space, or the text, into the controlling terminal.";
    Sys "tioclinux" linux terminal::tioclinux, []
        "Asks a text console for its shift state by the request that can also paste.";
    Sys "io-uring-setup" linux kernel::io_uring_setup, [] "Makes an io_uring.";
    Sys "personality" linux kernel::personality, [] "Asks for the execution domain.";
    Sys "bpf-map" linux kernel::bpf_map, [] "Makes a BPF map.";
    Sys "perf-event" linux kernel::perf_event, [] "Opens a performance counter of itself.";
    Sys "userfaultfd" linux kernel::userfaultfd, [] "Opens a descriptor for page faults.";
    Sys "reboot-invalid" linux kernel::reboot_invalid, []
        "Calls reboot(2) with numbers that no kernel accepts.";
    Sys "init-module-empty" linux kernel::init_module_empty, []
        "Calls init_module(2) with an empty image.";
};
