//! Namespaces, roots and the newer mount calls, none of which ever leaves the probe.

use std::fs;
use std::path::Path;

use rstest::rstest;

use crate::support::{Ran, is_root, number, probe};
use crate::sys::{covered, private};

fn mounts() -> String {
    fs::read_to_string("/proc/self/mountinfo").expect("our own")
}

/// Returns whether this host lets our user make user namespaces.
fn has_userns() -> bool {
    probe("unshare-user").run().status.success()
}

#[track_caller]
fn works_where_namespaces_do(ran: &Ran) {
    if has_userns() {
        ran.succeeded();
    } else {
        ran.refused("EPERM", "unshare");
    }
}

#[test]
fn a_line_in_namespaces_of_its_own_is_root_there_and_changes_nothing_here() {
    let dir = tempfile::tempdir().expect("a temp directory");
    let before = mounts();
    // The directory is entered anew, now that a mount covers it.
    let mount = format!("{} --nonce n mount-tmpfs --path .", env!("CARGO_BIN_EXE_boxprobe"));
    let line =
        format!(r#"[ $(id -u) = 0 ] && {mount} >&2 && cd "$PWD" && echo x > there && exit 9"#);
    let mut call = probe("unshare").arg("flags", "user,mount,uts").arg("sh", line);
    call.command.current_dir(dir.path());
    let ran = call.run();
    works_where_namespaces_do(&ran);
    if has_userns() {
        assert_eq!(number(&ran.succeeded(), "exit"), 9);
    }
    assert!(!dir.path().join("there").exists());
    assert_eq!(mounts(), before);
}

#[rstest]
fn each_namespace_takes_privilege_but_the_users(
    #[values("mount", "pid", "net", "ipc", "uts", "cgroup")] flag: &str,
) {
    probe("unshare").ordinary().arg("flags", flag).run().refused("EPERM", "unshare");
    works_where_namespaces_do(&probe("unshare").arg("flags", format!("user,{flag}")).run());
}

#[test]
fn pivot_root_is_the_probes_own() {
    let dir = tempfile::tempdir().expect("a temp directory");
    let before = mounts();
    works_where_namespaces_do(&probe("pivot-root").path(dir.path()).run());
    assert_eq!(mounts(), before);
    if has_userns() {
        probe("pivot-root").path("/absent/x").run().refused("ENOENT", "mount");
    }
}

#[test]
fn a_new_root_takes_privilege() {
    let dir = tempfile::tempdir().expect("a temp directory");
    probe("chroot").ordinary().path("/").run().refused("EPERM", "chroot");
    if is_root() {
        probe("chroot").path(dir.path()).run().succeeded();
        probe("chroot").path("/absent").run().refused("ENOENT", "chroot");
    }
}

#[test]
fn the_host_keeps_its_name() {
    let before = nix::unistd::gethostname().expect("a name");
    probe("hostname-same").ordinary().run().refused("EPERM", "sethostname");
    if is_root() {
        probe("hostname-same").run().succeeded();
    }
    assert_eq!(nix::unistd::gethostname().expect("a name"), before);
}

#[rstest]
#[case::fsmount("fsmount")]
#[case::mount("mount")]
fn a_tmpfs_by_either_call(#[case] via: &str) {
    let dir = tempfile::tempdir().expect("a temp directory");
    let mount = |path: &Path| private(probe("mount-tmpfs").path(path).arg("via", via)).run();
    mount(dir.path()).succeeded();
    let call = if via == "mount" { "mount" } else { "move_mount" };
    mount("/absent/x".as_ref()).refused("ENOENT", call);
}

#[rstest]
#[case::open_tree("open-tree", "open_tree")]
#[case::mount("mount", "mount")]
fn a_bind_by_either_call(#[case] via: &str, #[case] call: &str) {
    let dir = tempfile::tempdir().expect("a temp directory");
    let to = dir.path().join("to");
    fs::create_dir(&to).expect("our directory");
    let bind = |from: &Path| probe("bind-mount").path(from).arg("to", &to).arg("via", via);
    private(bind(dir.path())).run().succeeded();
    private(bind("/absent".as_ref())).run().refused("ENOENT", call);
    bind(dir.path()).ordinary().run().refused("EPERM", call);
}

#[test]
fn mount_setattr_clears_a_flag() {
    let dir = tempfile::tempdir().expect("a temp directory");
    let clear = || probe("remount-rw").path(dir.path()).arg("via", "mount-setattr");
    covered(clear(), dir.path(), true).run().succeeded();
    private(clear()).run().refused("EINVAL", "mount_setattr");
    clear().ordinary().run().refused("EPERM", "mount_setattr");
}
