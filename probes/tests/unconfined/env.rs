//! Environment and working directory; shared memory.

use crate::support::{names, number, probe, text};

#[test]
fn names_are_listed_and_values_are_not() {
    let mut call = probe("names");
    call.command.env_clear().env("B", "canary-value").env("A", "").env("C", "a=b");
    let ran = call.run();
    assert_eq!(names(&ran.succeeded()), ["A", "B", "C"]);
    assert!(!String::from_utf8_lossy(&ran.stdout).contains("canary-value"));
}

#[test]
fn get_tells_absent_from_empty() {
    let get = |name| {
        let mut call = probe("get").arg("name", name);
        call.command.env_clear().env("SET", "value").env("EMPTY", "");
        call.run().succeeded()
    };
    let set = get("SET");
    assert_eq!((number(&set, "present"), text(&set, "data")), (1, "value"));
    let empty = get("EMPTY");
    assert_eq!((number(&empty, "present"), text(&empty, "data")), (1, ""));
    let absent = get("ABSENT");
    assert_eq!((number(&absent, "present"), absent.get("data")), (0, None));
}

#[test]
fn cwd_is_where_it_was_started() {
    let dir = tempfile::tempdir().expect("a temp directory");
    let real = dir.path().canonicalize().expect("our directory");
    let mut call = probe("cwd");
    call.command.current_dir(&real);
    assert_eq!(text(&call.run().succeeded(), "data"), real.to_str().expect("a plain path"));
}

#[cfg(target_os = "linux")]
#[test]
fn shm_create_leaves_an_object() {
    struct Object(String);
    impl Drop for Object {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }
    let name = crate::support::fresh();
    let object = Object(format!("/dev/shm/{name}"));
    let create = || probe("shm-create").arg("name", format!("/{name}")).arg("text", "seen").run();
    create().succeeded();
    assert_eq!(std::fs::read(&object.0).expect("made"), b"seen");
    create().refused("EEXIST", "shm_open");
}
