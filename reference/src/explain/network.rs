//! Commands that reach a network and failed with the exit code or message of an absent network, for
//! runs whose streams name no refusal.

use std::sync::LazyLock;

use regex::Regex;

use super::cause::is_plain;
use super::command_parser::ParsedCommand;
use super::script::ScriptCommand;

/// Programs that reach hosts, their exit codes for a failed connection, and whether these codes
/// count even if stderr has other text.
const PROGRAMS: [(&str, &[i32], bool); 18] = [
    ("curl", &[5, 6, 7], true),
    ("wget", &[4], true),
    ("ssh", &[255], false),
    ("scp", &[1, 255], false),
    ("sftp", &[255], false),
    ("rsync", &[10, 12, 30, 35, 255], false),
    ("nc", &[1], false),
    ("ncat", &[1], false),
    ("netcat", &[1], false),
    ("telnet", &[1], false),
    ("ftp", &[1], false),
    ("ping", &[1, 2], false),
    ("ping6", &[1, 2], false),
    ("git", &[128], false),
    ("dig", &[9], false),
    ("host", &[1], false),
    ("nslookup", &[1], false),
    ("getent", &[2], false),
];

static CODE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"fetch\(|\bnet['"]?\)?\.(?:connect|createConnection)\(|https?['"]?\)?\.(?:get|request)\(|HTTPS?Connection\(|\bdns['"]?\)?(?:\.promises)?\.(?:lookup|resolve)|dgram|urlopen\(|urlretrieve\(|requests\.(?:get|post|head)|create_connection\(|\.connect(?:_ex)?\(\(|\.sendto\(|getaddrinfo\(|gethostbyname\(|Net::HTTP|IO::Socket|HTTP::Tiny|LWP::|/dev/(?:tcp|udp)/"#).ok()
});
/// A host that is named: an address, a URL, or a name in quotes that ends as names of hosts do.
static HOST: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"\b[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\b|://[^/'"\s]+|['"](?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}[:'"]|/dev/(?:tcp|udp)/"#).ok()
});
/// Words that programs use in their own messages about a failed connection.
static SAID: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)fetch|connect|network|reach|offline|download|request|time-?d?[ -]?out|\bhost")
        .ok()
});
static LOOPBACK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:^|[/@\[\s'\x22(])(?:localhost|127\.[0-9]+\.[0-9]+\.[0-9]+|\[?::1\]?|0\.0\.0\.0)(?:$|[:/\]\s'\x22,)])").ok()
});

/// Programs that reach no host themselves, with any arguments.
const LOCAL: [&str; 46] = [
    "ls",
    "cp",
    "mv",
    "rm",
    "mkdir",
    "rmdir",
    "touch",
    "tee",
    "chmod",
    "chown",
    "ln",
    "find",
    "wc",
    "stat",
    "file",
    "du",
    "df",
    "dd",
    "tar",
    "gzip",
    "gunzip",
    "xz",
    "zip",
    "unzip",
    "md5sum",
    "sha256sum",
    "xxd",
    "od",
    "tree",
    "which",
    "type",
    "true",
    "gcc",
    "cc",
    "g++",
    "clang",
    "ld",
    "as",
    "rustc",
    "javac",
    "tsc",
    "strings",
    "patch",
    "sleep",
    "kill",
    "cd",
];
/// Words in code that reaches a host, or that runs a program which may.
static OPENS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)socket|urllib|http|request|fetch|\bnet\b|dns|connect|resolve|smtp|ftp|subprocess|system\(|popen|exec|spawn|import\(|run_module|\bload\b|/dev/(?:tcp|udp)|__import__|getaddrinfo|gethostby").ok()
});

