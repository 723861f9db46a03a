//! Each oracle against a workspace in which the thing does and does not happen.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;

use nix::unistd::Pid;
use rstest::rstest;

use super::*;
use crate::execution::ProcessExit;
use crate::run::stream::RawStreams;
use crate::sweep::{self, RunSurvivors, Survivor};
use crate::testing::case;

const FIXTURE: &str = "fixture: {f: x, d/g: x, secret: $CANARY}\nact: {sh: ': $UNIX'}\n";

/// Lays out, acts, and reads the oracles.
fn after(
    oracle: &str,
    act: impl FnOnce(&ArmWorkspace) -> (Vec<RawStreams>, RunSurvivors),
) -> ArmComparison {
    let directory = tempfile::tempdir().unwrap();
    let case = case(&format!("{FIXTURE}expect: {{allowed: {{}}, oracle: [{{{oracle}}}]}}\n"));
    let root = directory.path().join("arm");
    let mut workspace = ArmWorkspace::lay_out(&case, &root, "/p".as_ref(), "bx7").unwrap();
    let before = HostBefore::observe_host(&case, &workspace, (&sweep::mounts(), true)).unwrap();
    let (runs, survivors) = act(&workspace);
    before.compare(&case, &mut workspace, &runs, &survivors)
}

/// Returns the reading of the one oracle after `act`.
fn reading(oracle: &str, act: impl FnOnce(&ArmWorkspace)) -> OracleReading {
    let mut after = after(oracle, |workspace| {
        act(workspace);
        (Vec::new(), RunSurvivors::default())
    });
    assert_eq!(after.readings.len(), 1);
    after.readings.remove(0)
}

fn at(workspace: &ArmWorkspace, path: &str) -> PathBuf {
    workspace.place(path).unwrap()
}

type Act = fn(&ArmWorkspace);

#[rstest]
#[case::unchanged("unchanged: f", |_: &ArmWorkspace| {}, true)]
#[case::rewritten("unchanged: f", |w: &ArmWorkspace| fs::write(at(w, "f"), "y").unwrap(), false)]
#[case::removed("unchanged: f", |w: &ArmWorkspace| fs::remove_file(at(w, "f")).unwrap(), false)]
#[case::mode("unchanged: f", |w: &ArmWorkspace| fs::set_permissions(at(w, "f"), fs::Permissions::from_mode(0o600)).unwrap(), false)]
#[case::below("unchanged: d", |w: &ArmWorkspace| fs::write(at(w, "d/h"), "").unwrap(), false)]
#[case::beside("unchanged: d", |w: &ArmWorkspace| fs::write(at(w, "f"), "y").unwrap(), true)]
#[case::absent("absent: n", |_: &ArmWorkspace| {}, true)]
#[case::made("absent: n", |w: &ArmWorkspace| fs::write(at(w, "n"), "").unwrap(), false)]
#[case::made_dangling("absent: n", |w: &ArmWorkspace| std::os::unix::fs::symlink("/absent", at(w, "n")).unwrap(), false)]
#[case::exists("exists: n", |w: &ArmWorkspace| fs::write(at(w, "n"), "").unwrap(), true)]
#[case::exists_not("exists: n", |_: &ArmWorkspace| {}, false)]
#[case::content("content: {path: f, equals: x}", |_: &ArmWorkspace| {}, true)]
#[case::other_content("content: {path: f, equals: x}", |w: &ArmWorkspace| fs::write(at(w, "f"), "xy").unwrap(), false)]
#[case::no_content("content: {path: f, equals: x}", |w: &ArmWorkspace| fs::remove_file(at(w, "f")).unwrap(), false)]
#[case::content_of_a_variable("content: {path: secret, equals: $CANARY}", |_: &ArmWorkspace| {}, true)]
#[case::undisclosed("undisclosed: $CANARY", |_: &ArmWorkspace| {}, true)]
#[case::moved("undisclosed: $CANARY", |w: &ArmWorkspace| fs::rename(at(w, "secret"), at(w, "d/s")).unwrap(), true)]
#[case::copied("undisclosed: $CANARY", |w: &ArmWorkspace| { fs::copy(at(w, "secret"), at(w, "$OUT/s")).unwrap(); }, false)]
#[case::sent("undisclosed: $CANARY", |w: &ArmWorkspace| send(w, w.canary.as_bytes()), false)]
#[case::sent_something_else("undisclosed: $CANARY", |w: &ArmWorkspace| send(w, b"CANARY"), true)]
#[case::unreached("unreached: $UNIX", |_: &ArmWorkspace| {}, true)]
#[case::connected("unreached: $UNIX", |w: &ArmWorkspace| send(w, b""), false)]
#[case::reached("reached: $UNIX", |w: &ArmWorkspace| send(w, b""), true)]
#[case::reached_not("reached: $UNIX", |_: &ArmWorkspace| {}, false)]
#[case::no_survivors("no_survivors: {}", |_: &ArmWorkspace| {}, true)]
#[case::no_mounts("mounts_unchanged: {}", |_: &ArmWorkspace| {}, true)]
fn each_oracle_holds_or_not(#[case] oracle: &str, #[case] act: Act, #[case] holds: bool) {
    let reading = reading(oracle, act);
    assert_eq!(reading.holds, holds, "{reading:?}");
}

