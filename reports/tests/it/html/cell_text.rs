//! The page's data about a row, compared with the record.

use boxproof_reports::{ArmRow, CaseRow, ExitRow};
use serde_json::Value;

fn text<'a>(data: &'a Value, number: &Value) -> &'a str {
    data["texts"][usize::try_from(number.as_u64().unwrap()).unwrap()].as_str().unwrap()
}

/// Everything of a row that the data has, put together again as the script does.
pub(super) fn cell_text(data: &Value, case: &Value, column: usize) -> String {
    let cell = &case["cells"][column];
    let name = data["columns"][column]["name"].as_str().unwrap();
    let word = |list: &str, place: usize| &data[list][cell[place].as_u64().unwrap() as usize];
    let texts: Vec<String> =
        cell[5].as_array().unwrap().iter().map(|n| text(data, n).to_owned()).collect();
    let again = texts[2].replace('\u{1}', case["id"].as_str().unwrap()).replace('\u{2}', name);
    let arms: Vec<String> = cell[4].as_array().unwrap().iter().map(|a| arm(data, a)).collect();
    format!(
        "{} {} {} {} {} {again} {} {} {}",
        word("verdicts", 0)["word"].as_str().unwrap(),
        word("outcomes", 1)["word"].as_str().unwrap(),
        cell[3],
        texts[0],
        texts[1],
        texts[3],
        texts[4],
        arms.join(" ")
    )
}

fn arm(data: &Value, pair: &Value) -> String {
    let arm = &data["arms"][pair[0].as_u64().unwrap() as usize];
    let oracles: Vec<String> = arm[7]
        .as_array()
        .unwrap()
        .iter()
        .map(|o| format!("{} {} {}", text(data, &o[0]), o[1], text(data, &o[2])))
        .collect();
    format!(
        "[{} {} {} {}{} {}{} {} {}]",
        arm[0].as_str().unwrap(),
        pair[1],
        text(data, &arm[1]),
        text(data, &arm[2]),
        arm[3],
        text(data, &arm[4]),
        arm[5],
        text(data, &arm[6]),
        oracles.join(",")
    )
}

/// The same of the record itself; for rows of printable text.
pub(super) fn wanted(row: &CaseRow) -> String {
    let tenths = |ms: f64| (ms * 10.0).round() / 10.0;
    let arms: Vec<String> = row.arms.iter().map(|arm| wanted_arm(arm, tenths)).collect();
    let known = row.known.as_ref();
    format!(
        "{} {} {:?} {} {} {} {} {} {}",
        row.verdict,
        row.outcome,
        tenths(row.duration_ms),
        row.reason,
        row.message,
        row.reproduce.as_deref().unwrap_or_default(),
        known.map(|k| k.reason.as_str()).unwrap_or_default(),
        known.and_then(|k| k.link.as_deref()).unwrap_or_default(),
        arms.join(" ")
    )
}

fn wanted_arm(arm: &ArmRow, tenths: impl Fn(f64) -> f64) -> String {
    let end = match arm.exit {
        Some(ExitRow::Code(code)) => format!("exit {code}"),
        Some(ExitRow::Signal(signal)) => format!("signal {signal}"),
        Some(ExitRow::Timeout) => "timed out".to_owned(),
        Some(ExitRow::Refused) => "policy refused".to_owned(),
        None => "never started".to_owned(),
    };
    let oracles: Vec<String> =
        arm.oracles.iter().map(|o| format!("{} {} {}", o.oracle, o.holds, o.saw)).collect();
    format!(
        "[{} {:?} {end} {}{} {}{} {} {}]",
        arm.arm.keyword(),
        tenths(arm.duration_ms),
        arm.stdout.text,
        arm.stdout.truncated,
        arm.stderr.text,
        arm.stderr.truncated,
        arm.observation.as_ref().map(Value::to_string).unwrap_or_default(),
        oracles.join(",")
    )
}
