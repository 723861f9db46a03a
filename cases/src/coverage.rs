//! Coverage ([`CorpusCoverage`]): what the cases of a suite are about, set against everything that
//! they could be about: requirements, public reports, capabilities, words of the format.

mod public_reports;
mod vocabulary;

use std::collections::{BTreeMap, BTreeSet};

pub use public_reports::{CoveredReport, PublicReport, PublicReports};
pub use vocabulary::CoveredWord;

use crate::capability::Capability;
use crate::case::{Case, HostPlatform};
use crate::load::LoadError;
use crate::requirement::{CasePolarity, Requirement, RequirementId};
use crate::suite::Suite;

/// What the cases of a suite cover.
#[derive(Debug, Clone)]
pub struct CorpusCoverage<'a> {
    /// The suite.
    pub suite: &'a Suite,
    /// Every requirement that the suite answers for.
    pub requirements: Vec<CoveredRequirement<'a>>,
    /// Public reports; none where the suite is not the whole corpus.
    pub reports: Vec<CoveredReport<'a>>,
    /// Capabilities; none where the suite is not the whole corpus.
    pub capabilities: Vec<CoveredCapability>,
    /// The words of the format; none where the suite is not the whole corpus.
    pub words: Vec<CoveredWord>,
}

/// The cases of one polarity and of the other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PolarityCount {
    /// The cases in which the act is allowed.
    pub positive: usize,
    /// The cases in which it is not.
    pub negative: usize,
}

/// A requirement and the number of its cases.
#[derive(Debug, Clone)]
pub struct CoveredRequirement<'a> {
    /// Its id.
    pub id: &'a RequirementId,
    /// Its text, its source and the polarity that it asks for.
    pub requirement: &'a Requirement,
    /// The cases by platform, in the order of [`PLATFORMS`].
    pub platforms: [PolarityCount; PLATFORMS.len()],
    /// The kinds of case that it asks for and lacks, on every platform.
    pub lacks: Vec<&'static str>,
}

/// A capability and the number of cases that need it or are about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoveredCapability {
    /// The capability.
    pub capability: Capability,
    /// The number of cases.
    pub cases: usize,
}

/// The platforms, each with its word.
pub const PLATFORMS: [(HostPlatform, &str); 2] =
    [(HostPlatform::Linux, "Linux"), (HostPlatform::Macos, "macOS")];

impl<'a> CorpusCoverage<'a> {
    /// Sets the cases of `suite` against `reports` and everything else that they could be about.
    pub fn new(suite: &'a Suite, reports: &'a PublicReports) -> Self {
        let requirements = requirements(suite);
        if !suite.is_whole() {
            let (reports, capabilities, words) = Default::default();
            return Self { suite, requirements, reports, capabilities, words };
        }
        Self {
            suite,
            requirements,
            reports: public_reports::covered(suite, reports),
            capabilities: capabilities(suite),
            words: vocabulary::words_of_format(suite.files.values()),
        }
    }

    /// Returns everything that should have a case and has none, a line each.
    pub fn bare(&self) -> Vec<String> {
        let requirements = self.requirements.iter().flat_map(|one| {
            one.lacks
                .iter()
                .map(|what| format!("{} lacks {what}: {}", one.id, one.requirement.text))
        });
        let reports = self.reports.iter().flat_map(CoveredReport::faults);
        let capabilities = self.capabilities.iter().filter(|one| one.cases == 0);
        let capabilities =
            capabilities.map(|one| format!("no case needs the capability {}", one.capability));
        // Capabilities are words as well, and told by themselves.
        let is_told = |word: &&CoveredWord| word.is_bare() && !word.word.starts_with("Capability=");
        let words = self.words.iter().filter(is_told);
        let words = words.map(|word| format!("no case uses {} of the format", word.word));
        requirements.chain(reports).chain(capabilities).chain(words).collect()
    }
}

/// The requirements that `suite` answers for: its own, or those that are built in where it defines
/// none.
pub(crate) fn requirements(suite: &Suite) -> Vec<CoveredRequirement<'_>> {
    let mut counts: BTreeMap<&RequirementId, [PolarityCount; PLATFORMS.len()]> = BTreeMap::new();
    for case in &suite.cases {
        for id in &case.requirements {
            count(case, counts.entry(id).or_default());
        }
    }
    let answers = |id: &RequirementId| suite.own.is_empty() || suite.own.contains_key(id);
    let asked = suite.requirements.iter().filter(|(id, _)| answers(id));
    asked
        .map(|(id, requirement)| {
            let platforms = counts.get(id).copied().unwrap_or_default();
            let lacks = lacks(requirement.polarity, platforms);
            CoveredRequirement { id, requirement, platforms, lacks }
        })
        .collect()
}

