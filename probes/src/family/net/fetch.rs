//! A client that honours the proxy of its environment, as most programs do, and says what it heard.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use nix::errno::Errno;

use super::CONNECT_MS;
use crate::args::ProbeArguments;
use crate::outcome::{CallContext, ProbeError, ProbeResult, done, succeed_with};
use crate::record::DetailValue;
use crate::usage_error::UsageError;

/// Words of `--way`.
pub(crate) const WAYS: &[&str] = &["connect", "get", "socks"];
/// The variables that name a proxy, by way; the first that is set counts.
const VARIABLES: [&str; 4] = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"];
const SOCKS_VARIABLES: [&str; 4] = ["all_proxy", "ALL_PROXY", "http_proxy", "HTTP_PROXY"];
/// Bytes of an answer's head at most.
const HEAD: usize = 16 * 1024;
/// The number of redirects that `--follow` follows.
const HOPS: u8 = 3;

/// Reaches `--host` at the port of `--addr`: through the proxy that the environment names, or
/// without one by itself. A proxy's refusal is EACCES of the call `proxy`.
pub(crate) fn fetch(args: &ProbeArguments) -> ProbeResult {
    let address = args.address()?.ok_or_else(|| UsageError::missing("addr"))?;
    let host = match args.maybe("host") {
        Some(host) => String::from_utf8_lossy(host.as_bytes()).into_owned(),
        None => address.ip().to_string(),
    };
    let server = FetchTarget { host, port: address.port() };
    let way = args.one("way")?.to_string_lossy().into_owned();
    let variables = if way == "socks" { SOCKS_VARIABLES } else { VARIABLES };
    match (proxy(variables), way.as_str()) {
        (proxy, "get") => browse(proxy, server, args),
        (None, _) => greet(server.direct()?, args),
        (Some(proxy), "socks") => greet(socks(dial(proxy)?, &server)?, args),
        (Some(proxy), _) => greet(tunnel(dial(proxy)?, &server)?, args),
    }
}

/// The parts of an answer that the probe reads.
struct HttpAnswer {
    status: u16,
    location: Option<String>,
}

struct FetchTarget {
    host: String,
    port: u16,
}

impl FetchTarget {
    fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Parses a URL without TLS; returns `None` if it names no port either.
    fn of_url(url: &str) -> Option<(Self, String)> {
        let rest = url.strip_prefix("http://")?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, port) = authority.rsplit_once(':')?;
        let server = Self { host: host.to_owned(), port: port.parse().ok()? };
        Some((server, format!("/{path}")))
    }

    /// Connects to the host as a resolver reads it, which knows every spelling of an address. An
    /// account before the host is no part of it.
    fn direct(&self) -> Result<TcpStream, ProbeError> {
        let bare = self.host.rsplit('@').next().unwrap_or_default();
        let bare = bare.trim_start_matches('[').trim_end_matches(']');
        let mut found = (bare, self.port).to_socket_addrs().map_err(|error| {
            ProbeError::Refused { call: "getaddrinfo", errno: errno(&error, Errno::ENOENT) }
        })?;
        dial(found.next().ok_or_else(|| ProbeError::Fault("no address was found".to_owned()))?)
    }
}

/// The proxy that the environment names, by its address.
fn proxy(variables: [&str; 4]) -> Option<SocketAddr> {
    let value =
        variables.iter().find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()))?;
    let rest = value.split_once("://").map_or(value.as_str(), |(_, rest)| rest);
    rest.trim_end_matches('/').to_socket_addrs().ok()?.next()
}

fn dial(address: SocketAddr) -> Result<TcpStream, ProbeError> {
    let limit = Duration::from_millis(CONNECT_MS.into());
    let stream = TcpStream::connect_timeout(&address, limit).map_err(refused("connect"))?;
    // A missing answer is itself an observation.
    let patient = stream.set_read_timeout(Some(limit * 2));
    patient.map_err(|error| ProbeError::Fault(error.to_string()))?;
    Ok(stream)
}

fn greet(mut stream: TcpStream, args: &ProbeArguments) -> ProbeResult {
    stream.write_all(args.bytes("send")).map_err(refused("send"))?;
    done()
}

fn sent(args: &ProbeArguments) -> String {
    String::from_utf8_lossy(args.bytes("send")).into_owned()
}

