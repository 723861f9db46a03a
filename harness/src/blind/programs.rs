//! Ordinary programs that do what a probe does: shell, coreutils, and Perl for single system calls
//! and sockets. Variables of cases stay as they are.

use std::collections::BTreeMap;

/// Opens a file as told: path, words of flags.
const OPEN: &str = "use Fcntl; my %f = (write => O_WRONLY, rdwr => O_RDWR, append => O_APPEND, \
    creat => O_CREAT, trunc => O_TRUNC, excl => O_EXCL, nofollow => O_NOFOLLOW, \
    directory => O_DIRECTORY); my ($p, @w) = @a; my $f = 0; $f |= $f{$_} // 0 for @w; \
    sysopen(F, $p, $f, 0644) or die \"$!\\n\"";
/// Renames, without copying.
const RENAME: &str = "rename($a[0], $a[1]) or die \"$!\\n\"";
/// Makes the hard link.
const LINK: &str = "link($a[0], $a[1]) or die \"$!\\n\"";
/// Sends a text to an address: protocol, address, text, whether by IPv6 to an IPv4 address.
const SEND: &str = "use IO::Socket::IP; $a[1] =~ s/^([0-9.]+)/[::ffff:$1]/ if $a[3]; my $s = IO::Socket::IP->new(Proto => $a[0], \
    PeerAddr => $a[1], Timeout => 2) or die \"$@\\n\"; \
    $s->send($a[2]) // die \"$!\\n\" if length $a[2]";
/// Sends a text to a unix socket: type, path (`@` for an abstract one), text.
const UNIX: &str = "use Socket; my %t = (stream => SOCK_STREAM, dgram => SOCK_DGRAM, \
    whole => SOCK_SEQPACKET); my $p = $a[1]; $p =~ s/^@/\\0/; \
    socket(S, PF_UNIX, $t{$a[0]}, 0) && connect(S, pack_sockaddr_un($p)) or die \"$!\\n\"; \
    send(S, $a[2], 0) // die \"$!\\n\" if length $a[2]";
/// Listens on a unix socket: path.
const LISTEN: &str = "use Socket; socket(S, PF_UNIX, SOCK_STREAM, 0) && \
    bind(S, pack_sockaddr_un($a[0])) && listen(S, 1) or die \"$!\\n\"";
/// Reads from or writes to an inherited descriptor: number, text.
const READ_FD: &str = "open(F, \"<&=\", $a[0]) or die \"$!\\n\"; print <F>";
const WRITE_FD: &str = "open(F, \">&=\", $a[0]) or die \"$!\\n\"; \
    defined(syswrite(F, $a[1])) or die \"$!\\n\"";

/// The arguments of a probe.
type ProbeArgs = BTreeMap<String, Vec<String>>;

/// The command line that does what `probe` does with `args`, where there is one.
pub(super) fn argv(probe: &str, args: &ProbeArgs) -> Option<Vec<String>> {
    let given = |name: &str| args.get(name).and_then(|values| values.first()).map(String::as_str);
    let value = |name: &str| given(name).unwrap_or_default();
    let (path, to, text) = (value("path"), value("to"), value("text"));
    file(probe, args, (path, to, text))
        .or_else(|| socket(probe, &value))
        .or_else(|| other(probe, args, &value))
}

fn file(
    probe: &str,
    args: &ProbeArgs,
    (path, to, text): (&str, &str, &str),
) -> Option<Vec<String>> {
    let one = |name: &str| args.get(name).and_then(|values| values.first()).map(String::as_str);
    let plain = |words: &[&str]| Some(words.iter().map(ToString::to_string).collect());
    match probe {
        "read" => plain(&["cat", "--", path]),
        "write" => shell("printf %s \"$1\" > \"$2\"", &[text, path]),
        "append" => shell("printf %s \"$1\" >> \"$2\"", &[text, path]),
        "create" => shell("set -C; printf %s \"$1\" > \"$2\"", &[text, path]),
        "truncate" => plain(&["truncate", "-s", one("size").unwrap_or("0"), "--", path]),
        "mkdir" => plain(&["mkdir", "--", path]),
        "rmdir" => plain(&["rmdir", "--", path]),
        "unlink" => plain(&["rm", "-f", "--", path]),
        "rename" if one("via").is_none_or(|via| !via.contains("exchange")) => {
            perl(RENAME, &[path, to])
        }
        "link" => perl(LINK, &[path, to]),
        "symlink" => plain(&["ln", "-sT", "--", to, path]),
        "chmod" => plain(&["chmod", one("mode")?, "--", path]),
        "chown" => {
            let owner = [one("uid").unwrap_or_default(), one("gid").unwrap_or_default()].join(":");
            plain(&["chown", owner.trim_end_matches(':'), "--", path])
        }
        "utimes" => {
            let when = format!("@{}", one("seconds").unwrap_or("0"));
            plain(&["touch", "-c", "-d", &when, "--", path])
        }
        "mknod-fifo" => plain(&["mkfifo", "--", path]),
        "mknod-device" => {
            let kind = if one("kind")? == "block" { "b" } else { "c" };
            let (major, minor) = (one("major").unwrap_or("1"), one("minor").unwrap_or("3"));
            plain(&["mknod", "--", path, kind, major, minor])
        }
        "open" => {
            let words = args.get("flags")?.iter().map(String::as_str);
            perl(OPEN, &[path].into_iter().chain(words).collect::<Vec<_>>())
        }
        "read-at" => shell("cd -- \"$1\" && cat -- \"$2\"", &[one("dir")?, path]),
        "mmap-read" | "sendfile-read" | "splice-read" => plain(&["cat", "--", path]),
        "mmap-write" => {
            shell("printf %s \"$1\" | dd of=\"$2\" conv=notrunc,nocreat status=none", &[text, path])
        }
        "copy-file-range" => {
            plain(&["dd", &format!("if={path}"), &format!("of={to}"), "conv=notrunc,nocreat"])
        }
        "proc-root-read" => shell("cat -- \"/proc/self/root$1\"", &[path]),
        _ => None,
    }
}

