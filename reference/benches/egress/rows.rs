//! The rows of the comparison.

use std::time::Duration;

use serde_json::{Value, json};

/// The time that the proxy may add to a run.
const ADDED: Duration = Duration::from_micros(1500);
/// The factor by which a download may take longer.
const SLOWER: f64 = 1.1;
/// The file in which a client stores its download.
pub(crate) const STORED: &str = "download";
/// Prints nothing but how long it took.
const CURL: [&str; 4] = ["curl", "-sSf", "-w", "%{time_total}"];

/// One run of a comparison.
#[derive(Clone)]
pub(crate) struct Ran {
    pub(crate) network: Value,
    pub(crate) argv: Vec<String>,
}

/// The limit of `with`, measured by `without`.
pub(crate) enum Limit {
    None,
    Plus(Duration),
    Times(f64),
}

pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) with: Ran,
    pub(crate) without: Ran,
    pub(crate) rounds: usize,
    pub(crate) limit: Limit,
}

/// A way from a client to the origin.
struct Path {
    name: &'static str,
    network: Value,
    /// Options of curl.
    options: &'static [&'static str],
}

/// All rows, with the origin at `port`.
pub(crate) fn all(port: u16) -> Vec<Row> {
    let url = format!("http://127.0.0.1:{port}");
    let named = json!({"domains": {"allow": [format!("127.0.0.1:{port}")]}});
    let proxied = json!({"proxy": {"port": port}});
    let socks = &["-x", "socks5h://127.0.0.1:3128"];
    let paths = [
        Path { name: "HTTP", network: named.clone(), options: &[] },
        Path { name: "CONNECT", network: named.clone(), options: &["--proxytunnel"] },
        Path { name: "SOCKS 5", network: named, options: socks },
        Path { name: "proxy", network: proxied, options: &["--noproxy", "*"] },
    ];
    let mut rows: Vec<Row> = [&paths[0], &paths[3]].map(idle).into();
    rows.extend(paths.iter().map(|path| stored(path, &url)));
    rows.extend(paths.iter().map(|path| discarded(path, &url, 20)));
    rows.push(hashed(&paths[1], &url));
    for (gigabits, rounds) in [(1, 4), (10, 10), (25, 10)] {
        let mut row = discarded(&paths[1], &format!("{url}/{}", gigabits * 1000), rounds);
        row.name = format!("{} of {gigabits} Gbit/s", row.name);
        rows.push(row);
    }
    rows.extend(paths.iter().flat_map(|path| [kept(path, &url), new(path, &url)]));
    rows
}

fn owned_words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// A run that does not use its way out.
fn idle(path: &Path) -> Row {
    let argv = owned_words(&["/bin/true"]);
    let without = Ran { network: json!({"none": {}}), argv: argv.clone() };
    let with = Ran { network: path.network.clone(), argv };
    let name = format!("run, {}", path.name);
    Row { name, with, without, rounds: 100, limit: Limit::Plus(ADDED) }
}

/// Compares a command by `path` with the same command over the host's network.
fn against_host(name: String, path: &Path, argv: &[&str], rounds: usize) -> Row {
    let without = Ran { network: json!({"host": {}}), argv: owned_words(argv) };
    let with =
        Ran { network: path.network.clone(), argv: owned_words(&[argv, path.options].concat()) };
    Row { name, with, without, rounds, limit: Limit::None }
}

/// As users do it.
fn stored(path: &Path, url: &str) -> Row {
    let argv = [&CURL[..], &["-o", STORED, url]].concat();
    let row = against_host(format!("stored, {}", path.name), path, &argv, 30);
    Row { limit: Limit::Times(SLOWER), ..row }
}

fn discarded(path: &Path, url: &str, rounds: usize) -> Row {
    let argv = [&CURL[..], &["-o", "/dev/null", url]].concat();
    against_host(format!("discarded, {}", path.name), path, &argv, rounds)
}

/// Whole runs, as the sum comes later than curl's end.
fn hashed(path: &Path, url: &str) -> Row {
    let line = r#"curl -sSf "$@" | sha256sum"#;
    let argv = ["sh", "-c", line, "sh", url];
    against_host(format!("hashed, {}", path.name), path, &argv, 10)
}

/// A thousand small requests of one client, one after another; whole runs.
fn kept(path: &Path, url: &str) -> Row {
    let url = format!("{url}/small/[1-1000]");
    let argv = ["curl", "-sSf", "-o", "/dev/null", &url];
    against_host(format!("1,000 requests, {}", path.name), path, &argv, 10)
}

fn new(path: &Path, url: &str) -> Row {
    let url = format!("{url}/small/[1-1000]");
    let argv = ["curl", "-sSf", "-o", "/dev/null", "-H", "Connection: close", &url];
    against_host(format!("1,000 connections, {}", path.name), path, &argv, 10)
}
