//! The words of the case format, and the files of a suite that use each: a word that no case uses
//! is one that nothing shows to work.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::case::substitute;
use crate::load::parse;
use crate::schema;

/// A word of the case format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoveredWord {
    /// A key as `Type.key`, or a value of a closed list as `Type=value`.
    pub word: String,
    /// The number of case files that use it.
    pub files: usize,
    /// The reason why no case can use it.
    pub unusable: Option<&'static str>,
}

impl CoveredWord {
    /// Returns whether a case could use the word, and none does.
    pub fn is_bare(&self) -> bool {
        self.files == 0 && self.unusable.is_none()
    }
}

/// Words that no case can use, each with its reason.
const UNUSABLE: [(&str, &str); 3] = [
    ("ErrorKind=setup", "no act makes every backend's sandbox fail"),
    ("ErrorKind=wait", "no act makes a backend lose its child"),
    ("Path.b64", "a directory of an arm is known by its variable alone"),
];

/// The schema of a case, whose own part is the definition `Case`.
struct CaseVocabulary(Value);

impl CaseVocabulary {
    fn of_cases() -> Self {
        // Generating it anew would need the schemas of all types in the program.
        Self(serde_json::from_str(schema::of_cases()).unwrap_or_default())
    }

    fn definition(&self, name: &str) -> &Value {
        if name == "Case" { &self.0 } else { &self.0["$defs"][name] }
    }

    /// Every word: keys as `Type.key`, values of closed lists as `Type=value`.
    fn all_words(&self) -> BTreeSet<String> {
        let mut words = BTreeSet::new();
        let names = self.0["$defs"].as_object().into_iter().flat_map(|defs| defs.keys());
        for name in names.map(String::as_str).chain(["Case"]) {
            collect(name, self.definition(name), &mut words);
        }
        words
    }

    /// Notes the words of `value`, which `schema`, a part of the definition `name`, describes.
    fn read(&self, name: &str, schema: &Value, value: &Value, used: &mut BTreeSet<String>) {
        if let Some(other) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
            self.read(other, self.definition(other), value, used);
        }
        for branch in ["anyOf", "oneOf", "allOf"].into_iter().flat_map(|key| items(&schema[key])) {
            self.read(name, branch, value, used);
        }
        match value {
            Value::Object(members) => {
                members.iter().for_each(|member| self.read_member(name, schema, member, used));
            }
            Value::Array(values) => {
                values.iter().for_each(|value| self.read(name, &schema["items"], value, used));
            }
            Value::String(word) if values_of(schema).any(|known| known == word) => {
                used.insert(format!("{name}={word}"));
            }
            _ => {}
        }
    }

    fn read_member(
        &self,
        name: &str,
        schema: &Value,
        (key, value): (&String, &Value),
        used: &mut BTreeSet<String>,
    ) {
        if let Some(known) = schema["properties"].get(key) {
            used.insert(format!("{name}.{key}"));
            return self.read(name, known, value, used);
        }
        self.read(name, &schema["propertyNames"], &Value::String(key.clone()), used);
        let patterns =
            schema["patternProperties"].as_object().into_iter().flat_map(|all| all.values());
        for open in patterns.chain([&schema["additionalProperties"]]) {
            self.read(name, open, value, used);
        }
    }

    /// Notes the words of a case file, and of each of its rows with its parameters filled in.
    fn read_file(&self, text: &str) -> BTreeSet<String> {
        let mut used = BTreeSet::new();
        let file: Value = parse(Path::new("case.yaml"), text).unwrap_or_default();
        self.read("Case", &self.0, &file, &mut used);
        for row in file["rows"].as_object().into_iter().flat_map(|rows| rows.values()) {
            let with: BTreeMap<String, String> =
                serde_json::from_value(row["with"].clone()).unwrap_or_default();
            let mut base = file.clone();
            if let Some(keys) = base.as_object_mut() {
                keys.remove("rows");
            }
            for (name, mut value) in [("Case", base), ("Row", row.clone())] {
                substitute(&mut value, &with);
                self.read(name, self.definition(name), &value, &mut used);
            }
        }
        used
    }
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// The values of a closed list.
fn values_of(schema: &Value) -> impl Iterator<Item = &str> {
    items(&schema["enum"]).chain([&schema["const"]]).filter_map(Value::as_str)
}

fn collect(name: &str, schema: &Value, words: &mut BTreeSet<String>) {
    words.extend(values_of(schema).map(|value| format!("{name}={value}")));
    for (key, part) in schema.as_object().into_iter().flatten().filter(|(key, _)| *key != "$defs") {
        if key == "properties" {
            for (key, part) in part.as_object().into_iter().flatten() {
                words.insert(format!("{name}.{key}"));
                collect(name, part, words);
            }
        } else {
            collect(name, part, words);
            items(part).for_each(|part| collect(name, part, words));
        }
    }
}

/// Returns every word of the format with its use in case files of these texts, sorted.
pub(super) fn words_of_format<'a>(texts: impl Iterator<Item = &'a String>) -> Vec<CoveredWord> {
    let vocabulary = CaseVocabulary::of_cases();
    let mut files: BTreeMap<String, usize> =
        vocabulary.all_words().into_iter().map(|word| (word, 0)).collect();
    for used in texts.map(|text| vocabulary.read_file(text)) {
        files
            .iter_mut()
            .filter(|(word, _)| used.contains(*word))
            .for_each(|(_, count)| *count += 1);
    }
    let unusable =
        |word: &str| UNUSABLE.into_iter().find(|(known, _)| *known == word).map(|(_, why)| why);
    let covered =
        |(word, files): (String, usize)| CoveredWord { unusable: unusable(&word), word, files };
    files.into_iter().map(covered).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::Suite;

    #[test]
    fn every_word_of_the_format_is_used_by_a_case() {
        let suite = Suite::embedded().unwrap();
        let words = words_of_format(suite.files.values());
        for word in words.iter().filter(|word| word.files > 0) {
            assert_eq!(word.unusable, None, "{} is used by now", word.word);
        }
        let bare: Vec<_> = words.iter().filter(|word| word.is_bare()).collect();
        assert!(bare.is_empty(), "no case uses {bare:#?}: write one, or take the word out");
        for (word, _) in UNUSABLE {
            assert!(words.iter().any(|known| known.word == word), "{word}");
        }
    }

    #[test]
    fn a_word_is_used_where_a_row_fills_it_in() {
        let text = "purpose: Works.\nrequirement: R-x\nlevel: ${level}\nact: {sh: 'true'}\n\
                    expect: {allowed: {}}\nrows: {a: {with: {level: may}, waits_ms: 1}}\n";
        let words = words_of_format([text.to_owned()].iter());
        let files = |word: &str| words.iter().find(|known| known.word == word).unwrap().files;
        for word in ["Level=may", "Row.waits_ms", "Case.act", "Act.sh"] {
            assert_eq!(files(word), 1, "{word}");
        }
        for word in ["Level=must", "Case.waits_ms", "DuringEvent.resize", "Oracle.displayed"] {
            assert_eq!(files(word), 0, "{word}");
        }
    }
}