fn count(case: &Case, platforms: &mut [PolarityCount; PLATFORMS.len()]) {
    for ((platform, _), count) in PLATFORMS.iter().zip(platforms) {
        if case.platforms.contains(platform) {
            let is_negative = case.expect.decision.is_negative();
            count.negative += usize::from(is_negative);
            count.positive += usize::from(!is_negative);
        }
    }
}

fn lacks(polarity: CasePolarity, platforms: [PolarityCount; PLATFORMS.len()]) -> Vec<&'static str> {
    let positive = platforms.iter().any(|count| count.positive > 0);
    let negative = platforms.iter().any(|count| count.negative > 0);
    let asked = [
        (polarity != CasePolarity::Negative && !positive, "a case where it is allowed"),
        (polarity != CasePolarity::Positive && !negative, "a case where it is not"),
    ];
    asked.into_iter().filter(|(is_lacking, _)| *is_lacking).map(|(_, what)| what).collect()
}

fn capabilities(suite: &Suite) -> Vec<CoveredCapability> {
    let cases = |capability: &Capability| {
        let concerns = |case: &&Case| {
            case.needs.contains(capability)
                || case.about.as_ref().is_some_and(|about| about.contains(capability))
        };
        suite.cases.iter().filter(concerns).count()
    };
    Capability::all()
        .map(|capability| CoveredCapability { cases: cases(&capability), capability })
        .collect()
}

/// Returns what is wrong with the built-in list of public reports as the cases of `suite`, the whole
/// corpus, have it.
pub(crate) fn report_faults(suite: &Suite) -> Vec<LoadError> {
    match PublicReports::built_in() {
        Err(error) => vec![error],
        Ok(reports) => {
            let covered = public_reports::covered(suite, &reports);
            let faults = covered.iter().flat_map(CoveredReport::faults);
            let unique: BTreeSet<String> = faults.collect();
            unique.into_iter().map(public_reports::fault).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const CASE: &str = "purpose: Works.\nrequirement: R-own\nact: {sh: 'true'}\nexpect: ";
    const OWN: &str = "R-own: {text: It works., source: a test, polarity: positive}\n";

    /// The bare lines of a corpus of one's own with these cases and requirements.
    fn bare(decisions: &[&str], requirements: &str) -> Vec<String> {
        let corpus = tempfile::tempdir().unwrap();
        let write = |name: String, text: &str| {
            let path = corpus.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        for (number, decision) in decisions.iter().enumerate() {
            write(format!("fs/case-{number}.yaml"), &format!("{CASE}{decision}\n"));
        }
        write("requirements/own.yaml".to_owned(), requirements);
        let suite = Suite::load(corpus.path()).unwrap();
        CorpusCoverage::new(&suite, &PublicReports::default()).bare()
    }

    #[test]
    fn a_requirement_of_ones_own_is_bare_without_its_cases() {
        assert_eq!(bare(&["{allowed: {}}"], OWN), [""; 0]);
        let lacks = "R-own lacks a case where it is not: It works.";
        let both = OWN.replace("positive", "both");
        assert_eq!(bare(&["{allowed: {}}", "{allowed: {}}"], &both), [lacks]);
        let other = "R-other: {text: Other., source: a test, polarity: positive}\n";
        let lacks = "R-other lacks a case where it is allowed: Other.";
        assert_eq!(bare(&["{allowed: {}}"], &format!("{OWN}{other}")), [lacks]);
    }

    fn corpus() -> Suite {
        Suite::embedded().unwrap()
    }

    #[test]
    fn nothing_of_the_corpus_is_bare() {
        let (suite, reports) = (corpus(), PublicReports::built_in().unwrap());
        let coverage = CorpusCoverage::new(&suite, &reports);
        assert_eq!(coverage.bare(), [""; 0]);
        assert!(coverage.requirements.len() > 150, "{}", coverage.requirements.len());
        let asked = coverage.reports.iter().filter(|report| report.cases > 0).count();
        assert!(asked > 210, "{asked}");
    }

    #[test]
    fn a_case_that_is_left_out_leaves_bare_what_it_alone_is_about() {
        let (mut suite, reports) = (corpus(), PublicReports::built_in().unwrap());
        let path = Path::new("proc/caller-outlived.yaml");
        suite.cases.retain(|case| case.file != path);
        suite.files.remove(path);
        let bare = CorpusCoverage::new(&suite, &reports).bare();
        let told = bare.join("\n");
        assert!(told.contains("R-proc-caller-outlived lacks a case where it is allowed"), "{told}");
        assert!(told.contains("no case needs the capability supervise.caller_outlived"), "{told}");
    }

    #[test]
    fn a_case_counts_on_the_platforms_that_it_applies_to() {
        let suite = corpus();
        let all = requirements(&suite);
        let found = all.iter().find(|one| one.id.as_str() == "R-proc-sys").unwrap();
        let none = PolarityCount::default();
        assert!(found.platforms[0] != none && found.platforms[1] == none, "{found:?}");
    }
}
