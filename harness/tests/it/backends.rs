//! Finding a backend by the argument of `--backend`, and starting it.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail it")]

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use boxproof::backend::{
    Backend, BackendEnding, BackendError, BackendKind, LaunchContext, LaunchPlan, NoisePattern,
    SettledUser, SpawnPlan, resolve,
};
use boxproof_cases::Capability;
use boxproof_cases::protocol::{ClaimLevel, Command, Policy, Run, RunRequest};
use rstest::rstest;
use tempfile::TempDir;

/// A program that answers `capabilities`, and shows what it was called with in its limits.
const NATIVE: &str = r#"#!/bin/sh
mechanism=ns
case "$*" in *"--mechanism jail"*) mechanism=jail;; esac
echo '{"protocol": 1, "name": "own name", "version": "3.1", "mechanism": "'$mechanism'",
       "claims": {"fs.write": "partial"}, "limits": ["'"$*"'"]}'
"#;

const MANIFEST: &str = r#"
name: box
summary: A box.
program: PROGRAM
version: [--version]
install: {apt: box, pip: boxer}
claims: {fs.write: enforced, net.none: partial, net.host: none}
asked: [exec.not_found]
argv: |
  --state={{ state }}
  {{ command }}
files:
  - path: "{{ state }}/box.json"
    content: '{"root": {{ policy.workspace | json }}}'