fn socket<'a>(probe: &str, value: &impl Fn(&str) -> &'a str) -> Option<Vec<String>> {
    let (address, mapped) = (value("addr"), value("mapped"));
    let (send, text) = (value("send"), value("text"));
    match probe {
        "tcp-connect" => perl(SEND, &["tcp", address, send, mapped]),
        "tcp-fastopen" => perl(SEND, &["tcp", address, text, mapped]),
        "udp-send" | "raw-udp-send" => perl(SEND, &["udp", address, text, mapped]),
        "dns-query" => {
            let over = if value("over") == "tcp" { "tcp" } else { "udp" };
            perl(SEND, &[over, address, value("name"), mapped])
        }
        "unix-connect" => perl(UNIX, &["stream", value("path"), send]),
        "abstract-connect" => perl(UNIX, &["stream", value("name"), send]),
        "seqpacket-connect" => perl(UNIX, &["whole", value("path"), send]),
        "unix-dgram-send" => perl(UNIX, &["dgram", value("path"), text]),
        "unix-listen" => perl(LISTEN, &[value("path")]),
        _ => None,
    }
}

fn other<'a>(
    probe: &str,
    args: &ProbeArgs,
    value: &impl Fn(&str) -> &'a str,
) -> Option<Vec<String>> {
    match probe {
        "exit" => shell("exit \"$1\"", &[value("code")]),
        "die" => shell("kill -s \"$1\" $$", &[value("signal").trim_start_matches("SIG")]),
        "echo-stdin" => Some(vec!["cat".to_owned()]),
        "flood" => shell("yes 0123456789 | head -c \"$1\"", &[value("bytes")]),
        "argv" => {
            let items = args.get("item").into_iter().flatten().map(String::as_str);
            shell("printf '%s\\n' \"$@\"", &items.collect::<Vec<_>>())
        }
        "read-fd" => perl(READ_FD, &[value("fd")]),
        "write-fd" => perl(WRITE_FD, &[value("fd"), value("text")]),
        "shm-create" => {
            let name = format!("/dev/shm/{}", value("name").trim_start_matches('/'));
            shell("printf %s \"$1\" > \"$2\"", &[value("text"), &name])
        }
        _ => None,
    }
}

fn shell(line: &str, args: &[&str]) -> Option<Vec<String>> {
    let words = ["/bin/sh", "-c", line, "sh"].into_iter().chain(args.iter().copied());
    Some(words.map(str::to_owned).collect())
}

fn perl(program: &str, args: &[&str]) -> Option<Vec<String>> {
    // A name in capitals would be a variable of the case.
    let program = format!("my @a = @ARGV; {program}");
    let words = ["perl", "-e", &program, "--"].into_iter().chain(args.iter().copied());
    Some(words.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn does(probe: &str, args: &[(&str, &str)]) -> Option<Vec<String>> {
        let mut given = ProbeArgs::new();
        for (name, value) in args {
            given.entry((*name).to_owned()).or_default().push((*value).to_owned());
        }
        argv(probe, &given)
    }

    #[rstest]
    #[case("write", &[("path", "f"), ("text", "new")], "new")]
    #[case("append", &[("path", "f"), ("text", "er")], "older")]
    #[case("truncate", &[("path", "f"), ("size", "1")], "o")]
    #[case("open", &[("path", "f"), ("flags", "write"), ("flags", "trunc")], "")]
    #[case("mmap-write", &[("path", "f"), ("text", "c")], "cld")]
    #[case("copy-file-range", &[("path", "g"), ("to", "f")], "gld")]
    #[case("rename", &[("path", "g"), ("to", "f")], "g")]
    #[case("read", &[("path", "f")], "old")]
    fn programs_do_what_the_probe_does(
        #[case] probe: &str,
        #[case] args: &[(&str, &str)],
        #[case] left: &str,
    ) {
        let place = tempfile::tempdir().unwrap();
        for (name, text) in [("f", "old"), ("g", "g")] {
            std::fs::write(place.path().join(name), text).unwrap();
        }
        let argv = does(probe, args).unwrap();
        let ended = std::process::Command::new(&argv[0])
            .args(&argv[1..])
            .current_dir(place.path())
            .output()
            .unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        assert_eq!(std::fs::read_to_string(place.path().join("f")).unwrap(), left);
    }

    #[test]
    fn programs_reach_sockets() {
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = tcp.local_addr().unwrap().to_string();
        for args in [
            &[("addr", addr.as_str()), ("send", "x")][..],
            &[("addr", addr.as_str()), ("mapped", "true")],
        ] {
            let argv = does("tcp-connect", args).unwrap();
            let ended = std::process::Command::new(&argv[0]).args(&argv[1..]).output().unwrap();
            assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
            tcp.accept().unwrap();
        }
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("s").display().to_string();
        let socket = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
        let argv = does("unix-dgram-send", &[("path", &path), ("text", "x")]).unwrap();
        let ended = std::process::Command::new(&argv[0]).args(&argv[1..]).output().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        assert_eq!(socket.recv(&mut [0; 4]).unwrap(), 1);
    }
}
