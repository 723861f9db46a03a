//! The proxy that the environment names ([`ProxyEndpoint`]), with the account that its URL carries.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use nix::errno::Errno;
use percent_encoding::percent_decode_str;

use super::client_stream::{dial, refused};
use crate::outcome::{CallContext, ProbeError};

/// The variables that name a proxy; the first that is set counts.
const VARIABLES: [&str; 4] = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"];
/// The variables that may name a SOCKS proxy; the first with such a scheme counts.
const SOCKS_VARIABLES: [&str; 6] =
    ["all_proxy", "ALL_PROXY", "ftp_proxy", "FTP_PROXY", "http_proxy", "HTTP_PROXY"];

/// A proxy and how to reach it.
pub(super) struct ProxyEndpoint {
    /// The addresses that its name leads to, in the order of the resolver.
    addresses: Vec<SocketAddr>,
    account: Option<ProxyAccount>,
}

/// Name and password of a proxy's URL (RFC 3986, userinfo), decoded.
struct ProxyAccount {
    name: Vec<u8>,
    password: Vec<u8>,
}

impl ProxyEndpoint {
    /// Returns the proxy that the environment names for HTTP.
    ///
    /// # Errors
    /// A proxy whose URL names no address is a fault: nothing was tried then.
    pub(super) fn for_http() -> Result<Option<Self>, ProbeError> {
        values(&VARIABLES).next().map(|value| Self::parse(&value)).transpose()
    }

    /// Returns the proxy that the environment names for SOCKS, or else the one for HTTP, which may
    /// speak it, too.
    ///
    /// # Errors
    /// As [`ProxyEndpoint::for_http`].
    pub(super) fn for_socks() -> Result<Option<Self>, ProbeError> {
        let by_scheme = values(&SOCKS_VARIABLES).find(|value| value.starts_with("socks"));
        let value = by_scheme.or_else(|| values(&SOCKS_VARIABLES).next());
        value.map(|value| Self::parse(&value)).transpose()
    }

    fn parse(url: &str) -> Result<Self, ProbeError> {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let authority = rest.split('/').next().unwrap_or_default();
        let (account, server) = match authority.rsplit_once('@') {
            Some((account, server)) => (Some(ProxyAccount::parse(account)), server),
            None => (None, authority),
        };
        match server.to_ascii_lowercase().to_socket_addrs() {
            Ok(addresses) => Ok(Self { addresses: addresses.collect(), account }),
            Err(error) => Err(ProbeError::Fault(format!("the proxy {server}: {error}"))),
        }
    }

    /// Connects to it.
    pub(super) fn dial(&self) -> Result<TcpStream, ProbeError> {
        dial(&self.addresses)
    }

    /// Returns the header field that names the account (RFC 7617), with its line end; empty without
    /// one.
    pub(super) fn authorization(&self) -> String {
        let Some(ProxyAccount { name, password }) = &self.account else { return String::new() };
        let pair = [name, b":".as_slice(), password].concat();
        format!("Proxy-Authorization: Basic {}\r\n", STANDARD.encode(pair))
    }

    /// Agrees on a method over `stream`, which has just been connected: none, or the account (RFC 1928
    /// and 1929).
    pub(super) fn greet_socks(&self, stream: &mut TcpStream) -> Result<(), ProbeError> {
        let mut answer = [0; 2];
        let offer: &[u8] = if self.account.is_some() { &[5, 2, 0, 2] } else { &[5, 1, 0] };
        stream.write_all(offer).map_err(refused("send"))?;
        stream.read_exact(&mut answer).map_err(refused("recv"))?;
        match (answer[1], &self.account) {
            (0, _) => Ok(()),
            (2, Some(account)) => account.log_in(stream),
            _ => Err(Errno::EACCES).at("proxy"),
        }
    }
}

impl ProxyAccount {
    fn parse(text: &str) -> Self {
        let (name, password) = text.split_once(':').unwrap_or((text, ""));
        let decoded = |text| percent_decode_str(text).collect();
        Self { name: decoded(name), password: decoded(password) }
    }

    fn log_in(&self, stream: &mut TcpStream) -> Result<(), ProbeError> {
        let mut request = vec![1];
        for text in [&self.name, &self.password] {
            let length = u8::try_from(text.len());
            let too_long = |_| ProbeError::Fault("the proxy's account is too long".to_owned());
            request.push(length.map_err(too_long)?);
            request.extend(text);
        }
        stream.write_all(&request).map_err(refused("send"))?;
        let mut answer = [0; 2];
        stream.read_exact(&mut answer).map_err(refused("recv"))?;
        if answer[1] == 0 { Ok(()) } else { Err(Errno::EACCES).at("proxy") }
    }
}

/// The values of `variables` that are set and not empty.
fn values(variables: &[&str]) -> impl Iterator<Item = String> {
    variables.iter().filter_map(|name| std::env::var(name).ok()).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_decoded_and_no_part_of_the_address() {
        let proxy = ProxyEndpoint::parse("http://a%40b:c%3Ad@127.0.0.1:3128/").unwrap();
        assert_eq!(proxy.addresses, ["127.0.0.1:3128".parse().unwrap()]);
        let field = format!("Proxy-Authorization: Basic {}\r\n", STANDARD.encode("a@b:c:d"));
        assert_eq!(proxy.authorization(), field);
        let proxy = ProxyEndpoint::parse("127.0.0.1:1").unwrap();
        assert_eq!(proxy.authorization(), "");
        assert!(matches!(ProxyEndpoint::parse("socks5h://127.0.0.1"), Err(ProbeError::Fault(_))));
    }
}
