//! Workspaces laid out for real, looked at, and gone again.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use rstest::rstest;

use super::*;
use crate::testing::case;

/// A workspace of `fixture` below a directory of its own.
fn laid(fixture: &str) -> (tempfile::TempDir, Result<ArmWorkspace, String>) {
    let directory = tempfile::tempdir().unwrap();
    let case = case(&format!("{fixture}\nact: {{sh: 'true'}}\nexpect: {{allowed: {{}}}}\n"));
    let probe = directory.path().join("boxprobe");
    let workspace = ArmWorkspace::lay_out(&case, &directory.path().join("arm"), &probe, "bx7");
    (directory, workspace)
}

#[test]
fn every_kind_of_entry_is_laid() {
    let (_directory, workspace) = laid(
        "fixture:
  text: $CANARY
  deep/er/file: x
  exact: {file: x, mode: '0640'}
  directory: {dir: {}, mode: '0700'}
  link: {link: $OUT/absent}
  first: {hardlink: text}
  pipe: {fifo: {}, mode: '0600'}
  repo: {git: {}}
  $OUT/beside: x",
    );
    let workspace = workspace.unwrap();
    let meta = |path: &str| workspace.place(path).unwrap().symlink_metadata().unwrap();
    let text = fs::read_to_string(workspace.place("text").unwrap()).unwrap();
    assert_eq!(text, workspace.canary);
    assert!(meta("deep/er/file").is_file());
    assert_eq!(meta("exact").mode() & 0o7777, 0o640);
    assert!(meta("directory").is_dir());
    assert_eq!(meta("directory").mode() & 0o7777, 0o700);
    let target = fs::read_link(workspace.place("link").unwrap()).unwrap();
    assert_eq!(target, workspace.place("$OUT/absent").unwrap());
    assert_eq!(meta("first").ino(), meta("text").ino());
    assert!(meta("pipe").file_type().is_fifo());
    assert_eq!(meta("pipe").mode() & 0o7777, 0o600);
    assert!(meta("repo/.git/HEAD").is_file() && meta("repo/.git/refs/heads").is_dir());
    assert!(meta("$OUT/beside").is_file());
    assert!(!workspace.place("$OUT").unwrap().starts_with(workspace.ws()));
}

#[test]
fn what_an_earlier_arm_left_is_never_laid_over_nor_in_the_way() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("arm");
    fs::create_dir_all(root.join("ws/left")).unwrap();
    let case = case("fixture: {f: x}\nact: {sh: 'true'}\nexpect: {allowed: {}}\n");
    let workspace = ArmWorkspace::lay_out(&case, &root, &directory.path().join("boxprobe"), "bx7");
    let ws = workspace.unwrap().ws().to_owned();
    assert!(!ws.starts_with(&root), "{}", ws.display());
    assert!(root.join("ws/left").is_dir() && !ws.exists());
}

#[rstest]
#[case::plain("fixture: {f: x}")]
#[case::locked_directories(
    "fixture: {d/e/f: x, d/e: {dir: {}, mode: '0000'}, d: {dir: {}, mode: '0000'}}"
)]
#[case::read_only("fixture: {d/f: {file: x, mode: '0000'}, d: {dir: {}, mode: '0555'}}")]
#[case::a_link_out("fixture: {l: {link: /}}")]
fn nothing_of_it_stays(#[case] fixture: &str) {
    let (directory, workspace) = laid(fixture);
    assert!(directory.path().join("arm/ws").is_dir());
    drop(workspace.unwrap());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[rstest]
#[case("fixture: {a: {hardlink: absent}}", "fixture a")]
#[case("prepare: echo why >&2; exit 3", "exit status: 3: why")]
fn what_cannot_be_laid_is_an_error_and_leaves_nothing(#[case] fixture: &str, #[case] why: &str) {
    let (directory, workspace) = laid(fixture);
    let error = workspace.unwrap_err();
    assert!(error.contains(why), "{error}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn preparing_sees_the_workspace_and_no_environment_of_ours() {
    let (_directory, workspace) = laid("prepare: 'pwd > here; env > names; echo $NONCE > nonce'");
    let workspace = workspace.unwrap();
    let read = |name: &str| fs::read_to_string(workspace.place(name).unwrap()).unwrap();
    assert_eq!(Path::new(read("here").trim()), workspace.ws().canonicalize().unwrap());
    assert_eq!(read("nonce").trim(), workspace.nonce);
    assert!(read("names").contains("LC_ALL=C"));
    assert!(!read("names").contains("CARGO"), "{}", read("names"));
}

#[test]
fn neutral_text_is_the_same_in_every_arm() {
    let neutral = || {
        let (_directory, workspace) = laid("fixture: {f: x}");
        let workspace = workspace.unwrap();
        let say = "$WS/f $OUT $HOME/x $TMPDIR $NONCE $CANARY $PROBE";
        let said = workspace.vars.expand(say).unwrap();
        assert!(!said.contains('$'), "{said}");
        let neutral = workspace.neutral(format!("{said}\n").as_bytes());
        (say, String::from_utf8(neutral).unwrap())
    };
    let (one, other) = (neutral(), neutral());
    assert_eq!(one.1, format!("{}\n", one.0));
    assert_eq!(one, other);
}

#[test]
fn nonces_and_secrets_are_new_each_time() {
    let words = || {
        let (_directory, workspace) = laid("fixture: {f: x}");
        let workspace = workspace.unwrap();
        assert!(workspace.nonce.starts_with("bx7-"));
        (workspace.nonce.clone(), workspace.canary.clone())
    };
    let (one, other) = (words(), words());
    assert!(one.0 != other.0 && one.1 != other.1, "{one:?} {other:?}");
}
