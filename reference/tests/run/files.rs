//! The places where writes land: workspace, extra roots, temporary directories, nothing else.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use rstest::rstest;
use serde_json::json;

use crate::bed::{BUBBLEWRAP, NAMESPACES, ORDINARY, TestBed};

#[rstest]
fn the_workspace_is_writable_and_the_outside_is_not(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    fs::write(bed.out("f"), "kept").unwrap();
    let out = bed.out("");
    let line = format!("echo in > f && echo evil > {}/f", out.display());
    bed.sh(&json!({}), &line).expect(2).complains("Read-only file system");
    assert_eq!(fs::read_to_string(bed.ws("f")).unwrap(), "in\n");
    assert_eq!(fs::read_to_string(bed.out("f")).unwrap(), "kept");
}

#[rstest]
fn read_only_mode_closes_the_workspace_too(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    fs::write(bed.ws("f"), "kept").unwrap();
    let done = bed.sh(&json!({"mode": "read_only"}), "cat f; echo evil > f");
    assert_eq!(done.expect(2).complains("Read-only file system").out, "kept");
    assert_eq!(fs::read_to_string(bed.ws("f")).unwrap(), "kept");
}

#[rstest]
fn an_extra_root_is_writable_and_its_sibling_is_not(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    fs::create_dir(bed.out("a")).unwrap();
    fs::create_dir(bed.out("b")).unwrap();
    let line = format!("cd {}; echo 1 > a/f && echo 2 > b/f", bed.out("").display());
    bed.sh(&json!({"writable": [bed.out("a")]}), &line).expect(2).complains("Read-only");
    assert!(bed.out("a/f").exists());
    assert!(!bed.out("b/f").exists());
}

#[rstest]
fn a_workspace_within_a_writable_root_has_no_border(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    fs::create_dir(bed.ws("in")).unwrap();
    fs::write(bed.ws("f"), "text").unwrap();
    let policy = json!({"workspace": bed.ws("in"), "writable": [bed.ws("")]});
    bed.sh(&policy, "ln f in/l && mv in/l moved && cat moved").expect(0);
    assert_eq!(fs::read_to_string(bed.ws("moved")).unwrap(), "text");
}

#[rstest]
fn a_deny_inside_a_root_holds_by_every_name(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    fs::create_dir_all(bed.ws("a/b")).unwrap();
    fs::write(bed.ws("a/b/keep"), "kept").unwrap();
    let line = "echo ok > a/b/other || exit 9
        cd a/b; for act in 'echo x > keep' 'echo x >> ./../b//keep' 'rm -f keep' 'mv keep k2' \
            'chmod 777 keep' 'touch -d 2001-01-01 keep' 'ln -f other keep'; do
            sh -c \"$act\" 2> err && { echo \"worked: $act\"; exit 9; }
        done
        cd ../..; mv a a2 2> err && exit 9; mv a/b a/b2 2> err && exit 9; exit 3";
    let before = fs::metadata(bed.ws("a/b/keep")).unwrap();
    bed.sh(&json!({"deny_write": [bed.ws("a/b/keep")]}), line).expect(3);
    let after = fs::metadata(bed.ws("a/b/keep")).unwrap();
    assert_eq!(fs::read_to_string(bed.ws("a/b/keep")).unwrap(), "kept");
    assert_eq!(
        (before.ino(), before.mode(), before.mtime()),
        (after.ino(), after.mode(), after.mtime())
    );
}

#[rstest]
fn metadata_outside_cannot_be_changed(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    fs::write(bed.out("f"), "kept").unwrap();
    fs::set_permissions(bed.out("f"), fs::Permissions::from_mode(0o600)).unwrap();
    let before = fs::metadata(bed.out("f")).unwrap();
    fs::write(bed.ws("g"), "").unwrap();
    let line = format!(
        "chmod 640 g && touch -d 2001-01-01 g || exit 9
         chmod 777 {0} && exit 9; touch -d 2001-01-01 {0} && exit 9; chown $(id -u) {0} && exit 9; exit 3",
        bed.out("f").display()
    );
    bed.sh(&json!({}), &line).expect(3).complains("Read-only file system");
    let after = fs::metadata(bed.out("f")).unwrap();
    assert_eq!(
        (before.mode(), before.mtime(), before.ctime()),
        (after.mode(), after.mtime(), after.ctime())
    );
    assert_eq!(fs::metadata(bed.ws("g")).unwrap().mode() & 0o777, 0o640);
}

#[rstest]
fn links_do_not_lead_writes_out(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    symlink(bed.out("new"), bed.ws("dangling")).unwrap();
    symlink(bed.out(""), bed.ws("directory")).unwrap();
    symlink("real", bed.ws("inside")).unwrap();
    let line = "echo ok > inside || exit 9; echo x > dangling; echo x > directory/new2; exit 3";
    bed.sh(&json!({}), line).expect(3).complains("Read-only file system");
    assert_eq!(fs::read_to_string(bed.ws("real")).unwrap(), "ok\n");
    assert_eq!(fs::read_dir(bed.out("")).unwrap().count(), 0);
}

