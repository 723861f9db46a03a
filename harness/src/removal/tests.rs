//! The remover on directories that are made for it.

use super::*;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

/// A base, and in it a directory of the harness called `own`.
fn place() -> (tempfile::TempDir, OwnedDirectory) {
    let base = tempfile::tempdir().unwrap();
    let own = OwnedDirectory::create(&base.path().canonicalize().unwrap().join("own")).unwrap();
    (base, own)
}

/// A directory with two files that must stay unchanged, itself closed to others.
fn target(base: &Path) -> PathBuf {
    let target = base.join("target");
    fs::create_dir(&target).unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o700)).unwrap();
    for name in ["a", "b"] {
        fs::write(target.join(name), name).unwrap();
    }
    target
}

#[track_caller]
fn is_untouched(target: &Path) {
    assert_eq!(fs::read_dir(target).unwrap().count(), 2);
    assert_eq!(fs::metadata(target).unwrap().mode() & 0o7777, 0o700);
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn links_are_removed_and_not_followed() {
    let (base, own) = place();
    let target = target(base.path());
    symlink(&target, own.path().join("link")).unwrap();
    fs::create_dir(own.path().join("d")).unwrap();
    symlink("../../target", own.path().join("d/link")).unwrap();
    mode(&own.path().join("d"), 0);
    assert_eq!(own.remove(), []);
    assert!(!own.path().exists());
    is_untouched(&target);
}

#[test]
fn closed_directories_are_opened_up_and_removed() {
    let (_base, own) = place();
    fs::create_dir_all(own.path().join("a/b/c")).unwrap();
    fs::write(own.path().join("a/b/c/f"), "").unwrap();
    for path in ["a/b/c", "a/b", "a", "."] {
        mode(&own.path().join(path), if path == "a" { 0o555 } else { 0 });
    }
    assert_eq!(own.remove(), []);
    assert!(!own.path().exists());
}

#[test]
fn a_link_in_its_place_is_removed_and_what_was_moved_is_found() {
    let (base, own) = place();
    let target = target(base.path());
    fs::create_dir_all(own.path().join("closed")).unwrap();
    mode(&own.path().join("closed"), 0);
    fs::rename(own.path(), base.path().join("moved")).unwrap();
    symlink(&target, own.path()).unwrap();
    assert!(!own.is_in_place());
    assert_eq!(own.remove(), []);
    is_untouched(&target);
    let left: Vec<_> = fs::read_dir(base.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["target"]);
}

#[test]
fn another_directory_in_its_place_stays_and_is_told() {
    let (base, own) = place();
    fs::rename(own.path(), base.path().join("moved")).unwrap();
    fs::create_dir(own.path()).unwrap();
    fs::write(own.path().join("kept"), "").unwrap();
    let left = own.remove();
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(own.path().join("kept").exists() && !base.path().join("moved").exists());
}

#[test]
fn more_levels_than_descriptors_are_removed() {
    let (_base, own) = place();
    let mut level = open::path(own.path()).unwrap();
    for _ in 0..1100 {
        mkdirat(&level, "d", MODE).unwrap();
        level = open::directory(level.as_fd(), OsStr::new("d")).unwrap();
    }
    assert_eq!(own.remove(), []);
    assert!(!own.path().exists());
}

#[test]
fn what_is_gone_is_removed() {
    let (_base, own) = place();
    fs::remove_dir(own.path()).unwrap();
    assert_eq!(own.remove(), []);
    assert_eq!(remove_path(&own.path().join("below")), []);
}

#[test]
fn a_parent_that_is_a_link_is_refused() {
    let (base, own) = place();
    symlink(own.path(), base.path().join("link")).unwrap();
    let error = OwnedDirectory::create(&base.path().join("link/d")).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(Errno::ELOOP as i32));
}

#[test]
fn a_path_is_removed_whatever_is_there() {
    let (base, own) = place();
    let target = target(base.path());
    let link = own.path().join("link");
    symlink(&target, &link).unwrap();
    fs::create_dir_all(own.path().join("d/e")).unwrap();
    fs::write(own.path().join("f"), "").unwrap();
    for name in ["link", "d", "f", "absent"] {
        assert_eq!(remove_path(&own.path().join(name)), [], "{name}");
    }
    assert_eq!(fs::read_dir(own.path()).unwrap().count(), 0);
    is_untouched(&target);
}

/// Runs `body` in a thread with a mount namespace of its own, where that can be had.
#[cfg(target_os = "linux")]
fn with_own_mounts(body: impl FnOnce() + Send) {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    std::thread::scope(|scope| {
        let tried = scope.spawn(|| {
            if crate::sys::private_mounts().is_ok() {
                body();
            }
        });
        tried.join().unwrap();
    });
}

#[cfg(target_os = "linux")]
fn bind(from: &Path, over: &Path) {
    use nix::mount::{MsFlags, mount};
    let none = None::<&Path>;
    mount(Some(from), over, none, MsFlags::MS_BIND, none).unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn mounts_are_detached_and_what_is_mounted_is_kept() {
    with_own_mounts(|| {
        let (base, own) = place();
        let target = target(base.path());
        fs::create_dir_all(own.path().join("a/b")).unwrap();
        for over in ["a/b", "a/b", "a", ".", "."] {
            bind(&target, &own.path().join(over));
        }
        assert!(!own.is_in_place());
        assert_eq!(own.remove(), []);
        assert!(!own.path().exists());
        is_untouched(&target);
    });
}

#[test]
#[cfg(target_os = "linux")]
fn what_cannot_be_detached_is_left_untouched_and_told() {
    with_own_mounts(|| {
        let (base, own) = place();
        let target = target(base.path());
        fs::create_dir_all(own.path().join("a/b")).unwrap();
        fs::write(own.path().join("a/f"), "").unwrap();
        bind(&target, &own.path().join("a/b"));
        let mut walk = RemovalWalk::new();
        // Not by way of the function that detaches.
        walk.empty(own.inode.as_fd(), own.path());
        assert!(!own.path().join("a/f").exists());
        is_untouched(&target);
        assert_eq!(own.remove(), []);
        drop(base);
    });
}
