//! The mutant kit of supervision: backends that end early or late, lose signals, leave a process
//! behind or make false statements. Each gets the verdict it deserves, and an honest one passes.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use crate::support::fakes::{self, confined, fake, row_of, verdict};
use crate::support::{BOXPROOF, Place};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use rstest::rstest;

/// The cases that kill the fakes.
const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fakes/supervised");

#[rstest]
#[case::before_its_time("ends-early", "exec/time-limit", "contract timing")]
#[case::long_after_its_time("ends-late", "exec/time-limit", "contract timing")]
#[case::without_a_word("swallows-annotations", "exec/time-limit", "contract result")]
#[case::as_if_by_itself("says-no-time-out", "exec/time-limit", "contract result")]
#[case::by_a_signal("counts-a-signal", "exec/time-limit", "contract result")]
#[case::deaf("loses-term", "exec/term", "contract timing")]
#[case::hearing("passes-term", "exec/term", "pass")]
#[case::late("comes-late", "exec/quick", "contract timing")]
#[case::late_by_chance("comes-late-once", "exec/quick", "pass")]
#[case::on_both_ways("talks-while-capturing", "exec/captured", "contract stream")]
#[case::in_other_words("garbles-capture", "exec/captured", "contract result")]
#[case::in_the_background("backgrounds", "exec/terminal-read", "over-block exit")]
#[case::stopped_by_what_it_reads("waits-for-the-stopped", "exec/terminal-read", "contract stopped")]
#[case::stopped_by_what_it_sets("waits-for-the-stopped", "exec/terminal-set", "contract stopped")]
#[case::stopped_by_its_case(
    "waits-for-the-stopped",
    "exec/terminal-stop",
    "inconclusive control-failed"
)]
#[case::waiting_without_a_terminal("waits-for-the-stopped", "exec/quick", "pass")]
#[case::in_the_foreground("passes-term", "exec/terminal-set", "pass")]
#[case::without_an_echo("unsettles-terminal", "exec/terminal", "contract oracle")]
#[case::as_it_was("passes-term", "exec/terminal", "pass")]
#[case::not_asked_to_capture("passes-term", "exec/captured", "unsupported inexpressible")]
#[case::untied("passes-term", "proc/launcher", "under-block oracle")]
#[case::tied("tied", "proc/launcher", "pass")]
#[case::a_daemon("passes-term", "proc/beats", "under-block oracle")]
#[case::with_the_launchers_signals("passes-term", "exec/signals", "contract stream")]
#[case::with_limits_of_its_own("lowers-limits", "exec/limits", "contract stream")]
#[case::with_the_launchers_limits("passes-term", "exec/limits", "pass")]
#[case::elsewhere("writes-result-by-name", "exec/result-place", "contract result")]
#[case::without_files_of_its_own("passes-term", "exec/result-place", "unsupported inexpressible")]
#[case::on_a_host_of_its_own("passes-term", "exec/nested", "pass")]
#[case::without_the_hosts_mount("hides-host", "exec/nested", "contract stream")]
#[case::a_daemon_without_a_name("leaves-renamed", "exec/quick", "leak left-behind")]
fn a_fake_gets_what_it_deserves(#[case] name: &str, #[case] case: &str, #[case] wanted: &str) {
    let (_place, _, row) = row_of(name, CORPUS, case);
    assert_eq!(verdict(&row), wanted, "{row:#}");
}

#[test]
fn a_try_that_failed_stays_in_the_record() {
    let (_place, ran, row) = row_of("comes-late-once", CORPUS, "exec/quick");
    assert_eq!((verdict(&row).as_str(), &row["outcome"]), ("pass", &"flaky".into()), "{row:#}");
    let first = &row["earlier"][0];
    assert_eq!(verdict(first), "contract timing", "{row:#}");
    assert_eq!(first["arms"].as_array().unwrap().len(), 2, "{row:#}");
    assert_eq!(row["earlier"].as_array().unwrap().len(), 1, "{row:#}");
    assert_eq!(ran.last_line(), "1 cases: 1 pass (1 flaky)");
    ran.exits(0);
}

