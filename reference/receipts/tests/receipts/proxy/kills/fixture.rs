//! A whole channel whose parts can be killed and started again, and agents that keep working.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use boxproof_receipts::authority::CertificateAuthority;
use boxproof_receipts::execd::Execd;
use boxproof_receipts::keys;
use boxproof_receipts::verify::{ChainExpectations, FileReport, VerifyOptions, verify_file};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::proxy::support::{PATIENCE, Verb, eventually, hash};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Proxy,
    Relay,
    Daemon,
}

/// The current address of a part.
type Address = Arc<Mutex<Option<SocketAddr>>>;

pub(crate) struct ProxyFixture {
    parts: [Option<Verb>; 3],
    proxy_at: Address,
    relay_at: Address,
    /// The address at which proxies find the current relay.
    door: TcpListener,
    door_thread: Option<JoinHandle<()>>,
    starts: usize,
    execd: Execd,
    directory: TempDir,
}

impl ProxyFixture {
    pub(crate) fn start() -> Self {
        let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        std::fs::create_dir(directory.path().join("done")).unwrap();
        keys::make(&directory.path().join("key")).unwrap();
        let authority = CertificateAuthority::new(directory.path()).unwrap();
        authority.relay().unwrap();
        authority.proxy("s1", &["urn:opensandbox:s1"]).unwrap();
        let door = TcpListener::bind("127.0.0.1:0").unwrap();
        let (listening, relay_at) = (door.try_clone().unwrap(), Address::default());
        let to = Arc::clone(&relay_at);
        let door_thread = Some(thread::spawn(move || pass(&listening, &to)));
        let (parts, starts, proxy_at) = Default::default();
        let execd = Execd::start(None).unwrap();
        let mut fixture =
            Self { parts, proxy_at, relay_at, door, door_thread, starts, execd, directory };
        [Part::Daemon, Part::Relay, Part::Proxy].into_iter().for_each(|part| fixture.restart(part));
        fixture
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn restart(&mut self, part: Part) {
        let door = format!("https://{}", self.door.local_addr().unwrap());
        let execd = format!("http://{}", self.execd.address());
        let line = match part {
            Part::Daemon => "daemon --unsafe-socket-path --socket @s --store @store --key @key",
            Part::Relay => {
                "relay --listen 127.0.0.1:0 --socket @s --ca @ca.pem --cert @relay.pem --key @relay.key"
            }
            Part::Proxy => {
                "proxy --listen 127.0.0.1:0 --execd EXECD --relay RELAY --ca @ca.pem --cert @s1.pem --key @s1.key --state @state"
            }
        };
        let word = |word: &str| match word {
            "EXECD" => execd.clone(),
            "RELAY" => door.clone(),
            word => word.strip_prefix('@').map_or(word.to_owned(), |name| self.path(name)),
        };
        let words: Vec<String> = line.split(' ').map(word).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let log = self.path(&format!("{part:?}-{}.log", self.starts));
        self.starts += 1;
        let verb = Verb::start(&words, log.as_ref());
        match part {
            Part::Proxy => *self.proxy_at.lock().unwrap() = Some(verb.address),
            Part::Relay => *self.relay_at.lock().unwrap() = Some(verb.address),
            Part::Daemon => {}
        }
        self.parts[part as usize] = Some(verb);
    }

    pub(crate) fn kill(&mut self, part: Part) {
        self.parts[part as usize].take().unwrap().kill();
    }

    fn store(&self) -> Vec<u8> {
        std::fs::read(self.path("store")).unwrap()
    }

    /// Waits for so many more receipts.
    pub(crate) fn await_receipts(&self, more: usize) {
        let count = || self.store().iter().filter(|byte| **byte == b'\n').count();
        let before = count();
        eventually("no receipts arrive", || count() >= before + more);
    }

    /// Works until the last action has a receipt, and ends all parts in good order; returns all
    /// that was done.
    pub(crate) fn end(&mut self) -> BTreeSet<String> {
        let mut number = 0;
        eventually("the last action has no receipt", || {
            number += 1;
            let path = self.path(&format!("done/last-{number}"));
            let at = self.proxy_at.lock().unwrap().unwrap();
            assert!(make(at, &path).unwrap_or_default().starts_with("HTTP/1.1 200"));
            let due = hash(&json!({"path": path}));
            // The first may be lost, for its proxy has an old connection to the relay.
            let told = || String::from_utf8_lossy(&self.store()).contains(&due);
            (0..200).any(|_| {
                told() || {
                    thread::yield_now();
                    false
                }
            })
        });
        for part in &mut self.parts {
            assert!(part.take().unwrap().terminate().success());
        }
        let made = std::fs::read_dir(self.path("done")).unwrap();
        made.map(|made| made.unwrap().path().to_str().unwrap().to_owned()).collect()
    }

    pub(crate) fn receipts(&self) -> Vec<Value> {
        let store = self.store();
        let lines = store.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
    }

    /// Returns the strict report on the store.
    pub(crate) fn report(&self) -> FileReport {
        let key = keys::read_public(&PathBuf::from(self.path("key.pub"))).unwrap();
        let wanted = VerifyOptions { strict: true, ..VerifyOptions::default() };
        verify_file(&self.store(), &key, &ChainExpectations::default(), wanted).unwrap()
    }
}

impl Drop for ProxyFixture {
    fn drop(&mut self) {
        nix::sys::socket::shutdown(self.door.as_raw_fd(), nix::sys::socket::Shutdown::Both)
            .unwrap();
        self.door_thread.take().unwrap().join().unwrap();
    }
}

/// Forwards connections to the current relay.
fn pass(door: &TcpListener, to: &Address) {
    while let Ok((near, _)) = door.accept() {
        let Some(far) = (*to.lock().unwrap()).and_then(|at| TcpStream::connect(at).ok()) else {
            continue;
        };
        let ends = (near.try_clone().unwrap(), far.try_clone().unwrap());
        thread::spawn(move || copy(near, far));
        thread::spawn(move || copy(ends.1, ends.0));
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    // A part that was killed resets its connections.
    let _copied = std::io::copy(&mut from, &mut to);
    let _closed = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

/// Asks for a directory; nothing if the proxy was killed meanwhile.
fn make(at: SocketAddr, path: &str) -> std::io::Result<String> {
    let body = json!({path: {}}).to_string();
    let mut stream = TcpStream::connect(at)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let length = body.len();
    write!(
        stream,
        "POST /directories HTTP/1.1\r\nHost: e\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// Agents at work, until this is dropped.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    attempts: Arc<AtomicUsize>,
    agents: Vec<JoinHandle<()>>,
}

impl Load {
    pub(crate) const AGENTS: usize = 3;

    pub(crate) fn start(fixture: &ProxyFixture) -> Self {
        let (stop, attempts) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        let agent = |agent: usize| {
            let (stop, attempts, at) =
                (Arc::clone(&stop), Arc::clone(&attempts), Arc::clone(&fixture.proxy_at));
            let directory = fixture.path("done");
            thread::spawn(move || {
                for number in 0.. {
                    if stop.load(Ordering::SeqCst) {
                        return;
                    }
                    let at = at.lock().unwrap().unwrap();
                    // A name of its own each time: what became of it is seen at the end.
                    let _answer = make(at, &format!("{directory}/{agent}-{number}"));
                    attempts.fetch_add(1, Ordering::SeqCst);
                }
            })
        };
        let agents = (0..Self::AGENTS).map(agent).collect();
        Self { stop, attempts, agents }
    }

    /// Waits for so many more attempts, successful or not.
    pub(crate) fn await_attempts(&self, more: usize) {
        let due = self.attempts.load(Ordering::SeqCst) + more;
        eventually("agents do not work", || self.attempts.load(Ordering::SeqCst) >= due);
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        for agent in self.agents.drain(..) {
            agent.join().unwrap();
        }
    }
}
