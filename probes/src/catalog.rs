//! The one table of all probes: dispatch, usage, `--list` and [`crate::check_args`] derive from it.

use crate::args::Args;
use crate::family::{acts, env, fs, ipc, kernel, net, proc};
use crate::kind::Kind;
use crate::out::Out;
use crate::seen::{Seen, Stop};

/// What a probe is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// Files, folders and their metadata.
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

impl Family {
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

/// One argument of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArgSpec {
    /// Its name, without dashes.
    pub name: &'static str,
    /// The form of its value.
    pub kind: Kind,
    /// Whether the probe can't do without.
    pub required: bool,
    /// Whether it may be given several times.
    pub many: bool,
}

/// One probe.
#[derive(Debug, Clone, Copy)]
pub struct ProbeSpec {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its family.
    pub family: Family,
    /// What it tries, in one sentence.
    pub purpose: &'static str,
    /// Every argument it takes.
    pub args: &'static [ArgSpec],
    /// `None`: does not exist on this operating system.
    pub(crate) run: Option<Run>,
}

impl ProbeSpec {
    /// The argument of that name.
    #[must_use]
    pub fn arg(&self, name: &str) -> Option<&'static ArgSpec> {
        self.args.iter().find(|arg| arg.name == name)
    }

    /// Whether its streams are judged, so that it writes a record only when told
    /// `--record stderr`.
    #[must_use]
    pub fn stdout_is_judged(&self) -> bool {
        matches!(self.run, Some(Run::Emit(_)))
    }

    /// Whether this operating system has what it tries.
    #[must_use]
    pub fn exists_here(&self) -> bool {
        self.run.is_some()
    }
}

