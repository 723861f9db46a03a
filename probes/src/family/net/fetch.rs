//! A client that honours the proxy of its environment, as most programs do, and says what it heard.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::ffi::OsStrExt;

use nix::errno::Errno;

use super::client_stream::{dial, errno, refused};
use super::proxy_endpoint::ProxyEndpoint;
use crate::args::ProbeArguments;
use crate::outcome::{CallContext, ProbeError, ProbeResult, done, succeed_with};
use crate::record::DetailValue;
use crate::usage_error::UsageError;

/// Words of `--way`.
pub(crate) const WAYS: &[&str] = &["connect", "get", "socks"];
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
    let proxy = match way.as_str() {
        "socks" => ProxyEndpoint::for_socks()?,
        _ => ProxyEndpoint::for_http()?,
    };
    match (proxy, way.as_str()) {
        (proxy, "get") => browse(proxy.as_ref(), server, args),
        (None, _) => greet(server.direct()?, args),
        (Some(proxy), "socks") => greet(socks(&proxy, &server)?, args),
        (Some(proxy), _) => greet(tunnel(&proxy, &server)?, args),
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
        // Case does not matter in names (RFC 4343), but it does to musl, which takes /etc/hosts as it is.
        let name = bare.to_ascii_lowercase();
        let found = (name.as_str(), self.port).to_socket_addrs().map_err(|error| {
            ProbeError::Refused { call: "getaddrinfo", errno: errno(&error, Errno::ENOENT) }
        })?;
        dial(&found.collect::<Vec<_>>())
    }
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
    proxy: Option<&ProxyEndpoint>,
    mut server: FetchTarget,
    args: &ProbeArguments,
) -> ProbeResult {
    let mut path = format!("/{}", sent(args));
    let mut hops = if args.has("follow") { HOPS } else { 0 };
    loop {
        let answer = match proxy {
            Some(proxy) => {
                let target = format!("http://{}{path}", server.authority());
                get(proxy.dial()?, &target, (&server, &proxy.authorization()))?
            }
            None => get(server.direct()?, &path, (&server, ""))?,
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
    (server, authorization): (&FetchTarget, &str),
) -> Result<HttpAnswer, ProbeError> {
    let host = server.authority();
    let request = format!(
        "GET {target} HTTP/1.1\r\nHost: {host}\r\n{authorization}Connection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).map_err(refused("send"))?;
    answer(&mut stream)
}

fn tunnel(proxy: &ProxyEndpoint, server: &FetchTarget) -> Result<TcpStream, ProbeError> {
    let mut stream = proxy.dial()?;
    let (server, authorization) = (server.authority(), proxy.authorization());
    let request = format!("CONNECT {server} HTTP/1.1\r\nHost: {server}\r\n{authorization}\r\n");
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
fn socks(proxy: &ProxyEndpoint, server: &FetchTarget) -> Result<TcpStream, ProbeError> {
    let length = u8::try_from(server.host.len());
    let length = length.map_err(|_| UsageError::bad("host", "expected at most 255 bytes"))?;
    let mut answer = [0; 10];
    let mut stream = proxy.dial()?;
    proxy.greet_socks(&mut stream)?;
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
