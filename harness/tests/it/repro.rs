//! `boxproof repro`: scripts that show a failure, or that there is none, without the harness.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::process::Command;

use crate::support::{BOXPROOF, DENIED, IMPOSSIBLE, Place, Ran, WORKS, has};
use boxproof::arm_context::ArmContext;
use boxproof::backend::{Backend, BackendKind, SettledUser, resolve, shipped_names};
use boxproof::execution::ArmKind;
use boxproof::repro::{ScriptSubject, obstacle, question_script, script};
use boxproof::run::{render, render_question};
use boxproof_cases::case::{Control, RunSpec};
use boxproof_cases::{Case, Suite};
use rstest::rstest;

use crate::support::fakes::TOLD;

/// A manifest that claims all and runs the command by this shell line.
pub(crate) fn manifest(line: &str) -> String {
    format!(
        "name: box\nsummary: A fake.\nprogram: sh\nclaims: all\nargv: |\n  -c\n  {line}\n  sh\n  {{{{ command }}}}\n{TOLD}"
    )
}

const SEVEN: &str = "purpose: A command that exits with 7 makes the backend exit with 7.
requirement: R-test
act: {sh: exit 7}
expect: {allowed: {}, exit: 7}
";

/// Exports `case` against `backend` and returns the script.
pub(crate) fn export(place: &Place, args: &[&str]) -> String {
    let (scratch, directory) = (place.arg("scratch"), place.arg("export"));
    let repro = ["repro", "--scratch", &scratch, "--export", &directory];
    let ran = place.run(&[&repro[..], args].concat());
    let path = ran.exits(0).stdout.trim().to_owned();
    assert_eq!(path, place.arg("export/repro.sh"));
    path
}

/// Runs the script, with nothing of this process but the standard streams.
pub(crate) fn sh(script: &str, env: &[(&str, &str)]) -> Ran {
    let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    let mut command = Command::new("sh");
    command.arg(script).env_clear().env("PATH", path).envs(env.iter().copied());
    let ran = Ran::from_output(&command.output().unwrap());
    assert_eq!(ran.stderr, "", "{}", ran.stdout);
    let arm = Path::new(script).with_file_name("work").join("arm");
    assert!(!arm.exists(), "the script left its directory");
    ran
}

#[rstest]
#[case::effect("exec \"$@\"", DENIED, 0, "FAILS   unchanged $OUT/f: ")]
#[case::lies("\"$@\"; exit 0", SEVEN, 0, "FAILS   it ended with 0 instead of 7")]
#[case::keeps("exec \"$@\"", SEVEN, 1, "everything is as it must be")]
#[case::talks(
    "echo 'box: hello'; exec \"$@\"",
    WORKS,
    0,
    "FAILS   stdout differs from the control's"
)]
#[case::leaves(
    "mkdir -p \"$HOME/.left\"; exec \"$@\"",
    WORKS,
    0,
    "FAILS   left behind: home/.left"
)]
#[case::refuses("exit 3", WORKS, 0, "FAILS   it ended with 3 instead of 0")]
#[case::swallows("exit 1", DENIED, 2, "the probe left no record")]
#[case::impossible("exec \"$@\"", IMPOSSIBLE, 2, "without a sandbox the act is not possible here")]
fn a_script_shows_what_a_fake_gets_wrong(
    #[case] line: &str,
    #[case] case: &str,
    #[case] code: i32,
    #[case] says: &str,
) {
    let place = Place::with(&[("fs/one", case)]);
    place.write("box.yaml", &manifest(line));
    let (cases, spec) = (place.arg("corpus"), place.arg("box.yaml"));
    let script = export(&place, &["fs/one", "--backend", &spec, "--cases", &cases]);
    has(&sh(&script, &[]).exits(code).stdout, says);
    // And again: a script cleans up what it needs to start anew.
    sh(&script, &[]).exits(code);
}

/// A backend that is granted the directory of the probe, which is there and holds it alone.
#[test]
fn a_script_names_the_directory_of_its_own_probe() {
    let place = Place::with(&[("fs/one", WORKS)]);
    let line = r#"[ "$(ls "{{ dirname(probe) }}")" = boxprobe ] || exit 9; exec "$@""#;
    place.write("box.yaml", &manifest(line));
    let (cases, spec) = (place.arg("corpus"), place.arg("box.yaml"));
    let script = export(&place, &["fs/one", "--backend", &spec, "--cases", &cases]);
    has(&sh(&script, &[]).exits(1).stdout, "everything is as it must be");
}

