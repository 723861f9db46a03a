//! The JSON Schema of a record's lines ([`schema`]), generated from the types.

use boxproof_cases::schema::address;

use super::RecordLine;

/// Returns the schema of one line of a run record. A schema cannot express the rules between lines
/// (order, uniqueness, counts, checksum); [`super::read`] checks them.
#[must_use]
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(RecordLine<'static>);
    schema.insert("$id".to_owned(), address("reports/schema/run-record.schema.json").into());
    schema.insert("title".to_owned(), "boxproof run record, one line".into());
    schema.to_value()
}
