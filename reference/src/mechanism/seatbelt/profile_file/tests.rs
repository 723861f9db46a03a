//! Files that come, go, are left behind by the dead and kept for the living.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Barrier;

use super::*;

fn directory(base: &Path) -> PrivateDirectory {
    PrivateDirectory::below(base, &["refbox"]).unwrap()
}

fn fresh(base: &Path) -> ProfileFile {
    ProfileFile::write(directory(base), &ProfileFileName::Fresh, "(version 1)\n").unwrap()
}

fn names(base: &Path) -> Vec<String> {
    let listed = fs::read_dir(base.join("refbox")).unwrap();
    listed.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn it_is_its_owners_alone_and_gone_with_the_run() {
    let base = tempfile::tempdir().unwrap();
    let file = fresh(base.path());
    let path = file.path();
    assert_eq!(fs::read_to_string(&path).unwrap(), "(version 1)\n");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
    drop(file);
    assert!(names(base.path()).is_empty());
}

#[test]
fn what_a_crash_left_is_cleared_and_what_is_in_use_is_not() {
    let base = tempfile::tempdir().unwrap();
    let (alive, other) = (fresh(base.path()), fresh(base.path()));
    let dead = base.path().join("refbox/0123456789abcdef0123456789abcdef.sb");
    fs::write(&dead, "").unwrap();
    // Unlocked files that are no profiles: none of these is ours to remove.
    let named = |digit: &str| base.path().join(format!("refbox/{}.sb", digit.repeat(32)));
    let strange = [base.path().join("refbox/note.sb"), named("1"), named("2"), named("3")];
    let [note, inner, link, pipe] = &strange;
    fs::write(note, "").unwrap();
    fs::create_dir(inner).unwrap();
    symlink(note, link).unwrap();
    nix::unistd::mkfifo(pipe, Mode::S_IRWXU).unwrap();
    let next = fresh(base.path());
    assert!(!dead.exists());
    for kept in [alive.path(), other.path(), next.path()].iter().chain(&strange) {
        assert!(kept.symlink_metadata().is_ok(), "{}", kept.display());
    }
}

#[test]
fn a_session_has_one_file_at_a_time() {
    let base = tempfile::tempdir().unwrap();
    let name = ProfileFileName::Exactly("s1.sb".to_owned());
    let write = || ProfileFile::write(directory(base.path()), &name, "x");
    let first = write().unwrap();
    assert_eq!(first.path().file_name().unwrap(), "s1.sb");
    let refused = write().unwrap_err().to_string();
    assert!(refused.contains("another run of this session"), "{refused}");
    assert_eq!(fs::read_to_string(first.path()).unwrap(), "x");
    drop(first);
    // The leftover of a crashed run of the session is removed as well.
    fs::write(base.path().join("refbox/s1.sb"), "old").unwrap();
    assert_eq!(fs::read_to_string(write().unwrap().path()).unwrap(), "x");
}

#[test]
fn another_file_of_that_name_is_left_alone() {
    let base = tempfile::tempdir().unwrap();
    let file = fresh(base.path());
    let path = file.path();
    fs::remove_file(&path).unwrap();
    fs::write(&path, "somebody's").unwrap();
    drop(file);
    assert_eq!(fs::read_to_string(&path).unwrap(), "somebody's");
}

#[test]
fn many_at_once_have_a_file_each() {
    const MANY: usize = 20;
    let base = tempfile::tempdir().unwrap();
    let together = Barrier::new(MANY);
    // Failures are reported only after all threads have stopped waiting.
    let files: Vec<_> = std::thread::scope(|scope| {
        let one = || {
            together.wait();
            let made = ProfileFile::write(
                directory(base.path()),
                &ProfileFileName::Fresh,
                "(version 1)\n",
            );
            together.wait();
            let stands = made.as_ref().is_ok_and(|file| file.path().exists());
            together.wait();
            made.map(|file| (file.path(), stands))
        };
        let threads: Vec<_> = (0..MANY).map(|_| scope.spawn(one)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let files: Vec<_> = files.into_iter().map(Result::unwrap).collect();
    assert!(files.iter().all(|(_, stands)| *stands), "a live file was cleared");
    let distinct: std::collections::BTreeSet<_> = files.iter().map(|(path, _)| path).collect();
    assert_eq!(distinct.len(), MANY);
    assert!(names(base.path()).is_empty());
}
