//! The checked-in JSON Schema is fresh and closed. `UPDATE_SCHEMAS=1` rewrites it.

use std::path::Path;

use boxproof_reports::record::schema;
use serde_json::Value;

#[test]
fn the_checked_in_schema_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/run-record.schema.json");
    let fresh = format!("{:#}\n", schema());
    if std::env::var_os("UPDATE_SCHEMAS").is_some_and(|value| value == "1") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &fresh).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap();
    assert_eq!(found, fresh, "UPDATE_SCHEMAS=1 cargo test -p boxproof-reports rewrites it");
}

#[test]
fn the_schema_of_timing_records_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/timing-record.schema.json");
    let fresh = format!("{:#}\n", boxproof_reports::timing::schema());
    if std::env::var_os("UPDATE_SCHEMAS").is_some_and(|value| value == "1") {
        std::fs::write(&path, &fresh).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap();
    assert_eq!(found, fresh, "UPDATE_SCHEMAS=1 cargo test -p boxproof-reports rewrites it");
}

/// Every object with named members in a schema, with its path.
fn objects<'a>(path: &str, schema: &'a Value, found: &mut Vec<(String, &'a Value)>) {
    if schema.get("properties").is_some_and(Value::is_object) && schema.get("type").is_some() {
        found.push((path.to_owned(), schema));
    }
    match schema {
        Value::Object(members) => {
            members
                .iter()
                .for_each(|(name, value)| objects(&format!("{path}/{name}"), value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| objects(path, value, found)),
        _ => {}
    }
}

#[test]
fn every_object_of_the_schema_is_closed() {
    let schema = schema();
    let mut found = Vec::new();
    objects("", &schema, &mut found);
    assert!(found.len() > 12, "{found:#?}");
    let open: Vec<&String> = found
        .iter()
        .filter(|(_, object)| object.get("additionalProperties") != Some(&Value::Bool(false)))
        .map(|(path, _)| path)
        .collect();
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn the_schema_tells_lines_apart_by_type() {
    let schema = schema();
    let kinds: Vec<&Value> = schema["oneOf"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| &line["properties"]["type"]["const"])
        .collect();
    assert_eq!(kinds, ["header", "case", "footer"]);
}
