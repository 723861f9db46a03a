//! JSON Schemas, generated from the types; the checked-in copies live in `schema/`.

use std::collections::BTreeMap;

use crate::EMBEDDED_FILES;
use crate::case::CaseFile;
use crate::protocol::{
    Capabilities, CheckRequest, CompileRequest, DecideAskRequest, EffectiveRequest,
    ExecutorRequest, ExplainRequest, GrantsRequest, PolicyAnswer, ProfileRequest, RunRequest,
    RunResult, SettingsRequest, SettingsRunRequest, StatusRequest, ValidateRequest,
};
use crate::requirement::{Requirement, RequirementId};

/// The address below which the repository's files are served.
const REPOSITORY: &str = "https://raw.githubusercontent.com/boxproof/boxproof/main/";

/// The address of the schema whose checked-in copy is at `path` from the root of the repository.
pub fn address(path: &str) -> String {
    format!("{REPOSITORY}{path}")
}

/// The line by which an editor finds the schema at `path` for a YAML file.
pub fn editor_line(path: &str) -> String {
    format!("# yaml-language-server: $schema={}\n", address(path))
}

/// The checked-in schemas of this crate, as built into the program: path and text.
pub fn published() -> Vec<(String, &'static str)> {
    let files = EMBEDDED_FILES.below("schema");
    files.map(|(path, text)| (format!("cases/schema/{path}"), text)).collect()
}

/// The checked-in schema of case files.
pub(crate) fn of_cases() -> &'static str {
    EMBEDDED_FILES.text("schema/case.schema.json").unwrap_or_default()
}

/// Every schema this crate publishes, from the types: file name and content.
pub fn all() -> Vec<(&'static str, String)> {
    let schemas = vec![
        ("case.schema.json", schemars::schema_for!(CaseFile)),
        ("run-request.schema.json", schemars::schema_for!(RunRequest)),
        ("profile-request.schema.json", schemars::schema_for!(ProfileRequest)),
        ("check-request.schema.json", schemars::schema_for!(CheckRequest)),
        ("effective-request.schema.json", schemars::schema_for!(EffectiveRequest)),
        ("validate-request.schema.json", schemars::schema_for!(ValidateRequest)),
        ("settings-run-request.schema.json", schemars::schema_for!(SettingsRunRequest)),
        ("settings-request.schema.json", schemars::schema_for!(SettingsRequest)),
        ("decide-ask-request.schema.json", schemars::schema_for!(DecideAskRequest)),
        ("explain-request.schema.json", schemars::schema_for!(ExplainRequest)),
        ("status-request.schema.json", schemars::schema_for!(StatusRequest)),
        ("grants-request.schema.json", schemars::schema_for!(GrantsRequest)),
        ("executor-request.schema.json", schemars::schema_for!(ExecutorRequest)),
        ("compile-request.schema.json", schemars::schema_for!(CompileRequest)),
        ("policy-answer.schema.json", schemars::schema_for!(PolicyAnswer)),
        ("run-result.schema.json", schemars::schema_for!(RunResult)),
        ("capabilities.schema.json", schemars::schema_for!(Capabilities)),
        ("requirements.schema.json", requirements()),
    ];
    schemas
        .into_iter()
        .map(|(name, schema)| (name, document(schema, &format!("cases/schema/{name}"))))
        .collect()
}

fn requirements() -> schemars::Schema {
    let mut schema = schemars::schema_for!(BTreeMap<RequirementId, Requirement>);
    schema.insert("title".to_owned(), "boxproof requirements".into());
    schema.insert("description".to_owned(), "Requirements of a corpus, id → requirement.".into());
    schema
}

/// Returns the text of `schema` with its address, for the checked-in copy at `path` from the root.
pub fn document(mut schema: schemars::Schema, path: &str) -> String {
    schema.insert("$id".to_owned(), address(path).into());
    // Descriptions are doc comments, whose links lead nowhere here.
    format!("{:#}\n", schema.as_value()).replace("[`", "`").replace("`]", "`")
}