env: {BOX_HOME: "{{ home }}", PATH: "/box:{{ path }}"}
set_up: ["mkdir\n{{ state }}/tmp"]
tear_down: ["rmdir\n{{ state }}/tmp"]
exits: {refused: [{exit: 3}]}
noise: {stderr: ["box: note: "]}
stop: {signal: INT, to: group, grace_ms: 100}
residue: [$HOME/.box/**]
"#;

/// An executable script. A process of its own writes it: while this one had it open, a test beside
/// could fork, and executing it would fail with ETXTBSY.
fn script(dir: &TempDir, name: &str, text: &str) -> PathBuf {
    let (draft, file) = (dir.path().join("draft"), dir.path().join(name));
    std::fs::write(&draft, text).unwrap();
    let copied = std::process::Command::new("cp").args([&draft, &file]).status().unwrap();
    assert!(copied.success());
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
    file
}

fn manifest_file(dir: &TempDir, text: &str) -> String {
    let program = script(dir, "box", "#!/bin/sh\necho box version 1.2.3\n");
    let file = dir.path().join("box.yaml");
    std::fs::write(&file, text.replace("PROGRAM", program.to_str().unwrap())).unwrap();
    file.into_os_string().into_string().unwrap()
}

fn find(spec: &str) -> Result<Backend, BackendError> {
    resolve(spec, Path::new("/no/such/boxproof"), &SettledUser::root_as_asked())
}

fn launch(backend: &Backend) -> LaunchPlan {
    let run = Run::new(Command::Argv(vec!["prog".into(), String::new(), "x y".into()]), "/w");
    let request = RunRequest { protocol: 1, policy: Policy::new("/w"), run };
    let base_env = BTreeMap::from([("PATH".to_owned(), "/bin".to_owned())]);
    let ctx = LaunchContext {
        state: Path::new("/s"),
        home: Path::new("/h"),
        uid: 7,
        probe: Path::new("/p/probe"),
        unprotects: false,
        base_env: &base_env,
        documents: None,
        settings: None,
        request_file: Path::new("/s/request"),
        result_file: Path::new("/s/result"),
    };
    backend.launch(&request, &ctx).unwrap()
}

fn spawned(backend: &Backend) -> SpawnPlan {
    match launch(backend) {
        LaunchPlan::Spawn(spawn) => *spawn,
        LaunchPlan::Refuse { message } => panic!("{message}"),
    }
}

fn capability(name: &str) -> Capability {
    Capability::new(name).unwrap()
}

#[test]
fn a_manifest_file_is_a_backend() {
    let dir = tempfile::tempdir().unwrap();
    let backend = find(&manifest_file(&dir, MANIFEST)).unwrap();
    assert_eq!((backend.name.as_str(), backend.version.as_deref()), ("box", Some("1.2.3")));
    assert_eq!(backend.missing, None);
    assert_eq!(backend.sha256.as_ref().unwrap().len(), 64);
    assert_eq!(backend.claim(&capability("net.none")), ClaimLevel::Partial);
    let answers = |name: &str| backend.answers_for(&capability(name));
    assert!(answers("fs.write") && answers("net.none") && answers("exec.not_found"));
    assert!(!answers("net.host") && !answers("exec.argv"));
}

#[test]
fn a_manifest_says_how_it_is_started() {
    let dir = tempfile::tempdir().unwrap();
    let spawn = spawned(&find(&manifest_file(&dir, MANIFEST)).unwrap());
    assert_eq!(spawn.argv[0], dir.path().join("box"));
    assert_eq!(spawn.argv[1..], ["--state=/s", "prog", "", "x y"]);
    assert_eq!(spawn.files, [("/s/box.json".into(), b"{\"root\": \"/w\"}".to_vec())]);
    assert_eq!((spawn.env["BOX_HOME"].as_str(), spawn.env["PATH"].as_str()), ("/h", "/box:/bin"));
    // Steps of the recipe's own are found by boxproof's PATH, not by the case's.
    let found = |steps: &[Vec<std::ffi::OsString>], name: &str| {
        let program = Path::new(&steps[0][0]);
        program.is_file() && program.ends_with(name) && steps[0][1..] == ["/s/tmp"]
    };
    assert!(found(&spawn.set_up, "mkdir"), "{:?}", spawn.set_up);
    assert!(found(&spawn.tear_down, "rmdir"), "{:?}", spawn.tear_down);
    let ending = BackendEnding { code: Some(3), signal: None, stdout: b"", stderr: b"" };
    assert!(spawn.exits.unwrap().classify(ending).is_some());
    assert_eq!((spawn.stop.signal.as_str(), spawn.stop.grace_ms), ("INT", 100));
    assert_eq!(spawn.noise.stderr, [NoisePattern::Prefix("box: note: ".into())]);
    assert_eq!((spawn.residue.len(), spawn.cwd, spawn.result), (1, "/w".into(), None));
}

#[test]
fn known_failures_lie_beside_the_manifest() {
    let dir = tempfile::tempdir().unwrap();
    let spec = manifest_file(&dir, MANIFEST);
    assert!(find(&spec).unwrap().known.rows().is_empty());
    let beside = dir.path().join("box.known.yaml");
    let row = "- {case: a, verdict: leak, signature: s, reason: r}\n";
    std::fs::write(&beside, row).unwrap();
    assert_eq!(find(&spec).unwrap().known.rows().len(), 1);
    std::fs::write(&beside, row.replace("leak", "lek")).unwrap();
    let error = find(&spec).unwrap_err().to_string();
    assert!(error.contains("box.known.yaml:1") && error.contains("`lek`"), "{error}");
}

#[rstest]
#[case("program:", "progam:", 4, "unknown field `progam`")]
#[case("fs.write: enforced", "fs.wrote: enforced", 7, "unknown capability `fs.wrote`")]
#[case("net.none: partial", "net.none: some", 7, "unknown variant `some`")]
#[case("[exec.not_found]", "[exec.not_fond]", 8, "unknown capability `exec.not_fond`")]
#[case("{{ command }}", "{{ comand }}", 11, "there is no `comand`")]
#[case("{{ home }}", "{{ home ", 15, "syntax error")]
#[case("exit: 3", "exit: three", 18, "expected i32")]
#[case("{exit: 3}", "{stderr: '('}", 18, "unclosed group")]
#[case("{exit: 3}", "{}", 18, "a rule names")]
#[case("fs.write: enforced", "fs.write: {enforced: told}", 7, "unknown variant `told`")]
#[case("name: box", "name: box\nrun_as: me", 3, "unknown variant `me`")]
#[case("exit: 3", "exit: 3, output: x", 18, "unknown field `output`")]
#[case("to: group", "to: all", 20, "unknown variant `all`")]
#[case("[$HOME/", "[/", 21, "$WS/ $HOME/ $TMPDIR/")]
#[case("name: box", "name: a/b", 2, "without a slash")]
#[case("name: box", "name: box\nprefix: [x]", 3, "only kinds native and receipts")]
#[case("name: box", "name: box\nkind: bare", 5, "the others do not")]
#[case("name: box", "name: box\nkind: native", 10, "the others have none")]
#[case("name: box", "name: box\ninexpressible: [{when: polcy.mode, reason: x}]", 3, "no `polcy`")]
fn a_faulty_manifest_is_an_error_with_its_line(
    #[case] from: &str,
    #[case] to: &str,
    #[case] line: usize,
    #[case] message: &str,
) {
    let dir = tempfile::tempdir().unwrap();
    let error = find(&manifest_file(&dir, &MANIFEST.replace(from, to))).unwrap_err().to_string();
    assert!(error.contains(&format!("box.yaml:{line}")) && error.contains(message), "{error}");
}

#[test]
fn what_is_not_installed_is_missing_and_says_how_to_get_it() {
    let dir = tempfile::tempdir().unwrap();
    let spec = manifest_file(&dir, &MANIFEST.replace("PROGRAM", "/no/such/box"));
    let backend = find(&spec).unwrap();
    let missing = backend.missing.unwrap();
    assert_eq!(missing.what, "/no/such/box is not installed");
    assert_eq!(missing.hint, "install it (apt: box, pip: boxer)");
    assert_eq!((backend.version, backend.sha256, backend.program), (None, None, None));
}

#[test]
fn what_it_does_not_run_without_is_missing_too() {
    let dir = tempfile::tempdir().unwrap();
    let requires = "requires: {sh: {apt: dash}, no-such-helper: {apt: helper, npm: help}}\n";
    let backend = find(&manifest_file(&dir, &format!("{MANIFEST}{requires}"))).unwrap();
    let missing = backend.missing.unwrap();
    assert_eq!(missing.what, "no-such-helper is not installed");
    assert_eq!(missing.hint, "install it (apt: helper, npm: help)");
}

#[rstest]
#[case(">=1.2, <2", None)]
#[case(">=1.3", Some("box 1.2.3 is not >=1.3"))]
fn a_version_outside_of_the_range_is_missing(#[case] range: &str, #[case] what: Option<&str>) {
    let dir = tempfile::tempdir().unwrap();
    let text = format!("{MANIFEST}version_range: '{range}'\n");
    let missing = find(&manifest_file(&dir, &text)).unwrap().missing;
    assert_eq!(missing.map(|missing| missing.what).as_deref(), what);
}

#[test]
fn who_says_no_version_lies_in_no_range() {
    let dir = tempfile::tempdir().unwrap();
    let text = MANIFEST.replace("version: [--version]", "version_range: '>=0'");
    let missing = find(&manifest_file(&dir, &text)).unwrap().missing.unwrap();
    assert_eq!(missing.what, "box does not say its version");
}

#[test]
fn what_needs_root_is_missing_for_everybody_else() {
    let dir = tempfile::tempdir().unwrap();
    let backend = find(&manifest_file(&dir, &format!("{MANIFEST}run_as: root\n"))).unwrap();
    let is_root = nix::unistd::geteuid().is_root();
    assert_eq!(backend.missing.is_none(), is_root, "{:?}", backend.missing);
    assert!(is_root || backend.missing.unwrap().what == "box needs root");
}

#[test]
fn what_is_for_other_platforms_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let other = if cfg!(target_os = "macos") { "linux" } else { "macos" };
    let text = format!("{MANIFEST}platforms: [{other}]\n");
    let backend = find(&manifest_file(&dir, &text)).unwrap();
    assert!(backend.missing.unwrap().what.contains("platform"));
}

#[test]
fn nothing_of_that_name_is_an_error_that_lists_what_there_is() {
    let error = find("no-such-sandbox").unwrap_err();
    assert!(matches!(error, BackendError::Unknown { .. }));
    let mut names = boxproof::backend::shipped_names();
    names.push("reference");
    names.sort_unstable();
    let expected = format!("name one of {}, a program", names.join(", "));
    assert!(error.to_string().contains(&expected), "{error}");
    let error = find("no-such-file.yaml").unwrap_err().to_string();
    assert!(error.contains("no-such-file.yaml: cannot be read"), "{error}");
}

#[rstest]
#[case("none", "prog", 3)]
#[case("allow-all", "prog", 3)]
fn bare_backends_run_the_command_as_it_is(
    #[case] name: &str,
    #[case] program: &str,
    #[case] len: usize,
) {
    let backend = find(name).unwrap();
    assert!(Capability::all().all(|each| backend.claim(&each) == ClaimLevel::Enforced));
    let spawn = spawned(&backend);
    assert_eq!((spawn.argv[0].to_str(), spawn.argv.len()), (Some(program), len));
    assert_eq!(spawn.env.len(), 1);
}

#[test]
fn deny_all_starts_nothing() {
    let backend = find("deny-all").unwrap();
    assert!(Capability::all().all(|each| backend.claim(&each) == ClaimLevel::Enforced));
    assert!(
        matches!(launch(&backend), LaunchPlan::Refuse { message } if message.contains("deny-all"))
    );
}

#[test]
fn a_program_that_answers_is_a_native_backend() {
    let dir = tempfile::tempdir().unwrap();
    let program = script(&dir, "nat", NATIVE);
    let backend = find(program.to_str().unwrap()).unwrap();
    assert_eq!((backend.name.as_str(), backend.version.as_deref()), ("nat", Some("3.1")));
    assert_eq!(backend.limits, ["capabilities"]);
    assert_eq!(backend.mechanism.as_deref(), Some("ns"));
    assert_eq!(backend.claim(&capability("fs.write")), ClaimLevel::Partial);
    let spawn = spawned(&backend);
    let argv = ["run", "--request", "/s/request", "--result", "/s/result"];
    assert_eq!(spawn.argv[1..], argv);
    assert_eq!(spawn.result, Some("/s/result".into()));
    let (file, text) = &spawn.files[0];
    let request: RunRequest = serde_json::from_slice(text).unwrap();
    assert_eq!((file.as_path(), request.run.mechanism.as_str()), (Path::new("/s/request"), "auto"));
}

#[test]
fn the_reference_is_this_program_with_a_mechanism_if_one_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let me = script(&dir, "boxproof", NATIVE);
    let backend = resolve("reference", &me, &SettledUser::own()).unwrap();
    assert_eq!(backend.limits, ["reference capabilities"]);
    let backend = resolve("reference:jail", &me, &SettledUser::own()).unwrap();
    assert_eq!(backend.limits, ["reference capabilities --mechanism jail"]);
    assert_eq!(backend.name, "reference:jail");
    let spawn = spawned(&backend);
    assert_eq!(spawn.argv[1..3], ["reference", "run"]);
    let request: RunRequest = serde_json::from_slice(&spawn.files[0].1).unwrap();
    assert_eq!(request.run.mechanism, "jail");
    let error = resolve("reference:other", &me, &SettledUser::own()).unwrap_err().to_string();
    assert!(error.contains("asked for other, it answered for ns"), "{error}");
}

#[test]
fn a_native_manifest_names_the_program_and_what_stands_before_the_verb() {
    let dir = tempfile::tempdir().unwrap();
    let program = script(&dir, "nat", NATIVE);
    let text = format!(
        "name: nat\nsummary: N.\nkind: native\nprogram: {}\nprefix: [sand, box]\n",
        program.display()
    );
    let file = dir.path().join("nat.yaml");
    std::fs::write(&file, text).unwrap();
    let backend = find(file.to_str().unwrap()).unwrap();
    assert_eq!(backend.limits, ["sand box capabilities"]);
    assert!(matches!(backend.kind, BackendKind::Native { .. }));
}

#[rstest]
#[case("echo hello", "its answer is no claim")]
#[case("echo broken >&2; exit 5", "it exited with 5: broken")]
#[case("kill -9 $$", "died of a signal")]
#[case("true", "its answer is no claim")]
fn a_program_that_does_not_answer_is_an_error(#[case] line: &str, #[case] message: &str) {
    let dir = tempfile::tempdir().unwrap();
    let program = script(&dir, "nat", &format!("#!/bin/sh\n{line}\n"));
    let error = find(program.to_str().unwrap()).unwrap_err().to_string();
    assert!(error.contains(message) && error.contains("backend `nat`"), "{error}");
}
