//! Protected names: what exists cannot be written, renamed or replaced.

use std::fs;
use std::os::unix::fs::symlink;

use rstest::rstest;
use serde_json::json;

use crate::bed::{BUBBLEWRAP, Bed, NAMESPACES, ORDINARY};

const NO_WRITE: &str = "echo x > f || exit 9
    (echo x > .git/config) && exit 9; mkdir .git/hooks && exit 9; mv .git g && exit 9
    rm -rf .git && exit 9; exit 3";

#[rstest]
fn an_existing_git_folder_is_readable_and_keeps_its_bytes(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = Bed::new(mechanism);
    fs::create_dir(bed.ws(".git")).unwrap();
    fs::write(bed.ws(".git/config"), "kept").unwrap();
    let line = format!("cat .git/config; {NO_WRITE}");
    let done = bed.sh(&json!({"protect": "metadata"}), &line);
    assert_eq!(done.expect(3).out, "kept");
    assert_eq!(fs::read_to_string(bed.ws(".git/config")).unwrap(), "kept");
    assert_eq!(done.result["enforced"]["protect.present"], "enforced");
    let absent = if mechanism == BUBBLEWRAP { "none" } else { "enforced" };
    assert_eq!(done.result["enforced"]["protect.absent"], absent);
}

#[rstest]
#[case::not_asked(json!({}))]
#[case::granted(json!({"protect": "metadata", "grants": ["git_config_write"]}))]
fn git_is_writable_without_protection(
    #[case] policy: serde_json::Value,
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = Bed::new(mechanism);
    fs::create_dir(bed.ws(".git")).unwrap();
    bed.sh(&policy, "echo x > .git/config").expect(0);
    assert_eq!(fs::read_to_string(bed.ws(".git/config")).unwrap(), "x\n");
}

#[rstest]
fn a_grant_for_git_opens_nothing_else(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = Bed::new(mechanism);
    fs::write(bed.ws(".mcp.json"), "kept").unwrap();
    let policy = json!({"protect": "metadata", "grants": ["git_metadata_write"]});
    bed.sh(&policy, "echo x > .mcp.json").expect(2).complains("Read-only file system");
}

#[rstest]
fn names_in_extra_roots_are_protected_and_in_nested_folders_not(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = Bed::new(mechanism);
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
    let bed = Bed::new(mechanism);
    fs::create_dir_all(bed.ws("store/repo")).unwrap();
    fs::write(bed.ws(".git"), "gitdir: store/repo\n").unwrap();
    let line = "touch store/free || exit 9; (echo x > .git) && exit 9
        touch store/repo/config && exit 9; mv store s2 && exit 9; exit 3";
    bed.sh(&json!({"protect": "metadata"}), line).expect(3);
    assert_eq!(fs::read_to_string(bed.ws(".git")).unwrap(), "gitdir: store/repo\n");
}

#[rstest]
fn a_protected_link_is_refused_by_name(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = Bed::new(mechanism);
    symlink(bed.out(""), bed.ws(".git")).unwrap();
    let done = bed.sh(&json!({"protect": "metadata"}), "touch ran");
    assert_eq!(done.code, Some(126));
    assert_eq!(done.result["error"]["kind"], "unsupported");
    done.complains(".git is a symbolic link");
    assert!(!bed.ws("ran").exists());
}