/// An act that a signal ends, in `seconds` at most.
fn ended(seconds: u32) -> String {
    format!(
        "purpose: After SIGTERM nobody is left.
requirement: R-test
act: {{sh: '\"$PROBE\" --nonce $NONCE background --how=plain --stdio=close --heartbeat=beat --tag=$NONCE; exec \"$PROBE\" --nonce $NONCE hold --ready'}}
during: [{{when: ready, signal: TERM}}]
timeout_ms: {seconds}000
expect: {{contained: {{}}, oracle: [{{no_survivors: {{}}}}]}}
twin: {{none: every policy ends it}}
"
    )
}

#[rstest]
#[case::as_without("exec \"$@\"", 20, 0, "FAILS   no survivors: still runs")]
#[case::with_a_code_of_its_own(ENDS_WITH_ONE, 20, 1, "everything is as it must be")]
#[case::as_a_success(ENDS_WELL, 20, 0, "FAILS   the act exits with 0")]
#[case::never(DEAF, 11, 0, "FAILS   it lived on for 11 s after TERM")]
#[case::not_soon(DEAF, 2, 2, "it lived on for 2 s after TERM")]
fn a_script_tells_how_a_signal_ended_it(
    #[case] line: &str,
    #[case] seconds: u32,
    #[case] code: i32,
    #[case] says: &str,
) {
    let place = Place::with(&[("fs/one", &ended(seconds))]);
    place.write("box.yaml", &manifest(line));
    let (cases, spec) = (place.arg("corpus"), place.arg("box.yaml"));
    let script = export(&place, &["fs/one", "--backend", &spec, "--cases", &cases]);
    has(&sh(&script, &[]).exits(code).stdout, says);
}

/// A shell starts what it does not wait for with these signals ignored; a launcher does not.
#[rstest]
#[case::int("INT")]
#[case::quit("QUIT")]
fn a_script_sends_signals_that_are_not_ignored(#[case] signal: &str) {
    let place = Place::with(&[("fs/one", &ended(20).replace("TERM", signal))]);
    // What is ignored at its start stays ignored in setsid(1), which hands no signal on.
    place.write("box.yaml", &manifest("exec setsid --fork --wait \"$@\""));
    let (cases, spec) = (place.arg("corpus"), place.arg("box.yaml"));
    let script = export(&place, &["fs/one", "--backend", &spec, "--cases", &cases]);
    has(&sh(&script, &[]).exits(0).stdout, "FAILS   no survivors: still runs");
}

#[test]
fn a_script_sends_a_signal_to_the_group_of_the_backend() {
    let group = ended(20).replace("signal: TERM", "signal: TERM, to: group");
    let place = Place::with(&[("fs/one", &group)]);
    place.write("box.yaml", &manifest("exec \"$@\""));
    let (cases, spec) = (place.arg("corpus"), place.arg("box.yaml"));
    let script = export(&place, &["fs/one", "--backend", &spec, "--cases", &cases]);
    // Without a sandbox the signal reaches the background child, too.
    has(&sh(&script, &[]).exits(2).stdout, "no survivors: nothing was left running");
}

/// Ends the command and all that it started, and has a code of its own for that.
const ENDS_WITH_ONE: &str = "trap 'kill -s KILL -- -$!; exit 1' TERM; setsid \"$@\" & wait";
/// A backend that also calls it a success.
const ENDS_WELL: &str = "trap 'kill -s KILL -- -$!; exit 0' TERM; setsid \"$@\" & wait";
/// Hands nothing on, and waits for the command.
const DEAF: &str = "trap : TERM; setsid \"$@\" & while kill -0 $!; do wait; done";

/// A script shows the failure of a foreign sandbox. Needs bubblewrap.
#[test]
fn a_script_shows_what_bubblewrap_fails() {
    let place = Place::new();
    let script = export(&place, &["exec/not-found/by-name", "--backend", "bubblewrap"]);
    let ran = sh(&script, &[]);
    has(&ran.exits(0).stdout, "FAILS   it ended with 1 instead of 127: bwrap: execvp");
    has(&ran.stdout, "the failure shows");
    // A sandbox in which that is mended fails no more.
    let mended = place.program("bin/mended", MENDED);
    let ran = sh(&script, &[("BACKEND", mended.to_str().unwrap())]);
    has(&ran.exits(1).stdout, "the failure does not show");
}

