//! What a set of rules must keep to: no rule that a deny contradicts word for word, and nothing
//! modified that is not read.

use super::document::Written;
use super::error::PolicyError;
use super::rule::{NoRule, Rule};

/// Brings the rules of one list into their one spelling.
pub(super) fn rules(label: &str, list: &[Written]) -> Result<Vec<Rule>, PolicyError> {
    let rule = |written: &Written| {
        Rule::new(&written.text, Some(written.place.clone())).map_err(|why| {
            let message = match why {
                NoRule::Empty => format!("{label} contains an empty path rule"),
                NoRule::TooLarge => {
                    format!("{label} contains a rule with too many `**` inside names")
                }
                NoRule::Escapes => {
                    let rule = written.text.trim();
                    format!("{label} rule `{rule}` must stay inside the workspace root")
                }
            };
            PolicyError::at(&written.place, message)
        })
    };
    list.iter().map(rule).collect()
}

/// Whether whoever may modify what `modify` matches may read it by `read`, as far as the texts tell.
pub(super) fn covers(read: &str, modify: &str) -> bool {
    if read == modify || read == "**" {
        return true;
    }
    let Some(folder) = read.strip_suffix("/**") else { return false };
    modify.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The rules of one profile, and what they are checked against.
pub(super) struct Checked<'a> {
    pub(super) policy: &'a str,
    pub(super) profile: &'a str,
    pub(super) read: &'a [Rule],
    pub(super) modify: &'a [Rule],
    pub(super) deny_read: &'a [Rule],
    pub(super) deny_modify: &'a [Rule],
}

impl Checked<'_> {
    /// The first thing that is wrong.
    pub(super) fn check(&self) -> Result<(), PolicyError> {
        for rule in positive(self.read) {
            self.unless_denied("read", rule, "denyRead", self.deny_read)?;
        }
        for rule in positive(self.modify) {
            self.unless_denied("modify", rule, "denyModify", self.deny_modify)?;
            self.unless_denied("modify", rule, "denyRead", self.deny_read)?;
            if !positive(self.read).any(|read| covers(&read.pattern, &rule.pattern)) {
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
        rule: &Rule,
        denies: &str,
        denied: &[Rule],
    ) -> Result<(), PolicyError> {
        if positive(denied).all(|deny| deny.pattern != rule.pattern) {
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

fn positive(rules: &[Rule]) -> impl Iterator<Item = &Rule> {
    rules.iter().filter(|rule| !rule.negated)
}

fn wrong(rule: &Rule, message: String) -> PolicyError {
    match &rule.place {
        Some(place) => PolicyError::at(place, message),
        None => PolicyError::new(message),
    }
}

/// The host's exceptions: each names one thing, strictly inside what an earlier rule denies.
pub(super) fn exceptions(deny_modify: &[Rule]) -> Result<(), PolicyError> {
    let exceptions = deny_modify.iter().enumerate().filter(|(_, rule)| rule.negated);
    for (at, rule) in exceptions {
        let written = &rule.written;
        let named = rule.pattern.strip_suffix("/**").unwrap_or(&rule.pattern);
        if named.contains(['*', '?']) || rule.pattern == "." {
            let what = "must be an exact path or `<path>/**`";
            return Err(wrong(rule, format!("spec.denyModify rule `{written}` {what}")));
        }
        let inside = |deny: &Rule| match deny.pattern.strip_suffix("**") {
            Some(folder) => named.len() > folder.len() && named.starts_with(folder),
            None => false,
        };
        if !positive(&deny_modify[..at]).any(inside) {
            let what = "must be strictly contained by an earlier denyModify rule";
            return Err(wrong(rule, format!("spec.denyModify rule `{written}` {what}")));
        }
    }
    Ok(())
}

/// What is denied to read has no exceptions.
pub(super) fn no_exceptions(deny_read: &[Rule]) -> Result<(), PolicyError> {
    match deny_read.iter().find(|rule| rule.negated) {
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
        assert_eq!(covers(read, modify), covered);
    }
}
