//! Named sets of cases, as `--set` takes them: [`ids`].

use std::collections::BTreeSet;

use boxproof_cases::FrozenSet;

use crate::backend::plain_cases;

/// The set for a first look: one plain case a capability.
pub const QUICK: &str = "quick";

/// Returns the ids of the set called `name`: a profile of the newest frozen set, its version for all
/// of it, or [`QUICK`].
///
/// # Errors
/// Where there is none of that name, with those that there are.
pub fn ids(name: &str) -> Result<BTreeSet<String>, String> {
    if name == QUICK {
        let plain = plain_cases().map_err(|error| error.to_string())?;
        return Ok(plain.into_values().filter_map(|cases| cases.into_iter().next()).collect());
    }
    let frozen = FrozenSet::newest().and_then(|set| set.ids(name));
    frozen.map_err(|error| format!("{error}, or {QUICK} for a first look"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use boxproof_cases::Suite;

    #[test]
    fn the_quick_set_has_a_case_a_capability_and_most_can_fail_without_a_sandbox() {
        let (quick, suite) = (ids(QUICK).unwrap(), Suite::embedded().unwrap());
        let cases: Vec<_> =
            suite.cases.iter().filter(|case| quick.contains(case.id.as_str())).collect();
        assert_eq!(cases.len(), quick.len());
        assert!((40..120).contains(&quick.len()), "{}", quick.len());
        assert!(cases.iter().all(|case| !case.slow));
        let negative = cases.iter().filter(|case| case.expect.decision.is_negative()).count();
        assert!(negative * 2 > cases.len(), "{negative} of {}", cases.len());
    }

    #[test]
    fn another_name_is_told_with_those_that_there_are() {
        let error = ids("nore").unwrap_err();
        assert!(error.contains("core") && error.ends_with("or quick for a first look"), "{error}");
        assert!(ids("core").unwrap().contains("env/clear"));
    }
}