/// bubblewrap, with the code that a shell has.
const MENDED: &str = "#!/bin/sh\nbwrap \"$@\"; code=$?\n[ $code != 1 ] || exit 127\nexit $code\n";

#[test]
fn endings_noise_and_residue_are_those_of_the_manifest() {
    let place = Place::with(&[("fs/one", WORKS)]);
    let line = "mkdir -p \"$HOME/.left/a\"; echo 'box: hello'; exec \"$@\"";
    let more = "noise: {stdout: ['box: ']}\nresidue: [$HOME/.left, $HOME/.left/**]\n";
    place.write("box.yaml", &(manifest(line) + more));
    let (cases, spec) = (place.arg("corpus"), place.arg("box.yaml"));
    let script = export(&place, &["fs/one", "--backend", &spec, "--cases", &cases]);
    sh(&script, &[]).exits(1);
    let place = Place::with(&[("fs/one", WORKS)]);
    let more = "exits: {setup_failed: [{exit: 3, stderr_prefix: 'box: '}]}\n";
    place.write("box.yaml", &(manifest("echo 'box: no' >&2; exit 3") + more));
    let (cases, spec) = (place.arg("corpus"), place.arg("box.yaml"));
    let script = export(&place, &["fs/one", "--backend", &spec, "--cases", &cases]);
    has(&sh(&script, &[]).exits(2).stdout, "the sandbox could not be built: box: no");
}

#[test]
fn another_program_can_be_tried_and_a_missing_one_teaches_nothing() {
    let place = Place::with(&[("fs/one", DENIED)]);
    let manifest = "name: box\nsummary: Runs it.\nprogram: env\nargv: '{{ command }}'\n";
    place.write("box.yaml", &format!("{manifest}{TOLD}"));
    let (cases, spec) = (place.arg("corpus"), place.arg("box.yaml"));
    let script = export(&place, &["fs/one", "--backend", &spec, "--cases", &cases]);
    sh(&script, &[]).exits(0);
    let ran = sh(&script, &[("BACKEND", "/no/such/program")]);
    has(&ran.exits(2).stdout, "/no/such/program is not installed");
    let ran = sh(&script, &[("BACKEND", "/bin/false")]);
    has(&ran.exits(2).stdout, "the probe left no record");
}

/// One case of each kind of fixture and oracle: listeners, a victim, secrets, survivors.
#[rstest]
#[case("fs/write-outside/write")]
#[case("net/tcp4")]
#[case("net/udp")]
#[case("ipc/abstract-socket")]
#[case("proc/signal/usr1")]
#[case("proc/inherited-read")]
#[case("proc/orphans/setsid")]
#[case("exec/returns/job")]
#[case("proc/terminated")]
#[case("env/scrub")]
#[case("protect/git-write")]
fn a_script_tells_a_sandbox_from_none(#[case] id: &str) {
    let id = resolve_row(id);
    let place = Place::new();
    let script = export(&place, &[&id, "--backend", "none"]);
    has(&sh(&script, &[]).exits(0).stdout, "the failure shows");
    std::fs::remove_dir_all(place.path("export")).unwrap();
    let script = export(&place, &[&id, "--backend", "reference"]);
    has(&sh(&script, &[]).exits(1).stdout, "the failure does not show");
}

/// Returns `id` itself, or the first row of the table it is.
fn resolve_row(id: &str) -> String {
    let suite = Suite::embedded().unwrap();
    let ids: Vec<&str> = suite.cases.iter().map(|case| case.id.as_str()).collect();
    let row = ids.iter().find(|found| **found == id || found.starts_with(&format!("{id}/")));
    (*row.unwrap_or_else(|| panic!("no case {id}"))).to_owned()
}

#[test]
fn a_script_below_tmp_declines() {
    let place = Place::with(&[("fs/one", DENIED)]);
    let cases = place.arg("corpus");
    export(&place, &["fs/one", "--cases", &cases]);
    let elsewhere = tempfile::tempdir_in("/tmp").unwrap();
    for name in ["repro.sh", "lib.sh"] {
        std::fs::copy(place.path("export").join(name), elsewhere.path().join(name)).unwrap();
    }
    let script = elsewhere.path().join("repro.sh");
    has(&sh(script.to_str().unwrap(), &[]).exits(2).stdout, "put this directory elsewhere");
}

