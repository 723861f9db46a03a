//! The last line of a run record, which proves the record whole ([`Footer`]).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::verdict::Verdict;

/// Totals and checksum. A record without it was cut short and is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Footer {
    /// Verdict word → rows with it; every word is listed, also with 0.
    pub counts: BTreeMap<String, u64>,
    /// The number of rows.
    pub rows: u64,
    /// SHA-256 of all bytes before this line, newlines included, lower-case hex.
    pub checksum: String,
    /// The interruption that ended the run early; then rows are missing, and some may lack a second
    /// try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<String>,
}

impl Footer {
    /// Counts of nothing: every verdict word, at 0.
    #[must_use]
    pub fn no_counts() -> BTreeMap<String, u64> {
        Verdict::ALL.map(|verdict| (verdict.keyword().to_owned(), 0)).into()
    }
}
