//! The explanations of recorded runs (`tests/explain`): precision and recall are printed, and must
//! both be 1.

use boxproof_cases::protocol::{Command, Policy};
use rstest::rstest;
use serde::Deserialize;

use super::*;
use crate::policy::path_rules::{PathAccess, PathDecider, PathRule};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Recorded {
    label: String,
    policy: Policy,
    locale: String,
    argv: Vec<String>,
    exit: Option<i32>,
    signal: Option<i32>,
    stdout: String,
    stderr: String,
    /// Whether root started it.
    #[serde(default)]
    root: bool,
    #[serde(default)]
    refused_routes: Option<u32>,
}

/// Paths of the recording host that the runs mention.
const HOST_HAS: [&str; 13] = [
    "/etc/login.defs",
    "/w/keep",
    "/w/secret",
    "/w/secret/k",
    "/w",
    "/w/a",
    "/o",
    "/o/f",
    "/dev/kmsg",
    "/dev/kvm",
    "/dev/loop0",
    "/dev/net/tun",
    "/dev/fuse",
];

/// Further protected paths of that host.
const HELD: [&str; 3] = ["/w/vendor/repo/.git", "/w/wt/.git", "/w/conf"];

fn rule_of(run: &Recorded) -> String {
    let held = HELD.map(PathBuf::from);
    let protects = run.policy.protect != boxproof_cases::protocol::Protect::None;
    let held = if protects { held.as_slice() } else { &[] };
    let command = Command::Argv(run.argv.clone());
    let finished = CompletedRun {
        policy: &run.policy,
        law: None,
        command: &command,
        original: None,
        cwd: "/w".as_ref(),
        exit_code: run.exit,
        signal: run.signal,
        stdout: run.stdout.as_bytes(),
        stderr: Some(run.stderr.as_bytes()),
        refused: &[],
        observed: false,
        sockets: &[],
        unrouted: &[],
        refused_routes: run.refused_routes,
        dialect: RuleDialect::Neutral,
        root: run.root,
        held,
        secrets: &[],
    };
    let look = HostLookup {
        link: &|path| (path == Path::new("/w/link")).then(|| "/o".into()),
        text: &|_| None,
        there: &|path| HOST_HAS.iter().any(|there| path == Path::new(there)),
        names: &|_| Vec::new(),
        runs: &|path| path != Path::new("/w/a"),
        may_write: &|_| true,
        closed_to_root: &|_| true,
        listens: &|_| false,
        device: &|_| Some(1),
    };
    explain(&finished, look).map_or("none".to_owned(), |blocked| blocked.rule)
}

