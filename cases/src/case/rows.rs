//! Rows: named parameter sets, each worked out into a case file of its own.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::file::one_or_many;
use super::parameters::{UndefinedParameter, undefined};
use super::{
    Act, CaseFile, Control, DuringEvent, Expect, FixtureEntry, HostNeed, Launcher, Level,
    PolicySpec, RunSpec, Twin,
};
use crate::capability::Capability;
use crate::requirement::RequirementId;

/// One line of a table case: parameters, and what differs from the case around it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Parameters: `${name}` anywhere in the case is replaced by the value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, String>")]
    pub with: BTreeMap<String, Option<String>>,
    /// Replaces the purpose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// Replaces the requirements.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub requirement: Vec<RequirementId>,
    /// Replaces the level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// Replaces the sources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// Replaces the host facts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Vec<HostNeed>>,
    /// Replaces the needed capabilities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<Vec<Capability>>,
    /// Replaces the claims that a failure speaks against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<Vec<Capability>>,
    /// Added to the fixture, path by path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fixture: BTreeMap<String, FixtureEntry>,
    /// Replaces the preparation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prepare: Option<String>,
    /// Replaces the launcher's side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launcher: Option<Launcher>,
    /// Replaces stdin.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "super::stdin::written"
    )]
    #[schemars(with = "Option<super::stdin::StdinText>")]
    pub stdin: Option<String>,
    /// Replaces policy keys, key by key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<PolicySpec>,
    /// Replaces how a native backend is asked to run the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunSpec>,
    /// Replaces the act.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub act: Option<Act>,
    /// Replaces what happens meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub during: Option<Vec<DuringEvent>>,
    /// Replaces the time an arm waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_ms: Option<u64>,
    /// Replaces the expectation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expect>,
    /// Replaces the control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Control>,
    /// Replaces the twin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub twin: Option<Twin>,
}

impl Row {
    /// The fault of a parameter without a value: behind a comma of a text without quotes stands a name
    /// alone.
    pub(crate) fn valueless(&self) -> Option<String> {
        let (name, _) = self.with.iter().find(|(_, value)| value.is_none())?;
        Some(format!(
            "with.{name} has no value; a text with a comma needs quotes, and an empty one is ''"
        ))
    }

    fn values(&self) -> BTreeMap<String, String> {
        let value = |value: &Option<String>| value.clone().unwrap_or_default();
        self.with.iter().map(|(name, given)| (name.clone(), value(given))).collect()
    }
}

/// A case file that stands alone, and what it comes from.
#[derive(Debug)]
pub(crate) struct UnrolledCase {
    /// The row, if it comes from one.
    pub(crate) row: Option<String>,
    /// The file; of a row that makes no case the fault.
    pub(crate) file: Result<CaseFile, String>,
    /// The parameters that have no value in it.
    pub(crate) undefined: Vec<UndefinedParameter>,
}

impl CaseFile {
    /// The case files this one stands for: itself, or one a row.
    pub(crate) fn unrolled(self) -> Vec<UnrolledCase> {
        if self.rows.is_empty() {
            let map = to_map(&self).unwrap_or_default();
            let undefined = undefined(&map, &BTreeMap::new());
            return vec![UnrolledCase { row: None, file: Ok(self), undefined }];
        }
        let mut base = self;
        let rows = std::mem::take(&mut base.rows);
        let base = to_map(&base);
        let of_row = |(name, row): (&String, &Row)| {
            let made = base.clone().and_then(|base| Self::with_row(base, row));
            let (file, undefined) = match made {
                Ok((file, undefined)) => (file, undefined),
                Err(fault) => (Err(fault), Vec::new()),
            };
            UnrolledCase { row: Some(name.clone()), file, undefined }
        };
        rows.iter().map(of_row).collect()
    }

    /// Returns the case that `row` makes of the case around it, and the parameters that `row` has no
    /// value for.
    fn with_row(mut case: Map<String, Value>, row: &Row) -> Result<FilledCase, String> {
        let mut changes = to_map(row)?;
        changes.remove("with");
        for key in ["fixture", "policy"] {
            if let Some(Value::Object(added)) = changes.remove(key) {
                merge(&mut case, key, added);
            }
        }
        case.extend(changes);
        let values = row.values();
        let undefined = undefined(&case, &values);
        let mut value = Value::Object(case);
        substitute(&mut value, &values);
        Ok((serde_json::from_value(value).map_err(|error| error.to_string()), undefined))
    }
}

/// A case with a row worked in, or the fault, and the parameters that have no value in it.
type FilledCase = (Result<CaseFile, String>, Vec<UndefinedParameter>);

fn to_map(value: &impl Serialize) -> Result<Map<String, Value>, String> {
    match serde_json::to_value(value) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err("not a mapping".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn merge(case: &mut Map<String, Value>, key: &str, added: Map<String, Value>) {
    let slot = case.entry(key).or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(present) = slot {
        present.extend(added);
    }
}

/// Replaces `${name}` in every string and every key below `value`.
pub(crate) fn substitute(value: &mut Value, with: &BTreeMap<String, String>) {
    match value {
        Value::String(text) => *text = fill(text, with),
        Value::Array(items) => items.iter_mut().for_each(|item| substitute(item, with)),
        Value::Object(map) => {
            let filled = std::mem::take(map).into_iter().map(|(key, mut value)| {
                substitute(&mut value, with);
                (fill(&key, with), value)
            });
            *map = filled.collect();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn fill(text: &str, with: &BTreeMap<String, String>) -> String {
    let mut out = text.to_owned();
    // Most texts have no parameter.
    if text.contains('$') {
        for (name, value) in with {
            out = out.replace(&format!("${{{name}}}"), value);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "
purpose: Writing ${path} is refused.
requirement: R-fs-write
fixture: {a: x}
policy: {mode: read_only, network: {host: {}}}
act: {probe: write, path: \"${path}\", text: evil}
expect: {denied: {errno: [EROFS]}, oracle: [{unchanged: \"${path}\"}]}
twin: {mode: workspace_write}
rows:
  one: {with: {path: a}}
  two: {with: {path: b}, fixture: {b: y}, policy: {mode: workspace_write}, level: should}
";

    #[test]
    fn a_row_is_a_case_of_its_own() {
        let file: CaseFile = crate::load::fragment(TABLE).unwrap();
        let cases: Vec<_> =
            file.unrolled().into_iter().map(|one| (one.row, one.file.unwrap())).collect();
        let names: Vec<_> = cases.iter().map(|(name, _)| name.as_deref().unwrap()).collect();
        assert_eq!(names, ["one", "two"]);
        let (_, two) = &cases[1];
        assert_eq!(two.purpose, "Writing b is refused.");
        assert_eq!(two.fixture.keys().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(two.level, Level::Should);
        assert_eq!(two.policy.mode, Some(crate::protocol::Mode::WorkspaceWrite));
        assert!(two.policy.network.is_some(), "policy keys a row does not name stay");
        assert!(two.rows.is_empty());
    }

    #[test]
    fn a_row_that_makes_no_valid_case_is_named() {
        let broken = TABLE.replace("level: should", "expect: {allowed: {}}, stdin: x");
        let file: CaseFile = crate::load::fragment(&broken).unwrap();
        assert!(file.unrolled().into_iter().all(|one| one.file.is_ok()));
        let numeric = TABLE.replace("${path} is", "is").replace("timeout", "x");
        assert!(crate::load::fragment::<CaseFile>(&numeric).is_ok());
    }
}
