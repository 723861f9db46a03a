//! Listeners: sockets on which the harness waits for connections that should not come. The log is
//! an oracle.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::Path;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::origin;

/// The variables that stand for a listener.
pub const NAMES: &[&str] = &[
    "TCP4",
    "TCP6",
    "HTTP",
    "METADATA",
    "METADATA6",
    "UDP",
    "UNIX",
    "DGRAM",
    "SEQPACKET",
    "ABSTRACT",
    "ABSTRACT_DGRAM",
];

/// The listeners that answer what they are asked.
const ORIGINS: [&str; 3] = ["HTTP", "METADATA", "METADATA6"];

/// The hidden verb under which the program listens for a script.
pub const VERB: &str = "__listen";

/// All listeners of one arm.
#[derive(Debug, Default)]
pub struct ArmListeners(Vec<ArmListener>);

/// One listener and what arrived.
#[derive(Debug)]
pub struct ArmListener {
    /// The variable it is known by.
    pub name: &'static str,
    socket: ListenerSocket,
    connections: Vec<OpenConnection>,
    /// The number of connections or datagrams that came.
    pub arrived: usize,
    /// Every byte that came.
    pub data: Vec<u8>,
}

#[derive(Debug)]
pub(super) enum ListenerSocket {
    Tcp(TcpListener),
    Udp(UdpSocket),
    Unix(UnixListener),
    Dgram(UnixDatagram),
}

impl AsFd for ListenerSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(socket) => socket.as_fd(),
            Self::Udp(socket) => socket.as_fd(),
            Self::Unix(socket) => socket.as_fd(),
            Self::Dgram(socket) => socket.as_fd(),
        }
    }
}

/// One connection, and what came over it.
#[derive(Debug)]
struct OpenConnection {
    stream: Box<dyn PendingConnection>,
    heard: Vec<u8>,
    ended: bool,
}

/// A connection that may still send something.
trait PendingConnection: Read + Write + AsFd + std::fmt::Debug {}
impl PendingConnection for std::net::TcpStream {}
impl PendingConnection for UnixStream {}

impl ArmListeners {
    /// Opens the listener called `name` and returns the value of its variable.
    ///
    /// # Errors
    /// The errno of a socket that could not be bound.
    pub fn open(&mut self, name: &'static str, out: &Path, nonce: &str) -> io::Result<String> {
        let (socket, value) = socket(name, out, nonce, ListenerReach::Loopback)?;
        self.add(name, socket);
        Ok(value)
    }

    fn add(&mut self, name: &'static str, socket: ListenerSocket) {
        let listener =
            ArmListener { name, socket, connections: Vec::new(), arrived: 0, data: Vec::new() };
        self.0.push(listener);
    }

    /// Takes a listener over that another process opened.
    #[cfg(target_os = "linux")]
    pub(super) fn adopt(&mut self, name: &'static str, socket: std::os::fd::OwnedFd) {
        let socket = match name {
            "UDP" => ListenerSocket::Udp(socket.into()),
            "UNIX" | "SEQPACKET" | "ABSTRACT" => ListenerSocket::Unix(socket.into()),
            "DGRAM" | "ABSTRACT_DGRAM" => ListenerSocket::Dgram(socket.into()),
            _ => ListenerSocket::Tcp(socket.into()),
        };
        self.add(name, socket);
    }

    /// The descriptors to wait on.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.0.iter().flat_map(ArmListener::descriptors)
    }

    /// Takes all that has arrived by now, without waiting.
    pub fn collect(&mut self) {
        self.0.iter_mut().for_each(ArmListener::collect);
    }

    /// The listener behind `$NAME`.
    pub fn get(&self, variable: &str) -> Option<&ArmListener> {
        let name = variable.strip_prefix('$')?;
        self.0.iter().find(|listener| listener.name == name)
    }

    /// Iterates over all listeners.
    pub fn iter(&self) -> impl Iterator<Item = &ArmListener> {
        self.0.iter()
    }
}