#[rstest]
#[case::table(include_str!("../../tests/explain/table.jsonl"), 120)]
#[case::others(include_str!("../../tests/explain/others.jsonl"), 40)]
#[case::third(include_str!("../../tests/explain/third.jsonl"), 120)]
#[case::fourth(include_str!("../../tests/explain/fourth.jsonl"), 100)]
#[case::fifth(include_str!("../../tests/explain/fifth.jsonl"), 200)]
#[case::sixth(include_str!("../../tests/explain/sixth.jsonl"), 190)]
#[case::seventh(include_str!("../../tests/explain/seventh.jsonl"), 40)]
fn recorded_runs_are_explained(#[case] table: &str, #[case] least: usize) {
    let runs: Vec<Recorded> =
        table.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(runs.len() >= least, "{} runs", runs.len());
    let (mut right, mut given, mut due) = (0, 0, 0);
    let mut wrong = Vec::new();
    for run in &runs {
        let rule = rule_of(run);
        given += usize::from(rule != "none");
        due += usize::from(run.label != "none");
        right += usize::from(rule != "none" && rule == run.label);
        if rule != run.label {
            wrong.push(format!("{rule} instead of {}: {:?} ({})", run.label, run.argv, run.locale));
        }
    }
    println!("{} runs: precision {right}/{given}, recall {right}/{due}", runs.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A host that has nothing.
const NOTHING_THERE: HostLookup<'static> = HostLookup {
    link: &|_| None,
    text: &|_| None,
    there: &|_| false,
    names: &|_| Vec::new(),
    runs: &|_| true,
    may_write: &|_| true,
    closed_to_root: &|_| true,
    listens: &|_| false,
    device: &|_| None,
};

#[test]
fn of_a_script_only_a_short_plain_file_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    std::fs::write(at("short"), "exit 3").unwrap();
    std::fs::write(at("long"), "a".repeat(script::LONGEST + 1)).unwrap();
    nix::unistd::mkfifo(&at("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert_eq!(short_text(&at("short")).as_deref(), Some("exit 3"));
    for name in ["long", "fifo", "missing", "."] {
        assert_eq!(short_text(&at(name)), None, "{name}");
    }
}

/// A refused change, of whose process nothing is known.
fn change(place: &str) -> RefusedChange {
    let (pid, program, fate, status) = (None, None, None, None);
    RefusedChange { place: place.into(), errno: Errno::EACCES, pid, program, fate, status }
}

/// A run that exited with 1 and wrote `stderr`.
fn completed<'a>(policy: &'a Policy, command: &'a Command, stderr: &'a [u8]) -> CompletedRun<'a> {
    CompletedRun {
        policy,
        law: None,
        command,
        original: None,
        cwd: "/w".as_ref(),
        exit_code: Some(1),
        signal: None,
        stdout: b"",
        stderr: Some(stderr),
        refused: &[],
        observed: false,
        sockets: &[],
        unrouted: &[],
        refused_routes: None,
        dialect: RuleDialect::Neutral,
        root: false,
        held: &[],
        secrets: &[],
    }
}

/// Explains a run of `command` that exits with 1 and wrote `stderr`.
fn said(
    command: &[&str],
    stderr: &[u8],
    refused: &[RefusedChange],
    secrets: &[&str],
) -> Option<Blocked> {
    let command = Command::Argv(command.iter().map(|word| (*word).to_owned()).collect());
    let secrets: Vec<String> = secrets.iter().map(|secret| (*secret).to_owned()).collect();
    let mut policy = Policy::new("/w");
    policy.protect = boxproof_cases::protocol::Protect::Metadata;
    let finished =
        CompletedRun { refused, secrets: &secrets, ..completed(&policy, &command, stderr) };
    explain(&finished, NOTHING_THERE)
}

const SECRET: &str = "s3cr3t-value";

#[rstest]
#[case::in_stderr(&["touch", "x"], "touch: cannot touch '/o/s3cr3t-value': Read-only file system\n", &[])]
#[case::in_a_directory(&["p"], "p: /o/s3cr3t-value/x: Read-only file system\n", &[])]
#[case::in_argv(&["sh", "-c", "touch /o/as3cr3t-valueb 2>/dev/null"], "", &[])]
#[case::handed_over(&["p"], "", &["/w/.codex/s3cr3t-value"])]
fn no_secret_is_told(#[case] command: &[&str], #[case] stderr: &str, #[case] refused: &[&str]) {
    let refused: Vec<RefusedChange> = refused.iter().map(|path| change(path)).collect();
    let blocked = said(command, stderr.as_bytes(), &refused, &[SECRET]).unwrap();
    let told = serde_json::to_string(&blocked).unwrap();
    assert!(told.contains(REDACTED_ENV) && !told.contains(SECRET), "{told}");
    let open = said(command, stderr.as_bytes(), &refused, &[]).unwrap();
    assert!(serde_json::to_string(&open).unwrap().contains(SECRET));
}

const TOUCH: &str = "touch: cannot touch '/o/x': Read-only file system\n";

#[rstest]
#[case::many_lines("made 1 of 10000\n".repeat(10_000).into_bytes())]
#[case::one_line(b"x".repeat(8 << 20))]
#[case::not_utf8(b"\xff\xfe\xc3\x28\n".repeat(1_000))]
#[case::nul(b"\0\0\0\n".repeat(1_000))]
#[case::colons(b": ' : \" ".repeat(10_000))]
fn whatever_else_is_written_the_refusal_is_found(#[case] noise: Vec<u8>) {
    let begun = std::time::Instant::now();
    for stderr in [
        [TOUCH.as_bytes(), b"\n", &noise].concat(),
        [&noise, b"\n".as_slice(), TOUCH.as_bytes()].concat(),
    ] {
        let blocked = said(&["touch", "/o/x"], &stderr, &[], &[]).unwrap();
        assert_eq!(blocked.rule, "outside_workspace_write");
        assert_eq!(blocked.path.unwrap().as_path(), Path::new("/o/x"));
    }
    assert!(said(&["p"], &noise, &[], &[]).is_none());
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
}

