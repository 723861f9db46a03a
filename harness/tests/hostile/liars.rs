//! Backends that recognize a test, or its question: defeat devices, which confine only acts that
//! they take for a test, and forgers. A second look shows the former and most of the latter.

use serde_json::Value;

use crate::context::{BOTH, FinishedRun, HELLO, HostileRow, OUTSIDE, ROOT, RowContext};

/// The tells by which a defeat device recognizes a test: a shell condition about the request, the
/// environment and the parent, for each trace that the program leaves.
const TELLS: [(&str, &str); 5] = [
    ("variable", "[ -n \"$BOXPROOF_ARM\" ]"),
    ("nonce", "grep -qE '\"bx[0-9a-f]{8}-[0-9a-f]{16}\"' \"$request\""),
    ("program", "grep -q boxprobe \"$request\""),
    ("directories", "grep -qE '/bx[0-9a-f]{8}/w[0-9]+/arm/' \"$request\""),
    ("parent", "tr '\\0' ' ' < /proc/$PPID/cmdline | grep -q boxproof"),
];
/// Cases of which many acts are done by one ordinary program each.
const ORDINARY_ACTS: &[&str] = &[
    "fs/create-outside/*",
    "fs/write-outside/*",
    "fs/metadata-outside/*",
    "fs/move-*/*",
    "protect/git-create/*",
    "protect/settings-ways/*",
];

pub(crate) fn rows() -> Vec<HostileRow> {
    let row = |name, users, slow, check| HostileRow { name, users, slow, check };
    vec![
        row("second-look-at-the-reference", BOTH, false, honest),
        row("defeat-device-by-variable", BOTH, false, |context| device(context, 0)),
        row("defeat-device-by-nonce", BOTH, false, |context| device(context, 1)),
        row("defeat-device-by-program", BOTH, false, |context| device(context, 2)),
        row("defeat-device-by-directories", BOTH, false, |context| device(context, 3)),
        row("defeat-device-by-parent", BOTH, false, |context| device(context, 4)),
        row("defeat-device-by-any-tell", BOTH, true, device_by_any),
        row("forgers-of-records", BOTH, false, forgers),
        row("knows-the-corpus", ROOT, false, knows_corpus),
    ]
}

/// The reference, and nothing at all where `tell` is not so.
fn defeats(context: &RowContext, tell: &str) -> String {
    let open = r#"s/"mode":"[a-z_]+"/"mode":"unconfined"/; s/"protect":"[a-z]+"/"protect":"none"/"#;
    let before = format!("if {tell}; then :; else sed -i -E '{open}' \"$request\"; fi");
    context.native("defeats", &before, "")
}

/// A run with a second look at every case of `filters`.
#[track_caller]
fn run_blind(context: &RowContext, spec: &str, filters: &[&str]) -> FinishedRun {
    let filters: Vec<&str> = filters.iter().copied().chain(["--blind", "all"]).collect();
    context.run(spec, &filters)
}

/// Returns the result of the second look at a row.
fn shown(row: &Value) -> &str {
    row["blind"]["shown"].as_str().unwrap_or("nothing")
}

fn honest(context: &RowContext) {
    let own = context.own_cases(&[HELLO, OUTSIDE]);
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let ran = run_blind(context, "reference", &own);
    ran.is_bounded();
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert_eq!([HELLO, OUTSIDE].map(|id| shown(ran.row(id))), ["same", "same"], "{ran:#?}");
}

fn device(context: &RowContext, at: usize) {
    let (name, tell) = TELLS[at];
    let defeats = defeats(context, tell);
    let ran = context.run_own(&defeats, &[OUTSIDE]);
    assert_eq!((ran.verdict(OUTSIDE).as_str(), ran.code), ("pass", 0), "{name}: {ran:#?}");
    let own = context.own_cases(&[OUTSIDE]);
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let ran = run_blind(context, &defeats, &own);
    ran.is_bounded();
    assert_eq!((ran.verdict(OUTSIDE).as_str(), ran.code), ("under-block blind", 1), "{name}");
    let row = ran.row(OUTSIDE);
    assert_eq!(shown(row), "differs", "{row:#}");
    assert!(row["reproduce"].as_str().unwrap().ends_with("--blind all"), "{row:#}");
    assert!(ran.stdout.contains("reason: blind") && ran.stdout.contains("1 differ"), "{ran:#?}");
}

/// Checks that every row is found that passes only while it is told from ordinary work, at least
/// thirty.
fn device_by_any(context: &RowContext) {
    let tells: Vec<&str> = TELLS.iter().map(|(_, tell)| *tell).collect();
    let defeats = defeats(context, &format!("{{ {}; }}", tells.join(" || ")));
    let ran = run_blind(context, &defeats, ORDINARY_ACTS);
    ran.is_bounded();
    let is = |row: &&Value, word: &str| shown(row) == word;
    let caught: Vec<_> = ran.rows.iter().filter(|row| is(row, "differs")).collect();
    let verdicts: Vec<_> = caught.iter().map(|row| crate::support::fakes::verdict(row)).collect();
    let open = verdicts.iter().filter(|verdict| *verdict == "under-block blind").count();
    assert!(open >= 30 && verdicts.iter().all(|v| v.ends_with(" blind")), "{open}: {verdicts:#?}");
}

/// Checks that no record stands in for a denial that has a twin.
fn forgers(context: &RowContext) {
    for forger in ["forger-denies", "forger-allows"] {
        let ran = context.run(forger, &["fs/create-outside/*", "protect/git-create/*"]);
        let passed: Vec<_> = ran.rows.iter().filter(|row| row["verdict"] == "pass").collect();
        assert!(passed.is_empty() && ran.rows.len() > 8, "{forger}: {passed:#?}");
    }
}

/// Runs a backend that knows every call of a probe and every case: it passes denials, twins
/// included; where ordinary programs act, it knows nothing.
fn knows_corpus(context: &RowContext) {
    let ran = run_blind(context, "knows-corpus", &["fs/create-outside/*"]);
    ran.is_bounded();
    let verdicts: Vec<_> = ran.rows.iter().map(crate::support::fakes::verdict).collect();
    assert_eq!(verdicts, vec!["under-block blind"; 6], "{ran:#?}");
}
