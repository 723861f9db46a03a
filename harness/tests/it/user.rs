//! The user of a run: root becomes an ordinary user where a backend is meant for one.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::{Duration, Instant};

use crate::support::fakes::TOLD;
use crate::support::{Place, Ran, WORKS, account, has};
use nix::unistd::geteuid;

/// A backend for ordinary users, like every one that says nothing else.
const TOOL: &str = "name: tool\nsummary: T.\nprogram: env\nargv: '{{ command }}'\nclaims: all\n";

/// A case for one kind of user only.
fn only(fact: &str) -> String {
    format!("{WORKS}host: [{fact}]\n")
}

/// A place that everybody can look into, with a backend and a case for each kind of user.
fn open_place() -> Place {
    let place = Place::with(&[("a/ordinary", &only("ordinary_user")), ("a/root", &only("root"))]);
    place.write("tool.yaml", &format!("{TOOL}{TOLD}"));
    std::fs::set_permissions(place.path(""), PermissionsExt::from_mode(0o755)).unwrap();
    place
}

fn run(place: &Place, args: &[&str]) -> Ran {
    let (cases, report) = (place.arg("corpus"), place.arg("record.ndjson"));
    let all = [&["run", "--cases", &cases, "--report", &report], args].concat();
    // The caller of sudo would be asked first.
    Ran::from_output(&place.command(&all).env_remove("SUDO_USER").output().unwrap())
}

/// The verdicts of the two cases, and the uid of the run.
fn verdicts_and_uid(place: &Place) -> (Vec<String>, u64) {
    let lines = place.record("record.ndjson");
    let cases = lines.iter().filter(|line| line["type"] == "case");
    let verdicts = cases.map(|row| format!("{} {}", row["id"], row["verdict"]).replace('"', ""));
    (verdicts.collect(), lines[0]["user"]["uid"].as_u64().unwrap())
}

const AS_ORDINARY: [&str; 2] = ["a/ordinary pass", "a/root not-applicable"];
const AS_ROOT: [&str; 2] = ["a/ordinary not-applicable", "a/root pass"];

#[test]
fn root_becomes_an_ordinary_user_unless_told_otherwise() {
    if !geteuid().is_root() {
        return a_user_stays_who_he_is();
    }
    let place = open_place();
    let tool = place.arg("tool.yaml");
    let by_default = run(&place, &["--backend", &tool]);
    match account() {
        None => has(&by_default.exits(2).stderr, "there is no ordinary account with a home here"),
        Some(user) => {
            let note = format!("run as {} (uid {}), since ", user.name, user.uid);
            has(&by_default.exits(0).stderr, &note);
            assert_eq!(
                verdicts_and_uid(&place),
                (AS_ORDINARY.map(str::to_owned).into(), user.uid.as_raw().into())
            );
            let report = place.path("record.ndjson").metadata().unwrap();
            assert_eq!(report.uid(), 0, "root's own file, in root's own directory");
        }
    }
    let scratch = place.arg("scratch");
    let as_root = run(&place, &["--backend", &tool, "--user", "root", "--scratch", &scratch]);
    assert_eq!(as_root.exits(0).stderr, "");
    assert_eq!(verdicts_and_uid(&place), (AS_ROOT.map(str::to_owned).into(), 0));
    run(&place, &["--backend", "none", "--scratch", &scratch]).exits(0);
    assert_eq!(verdicts_and_uid(&place), (AS_ROOT.map(str::to_owned).into(), 0));
    place.is_clean();
}

fn a_user_stays_who_he_is() {
    let place = open_place();
    run(&place, &["--backend", &place.arg("tool.yaml")]).exits(0);
    let uid = u64::from(geteuid().as_raw());
    assert_eq!(verdicts_and_uid(&place), (AS_ORDINARY.map(str::to_owned).into(), uid));
    has(&run(&place, &["--user", "root"]).exits(2).stderr, "only root can become root");
}

/// The program that root runs may lie where the user cannot look.
#[test]
fn a_program_out_of_the_users_reach_is_still_the_reference() {
    let Some(user) = account().filter(|_| geteuid().is_root()) else { return };
    let place = open_place();
    std::fs::create_dir(place.path("closed")).unwrap();
    std::fs::set_permissions(place.path("closed"), PermissionsExt::from_mode(0o700)).unwrap();
    let program = place.copy("closed/boxproof");
    let (cases, report) = (place.arg("corpus"), place.arg("record.ndjson"));
    let mut command = assert_cmd::Command::new(program);
    command.args(["run", "--cases", &cases, "--report", &report, "--user", &user.name]);
    Ran::from_output(&command.current_dir("/").output().unwrap()).exits(0);
    assert_eq!(
        verdicts_and_uid(&place),
        (AS_ORDINARY.map(str::to_owned).into(), user.uid.as_raw().into())
    );
}

/// Processes that keep root's rights for the outputs hold no stream of the run, and end with it.
#[test]
fn writers_of_outputs_end_with_a_run_that_writes_none() {
    let Some(user) = account().filter(|_| geteuid().is_root()) else {
        eprintln!("skipped: only root, beside an ordinary account, becomes another user");
        return;
    };
    let place = open_place();
    let (junit, html) = (place.arg("junit.xml"), place.arg("page.html"));
    let missing = place.arg("no-such.yaml");
    let outputs = ["--junit", &junit, "--html", &html, "--user", &user.name];
    // The output of the program ends when the last process that holds it does.
    let ran = run(&place, &[&outputs[..], &["--backend", &missing]].concat());
    has(&ran.exits(2).stderr, "no-such.yaml");
    let tool = place.arg("tool.yaml");
    let known = [&outputs[..], &["--backend", &tool, "--known", &missing]].concat();
    has(&run(&place, &known).exits(2).stderr, "no-such.yaml");
    assert_eq!(holders_of(&place), Vec::<String>::new());
}

/// Command lines that name `place`: at once if there are none, else those left after 20 s.
fn holders_of(place: &Place) -> Vec<String> {
    let lines = || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let lines =
            processes.filter_map(|e| std::fs::read_to_string(e.path().join("cmdline")).ok());
        lines.filter(|line| line.contains(&place.arg("junit.xml"))).collect::<Vec<_>>()
    };
    let deadline = Instant::now() + Duration::from_secs(20);
    while !lines().is_empty() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    lines()
}

#[test]
fn an_account_that_is_not_there_is_a_usage_error() {
    let ran = run(&open_place(), &["--user", "boxproof-no-such-account"]);
    has(&ran.exits(2).stderr, "there is no account `boxproof-no-such-account`");
}
