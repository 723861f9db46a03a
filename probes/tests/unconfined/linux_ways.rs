//! Ways to a file that only Linux has.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::PathBuf;

use rstest::rstest;

use crate::support::{Call, is_root, number, probe, text};
use crate::sys::handle;
use crate::ways::{content, directory};

#[rstest]
#[case::beneath("beneath", "EXDEV")]
#[case::no_symlinks("no-symlinks", "ELOOP")]
fn openat2_keeps_to_its_rules(#[case] rule: &str, #[case] errno: &str) {
    let (dir, file) = directory();
    let link = dir.path().join("l");
    symlink(&file, &link).expect("our directory");
    probe("open-resolve").path(&link).run().succeeded();
    probe("open-resolve").path(&link).arg("resolve", rule).run().refused(errno, "openat2");
}

#[test]
fn copy_file_range_overwrites_the_start() {
    let (dir, file) = directory();
    let from = dir.path().join("from");
    fs::write(&from, "NEW").expect("our file");
    let copy = |to: PathBuf| probe("copy-file-range").path(&from).arg("to", to).run();
    assert_eq!(number(&copy(file.clone()).succeeded(), "bytes"), 3);
    assert_eq!(content(&file), "NEW text");
    copy(dir.path().join("absent")).refused("ENOENT", "openat");
    copy(dir.path().to_owned()).refused("EISDIR", "openat");
}

#[test]
fn tmpfile_link_names_what_had_no_name() {
    let (dir, file) = directory();
    let link = |to| probe("tmpfile-link").path(dir.path()).arg("text", "new").arg("to", to).run();
    let new = dir.path().join("new");
    link(&new).succeeded();
    assert_eq!((content(&new).as_str(), new.metadata().expect("made").nlink()), ("new", 1));
    link(&file).refused("EEXIST", "linkat");
    let call = probe("tmpfile-link").path(&file).arg("text", "x").arg("to", &new);
    call.run().refused("ENOTDIR", "openat");
}

#[test]
fn open_by_handle_takes_a_privilege() {
    let (dir, file) = directory();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("our directory");
    let by_handle = |call: Call| call.path(&file).arg("at", dir.path());
    if let Err(errno) = handle(&file) {
        // A file system without handles, such as an overlay.
        by_handle(probe("open-by-handle")).run().refused(&errno, "name_to_handle_at");
        return;
    }
    let ordinary = by_handle(probe("open-by-handle").ordinary()).run();
    ordinary.refused("EPERM", "open_by_handle_at");
    if is_root() {
        let detail = by_handle(probe("open-by-handle")).run().succeeded();
        assert_eq!(text(&detail, "data"), "old text");
        by_handle(probe("open-by-handle").arg("text", "NEW")).run().succeeded();
        assert_eq!(content(&file), "NEW text");
    }
}

#[rstest]
#[case::char("char", fs::FileType::is_char_device as fn(&fs::FileType) -> bool)]
#[case::block("block", fs::FileType::is_block_device as fn(&fs::FileType) -> bool)]
fn mknod_device_makes_a_node_for_root_only(
    #[case] kind: &str,
    #[case] is: fn(&fs::FileType) -> bool,
) {
    let (dir, _) = directory();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).expect("our directory");
    let node = dir.path().join("node");
    let make = |call: Call| call.path(&node).arg("kind", kind);
    make(probe("mknod-device").ordinary()).run().refused("EPERM", "mknod");
    assert!(!node.exists());
    if is_root() {
        // 1:3 is the null device as a character; as a block it is nothing. Neither is opened.
        make(probe("mknod-device")).run().succeeded();
        let meta = node.metadata().expect("made");
        assert!(is(&meta.file_type()));
        assert_eq!(meta.rdev(), nix::sys::stat::makedev(1, 3));
    }
}
