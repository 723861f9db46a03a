//! The table that was made by hand: the behaviour of each backend, observed without boxproof. Main
//! type: [`ByHand`]; its text is `matrix/by-hand.yaml`.

use std::collections::BTreeMap;
use std::path::Path;

use boxproof_cases::LoadError;
use boxproof_cases::load::parse;
use serde::Deserialize;

use crate::record::UserKind;
use crate::verdict::Verdict;

const BUILT_IN: &str = include_str!("../../matrix/by-hand.yaml");

/// Outcomes of probes by backend and user, and why measurements may differ from them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ByHand {
    /// The way and the place in which the table was made.
    pub about: String,
    /// The backends, by the name of their column.
    pub columns: BTreeMap<String, HandColumn>,
    /// The meanings of the words for outcomes, unless a probe defines its own.
    pub words: BTreeMap<String, OutcomeMeaning>,
    /// The probes by id.
    pub probes: BTreeMap<String, HandQuestion>,
    /// Known differences between the table and measurements, each with its cause.
    #[serde(default)]
    pub differences: Vec<KnownDifference>,
}

/// One backend of the table.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandColumn {
    /// The backend's name in records; the column's own name by default.
    #[serde(default)]
    pub backend: Option<String>,
    /// The version that was run; empty if there is none.
    pub version: String,
    /// The users that ran it.
    pub users: Vec<UserKind>,
}

/// The meaning of an outcome.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutcomeMeaning {
    /// True if the outcome meets the policy; absent if the policy says nothing about it.
    #[serde(default)]
    pub meets: Option<bool>,
    /// The verdicts that say the same.
    pub verdicts: Vec<Verdict>,
}

/// One question.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandQuestion {
    /// The question.
    pub asks: String,
    /// The cases that ask it, too; together they say what was measured.
    pub cases: Vec<String>,
    /// Words that mean something else here.
    #[serde(default)]
    pub words: BTreeMap<String, OutcomeMeaning>,
    /// The outcomes that were seen. A column that is not named was not run.
    pub seen: Vec<HandOutcome>,
}

/// One outcome, and whose it was.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandOutcome {
    /// The outcome.
    pub word: String,
    /// A further observation.
    #[serde(default)]
    pub note: Option<String>,
    /// The backend cannot state the rule, so that this was seen without it.
    #[serde(default)]
    pub unstated: bool,
    /// The user that ran it; by default every user of the column.
    #[serde(default)]
    pub user: Option<UserKind>,
    /// The columns that showed it.
    pub by: Vec<String>,
}

/// A difference that has been looked into.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownDifference {
    /// The probes.
    pub probes: Vec<String>,
    /// The columns.
    pub columns: Vec<String>,
    /// The user that ran it; by default every user.
    #[serde(default)]
    pub user: Option<UserKind>,
    /// The measured verdict. Any other verdict is not explained by this.
    pub measured: Verdict,
    /// The reason code it came with; by default any.
    #[serde(default)]
    pub code: Option<String>,
    /// The circumstance that differs.
    pub because: DifferenceCause,
    /// The way in which the circumstance makes the difference.
    pub reason: String,
}

/// A circumstance in which two observations of the same thing can differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DifferenceCause {
    /// The backend's version, or the system's.
    Version,
    /// The user that ran it.
    User,
    /// The policy that the backend was given.
    Policy,
    /// The exact question, or the exact criterion of an answer.
    Question,
}

impl DifferenceCause {
    /// Returns the circumstance's word.
    #[must_use]
    pub fn keyword(self) -> &'static str {
        match self {
            Self::Version => "version",
            Self::User => "user",
            Self::Policy => "policy",
            Self::Question => "question",
        }
    }
}

impl ByHand {
    /// The table that is built in.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn built_in() -> Result<Self, LoadError> {
        Self::read(Path::new("reports/matrix/by-hand.yaml"), BUILT_IN)
    }

    /// The table that `text` says, read from `file`.
    ///
    /// # Errors
    /// What does not fit, located: unknown words, columns and probes, two outcomes for one cell,
    /// a word against the policy that counts as a pass.
    pub fn read(file: &Path, text: &str) -> Result<Self, LoadError> {
        let table: Self = parse(file, text)?;
        match super::check::fault(&table) {
            Some((field, message)) => Err(LoadError::at(file, text, &field, message)),
            None => Ok(table),
        }
    }

    /// Returns the outcome of `column` as `user`, if it was run.
    #[must_use]
    pub fn outcome_for(
        &self,
        probe: &HandQuestion,
        column: &str,
        user: UserKind,
    ) -> Option<HandOutcome> {
        let users = &self.columns.get(column)?.users;
        let ran = |seen: &&HandOutcome| seen.covers(column, user) && users.contains(&user);
        probe.seen.iter().find(ran).cloned()
    }

    /// Returns the meaning of `word` in `probe`.
    #[must_use]
    pub fn meaning<'a>(
        &'a self,
        probe: &'a HandQuestion,
        word: &str,
    ) -> Option<&'a OutcomeMeaning> {
        probe.words.get(word).or_else(|| self.words.get(word))
    }

    /// The column for `version` of `backend`: that very version's, else the backend's last one.
    #[must_use]
    pub fn column(&self, backend: &str, version: &str) -> Option<(&str, &HandColumn)> {
        let of = |(name, column): &(&String, &HandColumn)| {
            column.backend.as_deref().unwrap_or(name.as_str()) == backend
        };
        let mut all = self.columns.iter().filter(of);
        let exact = all.clone().find(|(_, column)| column.version == version);
        exact.or_else(|| all.next_back()).map(|(name, column)| (name.as_str(), column))
    }
}

impl HandOutcome {
    /// Returns whether this is the outcome that `column` showed to `user`.
    #[must_use]
    pub fn covers(&self, column: &str, user: UserKind) -> bool {
        self.by.iter().any(|by| by == column) && self.user.is_none_or(|own| own == user)
    }
}

impl KnownDifference {
    /// Returns whether this explanation covers the verdict and the reason code.
    #[must_use]
    pub fn explains(&self, verdict: Verdict, code: &str) -> bool {
        self.measured == verdict && self.code.as_deref().is_none_or(|own| own == code)
    }

    /// Returns whether this explanation covers the cell.
    #[must_use]
    pub fn covers(&self, probe: &str, column: &str, user: UserKind) -> bool {
        self.probes.iter().any(|own| own == probe)
            && self.columns.iter().any(|own| own == column)
            && self.user.is_none_or(|own| own == user)
    }
}
