//! Mutants: the reference with one fault each, and what the corpus makes of them. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use boxproof_cases::{Case, Suite};
use boxproof_reports::{CaseRow, Level, Verdict};
use serde::Deserialize;

use crate::selection::{CaseSelection, FilterError, SlowCases};

/// A fault, as the program that has it says.
#[derive(Debug, Clone, Deserialize)]
pub struct ReferenceFault {
    /// Its name, by which it is selected.
    pub name: String,
    /// The part of the reference that it is in.
    pub area: String,
    /// What the program does wrong.
    pub breaks: String,
    /// The filters of the cases that can show it.
    pub cases: Vec<String>,
    /// The verdict that is right for such a case.
    pub dies: String,
    /// The mechanism that it is about.
    pub mechanism: Option<String>,
    /// The reason why no case shows it.
    pub survives: Option<String>,
}

/// The fate of a mutant, the best for the corpus last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MutantFate {
    /// Every case passes.
    Survived,
    /// Cases teach nothing, and none fails.
    Unlearnt,
    /// Cases below level must fail alone.
    BelowMust,
    /// Cases of level must fail, by another verdict than the right one.
    ByAccident,
    /// A case of level must fails by the right verdict.
    Killed,
}

impl MutantFate {
    /// All of them, the best first.
    pub const ALL: [Self; 5] =
        [Self::Killed, Self::ByAccident, Self::BelowMust, Self::Unlearnt, Self::Survived];

    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Killed => "killed",
            Self::ByAccident => "by accident",
            Self::BelowMust => "below must",
            Self::Unlearnt => "unlearnt",
            Self::Survived => "survived",
        }
    }
}

/// A mutant, and what became of it.
#[derive(Debug, Clone)]
pub struct MutantResult {
    /// The fault.
    pub fault: ReferenceFault,
    /// Its fate so far.
    pub fate: MutantFate,
    /// The ids of the cases that it was tried on.
    pub tried: BTreeSet<String>,
    /// The ids of those that show it.
    pub noticed: BTreeSet<String>,
    /// The cases that show it: id, verdict and reason, the rightest first.
    pub shown: Vec<String>,
}

impl MutantResult {
    /// A mutant that was tried on nothing.
    pub fn new(fault: ReferenceFault) -> Self {
        let (tried, noticed, shown) = Default::default();
        Self { fault, fate: MutantFate::Survived, tried, noticed, shown }
    }

    /// Takes in rows: those of the mutant, each with that of the baseline.
    pub fn take(&mut self, rows: &[(&CaseRow, &CaseRow)]) {
        let sound = rows.iter().filter(|(_, sound)| sound.verdict == Verdict::Pass);
        let mut found: Vec<(MutantFate, &CaseRow)> = sound
            .map(|(row, _)| (fate(row.verdict, row.level, &self.fault.dies), *row))
            .inspect(|(_, row)| _ = self.tried.insert(row.id.clone()))
            .filter(|(fate, _)| *fate > MutantFate::Survived)
            .collect();
        self.noticed.extend(found.iter().map(|(_, row)| row.id.clone()));
        found.sort_by_key(|(fate, _)| std::cmp::Reverse(*fate));
        self.fate = self.fate.max(found.first().map_or(MutantFate::Survived, |(fate, _)| *fate));
        let tell = |row: &CaseRow| format!("{} {} ({})", row.id, row.verdict.keyword(), row.reason);
        self.shown.extend(found.into_iter().map(|(_, row)| tell(row)));
    }

    /// Returns whether nothing about it asks for a case: it is killed, or its survival has a reason.
    pub fn is_settled(&self) -> bool {
        self.fate == MutantFate::Killed || self.fault.survives.is_some()
    }
}

/// Returns a line for each case file that shows no fault, asks no public report (`asking` has the
/// files that do, without `.yaml`), and has no requirement for itself. A file that faults name and that
/// was not needed to kill one is not among them.
pub fn redundant(
    results: &[MutantResult],
    suite: &Suite,
    asking: &BTreeSet<&str>,
) -> Result<Vec<String>, FilterError> {
    let mut named: HashMap<&Path, usize> = HashMap::new();
    for result in results {
        let cases = cases_of(&result.fault, suite)?;
        let files: HashSet<&Path> = cases.into_iter().map(|case| case.file.as_path()).collect();
        files.into_iter().for_each(|file| *named.entry(file).or_default() += 1);
    }
    let mut holders: HashMap<&str, HashSet<&Path>> = HashMap::new();
    let mut files: BTreeMap<&Path, Vec<&Case>> = BTreeMap::new();
    for case in &suite.cases {
        files.entry(&case.file).or_default().push(case);
        for id in &case.requirements {
            holders.entry(id.as_str()).or_default().insert(&case.file);
        }
    }
    let line = |(file, cases): (&Path, Vec<&Case>)| {
        let stem = file.with_extension("").display().to_string();
        let mut requirements = cases.iter().flat_map(|case| &case.requirements);
        let is_alone = requirements.any(|id| holders[id.as_str()].len() == 1);
        let of_file =
            |ids: &BTreeSet<String>| cases.iter().any(|case| ids.contains(case.id.as_str()));
        let noticed = results.iter().any(|result| of_file(&result.noticed));
        let tried = results.iter().filter(|result| of_file(&result.tried)).count();
        let reason = match (named.get(file), tried) {
            _ if is_alone || noticed || asking.contains(stem.as_str()) => return None,
            (None, _) => "no fault is about it".to_owned(),
            (Some(_), 0) => return None,
            (Some(_), tried) => format!("it was tried on {tried} faults and notices none"),
        };
        Some(format!("{stem}: {reason}"))
    };
    Ok(files.into_iter().filter_map(line).collect())
}

