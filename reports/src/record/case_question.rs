//! The question of a case, in its own words ([`CaseQuestion`]): kept in every row, so that a record can be
//! read without the corpus it was made with.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The question of one case, in the language of cases, variables as written; for people. Each text
/// is empty if the case says nothing, and of bounded length.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseQuestion {
    /// The act, one line a step.
    pub act: String,
    /// The policy under test.
    pub policy: String,
    /// The expected result.
    pub expect: String,
    /// The fixture that is laid out before the act.
    pub fixture: String,
    /// The proof that the act is possible without the sandbox.
    pub control: String,
    /// The policy keys under which the same act must succeed, or why there are none.
    pub twin: String,
}

impl CaseQuestion {
    /// The texts by name, in the order in which they are read; empty ones are left out.
    pub fn parts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let parts = [
            ("act", &self.act),
            ("policy", &self.policy),
            ("expect", &self.expect),
            ("fixture", &self.fixture),
            ("control", &self.control),
            ("twin", &self.twin),
        ];
        parts.into_iter().map(|(name, text)| (name, text.as_str())).filter(|(_, t)| !t.is_empty())
    }
}
