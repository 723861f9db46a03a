//! The selection of cases: [`CaseSelection`], a list of filters.
//!
//! | filter | selects |
//! |---|---|
//! | `fs/**`, `exec/exit-codes/*` | ids that the glob matches; `*` stays within one segment |
//! | `exec/exit-codes` | the case, every row of it, or every case of the directory |
//! | `level:must`, `area:fs`, `needs:net.none` | cases of that level, area or need |
//! | `!FILTER` | takes out again what FILTER selects |
//!
//! Filters of one kind add up; what all kinds have in common is selected. Slow cases come only by
//! their exact id (of the case or of one row) or with [`SlowCases::Included`].

use std::collections::BTreeSet;

use boxproof_cases::case::Level;
use boxproof_cases::{Capability, Case, Suite};
use boxproof_reports::Shard;
use globset::{GlobBuilder, GlobMatcher};
use sha2::{Digest, Sha256};

mod nothing;

/// The keys a filter can have.
const KEYS: &str = "level:, area: and needs:";

/// The treatment of slow cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SlowCases {
    /// Only by their exact id.
    #[default]
    ByIdOnly,
    /// Like all others (`--slow`, `--all`).
    Included,
}

/// The cases that are asked for; by default every one that is not slow.
#[derive(Debug, Clone, Default)]
pub struct CaseSelection {
    filters: Vec<CaseFilter>,
    slow: SlowCases,
    /// Lists of ids, each with its name: only what all of them hold is selected.
    lists: Vec<(String, BTreeSet<String>)>,
    shard: Option<Shard>,
}

/// One filter, as written and as meant.
#[derive(Debug, Clone)]
struct CaseFilter {
    text: String,
    negated: bool,
    what: FilterTarget,
}

#[derive(Debug, Clone)]
enum FilterTarget {
    Id(String),
    Glob(GlobMatcher),
    Level(Level),
    Area(String),
    Needs(Capability),
}

/// Filters of one kind add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FilterKind {
    Id,
    Level,
    Area,
    Needs,
}

/// A filter that means nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("filter `{filter}`: {message}")]
pub struct FilterError {
    /// The filter as written.
    pub filter: String,
    /// The fault and its remedy.
    pub message: String,
}

impl CaseSelection {
    /// The selection that `filters` describe.
    ///
    /// # Errors
    /// The first filter that means nothing.
    pub fn new<S: AsRef<str>>(filters: &[S], slow: SlowCases) -> Result<Self, FilterError> {
        let filters = filters.iter().map(|text| CaseFilter::new(text.as_ref()));
        Ok(Self { filters: filters.collect::<Result<_, _>>()?, slow, ..Self::default() })
    }

    /// Returns the selection narrowed to `ids`, which a list called `name` holds: slow ones, too.
    #[must_use]
    pub fn narrowed(mut self, name: String, ids: BTreeSet<String>) -> Self {
        self.lists.push((name, ids));
        self
    }

    /// Returns the selection of which only one part is run.
    #[must_use]
    pub fn part(self, shard: Option<Shard>) -> Self {
        Self { shard, ..self }
    }

    /// The part of the selection that is run.
    pub fn shard(&self) -> Option<Shard> {
        self.shard
    }

    /// Returns whether `case` is selected and of the part that is run.
    pub fn runs(&self, case: &Case) -> bool {
        self.selects(case)
            && self.shard.is_none_or(|shard| part_of(case.id.as_str(), shard.of) == shard.index)
    }

    /// Returns whether `case` is selected.
    pub fn selects(&self, case: &Case) -> bool {
        let (out, kept): (Vec<_>, Vec<_>) = self.filters.iter().partition(|filter| filter.negated);
        if out.iter().any(|filter| filter.what.matches(case)) {
            return false;
        }
        let by_kind = [FilterKind::Id, FilterKind::Level, FilterKind::Area, FilterKind::Needs]
            .into_iter()
            .all(|sort| {
                let mut of_kind =
                    kept.iter().filter(|filter| filter.what.sort() == sort).peekable();
                of_kind.peek().is_none() || of_kind.any(|filter| filter.what.matches(case))
            });
        let named = || kept.iter().any(|filter| filter.what.names(case));
        let listed = self.lists.iter().all(|(_, ids)| ids.contains(case.id.as_str()));
        if !self.lists.is_empty() {
            return listed && by_kind;
        }
        by_kind && (!case.slow || self.slow == SlowCases::Included || named())
    }

