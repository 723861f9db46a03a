//! What settings open that the neutral policy has no word for: [`Opens`].

use boxproof_cases::protocol::Platform;

use super::validate::Sound;

/// Openings besides those of the policy. All but the last are known to macOS alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Opens {
    /// The proxy's port on the host's loopback; then nothing else of the network.
    pub proxy: Option<u16>,
    /// Whether the host's loopback can be listened and connected to.
    pub loopback: bool,
    /// Whether every unix socket can be connected to.
    pub sockets: bool,
    /// Mach services, by name.
    pub services: Vec<String>,
    /// Whether no user namespace is wanted, on Linux.
    pub nested: bool,
}

impl Sound {
    /// What these settings open on `platform`.
    pub fn opens(&self, platform: Platform) -> Opens {
        if platform != Platform::Macos {
            return Opens { nested: self.nested, ..Opens::default() };
        }
        let network = &self.network;
        let port = network.http_proxy_port.max(network.socks_proxy_port);
        Opens {
            proxy: Some(port).filter(|port| *port > 0),
            loopback: network.allow_local_binding,
            sockets: network.allow_unix_sockets,
            services: network.allow_mach_lookup.clone(),
            nested: false,
        }
    }
}
