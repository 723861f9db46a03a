//! The proxies side by side: one tells a relay and a socket that takes everything, one does not.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use boxproof_receipts::authority::CertificateAuthority;
use tempfile::TempDir;

use crate::servers;

/// A child that serves; killed at the end.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening ").unwrap().parse().unwrap();
        Self { child, address }
    }

    /// The most memory it ever held, in bytes.
    pub(crate) fn peak(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Everything that runs.
pub(crate) struct Channel {
    pub(crate) plain: Server,
    pub(crate) proxy: Server,
    told: Arc<AtomicU64>,
    asked: AtomicU64,
    _relay: Server,
    _execd: Server,
    _directory: TempDir,
}

impl Channel {
    pub(crate) fn start() -> Self {
        let directory = TempDir::new().unwrap();
        let own = |verb: &str| {
            let mut command = Command::new("/proc/self/exe");
            command.arg(verb);
            command
        };
        let execd = Server::start(&mut own(servers::EXECD));
        let plain = Server::start(own(servers::PLAIN).arg(execd.address.to_string()));
        let socket = directory.path().join("d.sock");
        let told = sink(UnixListener::bind(&socket).unwrap());
        let authority = CertificateAuthority::new(directory.path()).unwrap();
        let verb = |verb: &str, (cert, key): (PathBuf, PathBuf)| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_boxproof-receipts"));
            command.args([verb, "--listen", "127.0.0.1:0"]);
            command.arg("--ca").arg(authority.certificate()).arg("--cert").arg(cert);
            command.arg("--key").arg(key).stderr(Stdio::null());
            command
        };
        let mut relay = verb("relay", authority.relay().unwrap());
        let relay = Server::start(relay.arg("--socket").arg(&socket));
        let files = authority.proxy("p", &["urn:opensandbox:bench"]).unwrap();
        let mut proxy = verb("proxy", files);
        proxy.arg("--execd").arg(format!("http://{}", execd.address));
        proxy.arg("--relay").arg(format!("https://{}", relay.address));
        let proxy = Server::start(&mut proxy);
        let asked = AtomicU64::default();
        Self { plain, proxy, told, asked, _relay: relay, _execd: execd, _directory: directory }
    }
}

impl Channel {
    /// So many requests went to the proxy with receipts: waits until all of them are told, so that
    /// what is timed next has nothing to do with them.
    pub(crate) fn wait_until_told(&self, requests: u64) {
        let asked = self.asked.fetch_add(requests, Ordering::SeqCst) + requests;
        let deadline = Instant::now() + Duration::from_secs(20);
        while self.told.load(Ordering::SeqCst) < asked {
            assert!(Instant::now() < deadline, "{:?} of {asked} frames were told", self.told);
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Returns the number of frames received.
    pub(crate) fn told_frames(&self) -> u64 {
        self.told.load(Ordering::SeqCst)
    }
}

/// Takes every frame, and counts them.
fn sink(listener: UnixListener) -> Arc<AtomicU64> {
    let told = Arc::<AtomicU64>::default();
    let count = Arc::clone(&told);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut length = [0; 4];
            while stream.read_exact(&mut length).is_ok() {
                let mut frame = vec![0; u32::from_be_bytes(length) as usize];
                stream.read_exact(&mut frame).unwrap();
                count.fetch_add(1, Ordering::SeqCst);
            }
        }
    });
    told
}
