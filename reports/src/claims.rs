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

/// How a claim stands against the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Claimed, and every judged case about it passed.
    Shown,
    /// Claimed, and a case about it failed.
    Over,
    /// Not claimed, and every case about it passed.
    Under,
    /// Claimed, and no case about it was judged.
    Unshown,
    /// Not claimed, and the cases about it do not show it.
    Absent,
}

/// The level of a capability that is not claimed.
const NOT_CLAIMED: &str = "none";

impl Claim<'_> {
    /// How the claim stands against the results.
    #[must_use]
    pub fn standing(&self) -> Standing {
        let Share { passed, judged, .. } = self.share;
        match self.level != NOT_CLAIMED {
            true if passed < judged => Standing::Over,
            true if judged == 0 => Standing::Unshown,
            true => Standing::Shown,
            false if passed > 0 && passed == judged => Standing::Under,
            false => Standing::Absent,
        }
    }
}

/// Every capability that is claimed or is what a case is about, by name. A case speaks for the last
/// capability it needs, the one it is about; the others only make it possible to ask.
#[must_use]
pub fn all<'a>(
    claims: &'a BTreeMap<String, String>,
    rows: impl Iterator<Item = &'a CaseRow>,
) -> Vec<Claim<'a>> {
    let mut needing: BTreeMap<&str, Vec<&CaseRow>> = BTreeMap::new();
    for name in claims.keys() {
        needing.entry(name).or_default();
    }
    for row in rows {
        if let Some(subject) = row.needs.last() {
            needing.entry(subject).or_default().push(row);
        }
    }
    let claim = |(capability, rows): (&'a str, Vec<&CaseRow>)| {
        let level = claims.get(capability).map_or(NOT_CLAIMED, String::as_str);
        Claim { capability, level, share: rows.into_iter().collect() }
    };
    needing.into_iter().map(claim).collect()
}

/// The claims in `claims` that `rows` do not bear out.
#[must_use]
pub fn compare<'a>(
    claims: &'a BTreeMap<String, String>,
    rows: impl Iterator<Item = &'a CaseRow>,
) -> Claims<'a> {
    let mut found = Claims::default();
    for claim in all(claims, rows) {
        match claim.standing() {
            Standing::Over => found.over.push(claim),
            Standing::Under => found.under.push(claim),
            Standing::Unshown => found.unshown.push(claim),
            Standing::Shown | Standing::Absent => {}
        }
    }
    found
}
