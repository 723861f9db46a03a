//! The JSON Schema of a record's lines ([`schema`]), generated from the types.

use super::RecordLine;

/// The schema one line of a run record follows. What ties the lines together (order, uniqueness,
/// counts, checksum) is beyond a schema; [`super::read`] checks it.
#[must_use]
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(RecordLine<'static>);
    schema.insert("title".to_owned(), "boxproof run record, one line".into());
    schema.to_value()
}
