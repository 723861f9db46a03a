//! The project file, `boxproof.toml`: [`ProjectFile`] holds the settings of `boxproof run`, and the
//! policy of `boxproof gate`.

use std::path::{Path, PathBuf};

use boxproof_cases::load::LoadError;
use boxproof_cases::schema;
use boxproof_reports::gate::GatePolicy;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::case_sets;
use crate::selection::{CaseSelection, SlowCases};

/// The name of the file.
pub const PROJECT_FILE: &str = "boxproof.toml";

/// The place of its schema, from the root of the repository.
pub const PROJECT_SCHEMA: &str = "harness/schema/project.schema.json";

/// The keys of the policy of a gate.
const POLICY_KEYS: [&str; 8] = [
    "accept",
    "baseline",
    "conformance",
    "evidence",
    "flaky",
    "known-failures",
    "profiles",
    "timing",
];

/// The settings of a project. Flags take precedence.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(title = "boxproof.toml, the project file of boxproof")]
pub struct ProjectFile {
    /// The settings of `boxproof run`, and the cases of every other verb.
    #[serde(default)]
    pub run: RunSettings,
    /// The policy of `boxproof gate`.
    #[serde(default)]
    pub gate: Option<GatePolicy>,
}

/// The settings of `boxproof run`. Paths are relative to the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct RunSettings {
    /// The backends, as `--backend` names them; by default the reference.
    pub backends: Vec<String>,
    /// Directories of cases, instead of the built-in corpus.
    pub cases: Vec<PathBuf>,
    /// The filters of cases; none where others are typed.
    pub filters: Vec<String>,
    /// The frozen set, as `--set` names it; none where filters are typed.
    pub set: Option<String>,
    /// The known failures of the one backend.
    pub known: Option<PathBuf>,
    /// The number of CPU-bound arms in flight.
    pub jobs: Option<usize>,
    /// True if slow cases are selected, too.
    pub slow: bool,
    /// True if failures of `should` and `may` count, too.
    pub strict: bool,
}

impl ProjectFile {
    /// Reads `text` of the file at `file`. A file with keys of a policy is the policy of a gate
    /// alone, without its table `gate`.
    ///
    /// # Errors
    /// The first thing that is wrong with it, located.
    pub fn parse(file: &Path, text: &str) -> Result<Self, LoadError> {
        let table: toml::Table = read(file, text)?;
        let is_policy = POLICY_KEYS.iter().any(|key| table.contains_key(*key));
        let project: Self = match is_policy {
            true => Self { gate: Some(read(file, text)?), ..Self::default() },
            false => read(file, text)?,
        };
        let fault = |(field, message): (String, String)| LoadError {
            line: line_of(text, &field),
            field,
            ..LoadError::whole(file, message)
        };
        match project.fault() {
            Some(found) => Err(fault(found)),
            None => Ok(project),
        }
    }

    /// Returns the first field that has no meaning, and why.
    fn fault(&self) -> Option<(String, String)> {
        let field = |name: &str| format!("run.{name}");
        for filter in &self.run.filters {
            if let Err(error) = CaseSelection::new(&[filter], SlowCases::ByIdOnly) {
                return Some((field("filters"), error.to_string()));
            }
        }
        if let Some(Err(message)) = self.run.set.as_deref().map(case_sets::ids) {
            return Some((field("set"), message));
        }
        if self.run.jobs == Some(0) {
            return Some((field("jobs"), "at least one".to_owned()));
        }
        if self.run.known.is_some() && self.run.backends.len() != 1 {
            return Some((field("known"), "a list is about one backend: name one".to_owned()));
        }
        let message = self.gate.as_ref().and_then(|policy| policy.check().err())?;
        Some(("gate.accept".to_owned(), message))
    }

    /// Returns the settings with their paths as `base`, the directory of the file, leads to them.
    #[must_use]
    pub fn below(mut self, base: &Path) -> Self {
        let run = &mut self.run;
        for spec in &mut run.backends {
            let is_path = spec.contains('/') || spec.ends_with(".yaml") || spec.ends_with(".yml");
            if is_path && !base.as_os_str().is_empty() {
                *spec = base.join(&spec).to_string_lossy().into_owned();
            }
        }
        run.cases.iter_mut().chain(&mut run.known).for_each(|path| *path = base.join(&path));
        self
    }

    /// The JSON Schema of a project file, whose checked-in copy is at [`PROJECT_SCHEMA`].
    #[must_use]
    pub fn schema() -> String {
        schema::document(schemars::schema_for!(Self), PROJECT_SCHEMA)
    }
}

