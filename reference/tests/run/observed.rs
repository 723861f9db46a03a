//! Which calls are events: rows of `observed.tsv`, each with an error that the sandbox gives, or `-` where no
//! call is to be told of, its name, and code in Python that is executed in a directory outside the workspace.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::bed::{Done, ORDINARY, TestBed};

/// Runs all rows in one command, each in a directory with the name of its line, and prints their errors.
const RUNNER: &str = r#"
import ctypes, os, stat, sys
library = ctypes.CDLL(None, use_errno=True)

def done(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), '')

def call(number, *words):
    typed = [word if isinstance(word, (bytes, ctypes.Array)) else ctypes.c_long(word) for word in words]
    done(library.syscall(ctypes.c_long(number), *typed))

def how(flags, mode=0, resolve=0):
    return (ctypes.c_uint64 * 3)(flags, mode, resolve)

HERE, EMPTY, O = -100, 0x1000, os.O_PATH
for number, row in enumerate(open('observed.tsv').read().splitlines()):
    os.chdir(f'{sys.argv[1]}/{number}')
    try:
        exec(row.split('\t')[2])
        print('-')
    except OSError as error:
        import errno
        print(errno.errorcode.get(error.errno, error.errno))
"#;

const ROWS: &str = include_str!("observed.tsv");

/// Makes what stands in the directory of a row: a file and another, an empty directory, a full one, a link.
fn furnish(directory: &Path) {
    fs::create_dir_all(directory.join("full/within")).unwrap();
    fs::create_dir(directory.join("empty")).unwrap();
    fs::write(directory.join("f"), "text\n").unwrap();
    fs::write(directory.join("g"), "text\n").unwrap();
    symlink("f", directory.join("link")).unwrap();
}

/// Executes all rows with `events`; the result, and the directory that the rows have theirs in.
fn executed(events: &str) -> (Done, String) {
    let bed = TestBed::new(ORDINARY);
    for number in 0..ROWS.lines().count() {
        furnish(&bed.out(&number.to_string()));
    }
    let mark =
        "import os, sys\nfor path in sys.argv[1:]: os.setxattr(path + '/f', 'user.mark', b'1')";
    let directories = (0..ROWS.lines().count()).map(|number| bed.out(&number.to_string()));
    let marked = Command::new("python3").args(["-c", mark]).args(directories).status();
    assert!(marked.unwrap().success());
    fs::write(bed.ws("observed.tsv"), ROWS).unwrap();
    fs::write(bed.ws("runner.py"), RUNNER).unwrap();
    let outside = bed.out("").display().to_string();
    let command = json!({"argv": ["python3", "runner.py", outside.trim_end_matches('/')]});
    let done = bed.go(&json!({}), command, &json!({"capture": true, "events": events}));
    (done, outside.trim_end_matches('/').to_owned())
}

/// Returns the calls that were told of in the directory of row `number`.
fn event_calls<'a>(done: &'a Done, outside: &str, number: usize) -> Vec<&'a Value> {
    let own = format!("{outside}/{number}");
    let events = done.result["events"].as_array().map_or(&[][..], Vec::as_slice);
    let is_own = |event: &&Value| {
        event["path"].as_str().is_some_and(|path| Path::new(path).starts_with(&own))
    };
    events.iter().filter(is_own).map(|event| &event["system_call"]).collect()
}

#[test]
fn what_the_sandbox_refuses_is_an_event_and_nothing_else() {
    let (done, outside) = executed("all");
    assert_eq!(done.code, Some(0), "{}", done.err);
    let errors: Vec<&str> = done.result["stdout"].as_str().unwrap().lines().collect();
    assert_eq!(errors.len(), ROWS.lines().count(), "{}", done.result);
    let mut wrong = Vec::new();
    for (number, row) in ROWS.lines().enumerate() {
        let [error, name, code]: [&str; 3] =
            row.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let found = event_calls(&done, &outside, number);
        // Older kernels have not all of the calls.
        let as_it_should = match error {
            "-" => found.is_empty(),
            _ if errors[number] == "ENOSYS" => true,
            error => errors[number] == error && found == [name],
        };
        if !as_it_should {
            wrong.push(format!("{}: {found:?} of {error} {name}: {code}", errors[number]));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Where only seldom calls are looked at, what succeeds or fails by itself is no event either.
#[test]
fn light_events_are_of_refused_calls_alone() {
    let (done, outside) = executed("light");
    for (number, row) in ROWS.lines().enumerate().filter(|(_, row)| row.starts_with('-')) {
        assert!(event_calls(&done, &outside, number).is_empty(), "{row}");
    }
}

/// What is opened in a directory that is closed, and made if it is missing.
#[test]
fn files_that_would_be_made_in_a_closed_directory_are_events() {
    let bed = TestBed::new(ORDINARY);
    let place = bed.ws("closed");
    fs::create_dir(&place).unwrap();
    fs::write(place.join("f"), "text\n").unwrap();
    let line = "(: > closed/n); (: > closed/f); (: <> closed/o); truncate -c -s 0 closed/m; true";
    let run = json!({"capture": true});
    let done = bed.go(&json!({"deny_read": [place]}), json!({"shell": line}), &run);
    let events = done.result["events"].as_array().unwrap();
    let paths = events.iter().map(|event| event["path"].as_str().unwrap());
    let names: Vec<&str> = paths.filter_map(|path| path.rsplit('/').next()).collect();
    assert_eq!(names, ["n", "f", "o"], "{events:?}");
}
