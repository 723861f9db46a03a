//! A proxy of the host's that settings name by its port. Pure.

use boxproof_cases::protocol::{EffectiveNetwork, EnvPolicy, Network};

use crate::policy::proxy_variables::PROXIES;

/// Returns the network of the policy. A proxy port takes precedence over an open network.
pub(super) fn network(settings: &EffectiveNetwork) -> Network {
    match (port(settings), settings.allow_all_outbound) {
        (0, false) if fault!("dialects.network-open") => Network::Host {},
        (0, false) => Network::None {},
        (0, true) => Network::Host {},
        (port, _) => Network::Proxy { port },
    }
}

/// Adds to `env` the variables of a SOCKS proxy; every other port counts as an HTTP proxy.
pub(super) fn with_socks_proxy(settings: &EffectiveNetwork, mut env: EnvPolicy) -> EnvPolicy {
    if settings.socks_proxy_port > 0 {
        let url = format!("socks5h://127.0.0.1:{}", settings.socks_proxy_port);
        env.set.extend(PROXIES.map(|name| (name.to_owned(), url.clone())));
    }
    env
}

/// Returns the note on who enforces the lists of domains, where there are lists and a proxy.
pub(super) fn keeps_lists(settings: &EffectiveNetwork) -> Option<String> {
    let listed = !settings.allowed_domains.is_empty() || !settings.denied_domains.is_empty();
    let port = port(settings);
    (listed && port > 0).then(|| {
        format!(
            "network.allowed_domains/denied_domains are kept by the proxy at port {port}, or not at all"
        )
    })
}

fn port(settings: &EffectiveNetwork) -> u16 {
    settings.http_proxy_port.max(settings.socks_proxy_port)
}
