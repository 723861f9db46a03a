//! Public reports ([`PublicReports`]) of what sandboxes get wrong, and the cases that ask it. The
//! list is `public-reports.yaml`; a case also cites reports itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;

use crate::case::Case;
use crate::load::{LoadError, parse};
use crate::suite::Suite;

/// The list that is built into the program.
const FILE: &str = "public-reports.yaml";
const TEXT: &str = include_str!("../../public-reports.yaml");

/// A list of public reports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct PublicReports(Vec<PublicReport>);

/// Public reports of one thing.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublicReport {
    /// Their ids: `owner/repository#number`, `owner/repository@commit`, `owner/repository` or
    /// `CVE-year-number`.
    pub reports: Vec<String>,
    /// What they are about, in a few words.
    pub about: String,
    /// The cases that ask it and do not cite it: ids, or what all ids of a group begin with.
    #[serde(default)]
    pub cases: Vec<String>,
    /// The reason why no case asks it.
    #[serde(default)]
    pub unasked: Option<String>,
}

/// Public reports of one thing, with their cases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoveredReport<'a> {
    /// Their ids.
    pub ids: Vec<&'a str>,
    /// What they are about; empty where only cases know them.
    pub about: &'a str,
    /// The number of cases.
    pub cases: usize,
    /// The files of the cases, without `.yaml`.
    pub files: Vec<String>,
    /// The reason why no case asks it.
    pub unasked: Option<&'a str>,
    /// Entries under `cases` that are no case.
    unknown: Vec<&'a str>,
}

impl PublicReports {
    /// The list built into the program.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn built_in() -> Result<Self, LoadError> {
        Self::read(Path::new(FILE), TEXT)
    }

    /// The list of a file at `file` whose text is `text`.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn read(file: &Path, text: &str) -> Result<Self, LoadError> {
        let list: Self = parse(file, text)?;
        let mut ids = list.0.iter().flat_map(|report| &report.reports);
        match ids.find(|id| !is_report_id(id)) {
            None => Ok(list),
            Some(id) => {
                let message = format!(
                    "`{id}` is no report: write owner/repository#number or CVE-year-number"
                );
                Err(LoadError::at(file, text, "reports", message).pointed(text))
            }
        }
    }
}

/// Returns an error about the built-in list.
pub(super) fn fault(message: String) -> LoadError {
    let id = message.split([':', ',', ' ']).next().unwrap_or_default();
    let line = TEXT.lines().position(|line| line.contains(id)).map_or(0, |at| at + 1);
    LoadError { line, ..LoadError::whole(Path::new(FILE), message) }
}

impl CoveredReport<'_> {
    /// Returns what is wrong: no case and no reason, both of them, or a case that is none.
    pub(super) fn faults(&self) -> Vec<String> {
        let ids = self.ids.join(", ");
        let unknown = self.unknown.iter().map(|id| format!("{ids}: no case is {id}"));
        let standing = match (self.cases, self.unasked) {
            (0, None) if self.unknown.is_empty() => Some("no case asks it, and no reason is given"),
            (1.., Some(_)) => Some("a case asks it: take the reason out"),
            _ => None,
        };
        unknown.chain(standing.map(|why| format!("{ids}: {why}"))).collect()
    }
}

/// Sets `reports`, and those that only cases cite, against the cases of `suite`.
pub(super) fn covered<'a>(suite: &'a Suite, reports: &'a PublicReports) -> Vec<CoveredReport<'a>> {
    let cited = cited(suite);
    let listed: BTreeSet<&str> =
        reports.0.iter().flat_map(|report| &report.reports).map(String::as_str).collect();
    let rest = cited.iter().filter(|(id, _)| !listed.contains(*id));
    let rest = rest.map(|(id, cases)| covered_report(vec![*id], "", cases.iter().copied()));
    let of_list = |report: &'a PublicReport| {
        let named = |case: &Case| report.cases.iter().any(|id| is_named(case.id.as_str(), id));
        let cases: BTreeMap<&str, &Case> = suite
            .cases
            .iter()
            .filter(|case| named(case))
            .chain(report.reports.iter().filter_map(|id| cited.get(id.as_str())).flatten().copied())
            .map(|case| (case.id.as_str(), case))
            .collect();
        let is_unknown = |id: &&str| !suite.cases.iter().any(|case| is_named(case.id.as_str(), id));
        let ids = report.reports.iter().map(String::as_str).collect();
        CoveredReport {
            unasked: report.unasked.as_deref(),
            unknown: report.cases.iter().map(String::as_str).filter(is_unknown).collect(),
            ..covered_report(ids, &report.about, cases.into_values())
        }
    };
    reports.0.iter().map(of_list).chain(rest).collect()
}

