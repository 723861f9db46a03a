//! JSON Schemas, generated from the types; the checked-in copies live in `schema/`.

#[cfg(test)]
mod vocabulary;

use crate::case::CaseFile;
use crate::protocol::{
    Capabilities, CheckRequest, CompileRequest, DecideAskRequest, EffectiveRequest,
    ExecutorRequest, ExplainRequest, GrantsRequest, PolicyAnswer, ProfileRequest, RunRequest,
    RunResult, SettingsRequest, SettingsRunRequest, StatusRequest, ValidateRequest,
};

/// Every schema this crate publishes: file name and content.
pub fn all() -> Vec<(&'static str, String)> {
    vec![
        ("case.schema.json", pretty(&schemars::schema_for!(CaseFile))),
        ("run-request.schema.json", pretty(&schemars::schema_for!(RunRequest))),
        ("profile-request.schema.json", pretty(&schemars::schema_for!(ProfileRequest))),
        ("check-request.schema.json", pretty(&schemars::schema_for!(CheckRequest))),
        ("effective-request.schema.json", pretty(&schemars::schema_for!(EffectiveRequest))),
        ("validate-request.schema.json", pretty(&schemars::schema_for!(ValidateRequest))),
        ("settings-run-request.schema.json", pretty(&schemars::schema_for!(SettingsRunRequest))),
        ("settings-request.schema.json", pretty(&schemars::schema_for!(SettingsRequest))),
        ("decide-ask-request.schema.json", pretty(&schemars::schema_for!(DecideAskRequest))),
        ("explain-request.schema.json", pretty(&schemars::schema_for!(ExplainRequest))),
        ("status-request.schema.json", pretty(&schemars::schema_for!(StatusRequest))),
        ("grants-request.schema.json", pretty(&schemars::schema_for!(GrantsRequest))),
        ("executor-request.schema.json", pretty(&schemars::schema_for!(ExecutorRequest))),
        ("compile-request.schema.json", pretty(&schemars::schema_for!(CompileRequest))),
        ("policy-answer.schema.json", pretty(&schemars::schema_for!(PolicyAnswer))),
        ("run-result.schema.json", pretty(&schemars::schema_for!(RunResult))),
        ("capabilities.schema.json", pretty(&schemars::schema_for!(Capabilities))),
    ]
}

fn pretty(schema: &schemars::Schema) -> String {
    format!("{:#}\n", schema.as_value())
}
