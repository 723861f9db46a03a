//! Corpus lint: rules about cases that load, but should be better.

mod arms;
mod host_paths;
mod trace;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::case::{Case, ExpectedDecision};
use crate::coverage::{report_faults, requirements};
use crate::load::LoadError;
use crate::suite::Suite;

/// The rule that a requirement has cases of every kind that it asks for.
pub const COVERAGE: &str = "coverage";
/// The rule that a public report has a case, or the reason why it has none.
const PUBLIC_REPORTS: &str = "public-reports";
/// The longest a purpose may be, in characters.
const PURPOSE_MAX: usize = 120;

/// A flaw in a case, and its place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LintFinding {
    /// The file, as it is seen from the working directory.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// The name of the lint rule, such as `purpose-sentence`.
    pub rule: &'static str,
    /// The problem and its remedy.
    pub message: String,
}

impl std::fmt::Display for LintFinding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { line, column, rule, message, .. } = self;
        write!(f, "{}:{line}:{column}: {rule}: {message}", self.file.display())
    }
}

impl LintFinding {
    /// Returns the finding with its place in the file of `suite` that it is about.
    #[must_use]
    pub fn located(self, suite: &Suite) -> Self {
        let text = suite.files.get(&self.file).map(String::as_str).unwrap_or_default();
        let place = LoadError { line: self.line, ..LoadError::whole(&self.file, &*self.message) };
        let place = match self.line {
            0 => LoadError::at(&self.file, text, field_of(self.rule), &*self.message),
            _ => place,
        };
        let LoadError { line, column, .. } = place.pointed(text);
        Self { file: suite.place(&self.file).to_owned(), line, column: column.max(1), ..self }
    }
}

/// Returns the key of a case that a rule is about.
fn field_of(rule: &str) -> &'static str {
    match rule {
        "purpose-sentence" | "purpose-unique" => "purpose",
        "no-claim" | "vague-reason" => "expect",
        "twin-same" => "twin",
        "about-ambiguous" => "needs",
        "canary-unplanted" => "fixture",
        _ => "act",
    }
}

/// Everything the rules find in `suite`, sorted.
pub fn lint(suite: &Suite) -> Vec<LintFinding> {
    let mut found = Vec::new();
    for case in &suite.cases {
        found.extend(purpose(case));
        found.extend(reasons(case));
        found.extend(arms::arms(case));
        found.extend(trace::trace(case));
        found.extend(host_paths::host_paths(case));
    }
    found.extend(unique_purposes(suite));
    found.extend(suite.files.iter().flat_map(|(path, text)| boolean_words(path, text)));
    let mut found: Vec<_> = found.into_iter().map(|finding| finding.located(suite)).collect();
    if !suite.cases.is_empty() {
        found.extend(coverage(suite));
    }
    if suite.is_embedded() && suite.is_whole() {
        found.extend(public_reports(suite));
    }
    found.sort();
    found.dedup();
    found
}

/// Returns a finding that is not located yet.
pub fn finding(file: &Path, rule: &'static str, message: impl Into<String>) -> LintFinding {
    LintFinding { file: file.to_owned(), line: 0, column: 0, rule, message: message.into() }
}

/// A purpose is one short sentence that states a fact.
fn purpose(case: &Case) -> Vec<LintFinding> {
    let text = &case.purpose;
    let at = |message: String| finding(&case.file, "purpose-sentence", message);
    let mut found = Vec::new();
    if !text.ends_with('.') || text.trim() != text {
        found.push(at(format!("`{text}` is no sentence: end it with a full stop")));
    }
    if text.chars().count() > PURPOSE_MAX {
        found.push(at(format!("`{text}` is over {PURPOSE_MAX} characters: say one thing")));
    }
    let lower = text.to_lowercase();
    if [" should ", " must ", " try "].iter().any(|word| lower.contains(word)) {
        found.push(at(format!("`{text}`: state what happens, without should, must or try")));
    }
    found
}

/// Checks the reasons of a denial: ENOENT and friends mean that nothing was there to be refused. If
/// hiding the object is the point, the case says `contained`, and its oracles decide.
fn reasons(case: &Case) -> Vec<LintFinding> {
    let ExpectedDecision::Denied(denial) = &case.expect.decision else {
        return Vec::new();
    };
    let vague = ["ENOENT", "ENOTDIR", "ETIMEDOUT", "ENOSYS", "EINVAL"];
    let named = denial.errno.iter().filter(|errno| vague.contains(&errno.as_str()));
    named
        .map(|errno| {
            let message = format!("{}: {errno} is what a missing object gives, too", case.id);
            finding(&case.file, "vague-reason", message)
        })
        .collect()
}

fn unique_purposes(suite: &Suite) -> Vec<LintFinding> {
    let mut seen: BTreeMap<&str, &Case> = BTreeMap::new();
    let mut found = Vec::new();
    for case in &suite.cases {
        // The questions of one file share what they are about, and so do channel cases.
        let apart = case.question().is_none() && case.channel().is_none();
        let of_one_table = |other: &Case| other.file == case.file && !apart;
        if let Some(other) = seen.insert(&case.purpose, case).filter(|other| !of_one_table(other)) {
            let message = format!("{} and {} have the same purpose", other.id, case.id);
            found.push(finding(&case.file, "purpose-unique", message));
        }
    }
    found
}

