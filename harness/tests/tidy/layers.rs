//! Layers: only marked modules touch the operating system, `unsafe` stays in `sys`
//! modules, and the harness meets the reference over a process boundary.

use super::rust;
use super::tree::{File, Tree};

/// The one place where the programs are linked into one.
const MAIN: &str = "harness/src/main.rs";

/// Harness code never calls reference code, so that a shared bug cannot vouch for itself.
pub(crate) fn reference_in_main_only(tree: &Tree) -> Vec<String> {
    let harness = tree.below("harness/").filter(|f| f.path.ends_with(".rs") && f.path != MAIN);
    harness.flat_map(|file| file.places(|line| line.contains("boxproof_reference"))).collect()
}

/// Checks that `unsafe` is used only in `sys.rs` and below `sys/`.
pub(crate) fn unsafe_in_sys(tree: &Tree) -> Vec<String> {
    let is_sys = |path: &str| path.split('/').any(|part| part == "sys" || part == "sys.rs");
    let outside = tree.rust().filter(|file| !is_sys(&file.path));
    outside.flat_map(|file| file.places(|line| has_word(line, "unsafe"))).collect()
}

fn has_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|part| part == word)
}

/// The modules that may touch the operating system: a file, or a directory with all below it; and
/// the reason.
const OS: &[(&str, &str)] = &[
    ("cases/src/suite/directories.rs", "reads the corpus"),
    ("harness/src/agent/", "starts agents and answers them"),
    ("harness/src/backend/context.rs", "templates ask whether a path exists"),
    ("harness/src/backend/program.rs", "looks programs up"),
    ("harness/src/backend/resolve.rs", "reads manifests and asks backends"),
    ("harness/src/backend/query_user.rs", "knows whether it is root"),
    ("harness/src/backend/write_rules.rs", "orders paths by where their links lead"),
    ("harness/src/bench/criterion_reports.rs", "has criterion draw, and reads its estimates"),
    ("harness/src/bench/harness_corpus.rs", "writes a corpus"),
    ("harness/src/bench/host_load.rs", "reads the load"),
    ("harness/src/bench/operations.rs", "does what is measured"),
    ("harness/src/bench/prepared_run.rs", "starts what is measured"),
    ("harness/src/bench/targets.rs", "reads and copies programs"),
    ("harness/src/cli/", "prints, reads records"),
    ("harness/src/host/", "finds host facts by doing"),
    ("harness/src/main.rs", "the process itself"),
    ("harness/src/output/", "writes what verbs make"),
    ("harness/src/plain_file.rs", "reads files that a backend may have put there"),
    ("harness/src/pool.rs", "feeds workers"),
    ("harness/src/pool/", "feeds workers"),
    ("harness/src/probe.rs", "looks whether the probe is what was installed"),
    ("harness/src/receipts/channel_arm.rs", "plays a channel case"),
    ("harness/src/receipts/execd/", "the made-up execd"),
    ("harness/src/receipts/frames.rs", "speaks to daemon and relay"),
    ("harness/src/receipts/http.rs", "speaks to proxies"),
    ("harness/src/receipts/keys.rs", "writes keys"),
    ("harness/src/receipts/secret_scan.rs", "looks for what should be nowhere"),
    ("harness/src/receipts/driver.rs", "plays the steps"),
    ("harness/src/receipts/quiescence.rs", "looks whether parts are at work"),
    ("harness/src/receipts/running.rs", "a process of a channel"),
    ("harness/src/receipts/misplaced.rs", "makes the files of a second daemon"),
    ("harness/src/receipts/processes.rs", "starts the parts"),
    ("harness/src/receipts/terminal.rs", "speaks to terminals"),
    ("harness/src/receipts/fault_proxy.rs", "lies between proxy and relay"),
    ("harness/src/removal/", "removes directories"),
    ("harness/src/run/", "executes arms"),
    ("harness/src/scratch.rs", "makes the scratch directory"),
    ("harness/src/scratch/", "says where it may be, and clears it"),
    ("harness/src/session.rs", "holds run, scratch and signals together"),
    ("harness/src/session/", "holds the second look together"),
    ("harness/src/shortage.rs", "looks what the host is short of"),
    ("harness/src/sweep/", "looks for what is left"),
    ("harness/src/sys/", "system calls"),
    ("harness/src/worker.rs", "executes arms"),
    ("harness/src/termination.rs", "catches signals"),
    ("harness/src/workspace/", "lays fixtures out"),
    ("probes/", "the eyes"),
    ("reference/", "a sandbox"),
];

/// The words that only those may write. Methods stand with their parentheses: fields have such
/// names, too.
const TOUCHES: [&str; 19] = [
    "std::{",
    "std::fs",
    "std::process",
    "std::net",
    "std::env",
    "std::thread",
    "std::os::unix::fs",
    "std::os::unix::net",
    "std::os::unix::process",
    "libc::",
    "walkdir::",
    "tempfile::",
    ".exists()",
    ".is_dir()",
    ".is_file()",
    ".canonicalize()",
    ".read_dir()",
    ".metadata()",
    ".symlink_metadata()",
];

/// Of nix the names of errnos and signals, which are tables and no calls.
const TABLES: [&str; 2] = ["nix::errno::Errno", "nix::sys::signal::Signal"];

/// Checks that every module that is not marked above is pure.
pub(crate) fn pure_modules(tree: &Tree) -> Vec<String> {
    let marked = |path: &str| OS.iter().any(|(place, _)| covers(place, path));
    let pure = tree.rust().filter(|f| f.path.contains("/src/") && !f.is_test() && !marked(&f.path));
    pure.flat_map(|file| {
        touched(file).into_iter().map(|word| format!("{}: `{word}` in a pure module", file.path))
    })
    .collect()
}

/// Returns whether `place` is `path`, or a directory (`x/`) that `path` is in or the module file (`x.rs`) of.
fn covers(place: &str, path: &str) -> bool {
    let directory = place.strip_suffix('/');
    path.starts_with(place)
        || directory.is_some_and(|directory| path.strip_suffix(".rs") == Some(directory))
}

/// Lists the words by which the code of `file` touches the operating system, its tests apart.
fn touched(file: &File) -> Vec<&'static str> {
    let mut code = rust::without_tests(&file.code());
    for table in TABLES {
        code = code.replace(table, "");
    }
    let touches = TOUCHES.into_iter().chain(["nix::"]);
    touches.filter(|word| rust::mentions(&code, word) > 0).collect()
}

/// A file that is marked without need would let the next call slip in unseen.
pub(crate) fn os_list_is_fresh(tree: &Tree) -> Vec<String> {
    let files = OS.iter().filter(|(place, _)| place.ends_with(".rs"));
    let idle = files.filter_map(|(place, why)| {
        let file = tree.file(place)?;
        touched(file).is_empty().then(|| format!("{place} ({why}) is pure: unmark it"))
    });
    idle.collect()
}
