//! A list of known failures as its file writes it ([`text`]).

use boxproof_cases::schema::editor_line;

use crate::known::{KNOWN_SCHEMA, KnownOutcome, KnownRow, SystemName};

/// The whole file for the backend called `name`.
pub fn text(name: &str, rows: &[KnownRow]) -> String {
    let editor = editor_line(KNOWN_SCHEMA);
    let head = format!(
        "{editor}# What {name} is known to get wrong. Written by `boxproof expect update`, which keeps\n# \
         reasons, links and dates of rows that still say what happens.\n"
    );
    head + &rows.iter().map(row).collect::<String>()
}

/// Writes one row of the list.
pub(super) fn row(row: &KnownRow) -> String {
    let user = row.user.map(|user| user.keyword().to_owned());
    let os = row.os.map(|os| match os {
        SystemName::Linux => "linux".to_owned(),
        SystemName::Macos => "macos".to_owned(),
    });
    let members = [
        ("- case", Some(row.case.to_string())),
        ("  verdict", row.verdict.map(|verdict| verdict.keyword().to_owned())),
        ("  signature", row.signature.clone()),
    ];
    let notes = [
        ("  reason", Some(row.reason.clone())),
        ("  link", row.link.clone()),
        ("  expires", row.expires.as_ref().map(ToString::to_string)),
        ("  user", user),
        ("  version", row.version.clone()),
        ("  os", os),
    ];
    let line = |(name, value): (&str, Option<String>)| {
        value.map(|value| format!("{name}: {}\n", scalar(&value)))
    };
    let lines = members.into_iter().filter_map(line).chain(race_lines(&row.any_of));
    lines.chain(notes.into_iter().filter_map(line)).collect()
}

/// Writes the outcomes of a race, a line each.
fn race_lines(outcomes: &[KnownOutcome]) -> impl Iterator<Item = String> {
    let head = (!outcomes.is_empty()).then(|| "  any_of:\n".to_owned());
    let line = |outcome: &KnownOutcome| {
        let (verdict, seen) = (outcome.verdict.keyword(), outcome.seen);
        match outcome.signature.as_str() {
            "" => format!("  - {{verdict: {verdict}, seen: {seen}}}\n"),
            signature => {
                let signature = scalar(signature);
                format!("  - {{verdict: {verdict}, signature: {signature}, seen: {seen}}}\n")
            }
        }
    };
    head.into_iter().chain(outcomes.iter().map(line))
}

/// Writes `value` such that YAML reads this text and nothing else.
fn scalar(value: &str) -> String {
    let word = |c: char| c.is_ascii_alphanumeric() || "-_/*".contains(c);
    let starts_well = value.starts_with(|c: char| c.is_ascii_lowercase());
    // Words that some reader takes for truth values or for nothing.
    let special = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];
    if starts_well && value.chars().all(word) && !special.contains(&value) {
        return value.to_owned();
    }
    // A JSON string is a YAML string.
    serde_json::Value::from(value).to_string()
}
