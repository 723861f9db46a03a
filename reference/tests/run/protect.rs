//! Protected names: what exists cannot be written, renamed or replaced.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use rstest::rstest;
use serde_json::json;

use crate::bed::{BUBBLEWRAP, NAMESPACES, ORDINARY, TestBed};

const NO_WRITE: &str = "echo x > f || exit 9
    (echo x > .git/config) && exit 9; mkdir .git/hooks && exit 9; mv .git g && exit 9
    rm -rf .git && exit 9; exit 3";

#[rstest]
fn an_existing_git_directory_is_readable_and_keeps_its_bytes(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    fs::create_dir(bed.ws(".git")).unwrap();
    fs::write(bed.ws(".git/config"), "kept").unwrap();
    let line = format!("cat .git/config; {NO_WRITE}");
    let done = bed.sh(&json!({"protect": "metadata"}), &line);
    assert_eq!(done.expect(3).out, "kept");
    assert_eq!(fs::read_to_string(bed.ws(".git/config")).unwrap(), "kept");
    assert_eq!(done.result["enforced"]["protect.present"], "enforced");
    assert_eq!(done.result["enforced"]["protect.absent"], "enforced");
}

#[rstest]
#[case::not_asked(json!({}))]
#[case::granted(json!({"protect": "metadata", "grants": ["git_config_write"]}))]
fn git_is_writable_without_protection(
    #[case] policy: serde_json::Value,
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    fs::create_dir(bed.ws(".git")).unwrap();
    bed.sh(&policy, "echo x > .git/config").expect(0);
    assert_eq!(fs::read_to_string(bed.ws(".git/config")).unwrap(), "x\n");
}

#[rstest]
fn a_grant_for_git_opens_nothing_else(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    fs::write(bed.ws(".mcp.json"), "kept").unwrap();
    let policy = json!({"protect": "metadata", "grants": ["git_metadata_write"]});
    bed.sh(&policy, "echo x > .mcp.json").expect(2).complains("Read-only file system");
}

#[rstest]
fn names_in_extra_roots_are_protected_and_in_nested_directories_not(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    fs::create_dir_all(bed.out(".vscode")).unwrap();
    fs::create_dir_all(bed.ws("sub/.vscode")).unwrap();
    let line = format!("touch sub/.vscode/x || exit 9; touch {}/x", bed.out(".vscode").display());
    let policy = json!({"protect": "metadata", "writable": [bed.out("")]});
    bed.sh(&policy, &line).expect(1).complains("Read-only file system");
}

#[rstest]
fn a_git_pointer_and_its_target_are_protected(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    fs::create_dir_all(bed.ws("store/repo")).unwrap();
    fs::write(bed.ws(".git"), "gitdir: store/repo\n").unwrap();
    let line = "touch store/free || exit 9; (echo x > .git) && exit 9
        touch store/repo/config && exit 9; mv store s2 && exit 9; exit 3";
    bed.sh(&json!({"protect": "metadata"}), line).expect(3);
    assert_eq!(fs::read_to_string(bed.ws(".git")).unwrap(), "gitdir: store/repo\n");
}

#[rstest]
#[case::no_utf8(b"st\xff")]
#[case::blank_at_the_end(b"store ")]
fn a_git_pointer_is_followed_as_git_does(
    #[case] store: &[u8],
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let hooks = bed.ws("").join(OsStr::from_bytes(store)).join("hooks");
    fs::create_dir_all(&hooks).unwrap();
    fs::write(bed.ws(".git"), [b"gitdir: ", store, b"\n"].concat()).unwrap();
    let line = "touch free || exit 9; (echo x > st*/hooks/pre-commit) && exit 9; exit 3";
    bed.sh(&json!({"protect": "metadata"}), line).expect(3);
    assert!(!hooks.join("pre-commit").exists());
}

