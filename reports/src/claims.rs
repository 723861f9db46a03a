//! Claims set against results ([`Claims`]): what a backend says of itself, and what was seen.

use std::collections::BTreeMap;

use crate::conformance::Share;
use crate::record::CaseRow;

/// The claims of one backend that its rows do not bear out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claims<'a> {
    /// Claimed, and a case that needs it failed.
    pub over: Vec<Claim<'a>>,
    /// Not claimed, and a case that needs it passed.
    pub under: Vec<Claim<'a>>,
    /// Claimed, and no case that needs it was judged.
    pub unshown: Vec<Claim<'a>>,
}

/// One capability, as claimed and as seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim<'a> {
    /// The capability.
    pub capability: &'a str,
    /// The level claimed.
    pub level: &'a str,
    /// The rows of cases that need it.
    pub share: Share,
}

/// How a claim stands against the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Claimed, and every judged case that needs it passed.
    Shown,
    /// Claimed, and a case that needs it failed.
    Over,
    /// Not claimed, and a case that needs it passed.
    Under,
    /// Claimed, and no case that needs it was judged.
    Unshown,
    /// Not claimed, and no case that needs it passed.
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
            false if passed > 0 => Standing::Under,
            false => Standing::Absent,
        }
    }
}

/// Every capability that is claimed or needed, by name. A case that needs several capabilities
/// speaks for each of them.
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
        for need in &row.needs {
            needing.entry(need).or_default().push(row);
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