#[test]
fn without_a_directory_it_is_told_what_would_be_laid_out_and_started() {
    let place = Place::with(&[("fs/one", DENIED)]);
    let (cases, scratch) = (place.arg("corpus"), place.arg("scratch"));
    let repro = ["repro", "fs/one", "--backend", "none", "--cases", &cases, "--scratch", &scratch];
    let ran = place.run(&repro);
    for part in [
        "put \"$root\"/out/f kept",
        "\"$here/probe/boxprobe\"",
        "--path=\"$root\"/out/f",
        "--export DIR",
    ] {
        has(&ran.exits(0).stdout, part);
    }
}

#[rstest]
#[case(&["no/such/case"], 2, "no case `no/such/case`")]
#[case(&["fs/write-outside"], 2, "has rows, name one: fs/write-outside/append")]
#[case(&["exec/cwd", "--arm", "twin"], 2, "has no twin")]
#[case(&["proc/typing", "--backend", "none"], 2, "terminal of its own")]
#[case(&["exec/cwd", "--backend", "deny-all"], 2, "starts nothing")]
fn what_has_no_script_is_told(#[case] args: &[&str], #[case] code: i32, #[case] says: &str) {
    let place = Place::new();
    let scratch = place.arg("scratch");
    let tables = ["proc/typing", "exec/cwd"];
    let first = if tables.contains(&args[0]) { resolve_row(args[0]) } else { args[0].to_owned() };
    let mut all = vec!["repro", &first, "--scratch", &scratch];
    all.extend(&args[1..]);
    has(&place.run(&all).exits(code).stderr, says);
}

/// The whole corpus against no sandbox: every case has a script that a shell can read, or says why
/// it has none.
/// The run of the test below, and of no other one.
const RUN: &str = "bxscripts";

#[test]
fn every_case_has_a_script_or_says_why_not() {
    let suite = Suite::embedded().unwrap();
    let place = Place::new();
    let none = Backend {
        kind: BackendKind::Bare,
        ..resolve("none", Path::new(BOXPROOF), &SettledUser::own()).unwrap()
    };
    let uid = nix::unistd::geteuid().as_raw();
    let (mut written, mut without, mut texts) = (0, 0, Vec::new());
    // A case that is played over several processes, or is about a native request or result, never
    // has one, and is no measure of the rest.
    let acts = suite.cases.iter().filter(|case| {
        let is_native = case.run != RunSpec::default() || case.expect.result.is_some();
        case.question().is_none() && case.channel().is_none() && !is_native
    });
    // In memory: each of the scripts is laid out and removed again.
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    for case in acts {
        if obstacle(case, &none).is_some() {
            without += 1;
            continue;
        }
        let context = ArmContext {
            directory: directory.path(),
            probe: Path::new(BOXPROOF),
            run_id: RUN,
            boss: None,
            own_mounts: false,
        };
        let kinds = [ArmKind::Confined, ArmKind::Control];
        let [confined, control] = kinds.map(|kind| {
            let rendered = render(case, kind, &none, &context, uid);
            rendered.unwrap_or_else(|error| panic!("{}: {error}", case.id))
        });
        let control = (!matches!(case.control, Control::None(_))).then_some(&control);
        let arm = ArmKind::Confined;
        let subject = ScriptSubject {
            case,
            suite: &suite,
            backend: &none,
            arm,
            rendered: &confined,
            control,
            uid,
        };
        let text = script(&subject).unwrap();
        let root = confined.vars.get("WS").unwrap().strip_suffix("/ws").unwrap();
        assert!(!text.contains(root), "{}: the script knows a directory that is gone", case.id);
        written += 1;
        texts.push((case, text));
    }
    assert_eq!(processes_of(RUN), Vec::<String>::new());
    are_read(&place, &texts);
    // A case about times, terminals or hosts has none.
    assert!(written >= 3 * without && without > 0, "{written} scripts, {without} without");
}

/// Lists the command lines that have a nonce of the run in them.
fn processes_of(run_id: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(&format!("{run_id}-"))).collect()
}

/// Cases of every kind that shipped backends fail.
const FAILED: [&str; 14] = [
    "env/usual",
    "exec/handler/int",
    "exec/not-found/by-name",
    "exec/returns/killed",
    "exec/streams/order",
    "fs/deny-write-parent-swap/replaced",
    "fs/read-allow-list-open/programs",
    "ipc/path-socket/direct",
    "net/tcp-ways/fastopen",
    "proc/inherited-write",
    "proc/launcher-killed",
    "protect/absent-beside/directory",
    "protect/home/moved",
    "work/modes",
];

