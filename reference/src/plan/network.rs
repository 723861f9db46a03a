//! The ways out of a private network that a policy opens, and the variables that name them to
//! programs. Pure.

use std::ffi::{OsStr, OsString};

use boxproof_cases::protocol::{EnvPolicy, Network};

use crate::egress::{EgressRoute, EgressRules};
use crate::error::Refusal;
use crate::policy::proxy_variables::{EXCEPTIONS, JAVA, NODE, PROXIES};

/// Returns the way out under `network`; refuses invalid rules.
pub(super) fn way(network: &Network) -> Result<Option<EgressRoute>, Refusal> {
    match network {
        Network::None {} | Network::Host {} => Ok(None),
        Network::Proxy { port: 0 } => Err(Refusal::invalid(
            "policy.network.proxy.port: 0 is no port; name one from 1 to 65535",
        )),
        Network::Proxy { port } => Ok(Some(EgressRoute::Port(*port))),
        Network::Domains { allow, deny } => match EgressRules::read(allow, deny) {
            Ok(rules) => Ok(Some(EgressRoute::Hosts(rules))),
            Err((list, error)) => {
                Err(Refusal::invalid(format!("policy.network.domains.{list}: {error}")))
            }
        },
    }
}

/// The command's own loopback, as programs name it; IPv6 with and without brackets.
const OWN: [&str; 4] = ["localhost", "127.0.0.1", "::1", "[::1]"];

/// Adds the proxy's variables to `env`; variables that the policy sets by name stay.
pub(super) fn with_proxy(
    way: Option<&EgressRoute>,
    policy: &EnvPolicy,
    mut env: Vec<(OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    let Some(way) = way.filter(|_| !fault!("network.proxy-variables")) else { return env };
    let port = way.port();
    let own = own_loopback(way);
    let all = PROXIES.map(|name| (name, format!("http://127.0.0.1:{port}"))).into_iter();
    let all = all.chain(EXCEPTIONS.map(|name| (name, own.join(","))));
    let all = all.chain([(NODE, "1".to_owned()), (JAVA, java(port, &own))]);
    for (name, value) in all {
        if !policy.set.contains_key(name) {
            let mut value = OsString::from(value);
            if let Some(at) = env.iter().position(|(known, _)| known == name) {
                let (_, before) = env.swap_remove(at);
                // Its options are many, and the last of a name counts.
                if fault!("network.java-options-lost") {
                    env.push((name.into(), value));
                    continue;
                }
                let both = [before.as_os_str(), value.as_os_str()].join(OsStr::new(" "));
                value = if name == JAVA { both } else { value };
            }
            env.push((name.into(), value));
        }
    }
    env.sort();
    env
}

/// Returns the hosts that belong to the command's own loopback, so that no proxy applies to them: a
/// host that the rules allow is the host's.
fn own_loopback(way: &EgressRoute) -> Vec<&'static str> {
    let is_own = |host: &&str| match way {
        EgressRoute::Port(_) => true,
        EgressRoute::Hosts(rules) => !rules.name(host) || fault!("network.own-loopback-always"),
    };
    OWN.into_iter().filter(is_own).collect()
}

/// Returns the settings of a Java virtual machine, which reads no other variable. It exempts its
/// loopback wholly or, with an empty list of exceptions, not at all.
fn java(port: u16, own: &[&str]) -> String {
    let each = ["http", "https"]
        .map(|scheme| format!("-D{scheme}.proxyHost=127.0.0.1 -D{scheme}.proxyPort={port}"));
    let spared = if own.len() == OWN.len() { "" } else { " -Dhttp.nonProxyHosts=" };
    format!("{}{spared}", each.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::names(&["example.org"], "localhost,127.0.0.1,::1,[::1]")]
    #[case::address(&["127.0.0.1:8000"], "localhost,::1,[::1]")]
    #[case::spelled_otherwise(&["127.1:*"], "localhost,::1,[::1]")]
    #[case::ipv6(&["[::1]:80"], "localhost,127.0.0.1")]
    #[case::name(&["localhost"], "127.0.0.1,::1,[::1]")]
    #[case::all(&["localhost", "127.0.0.1", "::1"], "")]
    fn what_rules_allow_of_the_loopback_is_the_hosts(#[case] allow: &[&str], #[case] own: &str) {
        let allow: Vec<String> = allow.iter().map(|rule| (*rule).to_owned()).collect();
        let way = way(&Network::Domains { allow, deny: Vec::new() }).unwrap();
        let env = with_proxy(way.as_ref(), &EnvPolicy::default(), Vec::new());
        let value = |name: &str| {
            let found = env.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.to_str().unwrap().to_owned())
        };
        assert_eq!(value("no_proxy").as_deref(), Some(own));
        assert_eq!(value("NO_PROXY").as_deref(), Some(own));
        let spares = own == OWN.join(",");
        assert_eq!(value(JAVA).unwrap().ends_with(" -Dhttp.nonProxyHosts="), !spares);
    }

    #[test]
    fn what_is_set_stays_and_options_of_java_are_added_to() {
        let mut policy = EnvPolicy::default();
        policy.set.insert(NODE.to_owned(), "0".to_owned());
        let before = [(NODE, "0"), (JAVA, "-Xmx1g"), ("no_proxy", "example.org")];
        let before = before.map(|(name, value)| (name.into(), value.into())).to_vec();
        let env = with_proxy(Some(&EgressRoute::Port(8080)), &policy, before);
        let value = |name: &str| &env.iter().find(|(known, _)| known == name).unwrap().1;
        assert_eq!(value(NODE), "0");
        assert_eq!(value("no_proxy"), "localhost,127.0.0.1,::1,[::1]");
        let java = value(JAVA).to_str().unwrap();
        assert!(java.starts_with("-Xmx1g -Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=8080 "));
    }
}