#[rstest]
#[case("exec/time-limit")]
#[case("exec/term")]
#[case("exec/quick")]
#[case("exec/captured")]
#[case("exec/terminal")]
#[case("exec/terminal-read")]
#[case("exec/signals")]
#[case("exec/limits")]
#[case("exec/nested")]
#[case("proc/beats")]
fn an_honest_backend_passes_what_kills_the_fakes(#[case] case: &str) {
    let (_place, ran, row) = row_of("honest", CORPUS, case);
    assert_eq!(verdict(&row), "pass", "{row:#}");
    ran.exits(0);
}

#[rstest]
#[case("comes-late", 2)]
#[case("comes-late-once", 2)]
fn what_is_late_is_looked_at_once_more(#[case] name: &str, #[case] runs: usize) {
    let (place, _, _) = row_of(name, CORPUS, "exec/quick");
    let count = std::fs::read_to_string(place.path("state/runs")).unwrap();
    assert_eq!(count.lines().count(), runs);
}

#[test]
fn a_daemon_that_hides_its_name_is_ended() {
    let (place, _, row) = row_of("leaves-renamed", CORPUS, "exec/quick");
    assert!(row["message"].as_str().unwrap().contains("sleep 1000"), "{row:#}");
    nobody_of(&place);
}

/// Checks that no process lives whose number is among the pids that the fake noted down.
fn nobody_of(place: &Place) {
    let pids = std::fs::read_to_string(place.path("state/pids")).unwrap();
    assert!(pids.lines().count() > 0);
    for pid in pids.lines() {
        assert!(!Path::new("/proc").join(pid).exists(), "{pid} still runs");
    }
}

#[rstest]
#[case("hangs-at-set-up", "set-up: /")]
#[case("hangs-at-tear-down", "tear-down: /")]
fn a_step_that_hangs_is_ended_with_its_group(#[case] name: &str, #[case] step: &str) {
    let (place, spec) = fake(name);
    let case = "purpose: A command says hello.\nrequirement: R-test\ntimeout_ms: 1500\n\
                act: {sh: echo hello}\nexpect: {allowed: {}, exit: 0}\n";
    place.write("corpus/exec/brief.yaml", case);
    let (_, rows) = place.rows(&["--backend", &spec]);
    assert_eq!(verdict(&rows[0]), "error harness", "{:#}", rows[0]);
    // By the path that the program was found at.
    let (_, message) = rows[0]["message"].as_str().unwrap().split_once(step).unwrap();
    assert!(message.contains("/sh: not done within 1500 ms"), "{:#}", rows[0]);
    nobody_of(&place);
    let second = place.path("state/second").exists();
    assert_eq!(second, name == "hangs-at-tear-down", "every tear-down step has its turn");
}

#[test]
fn a_preparation_that_hangs_is_ended_with_its_group() {
    let place = Place::new();
    std::fs::create_dir(place.path("state")).unwrap();
    let case = "purpose: A command says hello.\nrequirement: R-test\ntimeout_ms: 1500\n\
                prepare: 'echo $$ > PIDS; sleep 1000 & echo $! >> PIDS; wait'\n\
                act: {sh: echo hello}\nexpect: {allowed: {}, exit: 0}\n";
    place.write("corpus/exec/brief.yaml", &case.replace("PIDS", &place.arg("state/pids")));
    let (_, rows) = place.rows(&["--backend", "none"]);
    assert_eq!(verdict(&rows[0]), "error harness", "{:#}", rows[0]);
    let message = rows[0]["message"].as_str().unwrap();
    assert!(message.contains("prepare: not done within 1500 ms"), "{message}");
    nobody_of(&place);
}

#[test]
fn no_descriptor_of_whoever_started_the_harness_reaches_a_command() {
    let place = Place::new();
    let case = "purpose: A command has no descriptor but its own.\nrequirement: R-test\n\
                act: {sh: '[ ! -e /proc/self/fd/9 ]'}\nexpect: {allowed: {}, exit: 0}\n";
    place.write("corpus/exec/descriptor.yaml", case);
    let (corpus, scratch) = (place.arg("corpus"), place.arg("scratch"));
    let mut shell = assert_cmd::Command::new("sh");
    shell.args(["-c", "exec 9<.; [ -e /proc/self/fd/9 ] && exec \"$@\"", "sh", BOXPROOF, "run"]);
    shell.args(["--backend", "none", "--cases", &corpus, "--scratch", &scratch]);
    crate::support::Ran::from_output(&shell.output().unwrap()).exits(0);
}

