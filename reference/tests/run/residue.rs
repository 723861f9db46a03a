//! Protection leaves nothing on the host: twenty runs at once over one repository, half of them
//! killed with SIGKILL, and everything is as before.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rstest::rstest;
use serde_json::json;

use crate::bed::{BUBBLEWRAP, NAMESPACES, ORDINARY, TestBed, is_alive, wait_until};

/// Runs at once.
const RUNS: usize = 20;

/// Tries at what is there, says so, and waits for the end of its input.
const PRESENT: &str = "exec 2> /dev/null
    (echo x > .git/hooks/pre-commit); (echo x >> .git/config); rm -rf .git; mv .git g
    (echo x > .idea/f); mv .idea i; (echo x > vendor/sub/.git/config); mv vendor v
    (echo x >> ~/.bashrc); mv ~/.bashrc ~/b; t=$(mktemp) && echo x > $t";
/// Changes of missing names, and of links.
const ABSENT: &str =
    "mkdir .codex; (echo x > .mcp.json); ln -s .git .agents; mkdir none; mkdir .claude/
    rm -f .claude .vscode; mv .vscode v; (echo x > .vscode/new); mkdir vendor/none
    rm vendor/lib/.git; (echo x > ~/.bash_profile); mkdir ~/.cursor";

#[rstest]
fn twenty_runs_of_which_half_are_killed_leave_all_as_it_was(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let holds = mechanism != BUBBLEWRAP;
    lay_out(&bed, holds);
    let line = format!("{PRESENT}\n{}\necho ready; read end", if holds { ABSENT } else { "" });
    let home = bed.out("home");
    let policy = json!({"protect": "metadata", "writable": [home], "env": {"set": {"HOME": home}}});
    let argv = ["/bin/sh", "-c", &line, &bed.nonce()].map(str::to_owned);
    bed.write_request(&policy, json!({"argv": argv}), &json!({"stdin": "inherit"}));
    // The first look gives everything to who runs it.
    drop(bed.refbox());
    let before = (status(&bed), snapshot(&bed));
    let mut runs: Vec<Child> = (0..RUNS).map(|number| start(&bed, number)).collect();
    for run in &mut runs {
        let mut word = [0; 6];
        run.stdout.as_mut().unwrap().read_exact(&mut word).unwrap();
        assert_eq!(&word, b"ready\n");
    }
    let while_running = names(&bed);
    let (mut killed, mut ended) = (0, 0);
    for (number, mut run) in runs.into_iter().enumerate() {
        if number % 2 == 0 {
            run.kill().unwrap();
            killed += 1;
        }
        let code = run.wait_with_output().unwrap().status.code();
        assert_eq!(code, if number % 2 == 0 { None } else { Some(1) }, "run {number}");
        ended += usize::from(code.is_some());
    }
    wait_until("every command is dead", || !is_alive(&bed.nonce()));
    let after = (status(&bed), snapshot(&bed));
    println!("{mechanism}: {killed} killed, {ended} ended; git status before:\n{}after:", before.0);
    println!("{}{} names before, {} after", after.0, before.1.len(), after.1.len());
    assert_eq!(after.0, before.0);
    assert_eq!(after.1, before.1);
    assert_eq!(while_running, before.1.keys().cloned().collect::<Vec<_>>());
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(bed.ws("").to_str().unwrap()));
}

/// A repository with one commit, a nested one, what git ignores, a home and a temp directory.
fn lay_out(bed: &TestBed, links: bool) {
    for directory in [".idea", "real", "vendor/sub/.git", "vendor/lib", "out"] {
        fs::create_dir_all(bed.ws(directory)).unwrap();
    }
    for (file, text) in [
        (".idea/f", "kept"),
        ("real/f", "kept"),
        ("vendor/sub/.git/config", ""),
        ("out/o", "built"),
        (".gitignore", "out\n"),
    ] {
        fs::write(bed.ws(file), text).unwrap();
    }
    if links {
        symlink("none", bed.ws(".claude")).unwrap();
        symlink("real", bed.ws(".vscode")).unwrap();
        symlink("../none", bed.ws("vendor/lib/.git")).unwrap();
    }
    fs::create_dir_all(bed.out("home")).unwrap();
    fs::create_dir_all(bed.out("tmp")).unwrap();
    fs::write(bed.out("home/.bashrc"), "kept").unwrap();
    git(bed, &["init", "-q", "-b", "main", "."]);
    git(bed, &["add", ".gitignore"]);
    git(
        bed,
        &["-c", "user.name=b", "-c", "user.email=b@example.invalid", "commit", "-qm", "first"],
    );
}

fn git(bed: &TestBed, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "safe.directory=*"]).args(arguments).current_dir(bed.ws(""));
    git.env("GIT_OPTIONAL_LOCKS", "0").env("HOME", bed.out("home"));
    let output = git.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn status(bed: &TestBed) -> String {
    git(bed, &["status", "--porcelain", "--ignored"])
}

fn start(bed: &TestBed, number: usize) -> Child {
    let result = bed.request_file().with_file_name(format!("result-{number}.json"));
    let mut refbox = bed.refbox_with_result(&result);
    refbox.env("TMPDIR", bed.out("tmp"));
    refbox.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Returns the paths in the workspace, the home and the temporary directory.
fn names(bed: &TestBed) -> Vec<PathBuf> {
    let places = [bed.ws(""), bed.out("")];
    let mut names = bed.listing();
    names.retain(|name| places.iter().any(|place| name.starts_with(place)));
    names
}

/// Every name with kind, mode, length, time of the last change and text.
fn snapshot(bed: &TestBed) -> BTreeMap<PathBuf, String> {
    names(bed).into_iter().map(|name| (name.clone(), file_fingerprint(&name))).collect()
}

fn file_fingerprint(name: &Path) -> String {
    let found = fs::symlink_metadata(name).unwrap();
    let mode = found.permissions().mode();
    let mut told = format!("{mode:o} {} {}.{}", found.len(), found.mtime(), found.mtime_nsec());
    if found.is_symlink() {
        write!(told, " {}", fs::read_link(name).unwrap().display()).unwrap();
    } else if found.is_file() {
        write!(told, " {:?}", fs::read(name).unwrap()).unwrap();
    }
    told
}
