//! The constraints on a set of rules: no rule contradicts a deny word for word, and every
//! modifiable path is readable.

use std::cell::LazyCell;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::document::LocatedText;
use super::error::PolicyError;
use super::rule::{PatternRule, PatternRuleError};

/// Brings the rules of one list into their one spelling.
pub(super) fn rules(
    label: &str,
    list: &[LocatedText],
) -> Result<Vec<Arc<PatternRule>>, PolicyError> {
    let rule = |written: &LocatedText| {
        PatternRule::new(&written.text, Some(written.place.clone())).map_err(|why| {
            let message = match why {
                PatternRuleError::Empty => format!("{label} contains an empty path rule"),
                PatternRuleError::TooLarge => {
                    format!("{label} contains a rule with too many `**` inside names")
                }
                PatternRuleError::Escapes => {
                    let rule = written.text.trim();
                    format!("{label} rule `{rule}` must stay inside the workspace root")
                }
            };
            PolicyError::at(&written.place, message)
        })
    };
    list.iter().map(|written| rule(written).map(Arc::new)).collect()
}

/// The patterns of a list's positive rules: in a set, as a list may be long.
pub(super) struct PatternSet<'a>(FxHashSet<&'a str>);

impl<'a> PatternSet<'a> {
    pub(super) fn from_rules(rules: &'a [Arc<PatternRule>]) -> Self {
        Self(positive(rules).map(|rule| rule.pattern.as_str()).collect())
    }

    fn has(&self, pattern: &str) -> bool {
        self.0.contains(pattern)
    }

    /// Returns whether these patterns make all matches of `modify` readable, as far as the texts
    /// tell: by the same text, by `**`, or by `DIRECTORY/**` of a directory around it.
    fn cover(&self, modify: &str) -> bool {
        let ends = modify.match_indices('/').map(|(at, _)| at).chain([modify.len()]);
        self.has("**")
            || self.has(modify)
            || ends.map(|end| format!("{}/**", &modify[..end])).any(|read| self.has(&read))
    }
}

/// The rules of one profile, and the context of their checks.
pub(super) struct CheckedProfile<'a> {
    pub(super) policy: &'a str,
    pub(super) profile: &'a str,
    pub(super) read: &'a [Arc<PatternRule>],
    pub(super) modify: &'a [Arc<PatternRule>],
    pub(super) deny_read: &'a PatternSet<'a>,
    pub(super) deny_modify: &'a PatternSet<'a>,
}

impl CheckedProfile<'_> {
    /// The first thing that is wrong.
    pub(super) fn check(&self) -> Result<(), PolicyError> {
        for rule in positive(self.read) {
            self.unless_denied("read", rule, "denyRead", self.deny_read)?;
        }
        let read = LazyCell::new(|| PatternSet::from_rules(self.read));
        for rule in positive(self.modify) {
            if !fault!("dialects.modify-denied") {
                self.unless_denied("modify", rule, "denyModify", self.deny_modify)?;
            }
            if !fault!("dialects.modify-in-read-deny") {
                self.unless_denied("modify", rule, "denyRead", self.deny_read)?;
            }
            if !read.cover(&rule.pattern) && !fault!("dialects.modify-uncovered") {
                let (policy, profile, written) = (self.policy, self.profile, &rule.pattern);
                return Err(wrong(
                    rule,
                    format!(
                        "policy `{policy}` fsProfile `{profile}` has modify rule `{written}` that is \
                     not covered by any read rule"
                    ),
                ));
            }
        }
        Ok(())
    }

    fn unless_denied(
        &self,
        list: &str,
        rule: &PatternRule,
        denies: &str,
        denied: &PatternSet<'_>,
    ) -> Result<(), PolicyError> {
        if !denied.has(&rule.pattern) {
            return Ok(());
        }
        let (policy, profile, written) = (self.policy, self.profile, &rule.pattern);
        Err(wrong(
            rule,
            format!(
                "policy `{policy}` fsProfile `{profile}` {list} rule `{written}` duplicates global \
             {denies} entry"
            ),
        ))
    }
}

fn positive(rules: &[Arc<PatternRule>]) -> impl Iterator<Item = &PatternRule> {
    rules.iter().map(AsRef::as_ref).filter(|rule| !rule.negated)
}

fn wrong(rule: &PatternRule, message: String) -> PolicyError {
    match &rule.place {
        Some(place) => PolicyError::at(place, message),
        None => PolicyError::new(message),
    }
}

/// Checks the host's exceptions: each names one path, strictly inside what an earlier rule denies.
pub(super) fn exceptions(deny_modify: &[Arc<PatternRule>]) -> Result<(), PolicyError> {
    let mut denied = FxHashMap::default();
    for (at, rule) in deny_modify.iter().enumerate().filter(|(_, rule)| !rule.negated) {
        if let Some(directory) = rule.pattern.strip_suffix("**") {
            denied.entry(directory).or_insert(at);
        }
    }
    for (at, rule) in deny_modify.iter().enumerate().filter(|(_, rule)| rule.negated) {
        let written = &rule.written;
        let named = rule.pattern.strip_suffix("/**").unwrap_or(&rule.pattern);
        if named.contains(['*', '?']) && !fault!("dialects.wide-exceptions") || rule.pattern == "."
        {
            let what = "must be an exact path or `<path>/**`";
            return Err(wrong(rule, format!("spec.denyModify rule `{written}` {what}")));
        }
        let directories = named.char_indices().map(|(end, _)| &named[..end]);
        let mut earlier = directories.filter_map(|directory| denied.get(directory));
        if !earlier.any(|deny| *deny < at || fault!("dialects.later-exceptions")) {
            let what = "must be strictly contained by an earlier denyModify rule";
            return Err(wrong(rule, format!("spec.denyModify rule `{written}` {what}")));
        }
    }
    Ok(())
}

/// Checks that read denies have no exceptions.
pub(super) fn no_exceptions(deny_read: &[Arc<PatternRule>]) -> Result<(), PolicyError> {
    match deny_read.iter().find(|rule| rule.negated && !fault!("dialects.read-exceptions")) {
        Some(rule) => {
            let written = &rule.written;
            Err(wrong(rule, format!("spec.denyRead rule `{written}` cannot be an exception")))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("src/*", "src/*", true)]
    #[case("**", "a", true)]
    #[case("**", ".", true)]
    #[case("src/**", "src", true)]
    #[case("src/**", "src/a/**", true)]
    #[case("src/**", "src/*/x", true)]
    #[case("src/**", "src/**/*.rs", true)]
    #[case("src/**", "srcx/a", false)]
    #[case("src/**", "**", false)]
    #[case("src", "src/**", false)]
    #[case("src/*", "src/a", false)]
    #[case("*", "a", false)]
    #[case("**/*.rs", "src/a.rs", false)]
    #[case("**/**", "**", true)]
    #[case("**/**", "a", false)]
    fn covering_is_by_text(#[case] read: &str, #[case] modify: &str, #[case] covered: bool) {
        let rules = [Arc::new(PatternRule::new(read, None).unwrap())];
        assert_eq!(PatternSet::from_rules(&rules).cover(modify), covered);
    }
}
