//! The gate: a connection to the requested destination, if the rules admit it.

use std::io;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::decide::{EgressDenial, EgressRules};
use super::denial_log::{DenialLog, DeniedHost};
use super::host::TargetHost;
use super::hosts::HostsFile;
use super::socket;
use crate::sys;

/// Time that one address has to answer.
const ANSWER: Duration = Duration::from_secs(10);

/// The rules, the name resolution, and the log of refusals.
pub(super) struct EgressConnector {
    rules: EgressRules,
    hosts: HostsFile,
    log: DenialLog,
}

/// The reason why there is no connection.
#[derive(Debug)]
pub(super) enum ConnectError {
    /// It may not be.
    Denied(EgressDenial),
    /// It may, and did not come about.
    Failed(io::Error),
}

impl EgressConnector {
    /// Builds a gate that logs refusals in `log`.
    pub(super) fn new(rules: EgressRules, hosts: HostsFile, log: DenialLog) -> Self {
        Self { rules, hosts, log }
    }

    /// Connects to `target`. A name is resolved only if the rules admit it, and the connection goes
    /// to a checked address, so that a second answer of the resolver has no effect.
    pub(super) async fn connect(
        &self,
        target: &TargetHost,
        port: u16,
    ) -> Result<TcpStream, ConnectError> {
        let reached = self.reach(target, port).await;
        if let Err(ConnectError::Denied(why)) = &reached {
            let destination = format!("{target}:{port}");
            let remedy = why.remedy(&destination, port);
            if fault!("network.denials-untold") {
                return reached;
            }
            let at_ns = sys::monotonic_ns();
            self.log.add(DeniedHost { destination, why: why.to_string(), remedy, at_ns });
        }
        reached
    }

    async fn reach(&self, target: &TargetHost, port: u16) -> Result<TcpStream, ConnectError> {
        self.rules.admit(target, port).map_err(ConnectError::Denied)?;
        let addresses = self.hosts.addresses(target).await.map_err(ConnectError::Failed)?;
        let mut closed = ConnectError::Failed(io::Error::other("it has no address"));
        for address in addresses {
            match self.rules.admit_address(address, port) {
                Err(why) => closed = ConnectError::Denied(why),
                Ok(()) => match timeout(ANSWER, TcpStream::connect((address, port))).await {
                    Ok(Ok(stream)) => {
                        socket::set(&stream, address);
                        return Ok(stream);
                    }
                    Ok(Err(error)) => closed = ConnectError::Failed(error),
                    Err(_) => closed = ConnectError::Failed(io::ErrorKind::TimedOut.into()),
                },
            }
        }
        Err(closed)
    }
}