#[rstest]
#[case::absent("\u{feff}[filter \"x]\"] clean = python3 conv.py", "conv.py")]
#[case::directory("[core]\nfsmonitor = python3 tools/fmt", "tools/fmt/__main__.py")]
#[case::entered("[alias]\nx = !cd tools && ./run.sh", "tools/run.sh")]
#[case::submodule("[submodule \"s\"]\nupdate = !tools/up", "tools/up")]
fn what_a_setting_of_git_runs_is_not_made(
    #[case] config: &str,
    #[case] file: &str,
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    fs::create_dir_all(bed.ws("tools/fmt")).unwrap();
    fs::create_dir(bed.ws(".git")).unwrap();
    fs::write(bed.ws(".git/config"), config).unwrap();
    let line = format!("touch tools/free || exit 9; (echo x > {file}) && exit 9; exit 3");
    bed.sh(&json!({"protect": "metadata"}), &line).expect(3);
    assert!(!bed.ws(file).exists());
}

/// Neither the link `l` (its path in the shell line) nor what it leads to can be changed.
const NO_CHANGE: &str = "rm -f $l && exit 9; mv $l x && exit 9; mv f $l && exit 9
    ln -sfn f $l && exit 9; unlink $l && exit 9; ln f $l && exit 9; mkdir $l && exit 9
    python3 -c 'import os,sys; os.unlink(sys.argv[1])' $l && exit 9
    [ -L $l ] || exit 9; exit 3";

#[rstest]
#[case::live_in("real", "echo x > .claude/new && exit 9; mv real r && exit 9;")]
#[case::live_out("OUT", "echo x > .claude/new && exit 9;")]
#[case::dangling_in("none/deep", "mkdir -p none/deep && exit 9; mkdir none || :;")]
#[case::dangling_out("OUT/none", "mkdir .claude/ && exit 9;")]
#[case::chain("way", "l2=way; rm -f way && exit 9; mv real r && exit 9;")]
fn a_protected_link_stays_what_it_is(
    #[case] to: &str,
    #[case] line: &str,
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    fs::create_dir(bed.ws("real")).unwrap();
    fs::write(bed.ws("real/kept"), "kept").unwrap();
    symlink("real", bed.ws("way")).unwrap();
    let to = to.replace("OUT", bed.out("").to_str().unwrap());
    symlink(&to, bed.ws(".claude")).unwrap();
    let line = format!("echo x > f || exit 8; {line} l=.claude; {NO_CHANGE}");
    bed.sh(&json!({"protect": "metadata"}), &line).expect(3);
    assert_eq!(fs::read_link(bed.ws(".claude")).unwrap(), std::path::Path::new(&to));
    assert_eq!(fs::read_to_string(bed.ws("real/kept")).unwrap(), "kept");
    assert!(!bed.ws("real/new").exists() && !bed.out("new").exists());
    assert!(!bed.ws("none/deep").exists() && !bed.out("none").exists());
}

#[rstest]
fn other_names_are_removed_as_ever_where_a_link_is_kept(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    symlink("nowhere", bed.ws(".envrc")).unwrap();
    let line = "mkdir -p d/e/.envrc && touch d/e/f d/.envrc/x d/g 2> /dev/null; ln -s d l
        rm l && rm -r d && [ ! -e d ] && : > g && rm g/ 2> /dev/null; rm g
        rm none 2> error; grep -q 'No such file' error && rm error && ls -A";
    let done = bed.sh(&json!({"protect": "metadata"}), line);
    assert_eq!(done.expect(0).out, ".envrc\n");
}

#[rstest]
fn a_repository_in_a_directory_is_protected_and_a_new_one_is_its_makers(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    fs::create_dir_all(bed.ws("vendor/sub/.git/hooks")).unwrap();
    fs::write(bed.ws("vendor/sub/.git/config"), "kept").unwrap();
    let line = "cat vendor/sub/.git/config; cd vendor/sub; touch free || exit 9
        (echo x > .git/config) && exit 9; touch .git/hooks/pre-commit && exit 9
        mv .git g && exit 9; rm -rf .git && exit 9; cd ../..; mv vendor v && exit 9
        mkdir -p new && cd new && git init -q . && git config a.b c || exit 9; exit 3";
    let done = bed.sh(&json!({"protect": "metadata"}), line);
    assert_eq!(done.expect(3).out, "kept");
    assert_eq!(fs::read_to_string(bed.ws("vendor/sub/.git/config")).unwrap(), "kept");
    assert!(bed.ws("new/.git/config").exists());
    let policy = json!({"protect": "metadata", "grants": ["git_metadata_write"]});
    bed.sh(&policy, "echo x > vendor/sub/.git/HEAD").expect(0);
}
