//! The gate: a connection to the requested destination, if the rules admit it.

use std::io;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::decide::{Rules, Why};
use super::host::Target;
use super::hosts::Hosts;
use super::log::{Denied, Log};
use super::socket;

/// Time that one address has to answer.
const ANSWER: Duration = Duration::from_secs(10);

/// The rules, the name resolution, and the log of refusals.
pub(super) struct Gate {
    rules: Rules,
    hosts: Hosts,
    log: Log,
}

/// The reason why there is no connection.
#[derive(Debug)]
pub(super) enum Closed {
    /// It may not be.
    Denied(Why),
    /// It may, and did not come about.
    Failed(io::Error),
}

impl Gate {
    /// Builds a gate that logs refusals in `log`.
    pub(super) fn new(rules: Rules, hosts: Hosts, log: Log) -> Self {
        Self { rules, hosts, log }
    }

    /// Connects to `target`. A name is resolved only if the rules admit it, and the connection goes
    /// to a checked address, so that a second answer of the resolver has no effect.
    pub(super) async fn connect(&self, target: &Target, port: u16) -> Result<TcpStream, Closed> {
        let reached = self.reach(target, port).await;
        if let Err(Closed::Denied(why)) = &reached {
            let whom = format!("{target}:{port}");
            let remedy = why.remedy(&whom, port);
            self.log.add(Denied { whom, why: why.to_string(), remedy });
        }
        reached
    }

    async fn reach(&self, target: &Target, port: u16) -> Result<TcpStream, Closed> {
        self.rules.admit(target, port).map_err(Closed::Denied)?;
        let addresses = self.hosts.addresses(target).await.map_err(Closed::Failed)?;
        let mut closed = Closed::Failed(io::Error::other("it has no address"));
        for address in addresses {
            match self.rules.admit_address(address, port) {
                Err(why) => closed = Closed::Denied(why),
                Ok(()) => match timeout(ANSWER, TcpStream::connect((address, port))).await {
                    Ok(Ok(stream)) => {
                        socket::set(&stream, address);
                        return Ok(stream);
                    }
                    Ok(Err(error)) => closed = Closed::Failed(error),
                    Err(_) => closed = Closed::Failed(io::ErrorKind::TimedOut.into()),
                },
            }
        }
        Err(closed)
    }
}