#[rstest]
fn a_workspace_behind_a_link_is_its_real_directory(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    symlink(bed.ws(""), bed.out("alias")).unwrap();
    let policy = json!({"workspace": bed.out("alias")});
    bed.go(&policy, json!({"shell": "pwd -P; echo x > f"}), &json!({"cwd": bed.out("alias")}))
        .expect(0);
    assert!(bed.ws("f").exists());
}

#[rstest]
fn a_writable_root_must_not_lead_out_through_a_planted_link(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    symlink(bed.out(""), bed.ws("state")).unwrap();
    let done = bed.sh(&json!({"writable": [bed.ws("state")]}), "echo x > state/n");
    assert_eq!(done.code, Some(126));
    assert_eq!(done.result["started"], false);
    done.complains("through the link");
    assert!(!bed.out("n").exists());
}

#[rstest]
#[case::tmp("/tmp")]
#[case::var_tmp("/var/tmp")]
#[case::shm("/dev/shm")]
fn private_temp_directories_are_writable_and_not_the_hosts(
    #[case] directory: &str,
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let name = Path::new(directory).join(bed.nonce());
    let line = format!("echo x > {0} && cat {0}", name.display());
    assert_eq!(bed.sh(&json!({}), &line).expect(0).out, "x\n");
    assert!(!name.exists());
}

#[rstest]
fn the_host_temp_directory_is_shared_only_where_granted(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let shared = tempfile::Builder::new().prefix("refbox-test").tempdir_in("/tmp").unwrap();
    fs::set_permissions(shared.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let line = format!("echo x > {}/f", shared.path().display());
    bed.sh(&json!({}), &line).expect(2);
    assert!(!shared.path().join("f").exists());
    bed.sh(&json!({"tmp": "host"}), &line).expect(0);
    assert!(shared.path().join("f").exists());
}

#[rstest]
fn without_a_temp_directory_none_is_writable(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let line =
        "for d in /tmp /var/tmp /dev/shm; do echo x > $d/refbox-none && exit 9; done; exit 3";
    bed.sh(&json!({"tmp": "none"}), line).expect(3);
}

#[rstest]
fn a_workspace_in_the_private_temp_directory_is_the_hosts(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let workspace = tempfile::Builder::new().prefix("refbox-test").tempdir_in("/tmp").unwrap();
    fs::set_permissions(workspace.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let at = workspace.path();
    let run = json!({"cwd": at});
    bed.go(&json!({"workspace": at}), json!({"shell": "echo x > f; ls /tmp | wc -l > n"}), &run)
        .expect(0);
    assert_eq!(fs::read_to_string(at.join("n")).unwrap().trim(), "1");
    let policy = json!({"workspace": at, "mode": "read_only"});
    bed.go(&policy, json!({"shell": "cat f || exit 9; echo y > f"}), &run).expect(2);
    assert_eq!(fs::read_to_string(at.join("f")).unwrap(), "x\n");
}

#[rstest]
fn device_and_kernel_trees_are_fresh(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let line = "echo x > /dev/null && head -c1 /dev/urandom > /dev/null || exit 9
        touch /dev/refbox && exit 9; test -e /dev/kmsg && exit 9; find /run -mindepth 1 ! -type l | grep . && exit 9; exit 3";
    bed.sh(&json!({}), line).expect(3);
}

#[rstest]
fn a_run_leaves_nothing_but_what_the_command_wrote(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    fs::write(bed.ws("secret"), "s").unwrap();
    fs::create_dir(bed.ws(".git")).unwrap();
    let before = bed.listing();
    let policy = json!({"protect": "metadata", "deny_read": [bed.ws("secret")]});
    bed.sh(&policy, "true").expect(0);
    assert_eq!(bed.listing(), before);
}

#[test]
fn devices_can_be_used_but_not_changed() {
    let bed = TestBed::new(NAMESPACES);
    // The mount is looked at, as a change that went through would hit the host's device.
    let line = "for d in null zero full random urandom tty; do
            grep -q \" /dev/$d ro,\" /proc/self/mountinfo || { echo $d; exit 9; }
        done; exec 3<> /dev/zero && head -c2 <&3 | wc -c";
    assert_eq!(bed.sh(&json!({}), line).expect(0).out.trim(), "2");
}

#[rstest]
fn the_hosts_root_is_not_behind_the_root(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let line = "test \"$(stat -c %m:%i /..)\" = \"$(stat -c %m:%i /)\" || exit 9
        cut -d' ' -f5 /proc/self/mountinfo | grep -cx /; (echo x > /../refbox-escape) && exit 9; exit 3";
    assert_eq!(bed.sh(&json!({}), line).expect(3).out, "1\n");
}
