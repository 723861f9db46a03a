//! Runs with the proxy and without, as interleaved pairs: a run that does not use it, and a download
//! through it against one over the host's network.
//!
//! Prints medians of pairs (A B B A) with an A/A control.

#![allow(clippy::unwrap_used, reason = "a bench fails by panicking")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Bytes of a download.
const DOWNLOAD: usize = 100 * 1024 * 1024;
/// Rounds of a comparison; `BOXPROOF_ROUNDS` overrides them.
const RUNS: usize = 100;
const DOWNLOADS: usize = 20;
/// What the proxy may add to a run, and to a download (a ratio).
const ADDED: Duration = Duration::from_micros(1500);
const SLOWER: f64 = 1.1;

/// A request in a folder of its own.
struct Scene {
    folder: TempDir,
}

impl Scene {
    fn new(network: &Value, argv: &[&str]) -> Self {
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let root = folder.path().canonicalize().unwrap();
        let request = json!({
            "protocol": 1,
            "policy": {"workspace": root, "network": network},
            "run": {"command": {"argv": argv}, "cwd": root, "mechanism": "namespaces"},
        });
        fs::write(root.join("request.json"), request.to_string()).unwrap();
        Self { folder }
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    /// Time from spawn to exit, or what the command itself says that it took.
    fn timed(&self) -> Duration {
        let _not_there_yet = fs::remove_file(self.root().join("result.json"));
        let mut refbox = Command::new(env!("CARGO_BIN_EXE_refbox"));
        refbox.arg("run").arg("--request").arg(self.root().join("request.json"));
        refbox.arg("--result").arg(self.root().join("result.json"));
        let begun = Instant::now();
        let output = refbox.stdin(Stdio::null()).output().unwrap();
        let took = begun.elapsed();
        assert!(output.status.success(), "{output:?}");
        let said = String::from_utf8(output.stdout).unwrap();
        said.trim().parse().map_or(took, Duration::from_secs_f64)
    }
}

/// Serves downloads to whoever asks.
fn origin() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let block = vec![7; 1024 * 1024];
        for stream in listener.incoming().map_while(Result::ok) {
            let _broken_off = serve(&stream, &block);
        }
    });
    port
}

fn serve(mut stream: &TcpStream, block: &[u8]) -> std::io::Result<()> {
    for line in BufReader::new(stream).lines() {
        if line?.is_empty() {
            break;
        }
    }
    write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {DOWNLOAD}\r\nconnection: close\r\n\r\n")?;
    (0..DOWNLOAD / block.len()).try_for_each(|_| stream.write_all(block))
}

/// Median times of both, interleaved A B B A.
fn pairs(a: &Scene, b: &Scene, rounds: usize) -> [Duration; 2] {
    let asked = std::env::var("BOXPROOF_ROUNDS").ok();
    let rounds = asked.and_then(|text| text.parse().ok()).unwrap_or(rounds);
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..rounds {
        let order = if round % 2 == 0 { [(0, a), (1, b)] } else { [(1, b), (0, a)] };
        for (which, scene) in order {
            times[which].push(scene.timed());
        }
    }
    times.map(|mut samples| {
        samples.sort();
        samples[samples.len() / 2]
    })
}

/// Prints a comparison and its control; both times.
fn compare(name: &str, with: &Scene, without: &Scene, rounds: usize) -> [Duration; 2] {
    let [a, b] = pairs(with, without, rounds);
    let [first, second] = pairs(without, without, rounds);
    let ratio = |a: Duration, b: Duration| a.as_secs_f64() / b.as_secs_f64();
    println!(
        "{name:<36} {a:>10.2?} {b:>10.2?}  ratio {:.3}  A/A {:.3}",
        ratio(a, b),
        ratio(first, second)
    );
    [a, b]
}

/// Measures and prints; fails where a limit is exceeded.
pub(crate) fn main() {
    let port = origin();
    let address = format!("127.0.0.1:{port}");
    let named = json!({"domains": {"allow": [address]}});
    let proxied = json!({"proxy": {"port": port}});
    let (none, host) = (json!({"none": {}}), json!({"host": {}}));
    let mut over = Vec::new();
    for (name, network) in [("run, domains/none", &named), ("run, proxy/none", &proxied)] {
        let idle = |network| Scene::new(network, &["/bin/true"]);
        let [with, without] = compare(name, &idle(network), &idle(&none), RUNS);
        over.extend((with > without + ADDED).then_some(name));
    }
    let url = format!("http://{address}/");
    let curl = |network, more: &[&str]| {
        let fetch = ["curl", "-sSf", "-o", "/dev/null", "-w", "%{time_total}", &url];
        Scene::new(network, &[&fetch, more].concat())
    };
    let straight = curl(&host, &[]);
    for (name, scene) in [
        ("100 MiB, HTTP through domains/host", curl(&named, &[])),
        ("100 MiB, CONNECT through domains/host", curl(&named, &["--proxytunnel"])),
        ("100 MiB, proxy/host", curl(&proxied, &["--noproxy", "*"])),
    ] {
        let [with, without] = compare(name, &scene, &straight, DOWNLOADS);
        over.extend((with.as_secs_f64() > without.as_secs_f64() * SLOWER).then_some(name));
    }
    assert!(over.is_empty(), "too slow: {over:?}");
}
