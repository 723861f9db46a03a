//! What a fixture may lay out that reaches beyond the run: programs that become their owner.

use super::Fault;
use crate::case::{Case, HostFact};

/// Folders that every arm has for itself.
const OWN: [&str; 4] = ["$WS/", "$OUT/", "$HOME/", "$TMPDIR/"];

/// A program that becomes another lies where it goes with the run, and has somebody to become.
pub(super) fn check(case: &Case) -> Result<(), Fault> {
    let risky = case.fixture.iter().filter(|(_, entry)| entry.becomes_another());
    for (path, _) in risky {
        let own = !path.starts_with('/') && !path.starts_with('$')
            || OWN.iter().any(|folder| path.starts_with(folder));
        if !own || path.split('/').any(|name| name == "..") {
            let why = format!("{path}: a set-user-id program lies below $WS, $OUT or $HOME");
            return Err(("fixture", why));
        }
        if !case.host.contains(&HostFact::Root) {
            let why = format!(
                "{path}: who lays out a set-user-id program owns it, and only as root that is \
                 another user: add root to host"
            );
            return Err(("fixture", why));
        }
    }
    Ok(())
}