/// Returns what the verdict of one case says of a mutant that should die by the verdict `dies`.
fn fate(verdict: Verdict, level: Level, dies: &str) -> MutantFate {
    let must = level == Level::Must;
    match verdict {
        Verdict::Inconclusive | Verdict::ProbeBroken => MutantFate::Unlearnt,
        Verdict::UnderBlock | Verdict::OverBlock | Verdict::Contract if !must => {
            MutantFate::BelowMust
        }
        verdict if must && verdict.keyword() == dies => MutantFate::Killed,
        Verdict::UnderBlock | Verdict::OverBlock | Verdict::Contract => MutantFate::ByAccident,
        Verdict::Leak | Verdict::Error if must => MutantFate::ByAccident,
        Verdict::Leak | Verdict::Error => MutantFate::BelowMust,
        _ => MutantFate::Survived,
    }
}

/// Returns the cases of `suite` that can show `fault`: those that a filter names alone first, then the
/// likeliest, by the words of its name, then in the order of its filters.
///
/// # Errors
/// A filter that means nothing.
pub fn cases_of<'a>(
    fault: &ReferenceFault,
    suite: &'a Suite,
) -> Result<Vec<&'a Case>, FilterError> {
    let mut found: Vec<(usize, &Case)> = Vec::new();
    let mut known = HashSet::new();
    let words = words_in_name(&fault.name);
    let is_named = |id: &str| fault.cases.iter().any(|filter| filter == id);
    let rank = |id: &str| if is_named(id) { usize::MAX } else { likeness(&words, id) };
    for filter in &fault.cases {
        let selection = CaseSelection::new(&[filter], SlowCases::ByIdOnly)?;
        let cases = suite.cases.iter().filter(|case| selection.selects(case));
        let new = cases.filter(|case| known.insert(case.id.as_str()));
        found.extend(new.map(|case| (rank(case.id.as_str()), case)));
    }
    found.sort_by_key(|(likeness, _)| std::cmp::Reverse(*likeness));
    Ok(found.into_iter().map(|(_, case)| case).collect())
}

fn words_in_name(name: &str) -> Vec<String> {
    let name = name.rsplit([':', '.']).next().unwrap_or(name).to_ascii_lowercase();
    name.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| word.len() > 2)
        .map(str::to_owned)
        .collect()
}

fn likeness(words: &[String], id: &str) -> usize {
    words.iter().filter(|word| id.contains(word.as_str())).map(String::len).sum()
}

/// Pairs the rows of the mutant `name` with those of `baseline`.
pub fn paired<'a>(
    rows: &'a HashMap<(&'a str, &'a str), &'a CaseRow>,
    (name, baseline): (&'a str, &'a str),
    ids: impl Iterator<Item = &'a str>,
) -> Vec<(&'a CaseRow, &'a CaseRow)> {
    let pair = |id| Some((*rows.get(&(name, id))?, *rows.get(&(baseline, id))?));
    ids.filter_map(pair).collect()
}

/// Renders the score by area, and whole.
pub fn score(results: &[MutantResult]) -> String {
    let mut areas: BTreeMap<&str, Vec<&MutantResult>> = BTreeMap::new();
    results.iter().for_each(|result| areas.entry(&result.fault.area).or_default().push(result));
    let mut text = String::from("area          mutants");
    MutantFate::ALL.iter().for_each(|fate| text.push_str(&format!("{:>12}", fate.name())));
    text.push_str("   explained     score\n");
    let all: Vec<&MutantResult> = results.iter().collect();
    for (area, results) in areas.iter().map(|(area, own)| (*area, own)).chain([("all", &all)]) {
        text.push_str(&format!("{area:<12}{:>9}", results.len()));
        let open = |fate| {
            let of_fate = results.iter().filter(|one| one.fate == fate);
            of_fate.filter(|one| fate == MutantFate::Killed || !one.is_settled()).count()
        };
        MutantFate::ALL.iter().for_each(|fate| text.push_str(&format!("{:>12}", open(*fate))));
        let explained = results.iter().filter(|one| one.fate != MutantFate::Killed);
        let explained = explained.filter(|one| one.is_settled()).count();
        let killed = open(MutantFate::Killed);
        let share = share(killed, results.len() - explained);
        text.push_str(&format!("{explained:>12}{share:>8.1} %\n"));
    }
    let seen: Vec<_> =
        results.iter().filter(|one| one.fate == MutantFate::Killed || !one.is_settled()).collect();
    let killed = seen.iter().filter(|one| one.fate == MutantFate::Killed).count();
    let share = share(killed, seen.len());
    text + &format!("mutants: {killed} of {} are killed rightly ({share:.1} %)\n", seen.len())
}

