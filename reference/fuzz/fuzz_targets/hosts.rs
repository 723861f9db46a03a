//! The decision about hosts, as labels and addresses compared one by one.
//! Run by `cargo +nightly fuzz run hosts`. The first line is a port, the second a host, each further
//! one a rule; `!` in front is a deny.
#![no_main]

use boxproof_reference::egress::{HostRule, EgressRules, TargetHost};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut lines = text.lines();
    let port = lines.next().and_then(|line| line.parse().ok()).unwrap_or(443);
    let Ok(host) = TargetHost::read(lines.next().unwrap_or_default()) else { return };
    let said = host.to_string();
    assert_eq!(TargetHost::read(&said).as_ref(), Ok(&host), "{said:?} means something else");
    let is_rule = |text: &&str| HostRule::read(text.trim_start_matches('!')).is_ok();
    let (deny, allow): (Vec<&str>, Vec<&str>) =
        lines.filter(is_rule).take(16).partition(|line| line.starts_with('!'));
    let deny: Vec<String> =
        deny.iter().map(|line| line.trim_start_matches('!').to_owned()).collect();
    let allow: Vec<String> = allow.iter().map(|line| (*line).to_owned()).collect();
    let rules = EgressRules::read(&allow, &deny).expect("all of them are rules");
    let opened = allow.iter().any(|rule| names(rule, &host, port, &[80, 443]));
    let shut = deny.iter().any(|rule| names(rule, &host, port, &[port]));
    assert_eq!(
        rules.admit(&host, port).is_ok(),
        opened && !shut,
        "{said}:{port} {allow:?} {deny:?}"
    );
    // A client may ask for a star; in a rule it is none of the name's letters.
    if let TargetHost::Name(name) = &host
        && !name.contains('*')
    {
        neighbours(name, port);
    }
});

/// Returns whether the valid `rule` applies to `host` and `port`; without a port it applies to
/// `usual`.
fn names(rule: &str, host: &TargetHost, port: u16, usual: &[u16]) -> bool {
    let at = rule.rfind(':').filter(|at| {
        let bare = rule.parse::<std::net::Ipv6Addr>().is_ok();
        !bare && !rule[*at..].contains(']')
    });
    let (name, ports) = at.map_or((rule, None), |at| (&rule[..at], Some(&rule[at + 1..])));
    let port_fits = match ports {
        None => usual.contains(&port),
        Some("*") => true,
        Some(text) => text.parse() == Ok(port),
    };
    let below = name.strip_prefix("*.");
    let named = TargetHost::read(below.unwrap_or(name)).expect("a rule names a host");
    port_fits
        && match (below, &named, host) {
            (None, named, host) => named == host,
            (Some(_), TargetHost::Name(top), TargetHost::Name(name)) => {
                let mut labels = name.split('.').rev();
                top.split('.').rev().all(|label| labels.next() == Some(label))
                    && labels.next().is_some()
            }
            (Some(_), ..) => false,
        }
}

/// A rule about `name` alone is not about names that begin or end like it.
fn neighbours(name: &str, port: u16) {
    let rules = EgressRules::read(&[format!("{name}:*")], &[]).expect("a name is a rule");
    for other in [format!("x{name}"), format!("x.{name}"), format!("{name}.x"), format!("{name}x")]
    {
        if let Ok(other) = TargetHost::read(&other) {
            assert!(rules.admit(&other, port).is_err(), "{other}");
        }
    }
}