/// Reads `text` as a `T`.
fn read<T: DeserializeOwned>(file: &Path, text: &str) -> Result<T, LoadError> {
    let located = |error: &toml::de::Error, field: String| LoadError {
        line: error.span().map_or(0, |span| 1 + text[..span.start].matches('\n').count()),
        field,
        ..LoadError::whole(file, plain(error.message()))
    };
    let parsed = toml::Deserializer::parse(text).map_err(|error| located(&error, String::new()))?;
    serde_path_to_error::deserialize(parsed).map_err(|error| {
        let field = error.path().to_string();
        located(error.inner(), if field == "." { String::new() } else { field })
    })
}

/// Returns the parser's message on one line, without the names of our types.
fn plain(message: &str) -> String {
    let message = message.trim().replace('\n', ", ");
    match message.split_once("expected struct ") {
        Some((before, _)) => format!("{before}expected a table"),
        None => message,
    }
}

/// Returns the line (from 1) of the last key of `field` below the table that it is in; 0 where it
/// is not found.
fn line_of(text: &str, field: &str) -> usize {
    let (table, key) = field.split_once('.').unwrap_or(("", field));
    let header = [format!("[{table}]"), format!("[[{field}]]")];
    let below = text.lines().position(|line| header.iter().any(|head| line.trim() == head));
    let start = below.unwrap_or_default();
    let is_key = |line: &str| {
        line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='))
    };
    let at = text.lines().enumerate().skip(start).find(|(_, line)| is_key(line));
    at.map_or(below.map_or(0, |at| at + 1), |(at, _)| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const TEXT: &str = "[run]
backends = [\"box.yaml\", \"none\", \"./tool\"]
cases = [\"cases\"]
filters = [\"fs/**\"]
set = \"core\"
jobs = 2

[gate.baseline]
record = \"old.ndjson\"
";

    fn parse(text: &str) -> Result<ProjectFile, LoadError> {
        ProjectFile::parse(Path::new("boxproof.toml"), text)
    }

    #[test]
    fn a_file_holds_runs_and_gate_and_its_paths_lead_from_it() {
        let project = parse(TEXT).unwrap();
        assert_eq!(project.gate.as_ref().unwrap().baseline.record, Path::new("old.ndjson"));
        assert_eq!(project.clone().below(Path::new("")).run, project.run);
        let above = project.below(Path::new("../.."));
        assert_eq!(above.run.backends, ["../../box.yaml", "none", "../.././tool"]);
        assert_eq!(above.run.cases, [Path::new("../../cases")]);
    }

    #[test]
    fn the_example_of_the_page_works_as_printed() {
        let page = include_str!("../README.md");
        let example = page.split("```toml\n[run]").nth(1).unwrap().split("```").next().unwrap();
        let project = parse(&format!("[run]{example}")).unwrap();
        assert!(project.run.known.is_some() && project.gate.is_some());
        // A set is one of the built-in corpus.
        assert!(project.run.set.is_none() || project.run.cases.is_empty(), "{example}");
    }

    #[test]
    fn a_policy_alone_is_a_gate_without_its_table() {
        let text = TEXT.split("\n\n").nth(1).unwrap().replace("gate.", "");
        let project = parse(&text).unwrap();
        assert_eq!(project.run, RunSettings::default());
        assert_eq!(project.gate, parse(TEXT).unwrap().gate);
        let schema = schemars::schema_for!(GatePolicy);
        let keys = schema.as_value()["properties"].as_object().unwrap().keys();
        assert!(keys.eq(POLICY_KEYS));
    }

    #[rstest]
    #[case("jobs =", "job =", "boxproof.toml:6: run.job: unknown field `job`, expected one of")]
    #[case(
        "[run]",
        "[runs]",
        "boxproof.toml:1: runs: unknown field `runs`, expected `run` or `gate`"
    )]
    #[case("record =", "rec =", "boxproof.toml:9: gate.baseline.rec: unknown field `rec`")]
    #[case("jobs = 2", "jobs = \"2\"", "boxproof.toml:6: run.jobs: invalid type: string \"2\"")]
    #[case("jobs = 2", "jobs = 0", "boxproof.toml:6: run.jobs: at least one")]
    #[case("fs/**", "level:high", "boxproof.toml:4: run.filters: filter `level:high`: a level is")]
    #[case("core", "cora", "boxproof.toml:5: run.set: there is no set `cora`")]
    #[case("jobs = 2", "known = \"k\"", "boxproof.toml:6: run.known: a list is about one backend")]
    #[case("[run]", "[run", "boxproof.toml:1: ")]
    #[case("jobs = 2", "jobs = 2\njobs = 3", "boxproof.toml:7: ")]
    fn faults_are_located(#[case] from: &str, #[case] to: &str, #[case] message: &str) {
        let error = parse(&TEXT.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.starts_with(message) && !error.contains('\n'), "{error}");
    }

    #[test]
    fn no_message_names_a_type_of_ours() {
        let error = parse("run = 3\n").unwrap_err().to_string();
        assert_eq!(error, "boxproof.toml:1: run: invalid type: integer `3`, expected a table");
    }
}