#[test]
fn what_is_told_is_short_however_long_the_path_is() {
    let long = format!("/o/{}", "d/".repeat(2_000));
    let stderr = format!("touch: cannot touch '{long}x': Read-only file system\n");
    let blocked = said(&["touch", "x"], stderr.as_bytes(), &[], &[]).unwrap();
    assert!(blocked.reason.chars().count() <= REASON + 1, "{}", blocked.reason.len());
    let longer = format!("touch: cannot touch '/o/{}': Read-only file system\n", "x".repeat(9_000));
    assert!(said(&["touch", "x"], longer.as_bytes(), &[], &[]).is_none());
}

#[test]
fn what_was_handed_over_comes_first_and_the_last_of_it() {
    let places = ["/w/a", "/w/.codex", "/w/.claude", "/w/b"].map(change);
    let blocked = said(&["touch", "/o/x"], TOUCH.as_bytes(), &places, &[]).unwrap();
    assert_eq!(blocked.path.unwrap().as_path(), Path::new("/w/.claude"));
    let blocked = said(&["touch", "/o/x"], TOUCH.as_bytes(), &places[3..], &[]).unwrap();
    assert_eq!(blocked.path.unwrap().as_path(), Path::new("/o/x"));
}

const PYTHON: &str = "Traceback (most recent call last):\n  File \"<string>\", line 1, in <module>\n  \
    File \"/usr/lib/python3.11/socket.py\", line 232, in __init__\n    \
    _socket.socket.__init__(self, family, type, proto, fileno)\n\
    PermissionError: [Errno 1] Operation not permitted\n";
const CONNECTS: &str = "import socket; socket.socket().connect(('192.0.2.1', 9))";

#[rstest]
#[case::python(&["python3", "-c", CONNECTS], PYTHON, true)]
#[case::python_to_itself(&["python3", "-c", "import socket; socket.socket().connect(('127.0.0.1', 9))"], PYTHON, false)]
#[case::python_raw(&["python3", "-c", "import socket; socket.socket(2, 3, 1)"], PYTHON, false)]
#[case::node(&["node", "a.js"], "Error: connect EPERM 192.0.2.1:9 - Local (undefined:undefined)\n", true)]
#[case::node_by_a_path(&["node", "a.js"], "Error: connect EPERM /w/s\n", false)]
fn a_socket_that_could_not_be_had_is_the_network(
    #[case] command: &[&str],
    #[case] stderr: &str,
    #[case] network: bool,
) {
    let rule = said(command, stderr.as_bytes(), &[], &[]).map(|blocked| blocked.rule);
    assert_eq!(rule.as_deref() == Some("network_restricted"), network, "{rule:?}");
}

#[rstest]
#[case::in_a_workspace_of_a_cache("/h/.cache/w", "/h/.cache/w/.codex/x", true)]
#[case::a_cache_of_a_workspace_of_a_cache("/h/.cache/w", "/h/.cache/w/.git/.cache/x", false)]
#[case::a_cache_beside_it("/h/w", "/h/.cache/x", false)]
fn a_workspace_in_a_cache_is_no_cache(
    #[case] workspace: &str,
    #[case] refused: &str,
    #[case] is_told: bool,
) {
    let protect = boxproof_cases::protocol::Protect::Metadata;
    let policy = Policy { protect, ..Policy::new(workspace) };
    let (command, refused) = (Command::Argv(vec!["p".to_owned()]), [change(refused)]);
    let finished = CompletedRun {
        refused: &refused,
        cwd: workspace.as_ref(),
        ..completed(&policy, &command, b"")
    };
    assert_eq!(explain(&finished, NOTHING_THERE).is_some(), is_told);
}