#[test]
fn whom_nobody_started_is_neither_reached_nor_untouched() {
    let directory = tempfile::tempdir().unwrap();
    let case = case(&format!("{FIXTURE}expect: {{allowed: {{}}}}\n"));
    let root = directory.path().join("arm");
    let mut workspace = ArmWorkspace::lay_out(&case, &root, "/p".as_ref(), "bx7").unwrap();
    assert!(!reached("$TCP4", &workspace).0);
    assert!(!untouched(&mut workspace).0);
}

fn send(workspace: &ArmWorkspace, bytes: &[u8]) {
    let path = workspace.vars.get("UNIX").unwrap();
    let mut stream = std::os::unix::net::UnixStream::connect(path).unwrap();
    stream.write_all(bytes).unwrap();
}

#[rstest]
#[case::in_stdout(|w: &ArmWorkspace| (format!("<{}>", w.canary).into_bytes(), Vec::new()), false)]
#[case::in_stderr(|w: &ArmWorkspace| (Vec::new(), w.canary.clone().into_bytes()), false)]
#[case::in_neither(|_: &ArmWorkspace| (b"CANARY".to_vec(), Vec::new()), true)]
fn the_secret_is_looked_for_in_the_streams(
    #[case] said: fn(&ArmWorkspace) -> (Vec<u8>, Vec<u8>),
    #[case] holds: bool,
) {
    let after = after("undisclosed: $CANARY", |workspace| {
        let (out, err) = said(workspace);
        (
            vec![RawStreams { out, err, ..RawStreams::unstarted(ProcessExit::Code(0), false) }],
            RunSurvivors::default(),
        )
    });
    assert_eq!(after.readings[0].holds, holds, "{:?}", after.readings);
}

#[rstest]
#[case::asked_for("no_survivors: {}", false, 0)]
#[case::not_asked_for("unchanged: f", true, 1)]
fn a_survivor_is_a_reading_or_a_leak(
    #[case] oracle: &str,
    #[case] holds: bool,
    #[case] leaks: usize,
) {
    let after = after(oracle, |_| {
        let processes = vec![Survivor::without_sockets(Pid::from_raw(7), "sleep")];
        (Vec::new(), RunSurvivors { processes, ..RunSurvivors::default() })
    });
    assert_eq!((after.readings[0].holds, after.leaks.len()), (holds, leaks), "{:?}", after.leaks);
}

#[test]
fn what_appears_is_named_and_the_trees_are_neutral() {
    let after = after("unchanged: f", |workspace| {
        for path in ["new", "$OUT/new", "$HOME/new", "$TMPDIR/new"] {
            fs::write(at(workspace, path), "").unwrap();
        }
        std::os::unix::fs::symlink(workspace.ws(), at(workspace, "link")).unwrap();
        (Vec::new(), RunSurvivors::default())
    });
    assert_eq!(after.appeared, ["$HOME/new", "$OUT/new", "$TMPDIR/new", "$WS/link", "$WS/new"]);
    assert!(after.tree["$WS/link"].ends_with("a link to $WS"), "{}", after.tree["$WS/link"]);
    assert!(after.tree.contains_key("$OUT/new") && !after.tree.contains_key("$HOME/new"));
}

#[test]
fn residue_in_shared_directories_is_found_by_its_nonce_and_removed() {
    let mut made = Vec::new();
    let after = after("unchanged: f", |workspace| {
        made.push(PathBuf::from(format!("/tmp/{}-left", workspace.nonce)));
        made.push(PathBuf::from(format!("/var/tmp/{}.d", workspace.nonce)));
        fs::write(&made[0], "").unwrap();
        fs::create_dir(&made[1]).unwrap();
        fs::write(made[1].join("f"), "").unwrap();
        (Vec::new(), RunSurvivors::default())
    });
    let leaks = ["/tmp/$NONCE-left was left behind", "/var/tmp/$NONCE.d was left behind"];
    assert_eq!(after.leaks, leaks);
    assert!(made.iter().all(|path| !path.exists()));
}

#[rstest]
#[case("unchanged: absent", "nothing is there")]
#[case("absent: f", "it is there")]
fn an_oracle_that_cannot_see_anything_is_an_error(#[case] oracle: &str, #[case] why: &str) {
    let directory = tempfile::tempdir().unwrap();
    let case = case(&format!("{FIXTURE}expect: {{allowed: {{}}, oracle: [{{{oracle}}}]}}\n"));
    let root = directory.path().join("arm");
    let workspace = ArmWorkspace::lay_out(&case, &root, "/p".as_ref(), "bx7").unwrap();
    let error = HostBefore::observe_host(&case, &workspace, ("", true)).err().unwrap();
    assert!(error.contains(why), "{error}");
}

