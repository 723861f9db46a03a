//! The totals: a row a backend, with a bar and its verdicts.

use super::escape::text;
use super::filters;
use super::tables::link;
use super::verdict_labels;
use crate::matrix::{Matrix, MatrixColumn};
use crate::summary::OutcomeTally;
use crate::verdict::Verdict;

/// Renders the totals and what the words mean.
pub(super) fn section(matrix: &Matrix<'_>) -> String {
    let tallies: Vec<OutcomeTally> =
        (0..matrix.columns.len()).map(|column| matrix.rows_of(column).collect()).collect();
    let verdicts: Vec<Verdict> = Verdict::ALL
        .into_iter()
        .filter(|verdict| tallies.iter().any(|tally| tally.count(*verdict) > 0))
        .collect();
    let rows: String = (0..matrix.columns.len())
        .map(|place| row(matrix, place, &tallies[place], &verdicts))
        .collect();
    format!(
        "<section class=\"totals\" aria-label=\"totals\">\n\
         <div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"verdicts by backend\">\n\
         <table class=\"figures\"><thead><tr>{}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n\
         {}</section>\n",
        heads(&verdicts),
        filters::legend(matrix)
    )
}

fn heads(verdicts: &[Verdict]) -> String {
    let chip = |verdict: &Verdict| {
        let (symbol, word) = (verdict_labels::symbol(*verdict), verdict.keyword());
        format!("<span class=\"chip {word}\">{symbol} {word}</span>")
    };
    let plain = ["cases", "passes without twin", "passes with inexpressible twin", "time"];
    let all = ["backend", "of all cases"].into_iter().map(str::to_owned);
    let all = all.chain(verdicts.iter().map(chip)).chain(plain.map(str::to_owned));
    all.map(|head| format!("<th scope=\"col\">{head}</th>")).collect()
}

fn row(matrix: &Matrix<'_>, place: usize, tally: &OutcomeTally, verdicts: &[Verdict]) -> String {
    let column = &matrix.columns[place];
    let counts: String =
        verdicts.iter().map(|verdict| count(*verdict, column, tally.count(*verdict))).collect();
    let plain = [tally.total(), tally.passes_without_twin, tally.passes_inexpressible];
    let plain: String = plain.map(|count| format!("<td>{count}</td>")).concat();
    let time: f64 = matrix.rows_of(place).map(|row| row.duration_ms).sum();
    format!(
        "<tr><th scope=\"row\">{}</th><td>{}</td>{counts}{plain}<td>{:.0} s</td></tr>\n",
        text(&column.label),
        bar(tally),
        time / 1000.0
    )
}

fn count(verdict: Verdict, column: &MatrixColumn<'_>, count: u64) -> String {
    match count {
        0 => "<td class=\"nil\">0</td>".to_owned(),
        count => {
            let filters = [("verdict", verdict.keyword()), ("backend", column.label.as_str())];
            link("", &filters, &count.to_string())
        }
    }
}

/// Draws the share of each verdict; the figures beside it say the same in words.
pub(super) fn bar(tally: &OutcomeTally) -> String {
    let total = tally.total().max(1) as f64;
    let (mut out, mut left) = (String::new(), 0.0);
    for verdict in Verdict::ALL {
        let width = 100.0 * tally.count(verdict) as f64 / total;
        if width > 0.0 {
            let word = verdict.keyword();
            out += &format!(
                "<rect class=\"{word}\" x=\"{left:.2}\" width=\"{width:.2}\" height=\"10\"/>"
            );
            left += width;
        }
    }
    format!(
        "<svg class=\"bar\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
         {out}</svg>"
    )
}