impl ArmListener {
    /// The socket's, and those of connections that wait for an answer.
    fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let open = self.connections.iter().filter(|open| self.answers() && !open.ended);
        std::iter::once(self.socket.as_fd()).chain(open.map(|open| open.stream.as_fd()))
    }

    fn collect(&mut self) {
        while let Some(()) = self.accept() {
            self.arrived += 1;
        }
        let answers = self.answers();
        for open in self.connections.iter_mut().filter(|open| !open.ended) {
            open.listen(&mut self.data);
            if answers {
                open.answer();
            }
        }
    }

    fn answers(&self) -> bool {
        ORIGINS.contains(&self.name)
    }

    /// Takes one connection or datagram, if there is one.
    fn accept(&mut self) -> Option<()> {
        match &self.socket {
            ListenerSocket::Tcp(socket) => {
                let (stream, _) = socket.accept().ok()?;
                stream.set_nonblocking(true).ok()?;
                self.connections.push(OpenConnection::new(stream));
            }
            ListenerSocket::Unix(socket) => {
                let (stream, _) = socket.accept().ok()?;
                stream.set_nonblocking(true).ok()?;
                self.connections.push(OpenConnection::new(stream));
            }
            ListenerSocket::Udp(socket) => {
                let mut buffer = [0; 4096];
                let (n, _) = socket.recv_from(&mut buffer).ok()?;
                self.data.extend_from_slice(&buffer[..n]);
            }
            ListenerSocket::Dgram(socket) => {
                let mut buffer = [0; 4096];
                let n = socket.recv(&mut buffer).ok()?;
                self.data.extend_from_slice(&buffer[..n]);
            }
        }
        Some(())
    }
}

impl OpenConnection {
    fn new(stream: impl PendingConnection + 'static) -> Self {
        Self { stream: Box::new(stream), heard: Vec::new(), ended: false }
    }

    /// Takes what has come, into `data` too.
    fn listen(&mut self, data: &mut Vec<u8>) {
        let mut buffer = [0; 4096];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => self.ended = true,
                Ok(n) => {
                    data.extend_from_slice(&buffer[..n]);
                    self.heard.extend_from_slice(&buffer[..n]);
                    continue;
                }
                Err(error) => self.ended |= error.kind() != io::ErrorKind::WouldBlock,
            }
            return;
        }
    }

    /// Answers every request whose head is whole.
    fn answer(&mut self) {
        while let Some(answer) = origin::answer(&mut self.heard) {
            // A client that does not wait for it loses nothing.
            let _gone = self.stream.write_all(&answer);
        }
    }
}

/// The addresses at which a listener of the internet's protocols can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListenerReach {
    /// At loopback's own address.
    Loopback,
    /// At every address there is; for a network of one's own.
    Everywhere,
}

/// The listener called `name`, and what its variable stands for.
pub(super) fn socket(
    name: &str,
    out: &Path,
    nonce: &str,
    reach: ListenerReach,
) -> io::Result<(ListenerSocket, String)> {
    let wide = reach == ListenerReach::Everywhere;
    match name {
        // In a network of one's own no other process is: there it has the port that rules open
        // unasked.
        "TCP4" if wide => tcp("0.0.0.0:443"),
        "HTTP" if wide => tcp("0.0.0.0:0"),
        "TCP4" | "HTTP" => tcp("127.0.0.1:0"),
        "TCP6" => tcp(if wide { "[::]:0" } else { "[::1]:0" }),
        "METADATA" => tcp("169.254.169.254:80"),
        "METADATA6" => tcp("[fd00:ec2::254]:80"),
        "UDP" => udp(if wide { "0.0.0.0:0" } else { "127.0.0.1:0" }),
        "UNIX" => path_socket(out),
        "DGRAM" => datagram_socket(out),
        "SEQPACKET" => message_socket(out),
        "ABSTRACT" => abstract_socket(nonce),
        "ABSTRACT_DGRAM" => abstract_datagrams(nonce),
        other => Err(io::Error::other(format!("no listener is called {other}"))),
    }
}

/// As a client on the same host dials it.
fn dialled(mut address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        let v6 = address.is_ipv6();
        address.set_ip(if v6 { Ipv6Addr::LOCALHOST.into() } else { Ipv4Addr::LOCALHOST.into() });
    }
    address.to_string()
}

