//! The permissions in settings that the neutral policy cannot express: [`ExtraOpenings`].

use boxproof_cases::protocol::SettingsPlatform;

use super::validate::ValidSettings;

/// Permissions besides those of the policy. All but the last exist on macOS alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExtraOpenings {
    /// The proxy's port on the host's loopback; then nothing else of the network.
    pub proxy: Option<u16>,
    /// The host's loopback accepts listeners and connections.
    pub loopback: bool,
    /// Every unix socket can be connected to.
    pub sockets: bool,
    /// Mach services, by name.
    pub services: Vec<String>,
    /// No user namespace is wanted, on Linux.
    pub nested: bool,
}

impl ValidSettings {
    /// Returns the extra permissions of these settings on `platform`.
    pub fn opens(&self, platform: SettingsPlatform) -> ExtraOpenings {
        if platform != SettingsPlatform::Macos {
            return ExtraOpenings { nested: self.nested, ..ExtraOpenings::default() };
        }
        let network = &self.network;
        let port = network.http_proxy_port.max(network.socks_proxy_port);
        ExtraOpenings {
            proxy: Some(port).filter(|port| *port > 0),
            loopback: network.allow_local_binding,
            sockets: network.allow_unix_sockets,
            services: network.allow_mach_lookup.clone(),
            nested: false,
        }
    }
}
