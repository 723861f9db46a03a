//! Names that do not exist: what a rule is about cannot be made by any name or call, all else can.

use std::fs;

use rstest::rstest;
use serde_json::{Value, json};

use crate::bed::{BUBBLEWRAP, NAMESPACES, ORDINARY, TestBed};

/// Runs `line`, which must end with 3 and leave the workspace's `.git` absent.
#[track_caller]
fn stays_absent(bed: &TestBed, policy: &Value, line: &str) {
    bed.sh(policy, line).expect(3);
    assert!(fs::symlink_metadata(bed.ws(".git")).is_err());
}

#[rstest]
fn a_protected_name_cannot_be_made_and_its_neighbours_can(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let line = "mkdir .git && exit 9; echo x > .git && exit 9; ln -s w .git && exit 9
        mkdir -p sub/.git .gitx && echo y > sub/.git/f && mv sub s2 && ln s2/.git/f g || exit 8
        mv s2 .git && exit 9; ln g .git && exit 9; mkfifo .git && exit 9; exit 3";
    stays_absent(&bed, &json!({"protect": "metadata"}), line);
    assert_eq!(fs::read_to_string(bed.ws("s2/.git/f")).unwrap(), "y\n");
}

#[rstest]
fn without_the_rule_the_name_can_be_made(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    bed.sh(&json!({"protect": "none"}), "mkdir .git && echo x > .git/f").expect(0);
    assert_eq!(fs::read_to_string(bed.ws(".git/f")).unwrap(), "x\n");
}

#[rstest]
#[case::write("deny_write")]
#[case::read("deny_read")]
fn a_denied_path_that_is_absent_cannot_be_made(
    #[case] rule: &str,
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let line = "mkdir -p a/b && echo x > a/b/c && exit 9; echo x > a/b/d || exit 8
        mkdir e && echo x > e/c && mv e a/b/e || exit 8; mv a a2 && exit 9; exit 3";
    let done = bed.sh(&json!({rule: [bed.ws("a/b/c")]}), line);
    assert_eq!(done.expect(3).result["enforced"]["fs.deny_absent"], "enforced");
    assert!(!bed.ws("a/b/c").exists());
}

#[rstest]
fn what_a_git_pointer_leads_to_cannot_be_made(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    fs::write(bed.ws(".git"), "gitdir: store/repo\n").unwrap();
    let line = "mkdir -p store/other || exit 8; mkdir store/repo && exit 9; mkdir r && mv r store/repo && exit 9; exit 3";
    bed.sh(&json!({"protect": "metadata"}), line).expect(3);
    assert!(!bed.ws("store/repo").exists());
}
