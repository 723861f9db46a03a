//! Reading a case file to the end although parts of it are wrong: [`read`].

use std::collections::BTreeSet;
use std::path::Path;

use serde_yaml::Value;

use crate::case::CaseFile;
use crate::load::{LoadError, parse, parse_value, without_mark};

/// The most parts that are taken out of one file.
const REPAIR_LIMIT: usize = 50;

/// Keys that every case has, each with a value that nothing is wrong with.
const REQUIRED: [(&str, &str); 3] =
    [("purpose", "Sound."), ("requirement", "R-x"), ("expect", "allowed: {}")];

/// Keys that are checked against each other: where one was taken out, nothing is sure of the others.
const RELATED: [&str; 9] =
    ["act", "control", "expect", "launcher", "policy", "rows", "run", "steps", "twin"];

/// A case file, without the parts that are wrong.
pub(super) struct RepairedCase {
    pub(super) file: CaseFile,
    pub(super) errors: Vec<LoadError>,
    pub(super) written: WrittenKeys,
}

/// The keys of a case file as it is written, and those that were taken out; by default none.
#[derive(Debug, Default)]
pub(super) struct WrittenKeys {
    value: Value,
    removed: BTreeSet<String>,
}

/// Reads a case file.
///
/// # Errors
/// Everything that was found, where so much is wrong that no case is left.
pub(super) fn read(path: &Path, text: &str) -> Result<RepairedCase, Vec<LoadError>> {
    let mut error = match parse::<CaseFile>(path, text) {
        // Most files are sound, and read no second time.
        Ok(file) => {
            let written = WrittenKeys::default();
            return Ok(RepairedCase { file, errors: Vec::new(), written });
        }
        Err(error) => error,
    };
    let Some(mut written) = WrittenKeys::parse(text) else { return Err(vec![error]) };
    let (mut value, mut errors) = (written.value.clone(), Vec::new());
    for _ in 0..REPAIR_LIMIT {
        let field = culprit(&error);
        // A required key that was misspelt is missing then.
        let meant = format!("did you mean `{field}`?");
        let is_told = errors.iter().any(|told: &LoadError| told.message.ends_with(&meant));
        if !is_told && !written.is_caused(&error) {
            errors.push(error);
        }
        if !written.remove(&mut value, &field) {
            break;
        }
        error = match parse_value(path, text, &value) {
            Ok(file) => return Ok(RepairedCase { file, errors, written }),
            Err(error) => error,
        };
    }
    Err(errors)
}

/// Returns the field that `error` is about, be it there or missing.
fn culprit(error: &LoadError) -> String {
    let missing = error.message.strip_prefix("missing field `").filter(|_| error.field.is_empty());
    let missing = missing.and_then(|rest| rest.split('`').next());
    missing.unwrap_or(&error.field).to_owned()
}

fn keys(field: &str) -> Vec<&str> {
    field.split(['.', '[']).filter(|key| !key.is_empty()).collect()
}

/// Returns what `keys` lead to in `value`.
fn lookup<'a>(value: &'a mut Value, keys: &[&str]) -> Option<&'a mut Value> {
    keys.iter().try_fold(value, |value, key| match (value, key.strip_suffix(']')) {
        (Value::Mapping(map), _) => map.get_mut(*key),
        (Value::Sequence(items), Some(at)) => items.get_mut(at.parse::<usize>().ok()?),
        _ => None,
    })
}

