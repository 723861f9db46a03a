//! The server of one run's doors, in a thread of this process: the end of the thread ends all
//! connections.

use std::io;
use std::net::{Ipv4Addr, TcpListener as Listener};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use super::connector::EgressConnector;
use super::decide::EgressRules;
use super::denial_log::{DenialLog, DeniedHost};
use super::hosts::HostsFile;
use super::listener_handoff::{self, ListenerHandoff};
use super::pipe::pipe;
use super::shutdown::{ConnectionGuard, ShutdownTrigger, ShutdownWaiter, life};
use super::{http, socket, socks};
use crate::error::Refusal;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

/// The port of the proxy inside the namespace.
const PROXY_PORT: u16 = 3128;
/// The delay before the next attempt where this process has no descriptor left.
const PAUSE: Duration = Duration::from_millis(20);

/// The way out of a private network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EgressRoute {
    /// This port of the host's loopback address, and of the own one.
    Port(u16),
    /// Hosts that rules allow, through a proxy.
    Hosts(EgressRules),
}

impl EgressRoute {
    /// The port at which it begins inside.
    pub(crate) fn port(&self) -> u16 {
        match self {
            Self::Port(port) => *port,
            Self::Hosts(_) => PROXY_PORT,
        }
    }
}

/// The service for a client that came through a door.
#[derive(Clone)]
enum ProxyService {
    Port(u16),
    Gate(Arc<EgressConnector>),
}

/// A way out that is not yet served.
pub(crate) struct PreparedProxy {
    service: ProxyService,
    log: DenialLog,
    outer: OwnedFd,
}

/// A way out, served until it is closed.
pub(crate) struct ProxyServer {
    log: DenialLog,
    stop: ShutdownTrigger,
    thread: JoinHandle<()>,
}

/// Prepares `way`; the door is for inside.
pub(crate) fn prepare(way: &EgressRoute) -> Result<(ListenerHandoff, PreparedProxy), Refusal> {
    let log = DenialLog::default();
    let service = match way {
        EgressRoute::Port(port) => ProxyService::Port(*port),
        EgressRoute::Hosts(rules) => {
            let hosts = HostsFile::of_launcher().map_err(Refusal::invalid)?;
            ProxyService::Gate(Arc::new(EgressConnector::new(rules.clone(), hosts, log.clone())))
        }
    };
    let (door, outer) =
        listener_handoff::pair(way.port()).map_err(|error| Refusal::os("a socket pair", error))?;
    Ok((door, PreparedProxy { service, log, outer }))
}

impl PreparedProxy {
    /// Serves it from now on. This process must not fork any more before it is closed.
    pub(crate) fn open(self) -> io::Result<ProxyServer> {
        let Self { service, log, outer } = self;
        let (life, end, stop) = life();
        let thread = std::thread::Builder::new().name("egress".to_owned());
        let thread = thread.spawn(move || {
            if let Err(error) = serve(&outer, &service, life, end) {
                // Clients that connect are refused, as the sockets are closed.
                eprintln!("refbox: the way out of the network is not served: {error}");
            }
        })?;
        Ok(ProxyServer { log, stop, thread })
    }
}

impl ProxyServer {
    /// Delivers the bytes in flight and ends all connections; returns the refusals, and the number of
    /// those that were not kept.
    pub(crate) fn close(self) -> (Vec<DeniedHost>, u64) {
        self.stop.stop();
        let _panicked = self.thread.join();
        self.log.take()
    }
}

fn serve(
    outer: &OwnedFd,
    service: &ProxyService,
    life: ConnectionGuard,
    mut end: ShutdownWaiter,
) -> io::Result<()> {
    let doors = listener_handoff::wait(outer)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(async {
        for door in doors {
            tokio::spawn(accept(listener(door)?, service.clone(), life.clone()));
        }
        drop(life);
        end.over().await;
        end.delivered().await;
        Ok(())
    });
    // A pending name resolution is not waited for.
    runtime.shutdown_background();
    served
}

fn listener(door: Listener) -> io::Result<TcpListener> {
    door.set_nonblocking(true)?;
    TcpListener::from_std(door)
}

async fn accept(door: TcpListener, service: ProxyService, mut life: ConnectionGuard) {
    loop {
        let attended = life.clone();
        tokio::select! {
            // Clients that came before the end are served.
            biased;
            client = door.accept() => match client {
                Ok((client, from)) => {
                    socket::set(&client, from.ip());
                    drop(tokio::spawn(attend(client, service.clone(), attended)));
                }
                // The end comes first, and is seen again where there is one.
                Err(_) => _ = timeout(PAUSE, life.over()).await,
            },
            () = life.over() => break,
        }
    }
    attend_the_rest(door, &service, &life);
}

/// Serves the clients that connected before the end and wait in the backlog, even those that were
/// not announced in time.
fn attend_the_rest(door: TcpListener, service: &ProxyService, life: &ConnectionGuard) {
    let Ok(door) = door.into_std() else { return };
    while let Ok((client, from)) = door.accept() {
        if client.set_nonblocking(true).is_ok()
            && let Ok(client) = TcpStream::from_std(client)
        {
            socket::set(&client, from.ip());
            tokio::spawn(attend(client, service.clone(), life.clone()));
        }
    }
}

async fn attend(client: TcpStream, service: ProxyService, life: ConnectionGuard) {
    match service {
        ProxyService::Port(port) => {
            if let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await {
                socket::set(&server, Ipv4Addr::LOCALHOST.into());
                pipe(client, server, life).await;
            }
        }
        ProxyService::Gate(gate) => {
            let mut first = [0];
            match client.peek(&mut first).await {
                Ok(1) if first[0] == socks::VERSION => {
                    // A client that breaks off knows it.
                    let _broken = socks::serve(client, &gate, life).await;
                }
                Ok(1) => http::serve(client, gate, life).await,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream as Stream;

    use super::*;

    /// A busy host may begin to serve a run that has ended.
    #[test]
    fn what_was_sent_before_a_late_start_is_delivered() {
        let [door, server] = [(); 2].map(|()| Listener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
        Stream::connect(door.local_addr().unwrap()).unwrap().write_all(b"sent").unwrap();
        let service = ProxyService::Port(server.local_addr().unwrap().port());
        let (life, end, stop) = life();
        stop.stop();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            tokio::spawn(accept(listener(door).unwrap(), service, life));
            end.delivered().await;
        });
        server.set_nonblocking(true).unwrap();
        let (mut arrived, mut sent) = (server.accept().unwrap().0, String::new());
        arrived.read_to_string(&mut sent).unwrap();
        assert_eq!(sent, "sent");
    }
}
