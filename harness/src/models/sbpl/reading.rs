//! The two readings of a profile in which several rules are about one deed. Pure.
//!
//! Published descriptions disagree. By *order* the last rule that matches decides, under any
//! name. By *name* a rule that names the operation itself is stronger than one that names its
//! family, wherever they stand; among rules of one name the last filtered one decides, then the
//! last one without a filter. A question is decided only where both say the same.

use super::Rule;
use super::filter::{Match, Object};
use super::operations;

/// The possible outcomes of a deed. More than one is possible where a filter depends on more than
/// the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Outcomes {
    pub(super) allowed: bool,
    pub(super) denied: bool,
}

impl Outcomes {
    fn add(&mut self, allows: bool) {
        self.allowed |= allows;
        self.denied |= !allows;
    }
}

/// The rules of one profile.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules<'a> {
    pub(super) rules: &'a [Rule],
    pub(super) allows_by_default: bool,
}

impl Rules<'_> {
    /// Returns the outcomes by order of the rules.
    pub(super) fn by_order(self, operation: &str, object: Object<'_>) -> Outcomes {
        let mut outcomes = Outcomes::default();
        let covers =
            |rule: &&Rule| rule.operations.iter().any(|name| operations::covers(name, operation));
        match decide(self.rules.iter().filter(covers), object, &mut outcomes) {
            Decided::Yes => outcomes,
            Decided::No => self.default(outcomes),
        }
    }

    /// Returns the outcomes by name of the operation.
    pub(super) fn by_name(self, operation: &str, object: Object<'_>) -> Outcomes {
        let mut outcomes = Outcomes::default();
        for name in operations::names_of(operation).iter().chain([&"default".to_owned()]) {
            let named = || self.rules.iter().filter(|rule| rule.operations.contains(name));
            let filtered = named().filter(|rule| rule.filter.is_some());
            if decide(filtered, object, &mut outcomes) == Decided::Yes {
                return outcomes;
            }
            if let Some(rule) = named().rfind(|rule| rule.filter.is_none()) {
                outcomes.add(rule.allows);
                return outcomes;
            }
        }
        self.default(outcomes)
    }

    fn default(self, mut outcomes: Outcomes) -> Outcomes {
        outcomes.add(self.allows_by_default);
        outcomes
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decided {
    Yes,
    No,
}

/// Adds what the last of `rules` that matches says, and what those that may match say.
fn decide<'a>(
    rules: impl DoubleEndedIterator<Item = &'a Rule>,
    object: Object<'_>,
    outcomes: &mut Outcomes,
) -> Decided {
    for rule in rules.rev() {
        match rule.filter.as_ref().map_or(Match::Yes, |filter| filter.has(object)) {
            Match::No => {}
            Match::Maybe => outcomes.add(rule.allows),
            Match::Yes => {
                outcomes.add(rule.allows);
                return Decided::Yes;
            }
        }
    }
    Decided::No
}