fn tcp(address: &str) -> io::Result<(ListenerSocket, String)> {
    let socket = TcpListener::bind(address)?;
    socket.set_nonblocking(true)?;
    let value = dialled(socket.local_addr()?);
    Ok((ListenerSocket::Tcp(socket), value))
}

fn udp(address: &str) -> io::Result<(ListenerSocket, String)> {
    let socket = UdpSocket::bind(address)?;
    socket.set_nonblocking(true)?;
    let value = dialled(socket.local_addr()?);
    Ok((ListenerSocket::Udp(socket), value))
}

fn path_socket(out: &Path) -> io::Result<(ListenerSocket, String)> {
    let path = out.join("unix.sock");
    let socket = UnixListener::bind(&path)?;
    socket.set_nonblocking(true)?;
    Ok((ListenerSocket::Unix(socket), path.to_string_lossy().into_owned()))
}

fn datagram_socket(out: &Path) -> io::Result<(ListenerSocket, String)> {
    let path = out.join("dgram.sock");
    let socket = UnixDatagram::bind(&path)?;
    socket.set_nonblocking(true)?;
    Ok((ListenerSocket::Dgram(socket), path.to_string_lossy().into_owned()))
}

/// The standard library has no sockets of whole messages; accepting and reading are the same.
#[cfg(target_os = "linux")]
fn message_socket(out: &Path) -> io::Result<(ListenerSocket, String)> {
    use nix::sys::socket::{
        AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, listen, socket,
    };
    use std::os::fd::AsRawFd;
    let path = out.join("seqpacket.sock");
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(AddressFamily::Unix, SockType::SeqPacket, flags, None)?;
    bind(socket.as_raw_fd(), &UnixAddr::new(&path)?)?;
    listen(&socket, Backlog::MAXCONN)?;
    Ok((ListenerSocket::Unix(UnixListener::from(socket)), path.to_string_lossy().into_owned()))
}

#[cfg(not(target_os = "linux"))]
fn message_socket(_out: &Path) -> io::Result<(ListenerSocket, String)> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(target_os = "linux")]
fn abstract_socket(nonce: &str) -> io::Result<(ListenerSocket, String)> {
    use std::os::linux::net::SocketAddrExt;
    let address = std::os::unix::net::SocketAddr::from_abstract_name(nonce)?;
    let socket = UnixListener::bind_addr(&address)?;
    socket.set_nonblocking(true)?;
    Ok((ListenerSocket::Unix(socket), format!("@{nonce}")))
}

#[cfg(not(target_os = "linux"))]
fn abstract_socket(_nonce: &str) -> io::Result<(ListenerSocket, String)> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A name of its own: that of the other kind may be in use as well.
#[cfg(target_os = "linux")]
fn abstract_datagrams(nonce: &str) -> io::Result<(ListenerSocket, String)> {
    use std::os::linux::net::SocketAddrExt;
    let name = format!("{nonce}-dgram");
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&name)?;
    let socket = UnixDatagram::bind_addr(&address)?;
    socket.set_nonblocking(true)?;
    Ok((ListenerSocket::Dgram(socket), format!("@{name}")))
}

#[cfg(not(target_os = "linux"))]
fn abstract_datagrams(_nonce: &str) -> io::Result<(ListenerSocket, String)> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Listens for a script: `LOG OUT NONCE NAME…`. Writes each address to `LOG/NAME.address`, and when
/// standard input ends, how much arrived and what to `LOG/NAME.arrived` and `LOG/NAME.data`.
pub fn serve(args: impl Iterator<Item = OsString>) -> i32 {
    match listen_for_script(&args.collect::<Vec<_>>()) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("listener: {error}");
            1
        }
    }
}

