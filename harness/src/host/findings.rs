//! Findings of `doctor`: each fact, the meaning of its lack, and the remedy.

use boxproof_cases::case::HostFact;

use super::HostFacts;
use super::report::{APPARMOR_SWITCH, CLONE_SWITCH, MAX_SWITCH};

/// One fact about the host, explained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoctorFinding {
    /// The fact.
    pub fact: HostFact,
    /// True if it holds.
    pub ok: bool,
    /// The observation.
    pub saw: String,
    /// The meaning for a run.
    pub meaning: String,
    /// The remedy; empty when none is needed.
    pub remedy: String,
}

/// Explains every fact of `host`.
pub fn findings(host: &HostFacts) -> Vec<DoctorFinding> {
    HostFact::ALL.iter().map(|fact| finding(host, *fact)).collect()
}

fn finding(host: &HostFacts, fact: HostFact) -> DoctorFinding {
    let ok = host.facts.contains(&fact);
    let (meaning, remedy) = match (ok, fact) {
        (true, _) => (format!("cases that need {} run", fact.keyword()), String::new()),
        (false, HostFact::Userns) => refused_namespaces(host),
        (false, _) => (
            format!("cases that need {} are not applicable", fact.keyword()),
            remedy(fact).to_owned(),
        ),
    };
    DoctorFinding { fact, ok, saw: host.text(fact.keyword()).to_owned(), meaning, remedy }
}

/// Returns the remedy that makes a fact hold; user namespaces have one of their own.
fn remedy(fact: HostFact) -> &'static str {
    match fact {
        HostFact::Userns => "",
        HostFact::Ipv6 => "sysctl -w net.ipv6.conf.lo.disable_ipv6=0",
        HostFact::Netns => {
            "run as root, or allow user namespaces and let /etc/hosts be there: see `userns`"
        }
        HostFact::Tiocsti => {
            "sysctl -w dev.tty.legacy_tiocsti=1 (for the run only: it is safer off)"
        }
        HostFact::KeyRings => {
            "allow keyctl(2) in the seccomp filter of the container, or run outside of it"
        }
        HostFact::Vsock => {
            "modprobe vsock, or allow the family in the seccomp filter of the container"
        }
        HostFact::Root => "run once more as root to have these, too",
        HostFact::OrdinaryUser => "run once more as an ordinary user to have these, too",
        HostFact::Xattr => {
            "choose a scratch directory that exists, on a file system with user attributes (--scratch)"
        }
        HostFact::Git => "install git",
        HostFact::Cc => "install a C compiler that answers to cc",
        HostFact::Make => "install make",
        HostFact::Python3 => "install python3",
        HostFact::Node => "install node",
        HostFact::Bash => "install bash",
        HostFact::Tar => "install tar",
        HostFact::Curl => "install curl",
    }
}

/// Returns the remedy by which a container lets sandboxes start inside.
pub(super) fn container_remedy() -> String {
    "start the container with --security-opt seccomp=unconfined --security-opt \
     apparmor=unconfined --security-opt systempaths=unconfined, or run outside of it"
        .to_owned()
}

/// Returns the cause of refused user namespaces, and the remedy: the most telling switch first.
pub(super) fn refused_namespaces(host: &HostFacts) -> (String, String) {
    let ordinary = host.uid != 0;
    let (who, remedy) = if host.text(MAX_SWITCH) == "0" {
        (format!("{MAX_SWITCH} is 0"), format!("sysctl -w {MAX_SWITCH}=15000"))
    } else if ordinary && host.text(CLONE_SWITCH) == "0" {
        (format!("{CLONE_SWITCH} is 0"), format!("sysctl -w {CLONE_SWITCH}=1"))
    } else if ordinary && host.text(APPARMOR_SWITCH) == "1" {
        let remedy =
            format!("sysctl -w {APPARMOR_SWITCH}=0, or an AppArmor profile with `userns,`");
        (format!("AppArmor restricts them ({APPARMOR_SWITCH} is 1)"), remedy)
    } else if !host.text("container").is_empty() {
        let who = format!("the container ({}) does not allow them", host.text("container"));
        (who, container_remedy())
    } else {
        let remedy = "look for CONFIG_USER_NS in the kernel's configuration and for a security \
                      module or seccomp filter around this process";
        ("the kernel refuses them".to_owned(), remedy.to_owned())
    };
    let meaning =
        format!("no sandbox that is built of user namespaces works for uid {}: {who}", host.uid);
    (meaning, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use std::collections::BTreeMap;

    fn host(uid: u32, report: &[(&str, &str)]) -> HostFacts {
        let report = report.iter().map(|(key, value)| ((*key).to_owned(), (*value).into()));
        HostFacts { uid, report: report.collect::<BTreeMap<_, _>>(), ..HostFacts::default() }
    }

    #[rstest]
    #[case(0, &[(MAX_SWITCH, "0"), (APPARMOR_SWITCH, "1")], "sysctl -w user.max_user_namespaces=15000")]
    #[case(7, &[(CLONE_SWITCH, "0"), (APPARMOR_SWITCH, "1")], "sysctl -w kernel.unprivileged_userns_clone=1")]
    #[case(7, &[(APPARMOR_SWITCH, "1")], "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0")]
    #[case(7, &[(APPARMOR_SWITCH, "0"), ("container", "docker")], "seccomp=unconfined")]
    #[case(0, &[(APPARMOR_SWITCH, "1"), (CLONE_SWITCH, "0")], "CONFIG_USER_NS")]
    #[case(7, &[], "CONFIG_USER_NS")]
    fn who_refuses_user_namespaces_is_named(
        #[case] uid: u32,
        #[case] report: &[(&str, &str)],
        #[case] remedy: &str,
    ) {
        let found = findings(&host(uid, report));
        let userns = found.iter().find(|finding| finding.fact == HostFact::Userns).unwrap();
        assert!(!userns.ok && userns.remedy.contains(remedy), "{userns:?}");
        assert!(userns.meaning.contains(&format!("uid {uid}")), "{userns:?}");
    }

    #[test]
    fn what_holds_needs_no_remedy_and_what_does_not_has_one() {
        let mut host = host(7, &[("git", "git version 2")]);
        host.facts.insert(HostFact::Git);
        for finding in findings(&host) {
            assert_eq!(finding.ok, finding.fact == HostFact::Git);
            assert_eq!(finding.remedy.is_empty(), finding.ok, "{finding:?}");
        }
        assert_eq!(findings(&host).len(), HostFact::ALL.len());
    }
}
