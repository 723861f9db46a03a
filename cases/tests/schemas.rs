//! The checked-in schemas are what the types say. `UPDATE_SCHEMAS=1` writes them anew.

use std::path::Path;

#[test]
fn the_checked_in_schemas_are_fresh() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema");
    for (name, schema) in boxproof_cases::schema::all() {
        let path = directory.join(name);
        if std::env::var_os("UPDATE_SCHEMAS").is_some() {
            std::fs::write(&path, &schema).unwrap();
        }
        let checked_in = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(checked_in == schema, "{} is stale: run with UPDATE_SCHEMAS=1", path.display());
    }
}
