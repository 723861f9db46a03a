//! The trend of a column as a drawing of our own; only numbers and cleaned texts go into it.

use super::super::escape::text;
use super::history::TrendPoint;

/// The width and height of a drawing.
const SIZE: (f64, f64) = (160.0, 36.0);
/// The room for the circles at the edges.
const MARGIN: f64 = 4.0;

/// Draws the passed share of the judged cases over the records, from 0 to 100 %.
pub(super) fn drawing(points: &[TrendPoint]) -> String {
    let (width, height) = SIZE;
    let step = (width - 2.0 * MARGIN) / (points.len().saturating_sub(1).max(1)) as f64;
    let place = |(index, point): (usize, &TrendPoint)| {
        let share = point.share.passed as f64 / point.share.judged.max(1) as f64;
        (MARGIN + step * index as f64, height - MARGIN - (height - 2.0 * MARGIN) * share)
    };
    let places: Vec<(f64, f64)> = points.iter().enumerate().map(place).collect();
    let line: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let circles: String = places
        .iter()
        .zip(points)
        .map(|((x, y), point)| {
            let told = text(&format!("{}: {} {}", point.when, point.backend, point.share));
            format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"><title>{told}</title></circle>")
        })
        .collect();
    format!(
        "<svg class=\"trend\" role=\"img\" aria-label=\"passed share over {} records\" \
         width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\
         <polyline points=\"{}\"/>{circles}</svg>",
        points.len(),
        line.join(" ")
    )
}

/// The same as a table, the newest first.
pub(super) fn table(points: &[TrendPoint]) -> String {
    let row = |point: &TrendPoint| {
        let corpus: String = point.corpus.chars().take(12).collect();
        format!(
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td><code>{}</code></td></tr>\n",
            text(&point.when),
            text(&point.backend),
            point.share,
            text(&corpus)
        )
    };
    let rows: String = points.iter().rev().map(row).collect();
    format!(
        "<table class=\"figures\"><thead><tr><th scope=\"col\">run</th><th scope=\"col\">backend</th>\
         <th scope=\"col\">passed of judged</th><th scope=\"col\">corpus</th></tr></thead>\n\
         <tbody>\n{rows}</tbody></table>\n"
    )
}
