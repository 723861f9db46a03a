//! Other ways to a file than open, read and write.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use rstest::rstest;
use tempfile::TempDir;

use crate::support::{Call, number, probe, text};

/// Makes a directory with the file `f`, which holds `old text`.
pub(crate) fn directory() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a temp directory");
    let file = dir.path().join("f");
    fs::write(&file, "old text").expect("our file");
    (dir, file)
}

pub(crate) fn content(path: &PathBuf) -> String {
    fs::read_to_string(path).expect("our file")
}

#[rstest]
#[case::mmap(probe("mmap-read"))]
#[cfg_attr(target_os = "linux", case::sendfile(probe("sendfile-read")))]
#[cfg_attr(target_os = "linux", case::splice(probe("splice-read")))]
#[cfg_attr(target_os = "linux", case::openat2(probe("open-resolve")))]
fn what_is_read_is_what_is_there(#[case] call: Call) {
    let (_dir, file) = directory();
    let detail = call.path(&file).run().succeeded();
    assert_eq!((text(&detail, "data"), number(&detail, "bytes")), ("old text", 8));
}

#[test]
fn an_empty_file_is_empty_when_mapped() {
    let (_dir, file) = directory();
    fs::write(&file, "").expect("our file");
    assert_eq!(number(&probe("mmap-read").path(&file).run().succeeded(), "bytes"), 0);
}

#[test]
fn no_way_of_reading_gets_past_a_mode() {
    let (dir, file) = directory();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("our directory");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).expect("our file");
    probe("mmap-read").ordinary().path(&file).run().refused("EACCES", "openat");
    let at = probe("read-at").ordinary().arg("dir", dir.path()).path("f");
    at.run().refused("EACCES", "openat");
}

#[test]
fn read_at_goes_by_the_directory() {
    let (dir, file) = directory();
    let detail = probe("read-at").arg("dir", dir.path()).path("f").run().succeeded();
    assert_eq!(text(&detail, "data"), "old text");
    probe("read-at").arg("dir", dir.path()).path("g").run().refused("ENOENT", "openat");
    probe("read-at").arg("dir", &file).path("f").run().refused("ENOTDIR", "openat");
}

#[test]
fn mmap_write_stores_over_the_start() {
    let (_dir, file) = directory();
    probe("mmap-write").path(&file).arg("text", "NEW").run().succeeded();
    assert_eq!(content(&file), "NEW text");
    // A store past the end would be lost, and that is no refusal.
    probe("mmap-write").path(&file).arg("text", "longer than it").run().silent(64);
    assert_eq!(content(&file), "NEW text");
}

#[rstest]
#[case::link(true, "l")]
#[case::directory(false, "box/f")]
fn a_path_that_leads_elsewhere_in_between_is_opened_there(
    #[case] is_link: bool,
    #[case] path: &str,
) {
    let (dir, file) = directory();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir(at("box")).expect("our directory");
    fs::write(at("box/f"), "mine").expect("our file");
    let race = |path: &str| {
        let call = probe("open-swapped").path(at(path)).arg("tries", "5000");
        match is_link {
            true => call.arg("name", at("l")).arg("to", at("box/f")).arg("or", &file),
            false => call.arg("name", at("box")).arg("or", dir.path()),
        }
    };
    let detail = race(path).run().succeeded();
    assert_eq!(text(&detail, "data"), "old text");
    assert!(number(&detail, "tries") >= 5000, "{detail:?}");
    assert!(number(&detail, "opened") > 0, "{detail:?}");
    race(path).arg("text", "+").run().succeeded();
    assert!(content(&file).starts_with("old text+"), "{}", content(&file).len());
    assert_eq!(content(&at("box/f")), "mine");
}

#[test]
fn a_path_that_never_leads_elsewhere_shows_nothing() {
    let (dir, file) = directory();
    let link = dir.path().join("l");
    let race = probe("open-swapped").path(&link).arg("name", &link).arg("to", &file);
    race.arg("or", &file).run().silent(70);
}