    /// Returns whether a case of the file `stem` (its path without the extension) may be selected, or
    /// matched by a filter.
    pub fn reaches(&self, stem: &str) -> bool {
        if self.filters.is_empty() {
            let lists = |ids: &BTreeSet<String>| ids.iter().any(|id| is_at_or_below(id, stem));
            return self.lists.iter().all(|(_, ids)| lists(ids));
        }
        let keeps_nothing = self.filters.iter().all(|filter| filter.negated);
        keeps_nothing || self.filters.iter().any(|filter| filter.what.reaches(stem))
    }

    /// Filters that match no case of `suite` on their own: surely misspelt.
    pub fn idle(&self, suite: &Suite) -> Vec<&str> {
        let matches =
            |filter: &CaseFilter| suite.cases.iter().any(|case| filter.what.matches(case));
        let idle = self.filters.iter().filter(|filter| !matches(filter));
        idle.map(|filter| filter.text.as_str()).collect()
    }

    /// Returns whether slow cases are selected like all others.
    pub fn includes_slow(&self) -> bool {
        self.slow == SlowCases::Included
    }

    /// The filters as written.
    pub fn filters(&self) -> Vec<String> {
        let lists = self.lists.iter().map(|(name, _)| name.clone());
        self.filters.iter().map(|filter| filter.text.clone()).chain(lists).collect()
    }
}

/// Returns the part, from 1, of `of` parts in which the case with this id is: by the hash of the id
/// alone, so that it stays there for every selection.
fn part_of(id: &str, of: u32) -> u32 {
    let digest = Sha256::digest(id);
    let head = digest.iter().take(8).fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    // The remainder is less than `of`.
    u32::try_from(head % u64::from(of.max(1))).unwrap_or_default() + 1
}

/// Parses a part as it is written: `I/N`.
///
/// # Errors
/// The remedy for any other text.
pub fn parse_shard(text: &str) -> Result<Shard, String> {
    let (index, of) = text.split_once('/').unwrap_or_default();
    match (index.parse(), of.parse()) {
        (Ok(index), Ok(of)) if (1..=of).contains(&index) => Ok(Shard { index, of }),
        _ => Err("write I/N, as in 2/4: the second of four parts".to_owned()),
    }
}

impl CaseFilter {
    fn new(text: &str) -> Result<Self, FilterError> {
        let (negated, rest) = match text.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let what = FilterTarget::new(rest);
        let what = what.map_err(|message| FilterError { filter: text.to_owned(), message })?;
        Ok(Self { text: text.to_owned(), negated, what })
    }
}

impl FilterTarget {
    fn new(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("level", word)) => level(word).map(Self::Level),
            Some(("area", word)) if !word.is_empty() => Ok(Self::Area(word.to_owned())),
            Some(("area", _)) => Err("name an area, such as area:fs".to_owned()),
            Some(("needs", word)) => Capability::new(word).map(Self::Needs),
            Some((key, _)) => Err(format!("there is no key `{key}:`, only {KEYS}")),
            None if text.is_empty() => Err("a filter is an id, a glob or key:value".to_owned()),
            None if text.contains(['*', '?', '[', '{']) => glob(text).map(Self::Glob),
            None => Ok(Self::Id(text.trim_end_matches('/').to_owned())),
        }
    }

    fn sort(&self) -> FilterKind {
        match self {
            Self::Id(_) | Self::Glob(_) => FilterKind::Id,
            Self::Level(_) => FilterKind::Level,
            Self::Area(_) => FilterKind::Area,
            Self::Needs(_) => FilterKind::Needs,
        }
    }

    fn matches(&self, case: &Case) -> bool {
        match self {
            Self::Id(id) => is_at_or_below(case.id.as_str(), id),
            Self::Glob(glob) => glob.is_match(case.id.as_str()),
            Self::Level(level) => case.level == *level,
            Self::Area(area) => case.area() == area,
            Self::Needs(capability) => case.needs.contains(capability),
        }
    }

    /// Returns whether a case of the file `stem` may match.
    fn reaches(&self, stem: &str) -> bool {
        match self {
            Self::Id(id) => is_at_or_below(stem, id) || is_at_or_below(id, stem),
            Self::Glob(glob) => {
                let text = glob.glob().glob();
                let literal = text.split(['*', '?', '[', '{', '\\']).next().unwrap_or_default();
                literal.starts_with(stem) || stem.starts_with(literal)
            }
            Self::Area(area) => stem.split('/').next() == Some(area),
            Self::Level(_) | Self::Needs(_) => true,
        }
    }

    /// Returns whether the filter is the exact id of `case`, or that of the case it is a row of.
    fn names(&self, case: &Case) -> bool {
        let Self::Id(id) = self else { return false };
        id == case.id.as_str() || case.file.with_extension("").to_str() == Some(id)
    }
}