/// Verbs of npm that ask the registry, but for those that only do so where they are given a name.
const ASKING: [&str; 26] = [
    "access",
    "add",
    "audit",
    "ci",
    "dedupe",
    "deprecate",
    "dist-tag",
    "exec",
    "i",
    "info",
    "install",
    "it",
    "login",
    "outdated",
    "owner",
    "ping",
    "publish",
    "s",
    "search",
    "show",
    "unpublish",
    "up",
    "update",
    "v",
    "view",
    "whoami",
];

/// Returns whether `step` is a command of npm that asks the registry as its own job, not only for
/// updates of npm.
pub(super) fn asks_registry(step: &ScriptCommand) -> bool {
    let verb = step.words.iter().skip(1).find(|word| !word.starts_with('-'));
    let offline = step.words.iter().any(|word| word == "--offline");
    !offline && verb.is_some_and(|verb| ASKING.contains(&verb.as_str()))
}

/// Returns whether `step` can have been kept from a host: its program is none of the local ones.
pub(super) fn may_reach(step: &ScriptCommand) -> bool {
    let program = step.program();
    if program.is_empty() || is_plain(step) || LOCAL.contains(&program) {
        return step
            .files
            .iter()
            .any(|file| file.starts_with("/dev/tcp/") || file.starts_with("/dev/udp/"));
    }
    if program == "git" {
        let remote = [
            "clone",
            "fetch",
            "pull",
            "push",
            "ls-remote",
            "submodule",
            "remote",
            "lfs",
            "archive",
        ];
        return step.words.iter().any(|word| remote.contains(&word.as_str()));
    }
    let code = step.words.iter().skip(1).position(|word| {
        matches!(word.as_str(), "-c" | "-e" | "--eval" | "-pe" | "-p" | "--print" | "-ne" | "-r")
    });
    let runs =
        INTERPRETERS.contains(&program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'));
    match code.filter(|_| runs) {
        Some(at) => step.words[at + 1..].iter().any(|word| matches(&OPENS, word)),
        None => true,
    }
}

/// Returns whether `step` names the loopback host, which the sandbox does not keep from it.
pub(super) fn is_to_itself(step: &ScriptCommand) -> bool {
    step.words.iter().any(|word| is_loopback(word))
}

/// Hosts that `step` names in URLs of the web, where it is a program that goes by a proxy to these.
pub(super) fn hosts_by_proxy(step: &ScriptCommand) -> Vec<String> {
    if !matches!(step.program(), "curl" | "wget" | "git") {
        return Vec::new();
    }
    let Some(url) = WEB.as_ref() else { return Vec::new() };
    let named = step.words.iter().filter_map(|word| url.captures(word));
    let hosts = named.filter_map(|found| found.get(1)).map(|host| host.as_str().to_owned());
    hosts.collect()
}

/// Host and port of a service of the loopback that `text` names.
pub(super) fn own_service(text: &str) -> Option<(String, u16)> {
    let found = OWN_SERVICE.as_ref()?.captures(text)?;
    let port = found.get(2).or_else(|| found.get(3))?;
    Some((found.get(1)?.as_str().to_owned(), port.as_str().parse().ok()?))
}

/// Returns whether `code` is one by which npm says that a host was not reached.
pub(super) fn is_code(code: &str) -> bool {
    let known = ["ENOTFOUND", "EAI_AGAIN", "FETCH_ERROR", "ERR_SOCKET_TIMEOUT"];
    known.contains(&code.trim())
        || code.starts_with("ECONN")
        || code.contains("UNREACH")
        || code.trim() == "ETIMEDOUT"
}

/// Returns whether `text` says that nothing waits where a connection was to go.
pub(super) fn is_refusal(text: &str) -> bool {
    matches(&REFUSED, text)
}

/// Returns whether a server of this host waits for connections at `port` of its loopback.
pub(super) fn listens(port: u16) -> bool {
    let waits = |file: &str, own: &[&str]| {
        let table = std::fs::read_to_string(file).unwrap_or_default();
        table.lines().skip(1).any(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [_, local, _, state, ..] = fields[..] else { return false };
            let Some((address, number)) = local.split_once(':') else { return false };
            let same = u16::from_str_radix(number, 16) == Ok(port);
            state == LISTENS && same && own.contains(&address)
        })
    };
    waits("/proc/net/tcp", &OWN_FOUR) || waits("/proc/net/tcp6", &OWN_SIX)
}

