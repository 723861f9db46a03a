//! JSON Schemas, generated from the types; the checked-in copies live in `schema/`.

use crate::case::CaseFile;
use crate::protocol::{Capabilities, ProfileRequest, RunRequest, RunResult};

/// Every schema this crate publishes: file name and content.
pub fn all() -> Vec<(&'static str, String)> {
    vec![
        ("case.schema.json", pretty(&schemars::schema_for!(CaseFile))),
        ("run-request.schema.json", pretty(&schemars::schema_for!(RunRequest))),
        ("profile-request.schema.json", pretty(&schemars::schema_for!(ProfileRequest))),
        ("run-result.schema.json", pretty(&schemars::schema_for!(RunResult))),
        ("capabilities.schema.json", pretty(&schemars::schema_for!(Capabilities))),
    ]
}

fn pretty(schema: &schemars::Schema) -> String {
    format!("{:#}\n", schema.as_value())
}
