//! The matrix itself: a body an area, a row a case, a cell a backend.

use super::escape::{id, text};
use super::verdict_labels;
use crate::conformance::PassedShare;
use crate::label::host_label;
use crate::matrix::{AreaSection, Matrix, MatrixColumn, MatrixRow};
use crate::record::{CaseRow, Level};
use crate::verdict::Outcome;

/// The table of areas, whose rows the script makes when they are shown; the whole table for readers
/// without scripts, which costs the others no layout; and the end of the section that holds them.
pub(super) fn table(matrix: &Matrix<'_>) -> String {
    let shared = shared_place(matrix);
    let heads: String =
        matrix.columns.iter().map(|column| head(column, shared.is_none())).collect();
    let shared = shared.map(|place| format!("<span>{place}</span>")).unwrap_or_default();
    let head =
        format!("<thead><tr><th scope=\"col\"><b>case</b>{shared}</th>{heads}</tr></thead>\n");
    let bodies = |rows: fn(&AreaSection<'_>) -> String| -> String {
        matrix.sections.iter().map(|section| body(matrix, section, &rows(section))).collect()
    };
    let (areas, all) = (bodies(|_| String::new()), bodies(every_row));
    format!(
        "<div class=\"grid-frame js\">\n<table id=\"grid\" class=\"matrix\" \
         aria-labelledby=\"matrix-head\">\n{head}{areas}</table>\n</div>\n\
         <noscript><div class=\"grid-frame\">\n<table class=\"matrix\" \
         aria-labelledby=\"matrix-head\">\n{head}{all}</table>\n</div></noscript>\n\
         <p id=\"none\" hidden>No case matches these filters. <button type=\"button\" \
         id=\"clear\">clear the filters</button></p>\n</section>\n"
    )
}

/// User and host, where all columns have the same: then one place names them.
fn shared_place(matrix: &Matrix<'_>) -> Option<String> {
    let mut places = matrix.columns.iter().map(|column| place(column).join(" on "));
    let first = places.next()?;
    places.all(|place| place == first).then_some(first)
}

fn place(column: &MatrixColumn<'_>) -> [String; 2] {
    [column.header.user.kind.keyword().to_owned(), text(&host_label(column.header))]
}

fn head(column: &MatrixColumn<'_>, with_place: bool) -> String {
    let backend = column.backend;
    let mut parts = vec![text(&backend.mechanism), text(&backend.version)];
    if with_place {
        parts.extend(place(column));
    }
    let parts = parts.iter().filter(|part| !part.is_empty());
    let parts: String = parts.map(|part| format!("<span>{part}</span>")).collect();
    format!("<th scope=\"col\"><b>{}</b>{parts}</th>", text(&backend.name))
}

fn every_row(section: &AreaSection<'_>) -> String {
    section.rows.iter().map(row).collect()
}

fn body(matrix: &Matrix<'_>, section: &AreaSection<'_>, rows: &str) -> String {
    let share = |column: usize| -> PassedShare {
        section.rows.iter().filter_map(|row| row.cells[column]).collect()
    };
    let shares: String =
        (0..matrix.columns.len()).map(|column| format!("<td>{}</td>", share(column))).collect();
    format!(
        "<tbody>\n<tr class=\"area\"><th scope=\"rowgroup\"><b>{}</b> <span>{}</span></th>\
         {shares}</tr>\n{rows}</tbody>\n",
        text(section.area),
        count(section.rows.len()),
    )
}

fn count(cases: usize) -> String {
    if cases == 1 { "1 case".to_owned() } else { format!("{cases} cases") }
}

fn row(row: &MatrixRow<'_>) -> String {
    let cells: String = row.cells.iter().copied().map(cell).collect();
    let (level, asked) = match row.cells.iter().flatten().next() {
        Some(any) => (level(any.level), asked(any)),
        None => Default::default(),
    };
    format!(
        "<tr class=\"case\"><th scope=\"row\"><details><summary>{}{level}</summary>{asked}\
         </details></th>{cells}</tr>\n",
        id(row.id)
    )
}

/// Renders the level if it is not the usual one.
fn level(level: Level) -> String {
    match level {
        Level::Must => String::new(),
        other => format!(" <small>{}</small>", other.keyword()),
    }
}

fn asked(row: &CaseRow) -> String {
    let list = |words: &[String]| match words.join(", ") {
        none if none.is_empty() => "none".to_owned(),
        some => text(&some),
    };
    format!(
        "<p>{}</p><p>{}; requirement {}; needs {}</p>",
        text(&row.purpose),
        row.level.keyword(),
        list(&row.requirements),
        list(&row.needs)
    )
}

fn cell(cell: Option<&CaseRow>) -> String {
    let Some(row) = cell else {
        return "<td class=\"void\">·</td>".to_owned();
    };
    let (word, symbol) = (row.verdict.keyword(), verdict_labels::symbol(row.verdict));
    let mark = match verdict_labels::mark(row.outcome) {
        "" => String::new(),
        mark => format!(" <small>{mark}</small>"),
    };
    match row.outcome {
        Outcome::Expected => format!("<td class=\"{word}\">{symbol} {word}</td>"),
        outcome => {
            let outcome = outcome.keyword();
            format!("<td class=\"{word} {outcome}\">{symbol} {word}{mark}</td>")
        }
    }
}