/// How a probe runs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Run {
    /// Looks from a forked child and returns what it saw.
    See(fn(&Args) -> Seen),
    /// Acts in the front process and returns its exit code.
    Act(fn(&Args, &Out<'_>) -> Result<i32, Stop>),
    /// As `Act`, but what it writes to stdout is judged.
    Emit(fn(&Args, &Out<'_>) -> Result<i32, Stop>),
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

const fn required(name: &'static str, kind: Kind) -> ArgSpec {
    ArgSpec { name, kind, required: true, many: false }
}

const fn optional(arg: ArgSpec) -> ArgSpec {
    ArgSpec { required: false, ..arg }
}

const fn many(arg: ArgSpec) -> ArgSpec {
    ArgSpec { many: true, ..arg }
}

const PATH: ArgSpec = required("path", Kind::Path);
const TO: ArgSpec = required("to", Kind::Path);
const TEXT: ArgSpec = required("text", Kind::Text);
const NAME: ArgSpec = required("name", Kind::Text);
const ADDR: ArgSpec = required("addr", Kind::Address);
const PID: ArgSpec = required("pid", Kind::Pid);
/// Higher numbers are the probe's own.
const FD: ArgSpec = required("fd", Kind::UpTo(199));
const MODE: ArgSpec = required("mode", Kind::Octal);
const SEND: ArgSpec = optional(required("send", Kind::Text));
const MATCH: ArgSpec = optional(required("match", Kind::Text));
const NOFOLLOW: ArgSpec = optional(required("nofollow", Kind::Switch));
const READY: ArgSpec = optional(required("ready", Kind::Switch));
const SIGNAL: ArgSpec = required("signal", Kind::Signal);
const FLAGS: ArgSpec = many(required("flags", Kind::OneOf(fs::OPEN_WORDS)));
const ACCESS: ArgSpec = many(required("flags", Kind::OneOf(fs::ACCESS_WORDS)));
const ID: Kind = Kind::UpTo(u32::MAX as u64 - 1);

/// A row: family, name, how it runs, arguments, purpose. `linux`: nowhere else.
macro_rules! table {
    ($($family:ident $name:literal $how:ident $run:path, [$($arg:expr),*] $purpose:literal;)*) => {
        &[$(ProbeSpec {
            name: $name,
            family: Family::$family,
            purpose: $purpose,
            args: &[$($arg),*],
            run: how!($how $run),
        }),*]
    };
}

#[cfg(target_os = "linux")]
macro_rules! how {
    (linux $run:path) => {
        Some(Run::See($run))
    };
    (see $run:path) => {
        Some(Run::See($run))
    };
    (act $run:path) => {
        Some(Run::Act($run))
    };
    (emit $run:path) => {
        Some(Run::Emit($run))
    };
}

#[cfg(not(target_os = "linux"))]
macro_rules! how {
    (linux $run:path) => {
        None
    };
    (see $run:path) => {
        Some(Run::See($run))
    };
    (act $run:path) => {
        Some(Run::Act($run))
    };
    (emit $run:path) => {
        Some(Run::Emit($run))
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
    Fs "truncate" see fs::truncate, [PATH, optional(required("size", Kind::UpTo(1 << 40)))]
        "Cuts or stretches a file by path, to 0 bytes unless told.";
    Fs "create" see fs::create, [PATH, optional(TEXT), optional(MODE)]
        "Creates a file that must not exist and writes text into it.";
    Fs "mkdir" see fs::mkdir, [PATH, optional(MODE)] "Makes a folder.";
    Fs "rmdir" see fs::rmdir, [PATH] "Removes an empty folder.";
    Fs "unlink" see fs::unlink, [PATH] "Removes a name of a file.";
    Fs "rename" see fs::rename, [PATH, TO, optional(required("via", Kind::OneOf(fs::RENAME_WORDS)))]
        "Renames or exchanges two names, by the call named.";
    Fs "link" see fs::link, [PATH, TO] "Makes the hard link --to to the file --path.";
    Fs "symlink" see fs::symlink, [PATH, TO] "Makes the symbolic link --path that says --to.";
    Fs "chmod" see fs::chmod, [PATH, MODE] "Changes permission bits.";
    Fs "chown" see fs::chown, [PATH, optional(required("uid", ID)), optional(required("gid", ID)), NOFOLLOW]
        "Changes owner and group; what is not named stays.";
    Fs "utimes" see fs::utimes, [PATH, optional(required("seconds", Kind::UpTo(u32::MAX as u64)))]
        "Sets both times, to the epoch unless told.";
    Fs "setxattr" see fs::setxattr, [PATH, NAME, TEXT] "Sets an extended attribute.";
    Fs "getxattr" see fs::getxattr, [PATH, NAME] "Reads an extended attribute.";
    Fs "readdir" see fs::readdir, [PATH] "Lists a folder.";
    Fs "stat" see fs::stat, [PATH, NOFOLLOW] "Reads a file's metadata.";
    Fs "readlink" see fs::readlink, [PATH] "Reads what a symbolic link says.";
    Fs "access" see fs::access, [PATH, ACCESS] "Asks access(2) with the real uid.";
    Fs "mknod-fifo" see fs::mknod_fifo, [PATH, optional(MODE)] "Makes a named pipe.";

    Net "tcp-connect" see net::tcp_connect, [ADDR, SEND]
        "Connects over TCP within 2 s.";
    Net "udp-send" see net::udp_send, [ADDR, TEXT] "Sends one datagram.";
    Net "unix-connect" see net::unix_connect, [PATH, SEND]
        "Connects to a unix stream socket bound to a path.";
    Net "abstract-connect" linux net::abstract_connect, [NAME, SEND]
        "Connects to an abstract unix stream socket.";
    Net "unix-dgram-send" see net::unix_dgram_send, [PATH, TEXT]
        "Sends one datagram to a unix socket bound to a path.";
    Net "socketpair" see net::socketpair, [] "Makes a socket pair and passes a byte through it.";
    Net "tcp-listen-connect" see net::tcp_listen_connect, [optional(ADDR)]
        "Listens on loopback, on a port of the kernel's choice, and connects to itself.";
    Net "unix-listen" see net::unix_listen, [PATH]
        "Binds a unix socket, leaves it there and connects to itself.";

    Proc "kill" see proc::kill, [PID, required("signal", Kind::SignalOrZero)]
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
    Proc "unshare-user" linux proc::unshare_user, [] "Makes a user namespace.";
    Proc "mount-tmpfs" linux proc::mount_tmpfs, [PATH] "Mounts a tmpfs.";
    Proc "umount" linux proc::umount, [PATH, optional(required("detach", Kind::Switch))]
        "Unmounts, lazily if told.";
    Proc "remount-rw" linux proc::remount_rw, [PATH] "Makes a read-only mount writable.";
    Proc "nnp" linux proc::nnp, [] "Asks whether no_new_privs is set.";
    Proc "caps" linux proc::caps, [] "Reads the capability sets.";
    Proc "seccomp-mode" linux proc::seccomp_mode, [] "Reads the seccomp mode and number of filters.";
    Proc "setuid0" see proc::setuid0, [] "Becomes root by setuid(2).";

    Env "names" see env::names, [] "Lists the names of the environment, never values.";
    Env "get" see env::get, [NAME] "Reads one environment variable.";
    Env "cwd" see env::cwd, [] "Asks for the working directory.";

    Ipc "shm-create" see ipc::shm_create, [NAME, optional(TEXT)]
        "Creates a POSIX shared memory object and leaves it there.";
    Ipc "sysv-shm" linux ipc::sysv_shm, [required("key", Kind::UpTo(i32::MAX as u64))]
        "Attaches to an existing System V shared memory segment.";
    Ipc "keyctl-join" linux ipc::keyctl_join, [] "Joins a new session keyring.";
    Ipc "keyctl-get" linux ipc::keyctl_get, [] "Asks for the session keyring.";

    Sys "exit" emit acts::exit, [required("code", Kind::UpTo(255))] "Exits with a code.";
    Sys "die" emit acts::die, [required("signal", Kind::FatalSignal)]
        "Ends itself by a signal, without a core file.";
    Sys "echo-stdin" emit acts::echo_stdin, [] "Copies stdin to stdout.";
    Sys "streams" emit acts::streams, [
            optional(required("stdout", Kind::Text)), optional(required("stderr", Kind::Text)),
            optional(required("stdout-hex", Kind::Hex)), optional(required("stderr-hex", Kind::Hex))]
        "Writes to stdout and stderr; text first, then hex.";
    Sys "flood" emit acts::flood, [required("bytes", Kind::UpTo(1 << 32))]
        "Writes that many bytes of 64-byte lines to stdout.";
    Sys "argv" emit acts::argv, [many(optional(required("item", Kind::Text)))]
        "Prints each --item as its length, a colon, its bytes and a newline.";
    Sys "ready" act acts::ready, [] "Announces ready and nothing else.";
    Sys "hold" act acts::hold, [READY] "Waits for a signal, all with their default action.";
    Sys "trap" act acts::trap, [
            SIGNAL, required("write", Kind::Path), TEXT, required("exit", Kind::UpTo(255)), READY]
        "Waits for a signal, then writes a file and exits with a code.";
    Sys "ignore" act acts::ignore, [many(SIGNAL), READY] "Ignores signals and waits.";
    Sys "background" act acts::background, [
            required("how", Kind::OneOf(&["plain", "setsid", "double-fork"])),
            required("stdio", Kind::OneOf(&["hold", "close"])),
            required("heartbeat", Kind::Path), optional(required("tag", Kind::Text))]
        "Leaves a child behind that adds to a heartbeat file, and returns at once.";
    Sys "sysctl-same" linux kernel::sysctl_same, [PATH]
        "Reads a setting under /proc/sys and writes the same value back.";
    Sys "tiocsti" see kernel::tiocsti, [optional(TEXT)]
        "Types a space, or the text, into the controlling terminal.";
    Sys "io-uring-setup" linux kernel::io_uring_setup, [] "Makes an io_uring.";
    Sys "personality" linux kernel::personality, [] "Asks for the execution domain.";
};