/// A thread outside that does what the fake asks for: out of reach of the harness's workers.
struct Broker {
    thread: JoinHandle<(Child, File)>,
    ask: PathBuf,
}

impl Broker {
    /// Waits for the fake's word and starts a process that beats, with the arm's word in its
    /// environment or without.
    fn serve(place: &Place, carries: bool) -> Self {
        let fifo = |name: &str| {
            let path = place.path(&format!("state/{name}"));
            mkfifo(&path, Mode::S_IRWXU).unwrap();
            OpenOptions::new().read(true).write(true).open(path).unwrap()
        };
        let (asked, mut done) = (fifo("ask"), fifo("done"));
        let thread = std::thread::spawn(move || {
            let mut line = String::new();
            BufReader::new(asked).read_line(&mut line).unwrap();
            let (word, file) = line.trim().split_once(' ').unwrap();
            let child = beat(file, carries.then_some(word));
            // The fake waits for this, and holds the way to the file open meanwhile.
            writeln!(done, "done").unwrap();
            // Bytes in a pipe are gone when no process has it open, and the fake may come late.
            (child, done)
        });
        Self { thread, ask: place.path("state/ask") }
    }

    /// Ends its process; returns whether it had been ended before.
    fn end(self) -> bool {
        // The fake may not have asked; then this is no answer, and the thread fails.
        let mut ask = OpenOptions::new().read(true).write(true).open(self.ask).unwrap();
        writeln!(ask, "nobody").unwrap();
        let (mut child, _done) = self.thread.join().unwrap();
        let ended = child.try_wait().unwrap().is_some();
        let _ = child.kill();
        child.wait().unwrap();
        ended
    }
}

/// A process that adds to `file` again and again, `word` in its environment.
fn beat(file: &str, word: Option<&str>) -> Child {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "while echo beat; do sleep 0.02; done"]).env_clear();
    command.env("PATH", "/usr/bin:/bin").envs(word.map(|word| ("ANYTHING", format!("x{word}x"))));
    let file = OpenOptions::new().create(true).append(true).open(file).unwrap();
    command.stdin(Stdio::null()).stdout(file).stderr(Stdio::null()).spawn().unwrap()
}

#[rstest]
#[case::by_its_environment(true, "sleep 0.02; done) still ran")]
#[case::by_what_it_writes(false, "a process out of sight still wrote beat")]
fn who_is_out_of_reach_is_found(#[case] carries: bool, #[case] saw: &str) {
    let (place, spec) = fake("asks-a-broker");
    let broker = Broker::serve(&place, carries);
    let (_, rows) = fakes::run(&place, &spec, CORPUS, &["proc/beats"]);
    let ended = broker.end();
    assert_eq!(verdict(&rows[0]), "under-block oracle", "{:#}", rows[0]);
    let oracles = confined(&rows[0])["oracles"].as_array().unwrap();
    let seen = oracles.iter().find(|oracle| oracle["oracle"] == "no survivors").unwrap();
    assert!(seen["saw"].as_str().unwrap().ends_with(saw), "{seen}");
    assert_eq!(ended, carries, "who is found is ended");
}

/// A shell has what it starts in the background ignore INT and QUIT, nohup HUP; that is inherited.
#[test]
fn what_the_starting_shell_ignores_is_not_ignored_by_commands() {
    let case = "purpose: ${s} ends a command.\nrequirement: R-test\n\
        act: {sh: 'ulimit -c 0; kill -${s} $$; exit 3'}\nexpect: {allowed: {}, exit: {signal: '${s}'}}\n\
        rows: {h: {with: {s: HUP}}, i: {with: {s: INT}}, q: {with: {s: QUIT}}, t: {with: {s: TERM}}}\n";
    let place = Place::with(&[("exec/ends", case)]);
    let args = ["run", "--backend", "none", "--cases", &place.arg("corpus")].map(str::to_owned);
    let mut shell = Command::new("sh");
    let shell =
        shell.args(["-c", "trap '' HUP INT QUIT TERM; exec \"$@\"", "sh", BOXPROOF]).args(args);
    let ran = shell.env("XDG_CACHE_HOME", place.path("cache")).output().unwrap();
    let told = String::from_utf8_lossy(&ran.stdout);
    assert_eq!(ran.status.code(), Some(0), "{told}");
    assert!(told.contains("\n4 cases: 4 pass in "), "{told}");
}
