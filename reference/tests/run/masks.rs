//! Read denies: they fail with an error, cannot be written, and cannot be undone.

use std::fs;

use rstest::rstest;
use serde_json::json;

use crate::bed::{BUBBLEWRAP, NAMESPACES, ORDINARY, TestBed};

/// Acts on a masked file `s`, each of which must fail.
const FILE_ACTS: [&str; 9] = [
    "cat s",
    "head -c1 < s",
    "cp s copy",
    "echo x > s",
    "echo x >> s",
    "chmod 644 s",
    "rm -f s",
    "mv s t",
    "ln s t",
];

#[rstest]
#[case::in_workspace("w")]
#[case::outside("o")]
fn a_masked_file_discloses_and_takes_nothing(
    #[case] place: &str,
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let directory = if place == "w" { bed.ws("") } else { bed.out("") };
    let secret = directory.join("s");
    fs::write(&secret, "canary").unwrap();
    let line = acts(&directory.display().to_string(), &FILE_ACTS);
    let open = bed.sh(&json!({}), &format!("cat {}", secret.display()));
    assert_eq!(open.expect(0).out, "canary");
    let done = bed.sh(&json!({"deny_read": [secret]}), &line);
    done.expect(3).complains("Permission denied");
    assert!(!format!("{}{}", done.out, done.err).contains("canary"));
    assert_eq!(fs::read_to_string(&secret).unwrap(), "canary");
}

#[rstest]
fn a_masked_directory_can_be_neither_entered_nor_filled(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    fs::create_dir(bed.ws("d")).unwrap();
    fs::write(bed.ws("d/s"), "canary").unwrap();
    let acts =
        acts(".", &["ls d", "cat d/s", "cd d", "echo x > d/n", "chmod 755 d", "rmdir d", "mv d e"]);
    let done = bed.sh(&json!({"deny_read": [bed.ws("d")]}), &acts);
    done.expect(3).complains("Permission denied");
    assert!(!done.out.contains("canary"));
    assert_eq!(fs::read_dir(bed.ws("d")).unwrap().count(), 1);
}

#[rstest]
fn a_parent_of_a_mask_cannot_be_moved_away(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    fs::create_dir_all(bed.ws("a/b")).unwrap();
    fs::write(bed.ws("a/b/s"), "canary").unwrap();
    let line =
        "touch a/b/free && mkdir a/c || exit 9; mv a z && exit 9; mv a/b a/z && exit 9; exit 3";
    bed.sh(&json!({"deny_read": [bed.ws("a/b/s")]}), line).expect(3).complains("busy");
    assert!(bed.ws("a/b/s").exists());
    bed.sh(&json!({}), "mv a z").expect(0);
}

/// Tries to get rid of the masks, first as it is, then with every privilege of a namespace of its
/// own; prints each act that worked. No shell tool gets as far as the system call.
const UNDO: &str = "import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
RDONLY, REMOUNT, BIND, REC, DETACH = 1, 32, 4096, 16384, 2
def tried(what, result):
    if result == 0: print('worked:', what)
def undo():
    for path in (b's', b'ro', b'.'):
        tried('umount %s' % path, libc.umount2(path, 0))
        tried('detach %s' % path, libc.umount2(path, DETACH))
        tried('remount %s' % path, libc.mount(None, path, None, REMOUNT | BIND, None))
    tried('remount /', libc.mount(None, b'/', None, REMOUNT | BIND, None))
    tried('bind', libc.mount(b'.', b'/tmp', None, BIND, None))
undo()
if libc.unshare(0x10000000 | 0x20000) != 0: sys.exit('no nested namespace')
undo()
if libc.mount(b'.', b'/tmp', None, BIND | REC, None) != 0: sys.exit('no privileges in it')
for path in ('s', '/tmp/s'):
    try: print('worked: read', open(path).read())
    except PermissionError: pass
for path in ('ro', '/tmp/ro', '/refbox-escape'):
    try: open(path, 'w').write('evil'); print('worked: write', path)
    except OSError: pass
print('tried all')";

#[rstest]
fn masks_cannot_be_undone(#[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str) {
    let bed = TestBed::new(mechanism);
    fs::write(bed.ws("s"), "canary").unwrap();
    fs::write(bed.ws("ro"), "kept").unwrap();
    let policy = json!({"deny_read": [bed.ws("s")], "deny_write": [bed.ws("ro")]});
    let done = bed.go(&policy, json!({"argv": ["python3", "-c", UNDO]}), &json!({}));
    assert_eq!(done.expect(0).out, "tried all\n");
    assert_eq!(fs::read_to_string(bed.ws("ro")).unwrap(), "kept");
    assert!(!std::path::Path::new("/refbox-escape").exists());
}

#[rstest]
fn many_masks_hold(#[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str) {
    let bed = TestBed::new(mechanism);
    let names: Vec<_> = (0..300).map(|number| bed.ws(&format!("s{number}"))).collect();
    names.iter().for_each(|name| fs::write(name, "canary").unwrap());
    let line = "for f in s*; do cat $f 2> /dev/null && exit 9; done; exit 3";
    bed.sh(&json!({"deny_read": names}), line).expect(3);
}

/// A line that exits with 3 if every act in `directory` fails, else with 9.
fn acts(directory: &str, acts: &[&str]) -> String {
    let mut line = format!("cd '{directory}'\n");
    for act in acts {
        line.push_str(&format!("( {act} ) && {{ echo 'worked: {act}'; exit 9; }}\n"));
    }
    line + "exit 3"
}

#[rstest]
fn what_mode_bits_close_needs_no_mask_and_stays_closed(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    if !bed.is_root() {
        // A path that an ordinary user cannot even look up counts as absent.
        let done = bed.sh(&json!({"deny_read": ["/root/.profile"]}), "true");
        assert_eq!(done.code, Some(126));
        return;
    }
    fs::create_dir(bed.out("d")).unwrap();
    fs::write(bed.out("d/s"), "canary").unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(bed.out("d/sock")).unwrap();
    fs::set_permissions(bed.out("d"), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    std::os::unix::fs::chown(bed.out("d"), Some(1), Some(1)).unwrap();
    let line = format!("cat {}", bed.out("d/s").display());
    let done = bed.sh(&json!({"deny_read": [bed.out("d/s")]}), &line);
    done.expect(1).complains("Permission denied");
}

#[rstest]
#[case::link("cur")]
#[case::behind_it("cur/key")]
fn a_denied_path_by_a_link_that_could_be_replaced_is_refused(
    #[case] path: &str,
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
    #[values("deny_read", "deny_write")] rule: &str,
) {
    let bed = TestBed::new(mechanism);
    fs::create_dir(bed.ws("rel1")).unwrap();
    fs::write(bed.ws("rel1/key"), "kept").unwrap();
    std::os::unix::fs::symlink("rel1", bed.ws("cur")).unwrap();
    let line = "rm cur; mkdir cur; echo evil > cur/key";
    let done = bed.sh(&json!({rule: [bed.ws(path)]}), line);
    let message = done.result["error"]["message"].as_str().unwrap_or_default();
    assert_eq!(done.code, Some(126), "{message}");
    assert!(message.contains("cur is a symbolic link in a writable root"), "{message}");
    assert_eq!(fs::read_to_string(bed.ws("cur/key")).unwrap(), "kept");
}