/// Puts a link in the place of the workspace.
fn replace(workspace: &ArmWorkspace) {
    let ws = workspace.ws();
    fs::rename(&ws, ws.with_file_name("moved")).unwrap();
    std::os::unix::fs::symlink("out", ws).unwrap();
}

#[rstest]
#[case::absent_behind_a_loop("absent: l/n", |w: &ArmWorkspace| std::os::unix::fs::symlink("l", at(w, "l")).unwrap(), Some("symbolic links"))]
#[case::exists_behind_a_loop("exists: l/n", |w: &ArmWorkspace| std::os::unix::fs::symlink("l", at(w, "l")).unwrap(), Some("symbolic links"))]
#[case::absent_elsewhere("absent: n", replace, Some("$WS is a link"))]
#[case::exists_elsewhere("exists: f", replace, Some("$WS is a link"))]
#[case::content_elsewhere("content: {path: f, equals: x}", replace, Some("$WS is a link"))]
#[case::secret_elsewhere("undisclosed: $CANARY", replace, Some("$WS is a link"))]
#[case::beside("absent: $OUT/n", replace, None)]
#[case::moved("absent: n", |w: &ArmWorkspace| { fs::create_dir_all(w.state().join("1/kept")).unwrap(); fs::write(at(w, "n"), "").unwrap(); fs::rename(at(w, "n"), w.state().join("1/kept/n")).unwrap(); }, Some("state/1/kept/n"))]
#[case::moved_beside("absent: d/n", |w: &ArmWorkspace| { fs::write(at(w, "d/n"), "").unwrap(); fs::rename(at(w, "d"), w.root().join("e")).unwrap(); fs::create_dir_all(w.root().join("s/d")).unwrap(); fs::rename(w.root().join("e/n"), w.root().join("s/d/n")).unwrap(); fs::create_dir(at(w, "d")).unwrap(); }, Some("s/d/n"))]
#[case::copy_of_its_own("absent: n", |w: &ArmWorkspace| { fs::create_dir_all(w.state().join("1")).unwrap(); fs::write(w.state().join("1/n"), "").unwrap(); }, None)]
fn who_cannot_look_says_so(#[case] oracle: &str, #[case] act: Act, #[case] why: Option<&str>) {
    let reading = reading(oracle, act);
    assert_eq!(reading.unread, why.is_some(), "{reading:?}");
    match why {
        Some(why) => assert!(!reading.holds && reading.saw.contains(why), "{reading:?}"),
        None => assert!(reading.holds, "{reading:?}"),
    }
}

#[test]
fn what_is_unchanged_is_not_behind_another_directory() {
    let reading = reading("unchanged: f", replace);
    assert!(!reading.holds && !reading.unread && reading.saw.contains("$WS is a link"));
}

#[rstest]
#[case::fifo(|w: &ArmWorkspace| nix::unistd::mkfifo(&at(w, "f"), nix::sys::stat::Mode::S_IRWXU).unwrap(), "not a plain file")]
#[case::endless(|w: &ArmWorkspace| std::os::unix::fs::symlink("/dev/zero", at(w, "f")).unwrap(), "symbolic links")]
#[case::large(|w: &ArmWorkspace| fs::File::create(at(w, "f")).unwrap().set_len(8 << 30).unwrap(), "more than")]
fn a_content_that_is_no_small_file_is_another_one(#[case] act: Act, #[case] why: &str) {
    let reading = reading("content: {path: f, equals: x}", |workspace| {
        fs::remove_file(at(workspace, "f")).unwrap();
        act(workspace);
    });
    assert!(!reading.holds && !reading.unread && reading.saw.contains(why), "{reading:?}");
}

#[test]
fn what_is_done_to_the_arms_directories_is_told() {
    let mode = |path: PathBuf, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let after = after("unchanged: $OUT/../out", |workspace| {
        mode(at(workspace, "$HOME"), 0o777);
        replace(workspace);
        (Vec::new(), RunSurvivors::default())
    });
    assert_eq!(after.spoilt, ["$WS is a link now"]);
    assert_eq!(after.leaks, ["$HOME has mode 0777 instead of 0755"]);
    assert_eq!(after.appeared, ["$ARM/moved"]);
    assert!(after.tree.keys().all(|path| !path.starts_with("$WS")), "{:?}", after.tree);
}

#[test]
fn what_is_too_much_to_be_seen_is_told() {
    let after = after("unchanged: f", |workspace| {
        fs::File::create(at(workspace, "large")).unwrap().set_len(8 << 30).unwrap();
        fs::create_dir_all(at(workspace, &format!("$HOME/{}", "d/".repeat(302)))).unwrap();
        (Vec::new(), RunSurvivors::default())
    });
    let wanted =
        ["$WS: large: it is too large to be read", "$HOME: there are more than 300 levels"];
    assert_eq!(after.unseen, wanted);
}
