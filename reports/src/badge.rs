//! A badge ([`render`]) for the endpoint of shields.io: each column's passed share of the judged
//! cases at level `must`.

use serde_json::json;

use crate::conformance::PassedShare;
use crate::exit::{ExitOptions, is_red};
use crate::matrix::{Matrix, MatrixColumn};
use crate::profile::{self, Conformance, ProfileStanding};
use crate::record::{CaseRow, Level};
use crate::text::{clean, shorten};
use crate::verdict::Outcome;

/// The most characters of the message.
const LIMIT: usize = 120;

/// Renders the matrix as the JSON of one badge, newline included.
#[must_use]
pub fn render(matrix: &Matrix<'_>) -> String {
    let columns = matrix.columns.iter().enumerate();
    let part = |(index, column): (usize, &MatrixColumn<'_>)| {
        let must = || matrix.rows_of(index).filter(|row| row.level == Level::Must);
        let share: PassedShare = must().collect();
        let flaky = match must().filter(|row| row.outcome == Outcome::Flaky).count() {
            0 => String::new(),
            count => format!(" ({count} flaky)"),
        };
        let name = match matrix.columns.len() {
            1 => String::new(),
            _ => format!("{} ", clean(&column.label)),
        };
        format!("{name}{}/{} must{flaky}", share.passed, share.judged)
    };
    let parts: Vec<String> = columns.map(part).collect();
    let message = match parts.join(", ") {
        none if none.is_empty() => "nothing judged".to_owned(),
        some => shorten(&some, LIMIT),
    };
    json(&label(matrix), &message, color(matrix))
}

/// One badge a column and profile: the name of its file, and its JSON.
#[must_use]
pub fn of_profiles(matrix: &Matrix<'_>) -> Vec<(String, String)> {
    let word = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let badge = |standing: &ProfileStanding<'_>| {
        let label = clean(&matrix.columns[standing.column].label);
        let name: String = format!("{label}-{}", standing.profile).chars().map(word).collect();
        let color = match standing.standing {
            Conformance::Conformant => GREEN,
            Conformance::WithExceptions => YELLOW,
            Conformance::Unmeasured => ORANGE,
            Conformance::Not => RED,
        };
        let title = format!("{label} {}", clean(standing.profile));
        (format!("{name}.json"), json(&title, standing.standing.standing_label(), color))
    };
    profile::table(matrix).iter().map(badge).collect()
}

/// The JSON of a badge.
pub(crate) fn json(label: &str, message: &str, color: &str) -> String {
    let badge = json!({
        "schemaVersion": 1, "label": label, "message": message, "color": color,
        "isError": color == RED,
    });
    format!("{badge:#}\n")
}

/// Something failed that counts.
pub(crate) const RED: &str = "red";
/// All is as it should be.
pub(crate) const GREEN: &str = "brightgreen";
/// All passes, with exceptions or on another try alone.
pub(crate) const YELLOW: &str = "yellow";
/// Not everything is known.
pub(crate) const ORANGE: &str = "orange";

fn label(matrix: &Matrix<'_>) -> String {
    match matrix.columns.as_slice() {
        [one] => format!("boxproof {}", clean(&one.label)),
        _ => "boxproof".to_owned(),
    }
}

fn color(matrix: &Matrix<'_>) -> &'static str {
    let red = |(index, column): (usize, &MatrixColumn<'_>)| {
        let options = ExitOptions { strict: column.header.selection.strict, allow_missing: true };
        matrix.rows_of(index).any(|row| is_red(row, options))
    };
    let unlearnt = |row: &CaseRow| row.verdict.is_unlearnt();
    let judged = matrix.rows().any(|row| row.verdict.is_judged());
    match matrix.columns.iter().enumerate().any(red) {
        true => RED,
        false
            if !judged
                || !matrix.interrupted.is_empty()
                || !matrix.missing.is_empty()
                || matrix.rows().any(unlearnt) =>
        {
            ORANGE
        }
        false if matrix.rows().any(|row| row.outcome == Outcome::Flaky) => YELLOW,
        false => GREEN,
    }
}
