//! SOCKS 5 (RFC 1928) without accounts: the command CONNECT, to names and addresses.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::connector::{ConnectError, EgressConnector};
use super::host::{TargetHost, unwrapped};
use super::pipe::pipe;
use super::shutdown::ConnectionGuard;

/// The first byte of every message.
pub(super) const VERSION: u8 = 5;
const NO_ACCOUNT: u8 = 0;
const NO_METHOD: u8 = 0xff;
const CONNECT: u8 = 1;
const BY_IPV4: u8 = 1;
const BY_NAME: u8 = 3;
const BY_IPV6: u8 = 4;

/// Codes of the answer.
#[derive(Clone, Copy)]
enum SocksReply {
    Done = 0,
    Failed = 1,
    Denied = 2,
    Unreachable = 4,
    Refused = 5,
    NoCommand = 7,
    NoAddress = 8,
}

/// Serves one client; an error if it speaks something else, or no more.
pub(super) async fn serve(
    mut client: TcpStream,
    gate: &EgressConnector,
    life: ConnectionGuard,
) -> io::Result<()> {
    let [_, count] = bytes(&mut client).await?;
    let mut methods = vec![0; count.into()];
    client.read_exact(&mut methods).await?;
    if !methods.contains(&NO_ACCOUNT) {
        return client.write_all(&[VERSION, NO_METHOD]).await;
    }
    client.write_all(&[VERSION, NO_ACCOUNT]).await?;
    let [version, command, _, kind] = bytes(&mut client).await?;
    if version != VERSION {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let Some(target) = target(&mut client, kind).await? else {
        return reply(&mut client, SocksReply::NoAddress).await;
    };
    let port = u16::from_be_bytes(bytes(&mut client).await?);
    if command != CONNECT && !fault!("network.socks-commands") {
        return reply(&mut client, SocksReply::NoCommand).await;
    }
    match gate.connect(&target, port).await {
        Ok(server) => {
            reply(&mut client, SocksReply::Done).await?;
            pipe(client, server, life).await;
            Ok(())
        }
        Err(closed) => reply(&mut client, code(&closed)).await,
    }
}

async fn bytes<const N: usize>(client: &mut TcpStream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    client.read_exact(&mut bytes).await?;
    Ok(bytes)
}

/// Reads the destination of the client; none if it is malformed.
async fn target(client: &mut TcpStream, kind: u8) -> io::Result<Option<TargetHost>> {
    Ok(match kind {
        BY_IPV4 => {
            let address = Ipv4Addr::from(bytes::<4>(client).await?);
            Some(TargetHost::Address(unwrapped(address.into())))
        }
        BY_IPV6 => {
            let address = Ipv6Addr::from(bytes::<16>(client).await?);
            Some(TargetHost::Address(unwrapped(address.into())))
        }
        BY_NAME => {
            let [length] = bytes(client).await?;
            let mut name = vec![0; length.into()];
            client.read_exact(&mut name).await?;
            std::str::from_utf8(&name).ok().and_then(|name| TargetHost::read(name).ok())
        }
        _ => None,
    })
}

fn code(closed: &ConnectError) -> SocksReply {
    match closed {
        ConnectError::Denied(_) => SocksReply::Denied,
        ConnectError::Failed(error) => match error.kind() {
            io::ErrorKind::ConnectionRefused => SocksReply::Refused,
            io::ErrorKind::HostUnreachable | io::ErrorKind::TimedOut => SocksReply::Unreachable,
            _ => SocksReply::Failed,
        },
    }
}

/// Replies with an empty address: the client need not know the proxy's own.
async fn reply(client: &mut TcpStream, code: SocksReply) -> io::Result<()> {
    client.write_all(&[VERSION, code as u8, 0, BY_IPV4, 0, 0, 0, 0, 0, 0]).await
}