#[rstest]
#[case::version("npm version -s patch", 226, &["/w/package.json"], Some(("outside_workspace_write", "/w/package.json")))]
#[case::cache("npm pack --silent", 254, &["/w/package.json"], Some(("outside_workspace_write", "/h/.npm")))]
#[case::cache_for_a_place("npm pack -s --pack-destination d", 254, &["/w/package.json", "/w/d"], Some(("outside_workspace_write", "/h/.npm")))]
#[case::no_such_script("npm run -s nosuch", 254, &["/w/package.json"], None)]
#[case::no_package("npm pack --silent", 254, &[], None)]
#[case::closed_by_its_mode("npm pack --silent", 243, &["/w/package.json"], None)]
#[case::denied("npm pack --silent", 243, &["/w/package.json", "/w/secret"], Some(("read_denied", "/w/secret")))]
#[case::denied_and_not_packed("npm ls -s", 243, &["/w/package.json", "/w/secret"], None)]
#[case::prefix("npm install -s -g --prefix /o/p ./src", 254, &["/w/package.json", "/w/src"], Some(("outside_workspace_write", "/o/p")))]
fn a_silent_package_manager_is_told_by_its_code(
    #[case] line: &str,
    #[case] code: i32,
    #[case] there: &[&str],
    #[case] due: Option<(&str, &str)>,
) {
    let mut policy = Policy { mode: Mode::ReadOnly, ..Policy::new("/w") };
    policy.deny_read.push("/w/secret".into());
    policy.env.set.insert("HOME".to_owned(), "/h".to_owned());
    let command = Command::Shell(line.to_owned());
    let run = CompletedRun { exit_code: Some(code), ..completed(&policy, &command, b"") };
    let is_there = |path: &Path| there.iter().any(|one| path == Path::new(one));
    let told = explain(&run, HostLookup { there: &is_there, ..NOTHING_THERE });
    let path = |blocked: &Blocked| blocked.path.as_ref().map(|path| path.as_path().to_owned());
    let found = told.map(|blocked| (blocked.rule.clone(), path(&blocked).unwrap()));
    assert_eq!(found, due.map(|(rule, path)| (rule.to_owned(), PathBuf::from(path))));
}

#[rstest]
#[case::code(
    "perl -e 'open(F, \"<secret/k\") or die $!'",
    "Permission denied at -e line 1.\n",
    Some("read_denied")
)]
#[case::a_phrase("perl -e 'die \"Permission denied\\n\"'", "Permission denied\n", None)]
#[case::repository(
    "git log",
    "fatal: not a git repository (or any of the parent directories): .git\n",
    Some("read_denied")
)]
fn what_no_message_names_is_named_by_the_command(
    #[case] line: &str,
    #[case] stderr: &str,
    #[case] due: Option<&str>,
) {
    let deny_read = vec!["/w/secret".into(), "/w/.git".into()];
    let policy = Policy { deny_read, ..Policy::new("/w") };
    let command = Command::Shell(line.to_owned());
    let run = completed(&policy, &command, stderr.as_bytes());
    let is_there = |path: &Path| [Path::new("/w/secret/k"), Path::new("/w/.git")].contains(&path);
    let told = explain(&run, HostLookup { there: &is_there, ..NOTHING_THERE });
    assert_eq!(told.map(|blocked| blocked.rule).as_deref(), due);
    assert!(explain(&run, NOTHING_THERE).is_none());
}

const REFUSED: &str = "ConnectionRefusedError: [Errno 111] Connection refused\n";

