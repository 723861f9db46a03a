//! `files` of a manifest: made anew, shared by no two arms, taken away afterwards.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use crate::support::{Place, WORKS, has};

/// A backend with a file in `conf` of the place, which the command must find there.
fn place_with_backend() -> (Place, String) {
    let ids = ["a/one", "a/two", "a/three", "a/four"];
    let place = Place::with(&ids.map(|id| (id, WORKS)));
    let manifest = format!(
        "name: box\nsummary: B.\nprogram: sh\nrun_as: any\nclaims: all\n\
         files: [{{path: {0}/box.conf, content: of the box}}]\n\
         argv: |\n  -c\n  sleep 0.1; cat {0}/box.conf >&2 && exec \"$@\"\n  sh\n  {{{{ command }}}}\n",
        place.arg("conf")
    );
    let manifest = place.write("box.yaml", &manifest).display().to_string();
    (place, manifest)
}

#[test]
fn arms_place_the_same_file_one_after_the_other() {
    let (place, manifest) = place_with_backend();
    let (ran, rows) = place.rows(&["--backend", &manifest, "--jobs", "4"]);
    ran.exits(0);
    assert!(rows.len() == 4 && rows.iter().all(|row| row["verdict"] == "pass"), "{rows:#?}");
    assert!(!place.path("conf").exists());
}

#[test]
fn a_file_of_the_user_is_neither_written_nor_removed() {
    let (place, manifest) = place_with_backend();
    let own = place.write("conf/box.conf", "of the user");
    let (ran, rows) = place.rows(&["--backend", &manifest]);
    ran.exits(4);
    for row in rows {
        assert_eq!(row["verdict"], "error");
        let message = row["message"].as_str().unwrap();
        has(message, &format!("{}: something is there", own.display()));
    }
    assert_eq!(std::fs::read_to_string(own).unwrap(), "of the user");
}