/// A script runs where it is exported to; what it was rendered in is gone by then.
#[test]
fn the_scripts_of_shipped_backends_know_no_directory_of_their_rendering() {
    let suite = Suite::embedded().unwrap();
    let scratch = tempfile::tempdir_in("/dev/shm").unwrap();
    let probe = scratch.path().join("probe-confined/boxprobe");
    std::fs::create_dir(probe.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(BOXPROOF, &probe).unwrap();
    let directory = scratch.path().join("confined");
    std::fs::create_dir(&directory).unwrap();
    let context = ArmContext {
        directory: &directory,
        probe: &probe,
        run_id: "bxtest",
        boss: None,
        own_mounts: false,
    };
    let place = scratch.path().to_str().unwrap();
    let failed = |case: &&Case| FAILED.contains(&case.id.as_str());
    let cases: Vec<&Case> = suite.cases.iter().filter(failed).collect();
    assert_eq!(cases.len(), FAILED.len());
    for name in shipped_names() {
        let backend = resolve(name, Path::new(BOXPROOF), &SettledUser::root_as_asked()).unwrap();
        if !matches!(backend.kind, BackendKind::Argv(_)) {
            continue;
        }
        let askable = cases.iter().filter(|case| obstacle(case, &backend).is_none());
        let texts: Vec<String> = askable
            .filter_map(|case| {
                let rendered = render(case, ArmKind::Confined, &backend, &context, 1500).ok()?;
                let (arm, rendered, control) = (ArmKind::Confined, &rendered, None);
                let (suite, backend, uid) = (&suite, &backend, 1500);
                let subject = ScriptSubject { case, suite, backend, arm, rendered, control, uid };
                script(&subject).ok()
            })
            .collect();
        assert!(texts.len() > 4, "{name}: {} scripts", texts.len());
        for text in texts {
            let line = text.lines().find(|line| line.contains(place));
            assert_eq!(line, None, "{name}: the script knows a directory that is gone");
        }
    }
}

/// Checks that a shell takes each of the scripts: all at once, as one shell for each takes long; one
/// by one where it does not.
fn are_read(place: &Place, scripts: &[(&Case, String)]) {
    let all: String = scripts.iter().map(|(_, text)| format!("one() {{\n{text}\n}}\n")).collect();
    if why_unread(&place.write("all.sh", &all)).is_none() {
        return;
    }
    for (case, text) in scripts {
        let why = why_unread(&place.write("repro.sh", text));
        assert_eq!(why, None, "{}", case.id);
    }
    panic!("the scripts are only read one by one");
}

/// Returns what a shell says against the script in `file`.
fn why_unread(file: &Path) -> Option<String> {
    let read = Command::new("sh").arg("-n").arg(file).output().unwrap();
    let why = || String::from_utf8_lossy(&read.stderr).into_owned();
    (!read.status.success()).then(why)
}

#[test]
fn every_question_has_a_script_that_asks_it() {
    let suite = Suite::embedded().unwrap();
    let place = Place::new();
    let native = resolve("reference", Path::new(BOXPROOF), &SettledUser::own()).unwrap();
    let uid = nix::unistd::geteuid().as_raw();
    let asks = |case: &&Case| case.question().is_some();
    let questions: Vec<&Case> = suite.cases.iter().filter(asks).collect();
    let mut texts = Vec::new();
    // In memory: each of the scripts is laid out and removed again.
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    for case in &questions {
        assert_eq!(obstacle(case, &native), None, "{}", case.id);
        let context = ArmContext {
            directory: directory.path(),
            probe: Path::new(BOXPROOF),
            run_id: "bxtest",
            boss: None,
            own_mounts: false,
        };
        let (rendered, request) =
            render_question(case, &context).unwrap_or_else(|error| panic!("{}: {error}", case.id));
        let (suite, backend, rendered) = (&suite, &native, &rendered);
        let (arm, control) = (ArmKind::Confined, None);
        let subject = ScriptSubject { case, suite, backend, arm, rendered, control, uid };
        texts.push((*case, question_script(&subject, &request).unwrap()));
    }
    are_read(&place, &texts);
    assert!(questions.len() > 300, "{}", questions.len());
}
