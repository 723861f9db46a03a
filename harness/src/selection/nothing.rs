//! The reason why a selection holds no case.

use boxproof_cases::Suite;

use super::{CaseSelection, SlowCases};

impl CaseSelection {
    /// Returns why no case of `suite` is run, if none is, unless that is what [`Self::idle`] tells.
    pub fn why_nothing(&self, suite: &Suite) -> Option<String> {
        if self.count(suite) > 0 || self.misses(suite) {
            return None;
        }
        if let Some((name, _)) = self.lists.iter().find(|(_, ids)| ids.is_empty()) {
            return Some(format!("no case is selected: nothing {name}"));
        }
        suite
            .lack_of_cases()
            .or_else(|| Some(format!("no case is selected: {}", self.obstacle(suite))))
    }

    /// Names the part of the selection without which it would hold cases.
    fn obstacle(&self, suite: &Suite) -> String {
        let counted = |with: &Self| counted(with.count(suite));
        let whole = self.clone().part(None);
        if let (Some(shard), Some(of)) = (self.shard, counted(&whole)) {
            return format!("part {}/{} has none of {of}", shard.index, shard.of);
        }
        let kept = self.filters.iter().filter(|filter| !filter.negated).cloned().collect();
        if let Some(of) = counted(&Self { filters: kept, ..whole.clone() }) {
            let out = self.filters.iter().filter(|filter| filter.negated);
            let out: Vec<_> = out.map(|filter| format!("`{}`", filter.text)).collect();
            return format!("{} takes out all of {of}", out.join(" with "));
        }
        if counted(&Self { slow: SlowCases::Included, ..whole.clone() }).is_some() {
            return "only slow cases match: add --slow, or name them in full".to_owned();
        }
        if let Some(of) = counted(&Self { lists: Vec::new(), slow: SlowCases::Included, ..whole }) {
            let lists: Vec<_> = self.lists.iter().map(|(name, _)| format!("`{name}`")).collect();
            return format!("{} has none of {of}", lists.join(" with "));
        }
        format!("no case passes all of {}", self.filters().join(", "))
    }

    fn count(&self, suite: &Suite) -> usize {
        suite.cases.iter().filter(|case| self.runs(case)).count()
    }

    /// Returns whether a filter that is to keep cases matches none.
    fn misses(&self, suite: &Suite) -> bool {
        let mut kept = self.filters.iter().filter(|filter| !filter.negated);
        kept.any(|filter| !suite.cases.iter().any(|case| filter.what.matches(case)))
    }
}

/// Returns that many cases in words, if there are any.
fn counted(cases: usize) -> Option<String> {
    match cases {
        0 => None,
        1 => Some("the 1 case that is selected otherwise".to_owned()),
        many => Some(format!("the {many} cases that are selected otherwise")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::suite;
    use super::*;
    use crate::selection::parse_shard;
    use rstest::rstest;
    use std::collections::BTreeSet;

    fn why(selection: &CaseSelection) -> Option<String> {
        selection.why_nothing(&suite())
    }

    #[rstest]
    #[case(&["fs/**"], None)]
    #[case(&["nope/**"], None)]
    #[case(&["fs/**", "!area:fs"], Some("`!area:fs` takes out all of the 2 cases"))]
    #[case(&["exec/slow*"], Some("only slow cases match: add --slow"))]
    #[case(&["area:exec", "fs/**"], Some("no case passes all of area:exec, fs/**"))]
    fn filters_that_leave_nothing_say_so(#[case] filters: &[&str], #[case] reason: Option<&str>) {
        let said = why(&CaseSelection::new(filters, SlowCases::ByIdOnly).unwrap());
        match reason {
            Some(reason) => assert!(said.as_ref().unwrap().contains(reason), "{said:?}"),
            None => assert_eq!(said, None),
        }
    }

    #[test]
    fn lists_and_parts_that_leave_nothing_say_so() {
        let one = || CaseSelection::new(&["fs/read"], SlowCases::ByIdOnly).unwrap();
        let listed = |ids: &[&str], name: &str| {
            let ids: BTreeSet<String> = ids.iter().map(|id| (*id).to_owned()).collect();
            why(&one().narrowed(name.to_owned(), ids))
        };
        let reason = "no case is selected: nothing failed in a.ndjson";
        assert_eq!(listed(&[], "failed in a.ndjson").as_deref(), Some(reason));
        let reason =
            "no case is selected: `set 0.1` has none of the 1 case that is selected otherwise";
        assert_eq!(listed(&["net/x"], "set 0.1").as_deref(), Some(reason));
        let parts = ["1/2", "2/2"].map(|part| why(&one().part(parse_shard(part).ok())));
        let told: Vec<_> = parts.iter().flatten().collect();
        assert_eq!(told.len(), 1, "{parts:?}");
        assert!(told[0].contains("/2 has none of the 1 case"), "{told:?}");
    }
}