#[rstest]
#[case::python("python3 c.py /o/s.sock", REFUSED, true)]
#[case::by_its_name(
    "docker -H unix:///o/s.sock ps",
    "Cannot connect to the Docker daemon at unix:///o/s.sock. Is the docker daemon running?\n",
    true
)]
#[case::by_the_environment(
    "SSH_AUTH_SOCK=/o/s.sock ssh-add -l",
    "Error connecting to agent: Connection refused\n",
    true
)]
#[case::absent(
    "psql -h /o",
    "psql: error: connection to server on socket \"/o/s.sock\" failed: No such file or directory\n\tIs the server running locally and accepting connections on that socket?\n",
    true
)]
#[case::hushed("python3 c.py /o/s.sock 2>/dev/null", "", true)]
#[case::in_an_address(
    "logger -u /o/s.sock x; socat -u FILE:a UNIX-SENDTO:/o/s.sock",
    "socat[6] E sendto(6): Connection refused\n",
    true
)]
#[case::forgiven("python3 c.py /o/s.sock 2>/dev/null || true; grep -q zzz a", "", false)]
#[case::later(
    "python3 c.py /o/s.sock; cat nothing",
    "ConnectionRefusedError: [Errno 111] Connection refused\ncat: nothing: No such file or directory\n",
    false
)]
#[case::thrown_later("p", "warning: cannot connect to agent\nAssertionError: 1 != 2\n", false)]
#[case::told_later("p", "warning: cannot connect to agent\nerror: 3 tests failed\n", false)]
#[case::of_something_else("p", "p: bad input\n", false)]
fn a_socket_of_the_host_is_why_where_the_command_gave_up_for_it(
    #[case] line: &str,
    #[case] stderr: &str,
    #[case] due: bool,
) {
    let (policy, sockets) = (Policy::new("/w"), [PathBuf::from("/o/s.sock")]);
    let command = Command::Shell(line.to_owned());
    let run = completed(&policy, &command, stderr.as_bytes());
    let told = explain(&CompletedRun { sockets: &sockets, ..run }, NOTHING_THERE);
    let found = told.as_ref().map(|blocked| (blocked.rule.as_str(), blocked.operation.as_deref()));
    assert_eq!(found, due.then_some(("sandbox_runtime_denied", Some("connect"))));
    assert!(explain(&run, NOTHING_THERE).is_none());
}

#[rstest]
#[case::of_the_library("/run/nscd/socket", "id: 'x': no such user\n", true, None)]
#[case::of_the_library_named(
    "/run/nscd/socket",
    "cannot connect to /run/nscd/socket\n",
    true,
    Some("sandbox_runtime_denied")
)]
#[case::of_another_user("/o/s.sock", REFUSED, false, None)]
#[case::denied_to_be_read("/w/secret/s", REFUSED, true, Some("read_denied"))]
fn a_socket_that_is_done_without_or_closed_is_not_why(
    #[case] socket: &str,
    #[case] stderr: &str,
    #[case] writes: bool,
    #[case] due: Option<&str>,
) {
    let policy = Policy { deny_read: vec!["/w/secret".into()], ..Policy::new("/w") };
    let (command, sockets) = (Command::Argv(vec!["p".to_owned()]), [PathBuf::from(socket)]);
    let run = CompletedRun { sockets: &sockets, ..completed(&policy, &command, stderr.as_bytes()) };
    let look = HostLookup { may_write: &|_| writes, ..NOTHING_THERE };
    assert_eq!(explain(&run, look).map(|blocked| blocked.rule).as_deref(), due);
}

/// A profile that may read all and modify `src`.
#[derive(Debug)]
struct ModifiesSource;

impl PathDecider for ModifiesSource {
    fn allows(&self, op: PathAccess, path: &Path) -> bool {
        op == PathAccess::Read || path.starts_with("src")
    }
}