impl WrittenKeys {
    /// Returns the keys of `text`, if it is YAML.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let value = serde_yaml::from_str(without_mark(text)).ok()?;
        Some(Self { value, removed: BTreeSet::new() })
    }

    /// Takes what is at `field` out of `value`, or puts what is sound there if every case has it;
    /// returns whether anything changed.
    fn remove(&mut self, value: &mut Value, field: &str) -> bool {
        let mut keys = keys(field);
        let required = REQUIRED.iter().find(|(key, _)| keys == [*key]);
        // A key with a dot in it is not found: what it is in goes.
        while required.is_none() && !keys.is_empty() && lookup(value, &keys).is_none() {
            keys.pop();
        }
        let Some((last, above)) = keys.split_last() else { return false };
        // The next item of a list is another one, although it has the place of this one then.
        let is_item = last.ends_with(']');
        let gone = if is_item { above } else { keys.as_slice() }.join(".");
        if !self.removed.insert(gone) && !is_item {
            return false;
        }
        match (lookup(value, above), required, last.strip_suffix(']')) {
            (Some(Value::Mapping(map)), Some((key, sound)), _) => {
                map.insert((*key).into(), serde_yaml::from_str(sound).unwrap_or_default());
                true
            }
            (Some(Value::Mapping(map)), None, _) => map.remove(*last).is_some(),
            (Some(Value::Sequence(items)), _, Some(at)) => {
                let at = at.parse().ok().filter(|at| *at < items.len());
                at.map(|at: usize| items.remove(at)).is_some()
            }
            _ => false,
        }
    }

    /// Returns whether `error` comes of what was taken out of the field that it is about.
    fn is_caused(&self, error: &LoadError) -> bool {
        let field = keys(&error.field).join(".");
        let is_part = |gone: &String| {
            let rest = gone.strip_prefix(&field);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        !field.is_empty() && self.removed.iter().any(is_part)
    }

    /// Returns where `field` of a row stands: in the row, or above the rows.
    pub(super) fn field(&self, row: Option<&str>, field: &str) -> String {
        let Some(row) = row else { return field.to_owned() };
        let top = field.split('.').next().unwrap_or_default();
        let in_row = self.value.get("rows").and_then(|rows| rows.get(row)?.get(top)).is_some();
        match !in_row && self.value.get(top).is_some() {
            true => field.to_owned(),
            false => format!("rows.{row}.{field}").trim_end_matches('.').to_owned(),
        }
    }

    /// Returns whether an error about `field` does not follow from a part that was taken out.
    pub(super) fn is_sure(&self, field: &str) -> bool {
        let top = |field: &str| field.split('.').next().unwrap_or_default().to_owned();
        let is_related = |field: &str| RELATED.contains(&top(field).as_str());
        let gone = |gone: &String| top(gone) == top(field) || is_related(gone) && is_related(field);
        !self.removed.iter().any(gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASE: &str = "purpos: Works.
requirement: R-x
needs: [fs.wrte, net.nome]
levl: must
act: {sh: 'true'}
expect: {alowed: {}}
";

    fn errors(text: &str) -> Vec<String> {
        let errors = match read(Path::new("a.yaml"), text) {
            Ok(repaired) => repaired.errors,
            Err(errors) => errors,
        };
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_wrong_key_and_value_is_told_once() {
        let found = errors(CASE);
        let parts = ["`purpos`", "`levl`", "`fs.wrte`", "`net.nome`", "`alowed`"];
        for part in parts {
            let of_it =
                found.iter().filter(|error| error.contains("unknown") && error.contains(part));
            assert_eq!(of_it.count(), 1, "{part}: {found:#?}");
        }
        // That the misspelt key is missing, too, is no further fault.
        assert_eq!(found.len(), parts.len(), "{found:#?}");
    }

    #[test]
    fn what_is_no_case_at_all_is_told() {
        assert_eq!(errors("[a, b]\n").len(), 1);
        assert_eq!(errors("a: [\n").len(), 1);
        assert!(errors("{}\n")[0].contains("missing field `purpose`"));
        assert_eq!(errors(&CASE.replace("R-x", "C7")).len(), 6);
        let found = errors(&CASE.replace("expect: {alowed: {}}", "elsewhere: 3"));
        assert!(found.iter().any(|error| error.ends_with("missing field `expect`")), "{found:#?}");
    }
}
