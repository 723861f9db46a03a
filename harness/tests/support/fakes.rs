//! Backends that lie, fail or misbehave in one way each, and running a corpus against one.

use serde_json::Value;

use super::{BOXPROOF, Place, Ran, as_we_are};

/// The directory of the backends and of the cases that kill them.
const FAKES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fakes");

/// Members of a manifest by which the whole policy is rendered.
pub(crate) const TOLD: &str = "files: [{path: '{{ state }}/policy', content: '{{ policy | json }} {{ timeout_ms | json }}'}]\n";

/// A place in which the fake called `name` is ready, and how to name it to `--backend`.
pub(crate) fn fake(name: &str) -> (Place, String) {
    let place = Place::new();
    let text = std::fs::read_to_string(format!("{FAKES}/{name}.yaml")).unwrap();
    std::fs::create_dir(place.path("state")).unwrap();
    let text = text
        .replace("FAKES", FAKES)
        .replace("STATE", &place.arg("state"))
        .replace("BOXPROOF", BOXPROOF);
    // A recipe that is handed the policy and makes nothing of it: that is the lie.
    let told = if text.contains("\nargv:") { TOLD } else { "" };
    // As the user of the tests: another one may not reach the directory of the sources.
    place.write("fake.yaml", &format!("{}\nrun_as: any\n{told}", text.trim_end()));
    let spec = place.arg("fake.yaml");
    (place, spec)
}

/// Runs `corpus`, as far as `filters` select it, against `spec`.
pub(crate) fn run(place: &Place, spec: &str, corpus: &str, filters: &[&str]) -> (Ran, Vec<Value>) {
    let (scratch, record) = (place.arg("scratch"), place.arg("record.ndjson"));
    let mut args = vec!["run", "--backend", spec, "--cases", corpus, "--scratch", &scratch];
    args.extend(["--report", &record]);
    args.extend(as_we_are());
    args.extend(filters);
    let ran = place.run(&args);
    let rows = place.record("record.ndjson");
    (ran, rows.into_iter().filter(|line| line["type"] == "case").collect())
}

/// The one row of `case` of `corpus` against the fake called `name`.
pub(crate) fn row_of(name: &str, corpus: &str, case: &str) -> (Place, Ran, Value) {
    let (place, spec) = fake(name);
    let (ran, rows) = run(&place, &spec, corpus, &[case]);
    assert_eq!(rows.len(), 1, "{rows:?}");
    let row = rows[0].clone();
    assert_eq!(row["id"], case);
    assert_eq!(row["backend"], name);
    (place, ran, row)
}

/// Returns `verdict reason`, as the record has them.
pub(crate) fn verdict(row: &Value) -> String {
    let word = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
    format!("{} {}", word("verdict"), word("reason")).trim().to_owned()
}

/// The arm that is judged.
pub(crate) fn confined(row: &Value) -> &Value {
    let arms = row["arms"].as_array().unwrap();
    arms.iter().find(|arm| arm["arm"] == "confined").unwrap()
}
