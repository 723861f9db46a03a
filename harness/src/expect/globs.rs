//! One row for a whole table where all its rows agree ([`rows`]).

use std::collections::BTreeMap;

use boxproof_cases::Suite;
use boxproof_reports::Verdict;

use super::{FailureNotes, KnownItem, MeasuredRun, RowScope};
use crate::known::IdPattern;

/// Returns `items`, with those of a table that agree in all merged into one whose case is the
/// table's glob.
pub(super) fn rows(
    suite: &Suite,
    items: Vec<KnownItem>,
    runs: &[MeasuredRun<'_>],
) -> Vec<KnownItem> {
    let mut left = items;
    let mut globbed = Vec::new();
    for table in tables(suite) {
        let (mine, others): (Vec<KnownItem>, Vec<KnownItem>) =
            left.into_iter().partition(|item| table.ids.contains(&item.case.as_str()));
        left = others;
        for group in groups(mine) {
            match table.covered_by(&group, runs) {
                true => globbed.extend(one(&table.glob, group)),
                false => left.extend(group),
            }
        }
    }
    left.extend(globbed);
    left
}

/// A table of the corpus: the rows of one case.
struct CaseTable<'a> {
    glob: String,
    ids: Vec<&'a str>,
}

/// Lists every table with more than one row whose glob matches its own rows only.
fn tables(suite: &Suite) -> Vec<CaseTable<'_>> {
    let mut files: BTreeMap<&std::path::Path, Vec<&str>> = BTreeMap::new();
    for case in &suite.cases {
        files.entry(&case.file).or_default().push(case.id.as_str());
    }
    let table = |ids: Vec<&'_ str>| -> Option<(String, usize)> {
        let (stem, _) = ids.first()?.rsplit_once('/')?;
        Some((format!("{stem}/*"), ids.len()))
    };
    let mut found = Vec::new();
    for ids in files.into_values().filter(|ids| ids.len() > 1) {
        let Some((glob, count)) = table(ids.clone()) else { continue };
        let matched = IdPattern::try_from(glob.clone()).ok().map(|pattern| {
            suite.cases.iter().filter(|case| pattern.matches(case.id.as_str())).count()
        });
        if matched == Some(count) {
            found.push(CaseTable { glob, ids });
        }
    }
    found
}

/// The properties that items must have in common, besides their notes.
type GroupKey = (Verdict, String, RowScope);

/// Groups items that agree; items without notes go with the notes of the others, if those agree.
fn groups(items: Vec<KnownItem>) -> Vec<Vec<KnownItem>> {
    let mut alike: BTreeMap<GroupKey, BTreeMap<Option<FailureNotes>, Vec<KnownItem>>> =
        BTreeMap::new();
    for item in items {
        let key = (item.verdict, item.signature.clone(), item.scope.clone());
        alike.entry(key).or_default().entry(item.words.clone()).or_default().push(item);
    }
    alike.into_values().flat_map(of_one_mind).collect()
}

fn of_one_mind(
    mut by_words: BTreeMap<Option<FailureNotes>, Vec<KnownItem>>,
) -> Vec<Vec<KnownItem>> {
    if by_words.len() == 2
        && let Some(silent) = by_words.remove(&None)
    {
        by_words.values_mut().for_each(|items| items.extend(silent.clone()));
    }
    by_words.into_values().collect()
}

impl CaseTable<'_> {
    /// Returns whether a glob covers no more than `group`: every row of the table is in it, or
    /// could not be asked wherever the group applies.
    fn covered_by(&self, group: &[KnownItem], runs: &[MeasuredRun<'_>]) -> bool {
        let Some(first) = group.first() else { return false };
        let here: Vec<&MeasuredRun<'_>> = runs
            .iter()
            .filter(|run| first.scope.user.is_none_or(|user| user == run.setting.user))
            .collect();
        let unasked = |id: &str| {
            let row = |run: &&MeasuredRun<'_>| {
                run.rows.iter().find(|row| row.id == id).map(|row| row.verdict)
            };
            let verdicts: Vec<_> = here.iter().map(row).collect();
            !verdicts.is_empty()
                && verdicts.iter().all(|v| v.is_some_and(|v| !v.is_judged() && !v.is_unlearnt()))
        };
        let in_group = |id: &str| group.iter().any(|item| item.case == id);
        group.len() > 1 && self.ids.iter().all(|id| in_group(id) || unasked(id))
    }
}

/// The one item that stands for `group`.
fn one(glob: &str, group: Vec<KnownItem>) -> Option<KnownItem> {
    let words = group.iter().find_map(|item| item.words.clone());
    let first = group.into_iter().next()?;
    Some(KnownItem { case: glob.to_owned(), words, ..first })
}