/// Checks that the suite has the kinds of case that each of its own requirements asks for. Those of
/// another corpus that it cites are covered there.
fn coverage(suite: &Suite) -> Vec<LintFinding> {
    let found = requirements(suite);
    let lacking = found.iter().flat_map(|one| one.lacks.iter().map(|what| (one.id, *what)));
    let told = |(id, what)| {
        let (file, line) = suite.own.get(id)?;
        let finding = finding(file, COVERAGE, format!("{id} lacks {what}"));
        Some(LintFinding { line: *line, column: 1, ..finding })
    };
    lacking.filter_map(told).collect()
}

/// Checks the built-in list of public reports.
fn public_reports(suite: &Suite) -> Vec<LintFinding> {
    let faults = report_faults(suite).into_iter().map(|error| LintFinding {
        line: error.line,
        column: 1,
        ..finding(&error.file, PUBLIC_REPORTS, error.message)
    });
    faults.collect()
}

/// Words that YAML 1.1 readers turn into truth values are never values.
fn boolean_words(path: &Path, text: &str) -> Vec<LintFinding> {
    let boolean = ["on", "off", "yes", "no"];
    let value = |line: &str| {
        let line = line.split(" #").next().unwrap_or_default().trim();
        line.rsplit(": ").next().map(|word| word.trim_end_matches(['}', ']', ',']).to_lowercase())
    };
    text.lines()
        .enumerate()
        .filter(|(_, line)| value(line).is_some_and(|word| boolean.contains(&word.as_str())))
        .map(|(at, line)| {
            let message = format!("`{}`: quote it or choose another word", line.trim());
            LintFinding { line: at + 1, ..finding(path, "yaml-boolean", message) }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const CASE: &str = "purpose: Works.
requirement: R-x
needs: [fs.read_only]
fixture: {f: x}
policy: {mode: read_only}
act: {probe: write, path: f, text: y}
expect: {denied: {errno: [EROFS]}, oracle: [{unchanged: f}]}
twin: {mode: workspace_write}
";

    fn rules(text: &str, polarity: &str) -> Vec<&'static str> {
        rules_of("embedded", text, polarity)
    }

    fn rules_of(source: &str, text: &str, polarity: &str) -> Vec<&'static str> {
        let requirements = format!("R-x: {{text: It works., source: a, polarity: {polarity}}}\n");
        let suite = Suite::from_files(
            source,
            BTreeMap::from([(PathBuf::from("fs/case.yaml"), text.to_owned())]),
            &BTreeMap::from([(PathBuf::from("r.yaml"), requirements)]),
        );
        lint(&suite.unwrap()).into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn a_good_case_has_no_finding() {
        assert_eq!(rules(CASE, "negative"), [""; 0]);
    }

    #[rstest]
    #[case("Works.", "Works", "purpose-sentence")]
    #[case("Works.", "It should work.", "purpose-sentence")]
    #[case("EROFS", "ENOENT", "vague-reason")]
    #[case("text: y}", "text: off}", "yaml-boolean")]
    #[case("{probe: write, path: f, text: y}", "{sh: echo y > f}", "act-trace")]
    fn each_rule_fires(#[case] from: &str, #[case] to: &str, #[case] rule: &str) {
        assert_eq!(rules(&CASE.replace(from, to), "negative"), [rule]);
    }

    #[rstest]
    #[case::by_the_probe("'\"$PROBE\" --nonce $NONCE mark --name=tried; echo y > f'", "")]
    #[case::by_an_oracle("'echo y > f; echo z > g'", ", {exists: g}")]
    fn a_line_that_shows_that_it_ran_is_good(#[case] line: &str, #[case] oracle: &str) {
        let text = CASE
            .replace("{probe: write, path: f, text: y}", &format!("{{sh: {line}}}"))
            .replace("{unchanged: f}", &format!("{{unchanged: f}}{oracle}"));
        assert_eq!(rules(&text, "negative"), [""; 0]);
    }

    #[test]
    fn what_is_contained_may_be_hidden() {
        let contained = CASE.replace("denied: {errno: [EROFS]}", "contained: {errno: [ENOENT]}");
        assert_eq!(rules(&contained, "negative"), [""; 0]);
    }

    #[test]
    fn a_requirement_wants_both_polarities() {
        assert_eq!(rules(CASE, "both"), ["coverage"]);
        assert_eq!(rules(CASE, "positive"), ["coverage"]);
        assert_eq!(rules_of("cases", CASE, "both"), ["coverage"]);
    }

    #[test]
    fn the_embedded_corpus_is_clean() {
        let found = lint(&Suite::embedded().unwrap());
        assert!(found.is_empty(), "{}", found.iter().map(|f| format!("{f}\n")).collect::<String>());
    }
}
