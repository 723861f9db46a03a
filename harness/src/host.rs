//! The host: its abilities and permissions, found by doing ([`HostFacts`]).

mod ability;
mod findings;
mod helper;
mod process_bounds;
pub(crate) mod program_answer;
mod report;
mod tools;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::TcpListener;
use std::path::Path;

use boxproof_cases::case::HostFact;
use serde_json::Value;

pub use ability::{HostAbility, abilities};
pub use findings::{DoctorFinding, findings};
pub use process_bounds::ProcessBounds;
pub use tools::PendingTools;

use crate::observability::Observability;
use crate::sys::host as sys;

/// The host, as found once before the first case.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HostFacts {
    /// The uid of this process.
    pub uid: u32,
    /// The facts that hold here.
    pub facts: BTreeSet<HostFact>,
    /// The observations that are possible here.
    pub sight: Observability,
    /// The bounds of the processes that can be started here.
    pub bounds: ProcessBounds,
    /// The observations, for reports: `os`, `distro`, `kernel`, `arch`, kernel settings, and for
    /// each fact's word what showed that it holds or not.
    pub report: BTreeMap<String, Value>,
}

/// The observation of one fact: why it holds, or why it does not.
type FactObservation = Result<String, String>;

impl HostFacts {
    /// Examines this host; `scratch` is the directory that fixtures will be made in. Of the tools,
    /// those that were started hold or not; the others are not examined.
    pub fn detect(scratch: &Path, tools: PendingTools) -> Self {
        let (uid, gid) = (nix::unistd::geteuid().as_raw(), nix::unistd::getegid().as_raw());
        let (facts, sight) = (BTreeSet::new(), Observability::here());
        let (bounds, report) = (ProcessBounds::detect(), report::collect());
        let mut host = Self { uid, facts, sight, bounds, report };
        host.report.insert("uid".to_owned(), uid.into());
        let id = format!("uid {uid}");
        let is_root =
            |wanted: bool| if (uid == 0) == wanted { Ok(id.clone()) } else { Err(id.clone()) };
        host.saw(HostFact::Root, is_root(true));
        host.saw(HostFact::OrdinaryUser, is_root(false));
        host.saw(HostFact::Userns, tried("created", sys::try_user_namespace(uid, gid)));
        host.saw(HostFact::Ipv6, tried("bound [::1]", TcpListener::bind("[::1]:0").map(drop)));
        host.saw(HostFact::Netns, tried("made", try_network(scratch)));
        host.saw(HostFact::Tiocsti, tried("typed", sys::try_typing_into_terminal()));
        host.saw(HostFact::KeyRings, tried("answered", sys::try_key_rings()));
        host.saw(HostFact::Vsock, tried("made", sys::try_vsock()));
        host.saw(HostFact::Xattr, tried("set", try_attribute(scratch)));
        for (fact, seen) in tools.answers() {
            host.saw(fact, seen);
        }
        host
    }

    fn saw(&mut self, fact: HostFact, seen: FactObservation) {
        if seen.is_ok() {
            self.facts.insert(fact);
        }
        let (Ok(text) | Err(text)) = seen;
        self.report.insert(fact.keyword().to_owned(), text.into());
    }

    /// Returns the observation under `key`, as text; empty when there is none.
    pub(crate) fn text(&self, key: &str) -> &str {
        self.report.get(key).and_then(Value::as_str).unwrap_or_default()
    }
}

fn tried(done: &str, outcome: io::Result<()>) -> FactObservation {
    outcome.map(|()| done.to_owned()).map_err(|error| error.to_string())
}

/// Tries out what networks of an arm's own are made of.
#[cfg(target_os = "linux")]
fn try_network(scratch: &Path) -> io::Result<()> {
    let file = tempfile::NamedTempFile::new_in(scratch)?;
    let address = std::net::Ipv4Addr::new(169, 254, 169, 254).into();
    crate::sys::network::PreparedNetwork::prepare_network(file.path(), file.path(), vec![address])?
        .attempt()
}

/// Fails: there is no network of one's own here.
#[cfg(not(target_os = "linux"))]
fn try_network(_: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

fn try_attribute(scratch: &Path) -> io::Result<()> {
    let file = tempfile::NamedTempFile::new_in(scratch)?;
    sys::set_user_attribute(file.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fact_is_looked_at_and_nothing_is_left_behind() {
        let scratch = tempfile::tempdir().unwrap();
        let host = HostFacts::detect(scratch.path(), PendingTools::all());
        for fact in HostFact::ALL {
            assert!(!host.text(fact.keyword()).is_empty(), "{}", fact.keyword());
        }
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
        assert_ne!(
            host.facts.contains(&HostFact::Root),
            host.facts.contains(&HostFact::OrdinaryUser)
        );
        for key in ["os", "arch", "kernel", "cpus", "uid"] {
            assert!(host.report.contains_key(key), "{key}");
        }
    }

    #[test]
    fn a_scratch_directory_that_is_not_there_shows_no_attributes() {
        let host = HostFacts::detect(Path::new("/no/such/directory"), PendingTools::all());
        assert!(!host.facts.contains(&HostFact::Xattr));
        assert!(host.text("xattr").contains("No such file"), "{}", host.text("xattr"));
    }
}