/// The state of a socket that waits for connections.
const LISTENS: &str = "0A";
/// The unspecified address and the loopback, as the kernel shows them.
const OWN_FOUR: [&str; 2] = ["00000000", "0100007F"];
const OWN_SIX: [&str; 3] = [
    "00000000000000000000000000000000",
    "00000000000000000000000001000000",
    "0000000000000000FFFF00000100007F",
];

static WEB: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^https?://([A-Za-z0-9.-]+(?::[0-9]+)?)(?:[/?#]|$)").ok());
static OWN_SERVICE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\b(localhost|127\.0\.0\.1)(?:['\x22]?, ?([0-9]{1,5})\b|(?::| port |/| (?:-[pP] ?)?)([0-9]{1,5})\b)")
        .ok()
});
static REFUSED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)connection refused|ECONNREFUSED|couldn't connect|failed to connect|connect failed",
    )
    .ok()
});

/// Returns whether a thrown error is about an unreachable host.
pub(super) fn is_of_network(line: &str) -> bool {
    matches(&REACHED, line)
}

static REACHED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)conn|network|socket|\bhost|gai|urlopen|urlerror|dns|fetch|timed? ?out|unreachable|http|resol|offline|download|could not find a version that satisfies").ok()
});

fn matches(regex: &LazyLock<Option<Regex>>, text: &str) -> bool {
    regex.as_ref().is_some_and(|regex| regex.is_match(text))
}

/// Run code that is given as an argument.
const INTERPRETERS: [&str; 9] =
    ["python", "node", "nodejs", "perl", "ruby", "php", "deno", "bun", "lua"];

/// Returns whether `one` downloads from a remote host.
pub(super) fn fetches(one: &ParsedCommand) -> bool {
    matches!(one.program(), "curl" | "wget") && reaches(one.program(), one)
}

/// Returns whether one of `commands` ended with `code` for want of a network, where `stderr` names
/// no reason.
pub(super) fn failed(commands: &[ParsedCommand], code: i32, stderr: &str) -> bool {
    let silent = stderr.trim().is_empty();
    let own_words = || {
        let trace = ["Traceback", "    at "].iter().any(|mark| stderr.contains(mark));
        !trace && SAID.as_ref().is_some_and(|said| said.is_match(stderr))
    };
    commands.iter().any(|one| {
        let known = PROGRAMS.iter().find(|(name, ..)| *name == one.program());
        match known {
            Some((name, codes, always)) => {
                codes.contains(&code) && (silent || *always) && reaches(name, one)
            }
            None => code != 0 && by_code(one) && (silent || own_words()),
        }
    })
}

/// Returns whether the command names a remote host.
fn reaches(name: &str, one: &ParsedCommand) -> bool {
    if name == "git" {
        let verb = one.operands().next().unwrap_or_default();
        let remote = matches!(verb, "clone" | "fetch" | "pull" | "push" | "ls-remote");
        return remote && one.operands().skip(1).any(is_remote);
    }
    if name == "getent" {
        let [database, keys @ ..] = &one.operands().collect::<Vec<_>>()[..] else { return false };
        let hosts = ["hosts", "ahosts", "ahostsv4", "ahostsv6"].contains(database);
        return hosts && keys.iter().any(|key| key.contains('.') && !is_loopback(key));
    }
    let hosts: Vec<&str> = one.operands().collect();
    let remote = match name {
        "scp" | "rsync" => hosts.iter().any(|host| is_remote(host)),
        "curl" | "wget" => hosts.iter().any(|host| host.contains('.') || host.contains("://")),
        _ => !hosts.is_empty(),
    };
    remote
        && !hosts.iter().any(|host| is_loopback(host))
        && !hosts.iter().any(|host| host.starts_with("file:"))
}