/// Returns how many per cent `part` is of `whole`; of nothing, none.
fn share(part: usize, whole: usize) -> f64 {
    part as f64 * 100.0 / whole.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::suite;
    use rstest::rstest;

    fn fault(name: &str) -> ReferenceFault {
        ReferenceFault {
            name: name.to_owned(),
            area: "plan".to_owned(),
            breaks: "a mask is missing".to_owned(),
            cases: vec!["area/**".to_owned()],
            dies: "under-block".to_owned(),
            mechanism: None,
            survives: None,
        }
    }

    #[rstest]
    #[case(Verdict::UnderBlock, Level::Must, MutantFate::Killed)]
    #[case(Verdict::OverBlock, Level::Must, MutantFate::ByAccident)]
    #[case(Verdict::Error, Level::Must, MutantFate::ByAccident)]
    #[case(Verdict::UnderBlock, Level::Should, MutantFate::BelowMust)]
    #[case(Verdict::Inconclusive, Level::Must, MutantFate::Unlearnt)]
    #[case(Verdict::Pass, Level::Must, MutantFate::Survived)]
    #[case(Verdict::NotApplicable, Level::Must, MutantFate::Survived)]
    fn a_mutant_is_killed_by_the_right_verdict_alone(
        #[case] verdict: Verdict,
        #[case] level: Level,
        #[case] expected: MutantFate,
    ) {
        assert_eq!(fate(verdict, level, "under-block"), expected);
    }

    #[test]
    fn the_case_that_is_called_like_the_fault_comes_first() {
        let act = "act: {sh: 'true'}\nexpect: {allowed: {}}\n";
        let suite = suite(&format!("{act}rows: {{one: {{}}, zlogin: {{}}}}\n"));
        let ids = |name: &str| {
            let found = cases_of(&fault(name), &suite).unwrap();
            found.iter().map(|case| case.id.as_str().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(ids("table:names:.zlogin"), ["area/case/zlogin", "area/case/one"]);
        assert_eq!(ids("plan.other"), ["area/case/one", "area/case/zlogin"]);
        let named = ReferenceFault {
            cases: vec!["area/**".to_owned(), "area/case/one".to_owned()],
            ..fault("table:names:.zlogin")
        };
        let found = cases_of(&named, &suite).unwrap();
        assert_eq!(found[0].id.as_str(), "area/case/one");
    }

    #[test]
    fn a_file_that_shows_nothing_and_asks_nothing_is_redundant() {
        let case = |name: &str, requirement: &str| {
            let text = format!(
                "purpose: {name}.\nrequirement: {requirement}\nact: {{sh: 'true'}}\nexpect: {{allowed: {{}}}}\n"
            );
            (std::path::PathBuf::from(format!("area/{name}.yaml")), text)
        };
        let names = ["asking", "named", "silent", "untried", "unnamed"];
        let files = names.map(|name| case(name, "R-x")).into_iter().chain([case("alone", "R-y")]);
        let requirements = "R-x: {text: a, source: b}\nR-y: {text: a, source: b}\n".to_owned();
        let requirements = BTreeMap::from([(std::path::PathBuf::from("r.yaml"), requirements)]);
        let suite = Suite::from_files("test", files.collect(), &requirements).unwrap();
        let cases = ["asking", "named", "silent", "untried"].map(|name| format!("area/{name}"));
        let fault = ReferenceFault { cases: cases.to_vec(), ..fault("plan.a") };
        let ids = |names: &[&str]| names.iter().map(|name| format!("area/{name}")).collect();
        let result = MutantResult {
            tried: ids(&["named", "silent"]),
            noticed: ids(&["named"]),
            ..MutantResult::new(fault)
        };
        assert_eq!(
            redundant(&[result], &suite, &BTreeSet::from(["area/asking"])).unwrap(),
            [
                "area/silent: it was tried on 1 faults and notices none",
                "area/unnamed: no fault is about it"
            ]
        );
    }

    #[test]
    fn what_is_explained_does_not_count_as_seen() {
        let result = |name: &str, fate, survives: Option<&str>| {
            let fault = ReferenceFault { survives: survives.map(str::to_owned), ..fault(name) };
            MutantResult { fate, ..MutantResult::new(fault) }
        };
        let results = [
            result("plan.a", MutantFate::Killed, None),
            result("plan.b", MutantFate::Survived, Some("another guard")),
            result("plan.c", MutantFate::ByAccident, None),
        ];
        let text = score(&results);
        assert!(text.ends_with("mutants: 1 of 2 are killed rightly (50.0 %)\n"), "{text}");
        assert!(text.contains("plan                3           1           1"), "{text}");
        assert!(text.contains("           1    50.0 %\n"), "{text}");
    }
}