fn listen_for_script(args: &[OsString]) -> io::Result<()> {
    let [log, out, nonce, names @ ..] = args else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let (log, nonce) = (Path::new(log), nonce.to_string_lossy());
    let mut listeners = ArmListeners::default();
    for name in names {
        let known = NAMES.iter().find(|known| name == *known);
        let name = known.ok_or_else(|| io::Error::other("no listener is called so"))?;
        let address = listeners.open(name, Path::new(out), &nonce)?;
        let draft = log.join(format!("{name}.draft"));
        std::fs::write(&draft, address)?;
        std::fs::rename(draft, log.join(format!("{name}.address")))?;
    }
    wait_for_end(&mut listeners)?;
    for listener in listeners.iter() {
        std::fs::write(log.join(format!("{}.data", listener.name)), &listener.data)?;
        let arrived = listener.arrived.to_string();
        std::fs::write(log.join(format!("{}.arrived", listener.name)), arrived)?;
    }
    Ok(())
}

/// Takes what arrives until standard input ends, and what has arrived by then.
fn wait_for_end(listeners: &mut ArmListeners) -> io::Result<()> {
    let stdin = io::stdin();
    loop {
        let mut ready: Vec<PollFd<'_>> = std::iter::once(stdin.as_fd())
            .chain(listeners.descriptors())
            .map(|descriptor| PollFd::new(descriptor, PollFlags::POLLIN))
            .collect();
        poll(&mut ready, PollTimeout::NONE)?;
        let ended = ready[0].any() == Some(true);
        drop(ready);
        listeners.collect();
        if ended && stdin.lock().read(&mut [0; 64])? == 0 {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_arrives_is_logged_and_silence_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let mut listeners = ArmListeners::default();
        let tcp = listeners.open("TCP4", directory.path(), "n").unwrap();
        let udp = listeners.open("UDP", directory.path(), "n").unwrap();
        let unix = listeners.open("UNIX", directory.path(), "n").unwrap();
        let mut stream = std::net::TcpStream::connect(tcp).unwrap();
        stream.write_all(b"over tcp").unwrap();
        UdpSocket::bind("127.0.0.1:0").unwrap().send_to(b"over udp", udp).unwrap();
        listeners.collect();
        assert_eq!(listeners.get("$TCP4").unwrap().data, b"over tcp");
        assert_eq!(listeners.get("$UDP").unwrap().arrived, 1);
        assert_eq!(listeners.get("$UNIX").unwrap().arrived, 0);
        let origin = listeners.open("HTTP", directory.path(), "n").unwrap();
        let mut stream = std::net::TcpStream::connect(origin).unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r").unwrap();
        listeners.collect();
        let mut answer = [0; origin::ANSWER.len()];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(answer, origin::ANSWER);
        stream.set_nonblocking(true).unwrap();
        assert_eq!(stream.read(&mut answer).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(UnixStream::connect(unix).unwrap());
        listeners.collect();
        assert_eq!(listeners.get("$UNIX").unwrap().arrived, 1);
    }

    #[test]
    fn a_datagram_to_a_path_is_logged() {
        let directory = tempfile::tempdir().unwrap();
        let mut listeners = ArmListeners::default();
        let path = listeners.open("DGRAM", directory.path(), "n").unwrap();
        listeners.collect();
        assert_eq!(listeners.get("$DGRAM").unwrap().arrived, 0);
        UnixDatagram::unbound().unwrap().send_to(b"over a path", path).unwrap();
        listeners.collect();
        let log = listeners.get("$DGRAM").unwrap();
        assert_eq!((log.arrived, log.data.as_slice()), (1, &b"over a path"[..]));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_whole_message_is_logged() {
        use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket};
        use std::os::fd::AsRawFd;
        let directory = tempfile::tempdir().unwrap();
        let mut listeners = ArmListeners::default();
        let path = listeners.open("SEQPACKET", directory.path(), "n").unwrap();
        let flags = SockFlag::empty();
        let client = socket(AddressFamily::Unix, SockType::SeqPacket, flags, None).unwrap();
        connect(client.as_raw_fd(), &UnixAddr::new(path.as_str()).unwrap()).unwrap();
        UnixStream::from(client).write_all(b"a message").unwrap();
        listeners.collect();
        let log = listeners.get("$SEQPACKET").unwrap();
        assert_eq!((log.arrived, log.data.as_slice()), (1, &b"a message"[..]));
    }
}
