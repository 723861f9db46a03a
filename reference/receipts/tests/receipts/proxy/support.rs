//! The channel around one test: a small execd, the real proxy and relay, and a socket that records.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use boxproof_receipts::authority::CertificateAuthority;
use boxproof_receipts::execd::Execd;
use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, bind, getsockname, socket};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

/// The time limit of every wait in a test.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A daemon's socket that keeps what it is told.
pub(crate) struct Sink {
    pub(crate) socket: PathBuf,
    frames: Arc<(Mutex<Vec<Value>>, Condvar)>,
    listener: UnixListener,
    streams: Arc<Mutex<Vec<UnixStream>>>,
}

impl Sink {
    pub(crate) fn bind(socket: &Path) -> Self {
        let listener = UnixListener::bind(socket).unwrap();
        let frames = Arc::<(Mutex<Vec<Value>>, Condvar)>::default();
        let streams = Arc::<Mutex<Vec<UnixStream>>>::default();
        let (accepting, kept) = (listener.try_clone().unwrap(), Arc::clone(&frames));
        let all = Arc::clone(&streams);
        std::thread::spawn(move || {
            while let Ok((stream, _)) = accepting.accept() {
                all.lock().unwrap().push(stream.try_clone().unwrap());
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || record(stream, &kept));
            }
        });
        Self { socket: socket.to_owned(), frames, listener, streams }
    }

    /// Waits until there are `count` frames, and returns them all.
    pub(crate) fn frames(&self, count: usize) -> Vec<Value> {
        let (frames, came) = &*self.frames;
        let frames = frames.lock().unwrap();
        let (frames, timed) =
            came.wait_timeout_while(frames, PATIENCE, |frames| frames.len() < count).unwrap();
        assert!(!timed.timed_out(), "{count} frames wanted, there are {frames:#?}");
        frames.clone()
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        nix::sys::socket::shutdown(self.listener.as_raw_fd(), nix::sys::socket::Shutdown::Both)
            .unwrap();
        for stream in &*self.streams.lock().unwrap() {
            // The relay may have closed it before.
            let _closed = stream.shutdown(Shutdown::Both);
        }
        std::fs::remove_file(&self.socket).unwrap();
    }
}

fn record(mut stream: UnixStream, kept: &(Mutex<Vec<Value>>, Condvar)) {
    let mut length = [0; 4];
    while stream.read_exact(&mut length).is_ok() {
        let mut frame = vec![0; u32::from_be_bytes(length) as usize];
        stream.read_exact(&mut frame).unwrap();
        kept.0.lock().unwrap().push(serde_json::from_slice(&frame).unwrap());
        kept.1.notify_all();
    }
}

/// A verb of `refbox receipts` that serves; killed at the end.
pub(crate) struct Verb {
    child: Child,
    pub(crate) address: SocketAddr,
    log: PathBuf,
}

impl Verb {
    pub(crate) fn start(args: &[&str], log: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_boxproof-receipts"))
            .args(args)
            .stdout(Stdio::piped())
            .stderr(File::create(log).unwrap())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let log = log.to_owned();
        let told = match line.trim() {
            // The daemon, which listens at a path.
            "ready" => "127.0.0.1:0",
            line => line.strip_prefix("listening ").unwrap_or_else(|| {
                panic!("{}", std::fs::read_to_string(&log).unwrap());
            }),
        };
        Self { child, address: told.parse().unwrap(), log }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// Asks it to end, and waits until it has.
    pub(crate) fn terminate(&mut self) -> ExitStatus {
        kill(Pid::from_raw(i32::try_from(self.child.id()).unwrap()), Signal::SIGTERM).unwrap();
        self.child.wait().unwrap()
    }
}

impl Verb {
    /// Ends it without a word, and waits until it has.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Verb {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.child.kill();
        self.child.wait().unwrap();
    }
}

/// Everything at once.
pub(crate) struct Channel {
    pub(crate) proxy: Verb,
    pub(crate) relay: Verb,
    pub(crate) sink: Option<Sink>,
    pub(crate) execd: Option<Execd>,
    pub(crate) directory: TempDir,
    authority: CertificateAuthority,
}

impl Channel {
    pub(crate) fn start() -> Self {
        Self::with(&[])
    }

    /// With more words for the proxy.
    pub(crate) fn with(more: &[&str]) -> Self {
        let execd = Execd::start(None).unwrap();
        let address = execd.address();
        let mut channel = Self::before(address, more);
        channel.execd = Some(execd);
        channel
    }

    /// Starts a channel in front of the server at `execd`.
    pub(crate) fn before(execd: SocketAddr, more: &[&str]) -> Self {
        let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let authority = CertificateAuthority::new(directory.path()).unwrap();
        let sink = Sink::bind(&socket_path(directory.path()));
        let relay = Self::relay(&authority, directory.path());
        let (cert, key) = authority.proxy("s1", &["urn:opensandbox:s1"]).unwrap();
        let args = proxy_args(execd, relay.address, &authority.certificate(), &cert, &key, more);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let proxy = Verb::start(&args, &directory.path().join("proxy.log"));
        Self { proxy, relay, sink: Some(sink), execd: None, directory, authority }
    }

