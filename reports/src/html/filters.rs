//! The filters of the matrix. They are hidden until the script works them.

use super::escape::text;
use super::head::levels;
use super::verdict_labels;
use crate::matrix::Matrix;
use crate::record::Level;
use crate::verdict::{Outcome, Verdict};

/// The largest number of columns at which the totals leave room at their side.
const FEW_COLUMNS: usize = 5;

/// The head of the matrix, the filters, and what they leave.
pub(super) fn form(matrix: &Matrix<'_>) -> String {
    let areas = matrix.sections.iter().map(|section| text(section.area));
    let outcomes = verdict_labels::outcomes(matrix);
    format!(
        "<section id=\"matrix\" aria-labelledby=\"matrix-head\">\n\
         <h2 id=\"matrix-head\">Matrix</h2>\n\
         <form id=\"filters\" role=\"search\" aria-label=\"filter the matrix\" hidden>\n\
         <div class=\"fields\">\n\
         <label class=\"wide\">text <input id=\"q\" type=\"search\" autocomplete=\"off\" \
         spellcheck=\"false\" placeholder=\"id, purpose, requirement, capability ( / )\"></label>\n\
         {}{}{}\
         <label class=\"check\"><input id=\"diff\" type=\"checkbox\"> only differences between \
         columns</label>\n<label class=\"check\"><input id=\"signs\" type=\"checkbox\"> signs \
         only</label>\n<button type=\"reset\">clear</button>\n</div>\n{}{}</form>\n\
         <p id=\"status\" role=\"status\"></p>\n\
         <p id=\"keys\" class=\"soft js\"><kbd>/</kbd> text · arrows, <kbd>Home</kbd>, \
         <kbd>End</kbd>, <kbd>Page</kbd> move · <kbd>Enter</kbd> opens a cell, folds an area · \
         <kbd>Esc</kbd> closes · in a cell <kbd>←</kbd> <kbd>→</kbd> backend, <kbd>j</kbd> \
         <kbd>k</kbd> case</p>\n",
        select("area", "every area", areas),
        select("level", "every level", levels(matrix).map(Level::keyword).map(str::to_owned)),
        select("outcome", "every outcome", outcomes.map(|o| o.keyword().to_owned())),
        verdicts(matrix),
        backends(matrix),
    )
}

fn select(name: &str, all: &str, values: impl Iterator<Item = String>) -> String {
    let options: String = values.map(|value| format!("<option>{value}</option>")).collect();
    format!(
        "<label>{name} <select id=\"{name}\"><option value=\"\">{all}</option>{options}</select>\
         </label>\n"
    )
}

/// Every verdict some cell has.
fn present_verdicts(matrix: &Matrix<'_>) -> impl Iterator<Item = Verdict> {
    Verdict::ALL.into_iter().filter(|verdict| matrix.rows().any(|row| row.verdict == *verdict))
}

fn verdicts(matrix: &Matrix<'_>) -> String {
    let chips: String = present_verdicts(matrix)
        .map(|verdict| {
            let (word, symbol) = (verdict.keyword(), verdict_labels::symbol(verdict));
            format!(
                "<label class=\"chip {word}\"><input type=\"checkbox\" name=\"verdict\" \
                 value=\"{word}\">{symbol} {word}</label>\n"
            )
        })
        .collect();
    format!("<fieldset><legend>verdict</legend>\n<div>{chips}</div></fieldset>\n")
}

/// Names backends by index, not by label, because the script knows the columns by index.
fn backends(matrix: &Matrix<'_>) -> String {
    if matrix.columns.len() < 2 {
        return String::new();
    }
    let chips: String = matrix
        .columns
        .iter()
        .enumerate()
        .map(|(place, column)| {
            format!(
                "<label class=\"chip plain\"><input type=\"checkbox\" name=\"backend\" \
                 value=\"{place}\">{}</label>\n",
                text(&column.label)
            )
        })
        .collect();
    format!("<fieldset><legend>backend</legend>\n<div>{chips}</div></fieldset>\n")
}

/// Renders the meanings of the words and symbols; open if there is room for it next to the totals.
pub(super) fn legend(matrix: &Matrix<'_>) -> String {
    let open = if matrix.columns.len() <= FEW_COLUMNS { " open" } else { "" };
    let entries: String = present_verdicts(matrix)
        .map(|verdict| {
            let (word, symbol) = (verdict.keyword(), verdict_labels::symbol(verdict));
            let meaning = verdict_labels::meaning(verdict);
            format!(
                "<dt><span class=\"chip {word}\">{symbol} {word}</span></dt><dd>{meaning}</dd>\n"
            )
        })
        .collect();
    let is_flaky = verdict_labels::outcomes(matrix).any(|outcome| outcome == Outcome::Flaky);
    let flaky = match is_flaky {
        true => "<dt>flaky</dt><dd>passed, and an earlier try of the same run did not</dd>\n",
        false => "",
    };
    format!(
        "<details id=\"legend\"{open}><summary>what the words mean</summary>\n<dl>\n{entries}\
         <dt>·</dt><dd>not selected for this backend</dd>\n\
         <dt>a/b +n</dt><dd>a of b judged cases passed; of n more nothing was learnt</dd>\n\
         <dt>known</dt><dd>listed as a known failure of this backend, and failing as listed</dd>\n\
         <dt>listed as failing</dt><dd>listed as a known failure, and passing: the list is out of \
         date</dd>\n\
         {flaky}</dl>\n</details>\n"
    )
}
