//! Claims set against results ([`Claims`]): what a backend says of itself, and what was seen.

use std::collections::BTreeMap;

use crate::conformance::Share;
use crate::record::CaseRow;

/// The claims of one backend that its rows do not bear out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claims<'a> {
    /// Claimed, and a case about it failed.
    pub over: Vec<Claim<'a>>,
    /// Not claimed, and every case about it passed.
    pub under: Vec<Claim<'a>>,
    /// Claimed, and no case about it was judged.
    pub unshown: Vec<Claim<'a>>,
}

/// One capability, as claimed and as seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim<'a> {
    /// The capability.
    pub capability: &'a str,
    /// The level claimed.
    pub level: &'a str,
    /// The rows of cases about it.
    pub share: Share,
}

/// Sets `claims` against `rows`. A case speaks for the last capability it needs, the one it is
/// about; the others only make it possible to ask.
#[must_use]
pub fn compare<'a>(
    claims: &'a BTreeMap<String, String>,
    rows: impl Iterator<Item = &'a CaseRow>,
) -> Claims<'a> {
    let mut needing: BTreeMap<&str, Vec<&CaseRow>> = BTreeMap::new();
    for name in claims.keys() {
        needing.entry(name).or_default();
    }
    for row in rows {
        if let Some(subject) = row.needs.last() {
            needing.entry(subject).or_default().push(row);
        }
    }
    let mut found = Claims::default();
    for (capability, rows) in needing {
        let level = claims.get(capability).map_or(NOT_CLAIMED, String::as_str);
        sort_in(&mut found, Claim { capability, level, share: rows.into_iter().collect() });
    }
    found
}

/// The level of a capability that is not claimed.
const NOT_CLAIMED: &str = "none";

fn sort_in<'a>(found: &mut Claims<'a>, claim: Claim<'a>) {
    let claimed = claim.level != NOT_CLAIMED;
    if claimed && claim.share.passed < claim.share.judged {
        found.over.push(claim);
    } else if !claimed && claim.share.passed > 0 && claim.share.passed == claim.share.judged {
        found.under.push(claim);
    } else if claimed && claim.share.judged == 0 {
        found.unshown.push(claim);
    }
}