#[rstest]
#[case::closed_by_its_mode("echo x > src/m", "sh: 1: cannot create src/m: Permission denied\n", &[], None)]
#[case::outside_the_profile("echo x > a", "sh: 1: cannot create a: Permission denied\n", &[], Some("sandbox_runtime_denied"))]
#[case::index_of_git("git diff; git log nope", "fatal: ambiguous argument 'nope'\n", &["/w/.git/index.lock"], None)]
#[case::index_wanted("git add a", "fatal: Unable to create '/w/.git/index.lock': Permission denied\n", &["/w/.git/index.lock"], Some("sandbox_runtime_denied"))]
#[case::index_hushed("git add a", "", &["/w/.git/index.lock"], Some("sandbox_runtime_denied"))]
#[case::index_of_a_look("git diff --quiet; git rev-parse -q --verify nope", "", &["/w/.git/index.lock"], None)]
#[case::cache("python3 src/t.py", "", &["/w/.pytest_cache"], None)]
#[case::cache_below("node src/t.js", "", &["/w/node_modules/.cache"], None)]
#[case::cache_named("p", "p: cannot make .pytest_cache: Permission denied\n", &["/w/.pytest_cache"], Some("sandbox_runtime_denied"))]
#[case::log("npm view x", "npm error code ENOTCACHED\nnpm error request to https://registry.npmjs.org/x failed\nnpm error Log files were not written due to an error writing to the directory: /w/.npm/_logs\n", &["/w/.npm"], None)]
#[case::result_of_tests("python3 src/t.py", "FAILED (failures=1)\n", &["/w/run.log"], None)]
#[case::result_of_a_checker("node src/t.js", "src/m:1:1: error: unexpected token\n", &["/w/run.log"], None)]
#[case::own_words("ruby src/t.rb", "bad input\n", &["/w/run.log"], None)]
#[case::usage("p", "usage: p [-h] FILE\n", &["/w/run.log"], None)]
#[case::another_command("git fetch -q . 2>/dev/null; git log nope", "fatal: ambiguous argument 'nope'\n", &["/w/.git/objects/maintenance.lock"], None)]
#[case::unspecific_words("python3 src/t.py", "could not save the results\n", &["/w/out.txt"], Some("sandbox_runtime_denied"))]
#[case::words_of_a_database("python3 src/t.py", "sqlite3.OperationalError: attempt to write a readonly database\n", &["/w/d.db-journal"], Some("sandbox_runtime_denied"))]
#[case::no_words("python3 src/t.py", "", &["/w/out.txt"], Some("sandbox_runtime_denied"))]
#[case::code_of_the_last("perl -ne print src/m; perl -e 'open(my $f, \">\", \"a\") or die $!'", "Permission denied at -e line 1.\n", &[], Some("sandbox_runtime_denied"))]
#[case::looked_at("make 2>/dev/null; test -x prog", "", &["/w/prog"], Some("sandbox_runtime_denied"))]
#[case::phrase_after_a_position("ruby src/t.rb", "src/t.rb:1:in `<main>': read-only file system (RuntimeError)\n", &[], None)]
#[case::ruby_in_place("ruby -pi -e 1 a; exit 1", "-e:1: warning: Can't remove a: Device or resource busy, skipping file\n", &[], Some("sandbox_runtime_denied"))]
#[case::sed_in_place("sed -i s/t/u/ a", "sed: cannot rename src/sedbF6shI: Device or resource busy\n", &[], Some("sandbox_runtime_denied"))]
#[case::file_in_the_way("tar xf src/t.tar", "tar: sub/f: Cannot open: File exists\n", &[], Some("sandbox_runtime_denied"))]
#[case::file_in_its_own_way("tar xf src/t.tar -C src", "tar: m: Cannot open: File exists\n", &[], None)]
#[case::byte_code("python3 -c 'import m, sys; sys.exit(1)'", "", &["/w/__pycache__"], None)]
fn a_profile_is_why_only_of_what_it_denies(
    #[case] line: &str,
    #[case] stderr: &str,
    #[case] refused: &[&str],
    #[case] due: Option<&str>,
) {
    let rules = ["**", "src/**"].map(|text| vec![PathRule::new(true, text)]);
    let [read, modify] = rules;
    let law = PathRules::new(std::sync::Arc::new(ModifiesSource), read, modify);
    let policy = Policy { mode: Mode::ReadOnly, ..Policy::new("/w") };
    let refused: Vec<RefusedChange> = refused.iter().map(|path| change(path)).collect();
    let command = Command::Shell(line.to_owned());
    let finished = CompletedRun {
        law: Some(&law),
        refused: &refused,
        ..completed(&policy, &command, stderr.as_bytes())
    };
    let rule = explain(&finished, NOTHING_THERE).map(|blocked| blocked.rule);
    assert_eq!(rule.as_deref(), due);
}
