//! The two readings of a profile in which several rules are about one deed. Pure.
//!
//! Published descriptions disagree. By *order* the last rule that matches decides, under any
//! name. By *name* a rule that names the operation itself is stronger than one that names its
//! family, wherever they stand; among rules of one name the last filtered one decides, then the
//! last one without a filter. A question is decided only where both say the same.

use super::Rule;
use super::filter::{FilterMatch, OperationObject};
use super::operations;

/// The possible outcomes of a deed. More than one is possible where a filter depends on more than
/// the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct PossibleOutcomes {
    pub(super) allowed: bool,
    pub(super) denied: bool,
}

impl PossibleOutcomes {
    fn add(&mut self, allows: bool) {
        self.allowed |= allows;
        self.denied |= !allows;
    }
}

/// The rules of one profile.
#[derive(Debug, Clone, Copy)]
pub(super) struct SbplRules<'a> {
    pub(super) rules: &'a [Rule],
    pub(super) allows_by_default: bool,
}

impl SbplRules<'_> {
    /// Returns the outcomes by order of the rules.
    pub(super) fn by_order(self, operation: &str, object: OperationObject<'_>) -> PossibleOutcomes {
        let mut outcomes = PossibleOutcomes::default();
        let covers =
            |rule: &&Rule| rule.operations.iter().any(|name| operations::covers(name, operation));
        match decide(self.rules.iter().filter(covers), object, &mut outcomes) {
            RuleDecision::Yes => outcomes,
            RuleDecision::No => self.default(outcomes),
        }
    }

    /// Returns the outcomes by name of the operation.
    pub(super) fn by_name(self, operation: &str, object: OperationObject<'_>) -> PossibleOutcomes {
        let mut outcomes = PossibleOutcomes::default();
        for name in operations::names_of(operation).iter().chain([&"default".to_owned()]) {
            let named = || self.rules.iter().filter(|rule| rule.operations.contains(name));
            let filtered = named().filter(|rule| rule.filter.is_some());
            if decide(filtered, object, &mut outcomes) == RuleDecision::Yes {
                return outcomes;
            }
            if let Some(rule) = named().rfind(|rule| rule.filter.is_none()) {
                outcomes.add(rule.allows);
                return outcomes;
            }
        }
        self.default(outcomes)
    }

    fn default(self, mut outcomes: PossibleOutcomes) -> PossibleOutcomes {
        outcomes.add(self.allows_by_default);
        outcomes
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RuleDecision {
    Yes,
    No,
}

/// Adds what the last of `rules` that matches says, and what those that may match say.
fn decide<'a>(
    rules: impl DoubleEndedIterator<Item = &'a Rule>,
    object: OperationObject<'_>,
    outcomes: &mut PossibleOutcomes,
) -> RuleDecision {
    for rule in rules.rev() {
        match rule.filter.as_ref().map_or(FilterMatch::Yes, |filter| filter.has(object)) {
            FilterMatch::No => {}
            FilterMatch::Maybe => outcomes.add(rule.allows),
            FilterMatch::Yes => {
                outcomes.add(rule.allows);
                return RuleDecision::Yes;
            }
        }
    }
    RuleDecision::No
}