/// Asks for what is to be sent, as a path, and with `--follow` goes where an answer sends it. The
/// last status is seen, and below 400 is success.
fn browse(
    proxy: Option<SocketAddr>,
    mut server: FetchTarget,
    args: &ProbeArguments,
) -> ProbeResult {
    let mut path = format!("/{}", sent(args));
    let mut hops = if args.has("follow") { HOPS } else { 0 };
    loop {
        let answer = match proxy {
            Some(proxy) => {
                get(dial(proxy)?, &format!("http://{}{path}", server.authority()), &server)?
            }
            None => get(server.direct()?, &path, &server)?,
        };
        match answer.location.filter(|_| hops > 0) {
            None => return succeed_with([("status", DetailValue::Number(answer.status.into()))]),
            Some(location) => {
                hops -= 1;
                let next = FetchTarget::of_url(&location);
                (server, path) =
                    next.ok_or_else(|| ProbeError::Fault(format!("sent to {location}")))?;
            }
        }
    }
}

fn get(
    mut stream: TcpStream,
    target: &str,
    server: &FetchTarget,
) -> Result<HttpAnswer, ProbeError> {
    let host = server.authority();
    let request = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).map_err(refused("send"))?;
    answer(&mut stream)
}

fn tunnel(mut stream: TcpStream, server: &FetchTarget) -> Result<TcpStream, ProbeError> {
    let server = server.authority();
    let request = format!("CONNECT {server} HTTP/1.1\r\nHost: {server}\r\n\r\n");
    stream.write_all(request.as_bytes()).map_err(refused("send"))?;
    answer(&mut stream)?;
    Ok(stream)
}

/// The head of an answer; a status of 400 and above is an errno.
fn answer(stream: &mut TcpStream) -> Result<HttpAnswer, ProbeError> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && head.len() < HEAD {
        match stream.read(&mut byte) {
            Ok(0) => break,
            Ok(_) => head.push(byte[0]),
            Err(error) => return Err(refused("recv")(error)),
        }
    }
    let status =
        std::str::from_utf8(&head).ok().and_then(|head| head.split(' ').nth(1)?.parse().ok());
    let errno = match status {
        Some(status @ 200..=399) => return Ok(HttpAnswer { status, location: location(&head) }),
        Some(401 | 403 | 405 | 407 | 451) => Errno::EACCES,
        Some(400) => Errno::EINVAL,
        Some(502..=504) => Errno::EHOSTUNREACH,
        // Nothing, or nothing that is HTTP.
        None if head.is_empty() => Errno::ECONNRESET,
        _ => Errno::EPROTO,
    };
    Err(ProbeError::Refused { call: "proxy", errno })
}

/// Returns the `Location` field of a response header.
fn location(head: &[u8]) -> Option<String> {
    let head = std::str::from_utf8(head).ok()?;
    let fields = head.lines().filter_map(|line| line.split_once(':'));
    let found = fields.into_iter().find(|(name, _)| name.eq_ignore_ascii_case("location"));
    found.map(|(_, url)| url.trim().to_owned())
}

/// SOCKS 5: the name goes to the proxy as it is.
fn socks(mut stream: TcpStream, server: &FetchTarget) -> Result<TcpStream, ProbeError> {
    let length = u8::try_from(server.host.len());
    let length = length.map_err(|_| UsageError::bad("host", "expected at most 255 bytes"))?;
    let mut answer = [0; 10];
    stream.write_all(&[5, 1, 0]).map_err(refused("send"))?;
    stream.read_exact(&mut answer[..2]).map_err(refused("recv"))?;
    let mut request = vec![5, 1, 0, 3, length];
    request.extend(server.host.as_bytes());
    request.extend(server.port.to_be_bytes());
    stream.write_all(&request).map_err(refused("send"))?;
    stream.read_exact(&mut answer).map_err(refused("recv"))?;
    let errno = match answer[1] {
        0 => return Ok(stream),
        2 => Errno::EACCES,
        3 => Errno::ENETUNREACH,
        4 => Errno::EHOSTUNREACH,
        5 => Errno::ECONNREFUSED,
        7 | 8 => Errno::EOPNOTSUPP,
        _ => Errno::EPROTO,
    };
    Err(errno).at("proxy")
}

fn refused(call: &'static str) -> impl Fn(io::Error) -> ProbeError {
    move |error| ProbeError::Refused { call, errno: errno(&error, Errno::ETIMEDOUT) }
}

/// Returns the error number: ETIMEDOUT for a time limit, ECONNRESET for an early end, `other` if
/// there is none.
fn errno(error: &io::Error, other: Errno) -> Errno {
    match (error.kind(), error.raw_os_error()) {
        (io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut, _) => Errno::ETIMEDOUT,
        (io::ErrorKind::UnexpectedEof, _) => Errno::ECONNRESET,
        (_, Some(number)) => Errno::from_raw(number),
        (_, None) => other,
    }
}