    fn relay(authority: &CertificateAuthority, directory: &Path) -> Verb {
        let (cert, key) = authority.relay().unwrap();
        let socket = socket_path(directory);
        let args = [
            "relay",
            "--listen",
            "127.0.0.1:0",
            "--socket",
            socket.to_str().unwrap(),
            "--ca",
            authority.certificate().to_str().unwrap(),
            "--cert",
            cert.to_str().unwrap(),
            "--key",
            key.to_str().unwrap(),
        ]
        .map(str::to_owned);
        Verb::start(&args.each_ref().map(String::as_str), &directory.join("relay.log"))
    }

    pub(crate) fn authority(&self) -> &CertificateAuthority {
        &self.authority
    }

    /// The daemon goes away.
    pub(crate) fn stop_sink(&mut self) {
        drop(self.sink.take());
    }

    /// The daemon comes back.
    pub(crate) fn start_sink(&mut self) {
        self.sink = Some(Sink::bind(&socket_path(self.directory.path())));
    }

    pub(crate) fn frames(&self, count: usize) -> Vec<Value> {
        self.sink.as_ref().unwrap().frames(count)
    }

    /// Sends a request through the proxy, and returns the answer's status and body.
    pub(crate) fn send(&self, method: &str, path: &str, body: impl AsRef<[u8]>) -> Answer {
        send_request(self.proxy.address, method, path, "", body.as_ref())
    }

    /// A path in the test's own directory.
    pub(crate) fn path(&self, name: &str) -> String {
        self.directory.path().join(name).to_str().unwrap().to_owned()
    }
}

fn socket_path(directory: &Path) -> PathBuf {
    directory.join("d.sock")
}

fn proxy_args(
    execd: SocketAddr,
    relay: SocketAddr,
    ca: &Path,
    cert: &Path,
    key: &Path,
    more: &[&str],
) -> Vec<String> {
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let mut args = vec!["proxy".to_owned(), "--listen".to_owned(), "127.0.0.1:0".to_owned()];
    args.extend(["--execd".to_owned(), format!("http://{execd}")]);
    if !more.contains(&"--relay") {
        args.extend(["--relay".to_owned(), format!("https://{relay}")]);
    }
    args.extend(["--ca".to_owned(), path(ca), "--cert".to_owned(), path(cert)]);
    args.extend(["--key".to_owned(), path(key)]);
    args.extend(more.iter().map(|word| (*word).to_owned()));
    args
}

/// An answer, taken apart.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn parse_response(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("no answer: {:?}", String::from_utf8_lossy(bytes)));
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self { status, head, body: bytes[end + 4..].to_vec() }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Sends bytes, and reads until the other side closes.
pub(crate) fn raw(to: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    answer
}

/// Asks, with more header lines.
pub(crate) fn send_request(
    to: SocketAddr,
    method: &str,
    path: &str,
    more: &str,
    body: &[u8],
) -> Answer {
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: execd\r\nContent-Length: {length}\r\n{more}Connection: close\r\n\r\n"
    );
    Answer::parse_response(&raw(to, &[head.as_bytes(), body].concat()))
}

/// Begins a request whose answer is read later.
pub(crate) fn begin(to: SocketAddr, method: &str, path: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let length = body.len();
    let head = format!("{method} {path} HTTP/1.1\r\nHost: e\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(&[head.as_bytes(), body.as_bytes()].concat()).unwrap();
    stream
}

/// Reads until `text` has come.
pub(crate) fn until(stream: &mut TcpStream, text: &str) -> String {
    let mut seen = Vec::new();
    let mut byte = [0];
    while !String::from_utf8_lossy(&seen).contains(text) {
        stream.read_exact(&mut byte).unwrap();
        seen.push(byte[0]);
    }
    String::from_utf8(seen).unwrap()
}

/// Goes away without a word.
pub(crate) fn hang_up(stream: TcpStream) {
    stream.shutdown(Shutdown::Both).unwrap();
    drop(stream);
}

/// RFC 8785, then SHA-256, as receipts have it.
pub(crate) fn hash(value: &Value) -> String {
    sha(&serde_json_canonicalizer::to_vec(value).unwrap())
}

/// SHA-256 as receipts have it.
pub(crate) fn sha(bytes: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    let digest: Vec<String> = Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect();
    format!("sha256:{}", digest.concat())
}

/// Reserves a port of loopback without a listener; it stays free of others while the socket is
/// open.
pub(crate) fn unserved() -> (OwnedFd, SocketAddr) {
    let (family, kind) = (AddressFamily::Inet, SockType::Stream);
    let held = socket(family, kind, SockFlag::SOCK_CLOEXEC, None).unwrap();
    bind(held.as_raw_fd(), &SockaddrIn::new(127, 0, 0, 1, 0)).unwrap();
    let name: SockaddrIn = getsockname(held.as_raw_fd()).unwrap();
    (held, SocketAddr::V4(name.into()))
}

/// Asks again and again until it is so.
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::yield_now();
    }
}