/// Returns whether `id` is `above`, or begins with the segments of it.
fn is_at_or_below(id: &str, above: &str) -> bool {
    id.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn level(word: &str) -> Result<Level, String> {
    let levels = [Level::Must, Level::Should, Level::May];
    let level = levels.into_iter().find(|level| level.keyword() == word);
    level.ok_or_else(|| "a level is must, should or may".to_owned())
}

fn glob(text: &str) -> Result<GlobMatcher, String> {
    let glob = GlobBuilder::new(text).literal_separator(true).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|error| error.kind().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    const PLAIN: &str = "purpose: P.\nrequirement: R-x\nact: {sh: 'true'}\nexpect: {allowed: {}}\n";

    pub(super) fn suite() -> Suite {
        let rows = "rows: {seven: {}, nought: {level: may}}\n";
        let files = [
            ("fs/read.yaml", PLAIN.to_owned() + "needs: [fs.write]\n"),
            ("fs/write.yaml", PLAIN.to_owned() + "level: should\n"),
            ("exec/codes.yaml", PLAIN.to_owned() + rows),
            ("exec/slow.yaml", PLAIN.to_owned() + "slow: true\n"),
            ("exec/slow-rows.yaml", PLAIN.to_owned() + "slow: true\nrows: {one: {}}\n"),
        ];
        let files = files.into_iter().map(|(path, text)| (PathBuf::from(path), text)).collect();
        let requirements = "R-x: {text: It works., source: a test}\n".to_owned();
        let requirements = BTreeMap::from([(PathBuf::from("r.yaml"), requirements)]);
        Suite::from_files("test", files, &requirements).unwrap()
    }

    fn selected(filters: &[&str], slow: SlowCases) -> String {
        let selection = CaseSelection::new(filters, slow).unwrap();
        let suite = suite();
        let ids = suite.cases.iter().filter(|case| selection.selects(case));
        ids.map(|case| case.id.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[rstest]
    #[case(&[], "exec/codes/nought exec/codes/seven fs/read fs/write")]
    #[case(&["fs/**"], "fs/read fs/write")]
    #[case(&["fs"], "fs/read fs/write")]
    #[case(&["f"], "")]
    #[case(&["*"], "")]
    #[case(&["fs/read", "exec/codes/*"], "exec/codes/nought exec/codes/seven fs/read")]
    #[case(&["exec/codes"], "exec/codes/nought exec/codes/seven")]
    #[case(&["exec/codes/seven"], "exec/codes/seven")]
    #[case(&["exec/*"], "")]
    #[case(&["level:must"], "exec/codes/seven fs/read")]
    #[case(&["level:may", "level:should"], "exec/codes/nought fs/write")]
    #[case(&["level:may", "area:fs"], "")]
    #[case(&["area:fs", "level:must"], "fs/read")]
    #[case(&["needs:fs.write"], "fs/read")]
    #[case(&["!needs:fs.write", "fs/**"], "fs/write")]
    #[case(&["!exec", "!fs/read"], "fs/write")]
    #[case(&["exec/slow"], "exec/slow")]
    #[case(&["exec/slow-rows"], "exec/slow-rows/one")]
    #[case(&["exec/slow-rows/one"], "exec/slow-rows/one")]
    #[case(&["exec/slow*/**"], "")]
    fn filters_select(#[case] filters: &[&str], #[case] ids: &str) {
        assert_eq!(selected(filters, SlowCases::ByIdOnly), ids);
        let selection = CaseSelection::new(filters, SlowCases::ByIdOnly).unwrap();
        let mut reached = suite();
        let is_reached =
            |case: &Case| selection.reaches(&case.file.with_extension("").to_string_lossy());
        reached.cases.retain(is_reached);
        let ids_of = |suite: &Suite| -> Vec<String> {
            let cases = suite.cases.iter().filter(|case| selection.selects(case));
            cases.map(|case| case.id.to_string()).collect()
        };
        assert_eq!(ids_of(&reached), ids_of(&suite()));
        assert_eq!(selection.idle(&reached), selection.idle(&suite()));
    }

    #[rstest]
    #[case(&["exec/codes/seven"], "exec/codes")]
    #[case(&["exec/c*/*"], "exec/codes")]
    #[case(&["area:fs"], "fs/read fs/write")]
    #[case(&["fs/read", "!fs/write"], "fs/read fs/write")]
    #[case(&["fs/read", "level:may"], "exec/codes exec/slow exec/slow-rows fs/read fs/write")]
    #[case(&["!fs"], "exec/codes exec/slow exec/slow-rows fs/read fs/write")]
    fn filters_reach_files(#[case] filters: &[&str], #[case] stems: &str) {
        let selection = CaseSelection::new(filters, SlowCases::ByIdOnly).unwrap();
        let files = ["exec/codes", "exec/slow", "exec/slow-rows", "fs/read", "fs/write"];
        let reached = files.into_iter().filter(|stem| selection.reaches(stem));
        assert_eq!(reached.collect::<Vec<_>>().join(" "), stems);
    }

    #[test]
    fn slow_cases_come_when_asked_for() {
        assert_eq!(
            selected(&["exec", "!exec/codes"], SlowCases::Included),
            "exec/slow exec/slow-rows/one"
        );
    }

    #[test]
    fn parts_are_disjoint_and_complete_whatever_else_is_selected() {
        let suite = suite();
        let whole = CaseSelection::new::<&str>(&[], SlowCases::Included).unwrap();
        let of = |selection: &CaseSelection, index| {
            let part = selection.clone().part(Some(Shard { index, of: 3 }));
            let ids = suite.cases.iter().filter(|case| part.runs(case));
            ids.map(|case| case.id.as_str()).collect::<Vec<_>>()
        };
        let mut all: Vec<&str> = (1..=3).flat_map(|index| of(&whole, index)).collect();
        all.sort_unstable();
        let ids: Vec<&str> = suite.cases.iter().map(|case| case.id.as_str()).collect();
        assert_eq!(all, ids);
        let one = CaseSelection::new(&["fs/write"], SlowCases::Included).unwrap();
        for index in 1..=3 {
            let alone = of(&one, index);
            assert_eq!(
                alone,
                of(&whole, index).into_iter().filter(|id| *id == "fs/write").collect::<Vec<_>>()
            );
        }
    }

    #[rstest]
    #[case("2/4", Some(Shard { index: 2, of: 4 }))]
    #[case("1/1", Some(Shard { index: 1, of: 1 }))]
    #[case("0/4", None)]
    #[case("5/4", None)]
    #[case("1/0", None)]
    #[case("1", None)]
    #[case("a/b", None)]
    fn a_part_is_written_as_two_numbers(#[case] text: &str, #[case] shard: Option<Shard>) {
        assert_eq!(parse_shard(text).ok(), shard);
    }

    #[test]
    fn a_list_narrows_and_takes_slow_cases_along() {
        let ids = ["exec/slow", "fs/read", "no/such"].map(str::to_owned).into();
        let selection = CaseSelection::new(&["!fs/**"], SlowCases::ByIdOnly).unwrap();
        let selection = selection.narrowed("last-failed".to_owned(), ids);
        let suite = suite();
        assert!(suite.cases.iter().all(|case| selection.reaches(case.id.as_str())));
        let found: Vec<_> = suite.cases.iter().filter(|case| selection.selects(case)).collect();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].id.as_str(), "exec/slow");
        assert_eq!(selection.filters(), ["!fs/**", "last-failed"]);
    }

    #[rstest]
    #[case("levl:must", "no key `levl:`, only level:")]
    #[case("level:high", "must, should or may")]
    #[case("needs:fs.wrote", "unknown capability `fs.wrote`")]
    #[case("area:", "such as area:fs")]
    #[case("fs/[", "unclosed")]
    #[case("", "a filter is")]
    #[case("!", "a filter is")]
    fn what_means_nothing_is_an_error(#[case] filter: &str, #[case] message: &str) {
        let error = CaseSelection::new(&[filter], SlowCases::ByIdOnly).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
        assert_eq!(error.filter, filter);
    }

    #[test]
    fn misspelt_filters_are_told() {
        let selection =
            CaseSelection::new(&["fs/**", "sf/**", "!exce", "area:fs"], SlowCases::ByIdOnly);
        let selection = selection.unwrap();
        assert_eq!(selection.idle(&suite()), ["sf/**", "!exce"]);
        assert_eq!(selection.filters().len(), 4);
    }
}
