//! Spellings of hosts against lists of rules, and the whole matcher against a slow one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::{EgressDenial, EgressRules, HostRule, TargetHost};

/// How a spelling is decided, in one letter.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    /// Allowed.
    Yes,
    /// Refused.
    No,
    /// No host at all.
    Odd,
}

/// `allow`, `deny`, `host`, port, and the result.
type Line = (&'static str, &'static str, &'static str, u16, Told);

use Told::{No, Odd, Yes};

const TABLE: &[Line] = &[
    // Names.
    ("ok.test", "", "ok.test", 443, Yes),
    ("ok.test", "", "ok.test", 80, Yes),
    ("ok.test", "", "ok.test", 8080, No),
    ("ok.test:8080", "", "ok.test", 8080, Yes),
    ("ok.test:8080", "", "ok.test", 443, No),
    ("ok.test:*", "", "ok.test", 1, Yes),
    ("ok.test", "", "OK.Test", 443, Yes),
    ("OK.TEST", "", "ok.test", 443, Yes),
    ("ok.test", "", "ok.test.", 443, Yes),
    ("ok.test.", "", "ok.test", 443, Yes),
    ("ok.test", "", "ok.test..", 443, Odd),
    ("ok.test", "", "ok..test", 443, Odd),
    ("ok.test", "", ".ok.test", 443, Odd),
    ("ok.test", "", "", 443, Odd),
    ("ok.test", "", ".", 443, Odd),
    ("ok.test", "", "evilok.test", 443, No),
    ("ok.test", "", "evil-ok.test", 443, No),
    ("ok.test", "", "ok.test.evil.test", 443, No),
    ("ok.test", "", "a.ok.test", 443, No),
    ("ok.test", "", "test", 443, No),
    ("ok.test", "", "ok.tes", 443, No),
    // Names below.
    ("*.ok.test", "", "a.ok.test", 443, Yes),
    ("*.ok.test", "", "b.a.ok.test", 443, Yes),
    ("*.ok.test", "", "ok.test", 443, No),
    ("*.ok.test", "", "evilok.test", 443, No),
    ("*.ok.test", "", "a.ok.test.", 443, Yes),
    ("*.ok.test", "", "A.OK.TEST", 443, Yes),
    ("*.ok.test", "", "a.ok.test.evil", 443, No),
    ("*.ok.test", "", "*.ok.test", 443, Yes),
    // Accounts, percent signs, ports and paths in a host.
    ("ok.test", "", "ok.test@evil.test", 443, Odd),
    ("ok.test", "", "user:pw@ok.test", 443, Odd),
    ("ok.test", "", "ok%2etest", 443, Odd),
    ("ok.test", "", "%6fk.test", 443, Odd),
    ("ok.test", "", "ok.test:443", 443, Odd),
    ("ok.test", "", "ok.test/", 443, Odd),
    ("ok.test", "", "ok.test?", 443, Odd),
    ("ok.test", "", "ok.test#", 443, Odd),
    ("ok.test", "", "ok.test\\evil.test", 443, Odd),
    ("ok.test", "", "ok.test\0", 443, Odd),
    ("ok.test", "", " ok.test", 443, Odd),
    ("ok.test", "", "ok.test\t", 443, Odd),
    ("ok.test", "", "ok.test evil.test", 443, Odd),
    // Names beyond ASCII.
    ("bücher.test", "", "xn--bcher-kva.test", 443, Yes),
    ("xn--bcher-kva.test", "", "bücher.test", 443, Yes),
    ("xn--bcher-kva.test", "", "BÜCHER.test", 443, Yes),
    ("ok.test", "", "ok。test", 443, Yes),
    ("ok.test", "", "ｏｋ.test", 443, Yes),
    ("ok.test", "", "оk.test", 443, No),
    ("ok.test", "", "o\u{ad}k.test", 443, Yes),
    ("ok.test", "", "xn--a.test", 443, Odd),
    // IPv4 addresses in every spelling.
    ("127.0.0.1", "", "127.0.0.1", 80, Yes),
    ("127.0.0.1", "", "2130706433", 80, Yes),
    ("127.0.0.1", "", "0x7f000001", 80, Yes),
    ("127.0.0.1", "", "0X7F.1", 80, Yes),
    ("127.0.0.1", "", "0177.0.0.01", 80, Yes),
    ("127.0.0.1", "", "127.1", 80, Yes),
    ("127.0.0.1", "", "127.0.1", 80, Yes),
    ("127.0.0.1", "", "127.0.0.1.", 80, Yes),
    ("127.0.0.1", "", "１２７.0.0.1", 80, Yes),
    ("127.0.0.1", "", "127.0.0.2", 80, No),
    ("127.0.0.1", "", "256.0.0.1", 80, Odd),
    ("127.0.0.1", "", "1.2.3.4.5", 80, Odd),
    ("127.0.0.1", "", "0", 80, Yes),
    ("0.0.0.0", "127.0.0.1", "0.0.0.0", 80, No),
    ("::", "::1", "[::]", 80, No),
    ("127.0.0.1", "", "[::ffff:0.0.0.0]", 80, Yes),
    ("0177.1", "", "127.0.0.1", 80, Yes),
    ("ok.test", "", "2130706433", 80, No),
    ("ok.test", "", "169.254.169.254", 80, No),
    ("*.1", "127.0.0.1", "127.0.0.1", 80, Odd),
    ("*.*.test", "", "a.b.test", 80, Odd),
    ("*.a*b.test", "", "x.ab.test", 80, Odd),
    // IPv6 addresses, and IPv4 addresses in them.
    ("::1", "", "[::1]", 80, Yes),
    ("[::1]", "", "::1", 80, Yes),
    ("[::1]:81", "", "::1", 81, Yes),
    ("[::1]:81", "", "::1", 80, No),
    ("::1", "", "[0:0:0:0:0:0:0:1]", 80, Yes),
    ("::1", "", "[::1%lo]", 80, Odd),
    ("::1", "", "[::1%25lo]", 80, Odd),
    ("::1", "", "[::1", 80, Odd),
    ("127.0.0.1", "", "[::ffff:127.0.0.1]", 80, Yes),
    ("127.0.0.1", "", "[::ffff:7f00:1]", 80, Yes),
    ("127.0.0.1", "", "::127.0.0.1", 80, Yes),
    ("::ffff:127.0.0.1", "", "127.0.0.1", 80, Yes),
    ("::1", "", "127.0.0.1", 80, No),
    ("127.0.0.1", "", "::1", 80, No),
    // The list that denies.
    ("*.ok.test", "bad.ok.test", "bad.ok.test", 443, No),
    ("*.ok.test", "bad.ok.test", "good.ok.test", 443, Yes),
    ("a.ok.test", "*.ok.test", "a.ok.test", 443, No),
    ("ok.test:*", "ok.test", "ok.test", 8080, No),
    ("ok.test:*", "ok.test:22", "ok.test", 22, No),
    ("ok.test:*", "ok.test:22", "ok.test", 443, Yes),
    ("127.0.0.1", "0x7f.1", "127.1", 80, No),
    // Nothing is allowed by an empty list.
    ("", "", "ok.test", 443, No),
    ("", "", "127.0.0.1", 80, No),
];

fn texts(list: &str) -> Vec<String> {
    list.split_whitespace().map(str::to_owned).collect()
}

fn admission(allow: &str, deny: &str, host: &str, port: u16) -> Told {
    let Ok(rules) = EgressRules::read(&texts(allow), &texts(deny)) else { return Odd };
    match TargetHost::read(host) {
        Err(_) => Odd,
        Ok(target) if rules.admit(&target, port).is_ok() => Yes,
        Ok(_) => No,
    }
}

#[test]
fn every_spelling_is_decided_as_documented() {
    let wrong: Vec<_> = TABLE
        .iter()
        .filter(|(allow, deny, host, port, want)| admission(allow, deny, host, *port) != *want)
        .collect();
    println!("{} spellings of hosts against lists of rules", TABLE.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_is_no_rule_is_refused_by_name() {
    let odd = [
        "*",
        "*.",
        "a.*.test",
        "*a.test",
        "**.ok.test",
        "",
        "http://ok.test",
        "ok.test/x",
        "ok.test:0",
        "ok.test:70000",
        "ok.test:http",
        "ok.test:+80",
        "ok.test:",
        "a@ok.test",
        "*.127.0.0.1",
        "[::1",
        "[::1]x",
        "10.0.0.0/8",
        "ok..test",
    ];
    for text in odd {
        let error = HostRule::read(text).expect_err(text);
        assert!(error.to_string().starts_with(&format!("`{text}`: ")), "{error}");
    }
}

/// Addresses that names lead to, under `ok.test` and these further rules.
#[test]
fn special_addresses_are_reached_by_their_own_name_only() {
    let reached = |rules: &str, address: &str| {
        let rules = EgressRules::read(&texts(&format!("ok.test {rules}")), &[]).unwrap();
        rules.admit_address(address.parse().unwrap(), 443)
    };
    let special = [
        "127.0.0.1",
        "127.255.255.254",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "100.64.0.1",
        "169.254.169.254",
        "169.254.1.1",
        "168.63.129.16",
        "224.0.0.1",
        "255.255.255.255",
        "198.18.0.1",
        "192.0.0.192",
        "::",
        "::1",
        "fe80::1",
        "fc00::1",
        "fd00:ec2::254",
        "ff02::1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "2001:0:1::",
        "100::1",
        "::ffff:127.0.0.1",
        "::127.0.0.1",
        "::ffff:169.254.169.254",
        "fec0::1",
    ];
    for address in special {
        assert!(matches!(reached("", address), Err(EgressDenial::Special(..))), "{address}");
        assert_eq!(reached(address, address), Ok(()), "{address}");
        // The rule opens no other port.
        let other = format!("{}:8080", TargetHost::read(address).unwrap());
        assert!(reached(&other, address).is_err(), "{address}");
    }
    for address in
        ["1.1.1.1", "8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "192.0.1.1"]
    {
        assert_eq!(reached("", address), Ok(()), "{address}");
    }
}

#[test]
fn a_denied_address_is_denied_by_whatever_name() {
    let rules = EgressRules::read(&texts("ok.test"), &texts("1.1.1.1")).unwrap();
    let mapped: IpAddr = Ipv4Addr::new(1, 1, 1, 1).to_ipv6_mapped().into();
    for address in ["1.1.1.1".parse().unwrap(), mapped] {
        assert_eq!(
            rules.admit_address(address, 443),
            Err(EgressDenial::Denied("1.1.1.1".to_owned()))
        );
    }
}

/// Decides as by hand: labels side by side.
fn slowly(allow: &[String], deny: &[String], name: &str, port: u16) -> bool {
    let labels = |text: &str| text.split('.').map(str::to_owned).collect::<Vec<_>>();
    let name = labels(name);
    let about = |rule: &str| match rule.strip_prefix("*.") {
        Some(below) => {
            let below = labels(below);
            name.len() > below.len() && name[name.len() - below.len()..] == below[..]
        }
        None => labels(rule) == name,
    };
    let host = |rule: &str| rule.split(':').next().unwrap().to_owned();
    let ports = |rule: &str| rule.split_once(':').map(|(_, port)| port.to_owned());
    let open = |rule: &String, unsaid: bool| match ports(rule).as_deref() {
        None => unsaid,
        Some("*") => true,
        Some(one) => one == port.to_string(),
    };
    let usual = port == 80 || port == 443;
    allow.iter().any(|rule| about(&host(rule)) && open(rule, usual))
        && !deny.iter().any(|rule| about(&host(rule)) && open(rule, true))
}

fn a_name() -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(vec!["a", "b", "ab", "x"]), 1..4)
        .prop_map(|labels| labels.join("."))
}

fn a_rule() -> impl Strategy<Value = String> {
    let port = proptest::sample::select(vec!["", ":*", ":80", ":8080"]);
    (any::<bool>(), a_name(), port)
        .prop_map(|(below, name, port)| format!("{}{name}{port}", if below { "*." } else { "" }))
}

proptest! {
    #[test]
    fn the_matcher_agrees_with_pencil_and_paper(
        allow in proptest::collection::vec(a_rule(), 0..4),
        deny in proptest::collection::vec(a_rule(), 0..3),
        name in a_name(),
        port in proptest::sample::select(vec![80_u16, 443, 8080]),
    ) {
        let rules = EgressRules::read(&allow, &deny).unwrap();
        let told = rules.admit(&TargetHost::read(&name).unwrap(), port).is_ok();
        prop_assert_eq!(told, slowly(&allow, &deny, &name, port));
    }

    /// However an address is spelled, it is that address.
    #[test]
    fn spellings_of_one_address_are_one_target(bits in 1..=u32::MAX) {
        let address = Ipv4Addr::from(bits);
        let [a, b, c, d] = address.octets();
        let spellings = [
            address.to_string(), format!("{bits}"), format!("{bits:#x}"), format!("0{bits:o}"),
            format!("{a:#x}.{b}.{c}.{d}"), format!("{a}.{b}.{}", u16::from_be_bytes([c, d])),
            format!("[::ffff:{address}]"), format!("{}", address.to_ipv6_mapped()),
        ];
        for text in spellings {
            prop_assert_eq!(TargetHost::read(&text).unwrap(), TargetHost::Address(address.into()), "{}", text);
        }
    }

    #[test]
    fn an_address_of_ipv6_stays_what_it_is(bits in any::<u128>()) {
        let address = Ipv6Addr::from(bits);
        prop_assert_eq!(TargetHost::read(&format!("[{address}]")), TargetHost::read(&address.to_string()));
    }
}
