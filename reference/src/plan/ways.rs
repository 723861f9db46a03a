//! What of the policy leads out of a private network, and the variables that tell programs. Pure.

use std::ffi::OsString;

use boxproof_cases::protocol::{EnvPolicy, Network};

use crate::egress::{EXCEPTIONS, PROXIES, Rules, Way};
use crate::error::Refusal;

/// What leads out under `network`; refuses rules that are none.
pub(super) fn way(network: &Network) -> Result<Option<Way>, Refusal> {
    match network {
        Network::None {} | Network::Host {} => Ok(None),
        Network::Proxy { port: 0 } => Err(Refusal::invalid(
            "policy.network.proxy.port: 0 is no port; name one from 1 to 65535",
        )),
        Network::Proxy { port } => Ok(Some(Way::Port(*port))),
        Network::Domains { allow, deny } => match Rules::read(allow, deny) {
            Ok(rules) => Ok(Some(Way::Hosts(rules))),
            Err((list, error)) => {
                Err(Refusal::invalid(format!("policy.network.domains.{list}: {error}")))
            }
        },
    }
}

/// `env` with the proxy in it; what the policy sets by name stays.
pub(super) fn with_proxy(
    way: Option<&Way>,
    policy: &EnvPolicy,
    mut env: Vec<(OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    let Some(way) = way else { return env };
    let url = format!("http://127.0.0.1:{}", way.port());
    let proxies = PROXIES.map(|name| (name, url.as_str()));
    let exceptions = EXCEPTIONS.map(|name| (name, ""));
    for (name, value) in proxies.into_iter().chain(exceptions) {
        if !policy.set.contains_key(name) {
            env.retain(|(known, _)| known != name);
            env.push((name.into(), value.into()));
        }
    }
    env.sort();
    env
}