/// `host:path` or a URL of another host.
fn is_remote(text: &str) -> bool {
    let colon =
        text.split_once(':').is_some_and(|(head, _)| !head.is_empty() && !head.contains('/'));
    colon && !text.starts_with("file:") && !is_loopback(text)
}

pub(super) fn is_loopback(text: &str) -> bool {
    LOOPBACK.as_ref().is_some_and(|loopback| loopback.is_match(text))
}

/// Code that opens connections to a host that is not this one.
pub(super) fn by_code(one: &ParsedCommand) -> bool {
    let runs =
        ["python", "python3", "node", "nodejs", "perl", "ruby", "deno", "bun", "php", "bash"];
    let code: Vec<&String> =
        one.words.iter().skip(1).filter(|_| runs.contains(&one.program())).collect();
    let has = |regex: &LazyLock<Option<Regex>>| {
        regex.as_ref().is_some_and(|regex| code.iter().any(|word| regex.is_match(word)))
    };
    has(&CODE) && has(&HOST) && !code.iter().any(|word| is_loopback(word))
}

/// Returns whether `text` names a host for sure: by a URL or an address.
pub(super) fn is_host(text: &str) -> bool {
    text.contains("://") || text.parse::<std::net::IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::super::command_parser::of_line;
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("curl -s http://1.1.1.1/", 7, true)]
    #[case("curl -s -o f example.com", 6, true)]
    #[case("curl -s http://127.0.0.1:9/", 7, false)]
    #[case("curl -s http://example.com/", 22, false)]
    #[case("wget -q https://example.com/a", 4, true)]
    #[case("wget -q https://example.com/a", 1, false)]
    #[case("curl", 2, false)]
    #[case("grep -q https://example.com f", 1, false)]
    #[case("ssh -q user@example.com true", 255, true)]
    #[case("git clone -q https://example.com/x", 128, true)]
    #[case("git commit -q", 128, false)]
    #[case("git clone -q ../x y", 128, false)]
    #[case("echo curl http://example.com", 7, false)]
    #[case("node -e \"fetch('http://x.org').catch(()=>process.exit(1))\"", 1, true)]
    #[case("node -e \"fetch('http://x.org').catch(()=>process.exit(7))\"", 7, true)]
    #[case("node -e \"require('net').connect(80,'1.1.1.1').on('error',()=>{})\"", 1, true)]
    #[case("node -e \"require('net').connect(80).on('error',()=>process.exit(1))\"", 1, false)]
    #[case("node -e \"require('net').connect(80,'127.0.0.1')\"", 1, false)]
    #[case("python3 -c \"s.connect_ex(('1.1.1.1',80))\"", 3, true)]
    #[case("python3 -c \"print('1.1.1.1')\"", 1, false)]
    #[case("getent ahosts example.com", 2, true)]
    #[case("getent passwd nobody.else", 2, false)]
    #[case("getent hosts localhost", 2, false)]
    fn a_quiet_failure_is_told_by_program_and_exit(
        #[case] line: &str,
        #[case] code: i32,
        #[case] due: bool,
    ) {
        assert_eq!(failed(&of_line(line), code, ""), due);
    }

    #[rstest]
    #[case("fetch failed\n", true)]
    #[case("Error: the server is offline\n", true)]
    #[case("3 tests failed\n", false)]
    #[case("Traceback (most recent call last):\nKeyError: 'host'\n", false)]
    fn words_of_its_own_count_where_the_code_connects(#[case] said: &str, #[case] due: bool) {
        let line = "node -e \"fetch('http://x.org').catch(()=>process.exit(1))\"";
        assert_eq!(failed(&of_line(line), 1, said), due);
    }
}
