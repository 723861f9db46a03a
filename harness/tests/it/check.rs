//! `boxproof backend check`: it is green for a good manifest, and red when a claim or a line of
//! the recipe is gone. Needs bubblewrap.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use crate::support::{Place, Ran, as_we_are, has};
use rstest::rstest;

/// The manifest that is checked and spoilt.
const MANIFEST: &str = include_str!("../../backends/bubblewrap.yaml");

/// Checks `manifest`.
fn check(manifest: &str) -> Ran {
    let place = Place::new();
    place.write("box.yaml", manifest);
    let (spec, scratch) = (place.arg("box.yaml"), place.arg("scratch"));
    let args = [&["backend", "check", &spec, "--scratch", &scratch], as_we_are()];
    place.run(&args.concat())
}

/// The manifest, `from` replaced by `to` wherever it is.
fn spoilt(from: &str, to: &str) -> String {
    assert!(MANIFEST.contains(from), "{from} is not in the manifest any more");
    MANIFEST.replace(from, to)
}

#[test]
fn a_good_manifest_behaves() {
    let ran = check(MANIFEST);
    ran.exits(0);
    has(&ran.stdout, "fs.write                       enforced  behaves\n");
    // Asked, not claimed: shown, and no fault of the manifest.
    has(&ran.stdout, "exec.not_found                 asked     fails\n");
}

#[rstest]
#[case::claim(
    "  fs.write: {enforced: documented}\n",
    "",
    "fs.write                       none      no word"
)]
#[case::asked("  exec.not_found: none\n", "", "exec.not_found                 none      no word")]
#[case::more(
    "exec.not_found: none",
    "exec.not_found: partial",
    "exec.not_found                 partial   fails"
)]
#[case::network(
    "  --unshare-all\n",
    "  --unshare-pid\n",
    "net.none                       enforced  fails"
)]
#[case::mask(
    "      /dev/null\n",
    "      {{ path }}\n",
    "fs.read_deny                   partial   fails"
)]
#[case::environment("  --clearenv\n", "", "env.allowlist                  enforced  fails")]
#[case::grant(
    "\"--bind\" if rule.write else \"--ro-bind\"",
    "\"--ro-bind\"",
    "fs.write                       enforced  fails"
)]
#[case::unsaid(
    "inexpressible:\n",
    "inexpressible:\n  - {when: policy.deny_read, reason: no way}\n",
    "fs.read_deny                   partial   cannot be asked"
)]
fn a_spoilt_one_is_red(#[case] from: &str, #[case] to: &str, #[case] line: &str) {
    let ran = check(&spoilt(from, to));
    ran.exits(1);
    has(&ran.stdout, line);
}

#[test]
fn what_is_not_installed_is_not_checked() {
    let ran = check(&spoilt("program: bwrap", "program: boxproof-no-such-program"));
    has(&ran.exits(3).stderr, "boxproof-no-such-program is not installed");
}

/// The worked example of the guide, saved as it stands, with a `bwrap` that confines nothing.
#[test]
fn the_guides_example_runs_as_it_stands() {
    let guide = include_str!("../../backends/README.md");
    let example =
        guide.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    assert!(example.lines().count() < 55, "{example}");
    let place = Place::new();
    place.write("jail.yaml", example);
    place.program(
        "bin/bwrap",
        "#!/bin/sh\n[ \"$1\" = --version ] && exec echo bubblewrap 1.0\n\
         while [ \"$1\" != -- ]; do shift; done; shift; exec \"$@\"\n",
    );
    let path = format!("{}:{}", place.arg("bin"), std::env::var("PATH").unwrap());
    let (spec, scratch) = (place.arg("jail.yaml"), place.arg("scratch"));
    let args = ["run", "exec/exit-codes/seven", "fs/write-outside/write", "--backend", &spec];
    let args = [&args[..], &["--scratch", &scratch], as_we_are()].concat();
    let ran = Ran::from_output(&place.command(&args).env("PATH", path).output().unwrap());
    // It runs commands, and confines nothing.
    ran.exits(1);
    has(ran.last_line(), "2 cases: 1 pass, 1 under-block");
    place.is_clean();
}
