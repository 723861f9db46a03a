//! Every JSON Schema that boxproof publishes ([`PublishedSchema`]), as built into the program.

use boxproof_cases::suggestion;

use crate::backend::MANIFEST_SCHEMA;
use crate::known::KNOWN_SCHEMA;
use crate::project::PROJECT_SCHEMA;

/// The end of the name of a schema's file.
const SUFFIX: &str = ".schema.json";

/// One published schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedSchema {
    /// Its name, such as `case`.
    pub name: String,
    /// The JSON text.
    pub text: &'static str,
}

impl PublishedSchema {
    fn new(path: &str, text: &'static str) -> Self {
        let file = path.rsplit('/').next().unwrap_or(path);
        Self { name: file.trim_end_matches(SUFFIX).to_owned(), text }
    }

    /// Returns the first sentence of its description.
    pub fn summary(&self) -> String {
        let schema: serde_json::Value = serde_json::from_str(self.text).unwrap_or_default();
        let about = schema["description"].as_str().unwrap_or_default().replace('\n', " ");
        about.split_inclusive(". ").next().unwrap_or_default().trim().to_owned()
    }
}

/// Returns every published schema, sorted by name.
pub fn published() -> Vec<PublishedSchema> {
    let own = [
        (MANIFEST_SCHEMA, include_str!("../backends/schema/manifest.schema.json")),
        (KNOWN_SCHEMA, include_str!("../backends/schema/known-failures.schema.json")),
        (PROJECT_SCHEMA, include_str!("../schema/project.schema.json")),
    ];
    let cases = boxproof_cases::schema::published();
    let mut found: Vec<_> =
        cases.iter().map(|(path, text)| PublishedSchema::new(path, text)).collect();
    let others = boxproof_reports::schema::PUBLISHED.into_iter().chain(own);
    found.extend(others.map(|(path, text)| PublishedSchema::new(path, text)));
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// Returns the schema called `name`, or the only one of whose name that is the first or last word.
///
/// # Errors
/// Where there is none, with the nearest name.
pub fn find(name: &str) -> Result<PublishedSchema, String> {
    let all = published();
    let (first, last) = (format!("{name}-"), format!("-{name}"));
    let is_short =
        |schema: &&PublishedSchema| schema.name.starts_with(&first) || schema.name.ends_with(&last);
    // The record that most have.
    let whole = if name == "record" { "run-record" } else { name };
    if let Some(found) = all.iter().find(|schema| schema.name == whole) {
        return Ok(found.clone());
    }
    let short: Vec<_> = all.iter().filter(is_short).collect();
    if let [found] = short.as_slice() {
        return Ok((*found).clone());
    }
    let near = suggestion(name, all.iter().map(|schema| schema.name.as_str()));
    Err(format!("there is no schema `{name}`{near}; `boxproof schema` lists them"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_has_a_name_a_sentence_and_an_address_of_its_own() {
        let mut addresses = BTreeSet::new();
        for schema in published() {
            let value: serde_json::Value = serde_json::from_str(schema.text).unwrap();
            let address = value["$id"].as_str().unwrap().to_owned();
            assert!(address.ends_with(&format!("/{}{SUFFIX}", schema.name)), "{address}");
            assert!(addresses.insert(address), "{}", schema.name);
            assert!(schema.summary().ends_with('.'), "{}: {}", schema.name, schema.summary());
            assert!(!schema.text.contains("[`"), "{} links into Rust", schema.name);
        }
    }

    #[test]
    fn one_is_found_by_its_name_or_by_a_word_of_it_that_no_other_has() {
        for (asked, name) in [
            ("case", "case"),
            ("record", "run-record"),
            ("timing", "timing-record"),
            ("known", "known-failures"),
        ] {
            assert_eq!(find(asked).unwrap().name, name);
        }
        assert!(find("request").is_err());
        assert!(find("manifset").unwrap_err().contains("did you mean `manifest`?"));
    }
}