fn covered_report<'a>(
    ids: Vec<&'a str>,
    about: &'a str,
    cases: impl Iterator<Item = &'a Case>,
) -> CoveredReport<'a> {
    let mut files = BTreeSet::new();
    let mut count = 0;
    for case in cases {
        files.insert(case.file.with_extension("").display().to_string());
        count += 1;
    }
    let files = files.into_iter().collect();
    CoveredReport { ids, about, cases: count, files, unasked: None, unknown: Vec::new() }
}

/// Returns whether `name` is the case `id` or begins it.
fn is_named(id: &str, name: &str) -> bool {
    id.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The reports that cases cite, themselves or by the source of a requirement.
fn cited(suite: &Suite) -> BTreeMap<&str, Vec<&Case>> {
    let mut cited: BTreeMap<&str, Vec<&Case>> = BTreeMap::new();
    for case in &suite.cases {
        let requirements = case.requirements.iter().filter_map(|id| suite.requirements.get(id));
        let sources = requirements.map(|requirement| requirement.source.as_str());
        let sources = sources.chain(case.sources.iter().map(String::as_str));
        let ids: BTreeSet<&str> = sources.flat_map(report_ids).collect();
        ids.into_iter().for_each(|id| cited.entry(id).or_default().push(case));
    }
    cited
}

/// The ids of reports with a number in `text`.
fn report_ids(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| c.is_whitespace() || ",;()".contains(c));
    words.filter(|word| is_report_id(word) && word.contains(['#', '@']) || word.starts_with("CVE-"))
}

fn is_report_id(id: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if let Some(numbers) = id.strip_prefix("CVE-") {
        return numbers.split_once('-').is_some_and(|(year, n)| is_number(year) && is_number(n));
    }
    let is_commit = |text: &str| text.len() >= 7 && text.bytes().all(|b| b.is_ascii_hexdigit());
    let repository = match id.split_once(['#', '@']) {
        None => id,
        Some((repository, number)) if is_number(number) || is_commit(number) => repository,
        Some(_) => return false,
    };
    let is_name = |name: &str| {
        let known = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
        !name.is_empty() && name.bytes().all(known)
    };
    repository.split_once('/').is_some_and(|(owner, name)| is_name(owner) && is_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn list(text: &str) -> Result<PublicReports, LoadError> {
        PublicReports::read(Path::new("list.yaml"), text)
    }

    fn faults(text: &str) -> Vec<String> {
        let (suite, list) = (Suite::embedded().unwrap(), list(text).unwrap());
        let all = covered(&suite, &list);
        all.iter().flat_map(CoveredReport::faults).collect()
    }

    #[rstest]
    #[case("a/b#1", true)]
    #[case("a/b@0123abc", true)]
    #[case("a/b", true)]
    #[case("CVE-2026-1", true)]
    #[case("CVE-2026", false)]
    #[case("a/b#x", false)]
    #[case("a/b@12345", true)]
    #[case("a/b@xyz1234", false)]
    #[case("a", false)]
    #[case("a/b/c#1", false)]
    fn report_id_syntax(#[case] id: &str, #[case] good: bool) {
        assert_eq!(is_report_id(id), good);
    }

    #[test]
    fn an_entry_that_is_no_report_is_refused_at_its_line() {
        let error = list("- {reports: [a/b#1], about: x}\n- {reports: [\"a#b\"], about: y}\n");
        let told = error.unwrap_err().to_string();
        assert!(told.contains("`a#b` is no report"), "{told}");
    }

    #[rstest]
    #[case("cases: [net/tcp4]", "")]
    #[case("cases: [net/tcp]", "a/b#1: no case is net/tcp")]
    #[case("unasked: it needs a Mac", "")]
    #[case(
        "cases: [net/tcp4], unasked: it needs a Mac",
        "a/b#1: a case asks it: take the reason out"
    )]
    #[case("cases: []", "a/b#1: no case asks it, and no reason is given")]
    fn a_report_has_a_case_or_a_reason(#[case] rest: &str, #[case] fault: &str) {
        let found = faults(&format!("- {{reports: [a/b#1], about: x, {rest}}}\n"));
        assert_eq!(found.join("\n"), fault);
    }

    #[test]
    fn what_a_case_cites_needs_no_list() {
        let (suite, list) = (Suite::embedded().unwrap(), PublicReports::default());
        let all = covered(&suite, &list);
        let found = all.iter().find(|report| report.ids == ["CVE-2026-39861"]).unwrap();
        assert!(found.files.contains(&"fs/symlink-escape".to_owned()), "{found:?}");
    }
}
