//! A page a backend: what it is, what it does by area, its trend, and what it gets wrong.

use super::super::escape::{query, text};
use super::super::tables::share_class;
use super::super::totals;
use super::page::{column_facts, frame, out_link, tally_words};
use super::{SiteContent, SiteFile, trend};
use crate::conformance::PassedShare;
use crate::findings::{FindingKind, findings};
use crate::matrix::MatrixColumn;
use crate::record::{CaseRow, Level};
use crate::row_reading::case_link;

/// The most failures of a column that its page lists.
const LISTED: usize = 400;

/// One page for all columns of a backend.
pub(super) fn pages(content: &SiteContent<'_>) -> Vec<SiteFile> {
    let mut pages: Vec<SiteFile> = Vec::new();
    for (place, file) in content.backend_files.iter().enumerate() {
        if pages.iter().any(|page| page.name == *file) {
            continue;
        }
        let columns = (place..content.backend_files.len())
            .filter(|other| content.backend_files[*other] == *file);
        let sections: String = columns.map(|column| section(content, column)).collect();
        let backend = content.matrix.columns[place].backend;
        let homepage = backend.homepage.as_deref().map(out_link).unwrap_or_default();
        let body = format!("<h2>{}</h2>\n<p>{homepage}</p>\n{sections}", text(&backend.name));
        pages.push(SiteFile { name: file.clone(), text: frame(&backend.name, &body) });
    }
    pages
}

fn section(content: &SiteContent<'_>, place: usize) -> String {
    let column = &content.matrix.columns[place];
    let points = content.history.trend(&column.backend.name, column.header);
    let facts: String = column_facts(column)
        .iter()
        .map(|(name, value)| format!("<dt>{name}</dt><dd>{}</dd>\n", text(value)))
        .collect();
    format!(
        "<section><h3>{}</h3>\n<p class=\"lead\">{}</p>\n{}\n\
         <p><a href=\"matrix.html#backend={}\">every case in the matrix</a></p>\n{}\
         <h4>Trend</h4>\n{}<details><summary>records ({})</summary>\n{}</details>\n\
         <h4>Provenance</h4>\n<dl>\n{facts}</dl>\n{}</section>\n",
        text(&column.label),
        tally_words(content.matrix.rows_of(place)),
        totals::bar(&content.matrix.rows_of(place).collect()),
        query(&column.label),
        areas(content, place),
        trend::drawing(points),
        points.len(),
        trend::table(points),
        failures(content, place, column)
    )
}

/// A row an area, a cell a level.
fn areas(content: &SiteContent<'_>, place: usize) -> String {
    let rows: String = content
        .matrix
        .sections
        .iter()
        .map(|section| {
            let cell = |level: Level| {
                let rows = section.rows.iter().filter_map(|row| row.cells[place]);
                let share: PassedShare = rows.filter(|row| row.level == level).collect();
                format!("<td class=\"{}\">{share}</td>", share_class(share))
            };
            let cells = Level::ALL.map(cell).concat();
            format!("<tr><th scope=\"row\">{}</th>{cells}</tr>\n", text(section.area))
        })
        .collect();
    let heads = Level::ALL.map(|level| format!("<th scope=\"col\">{}</th>", level.keyword()));
    format!(
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"areas\">\n\
         <table class=\"figures\"><thead><tr><th scope=\"col\">area</th>{}</tr></thead>\n\
         <tbody>\n{rows}</tbody></table></div>\n",
        heads.concat()
    )
}

fn failures(content: &SiteContent<'_>, place: usize, column: &MatrixColumn<'_>) -> String {
    let mut out = String::new();
    for kind in [FindingKind::Failure, FindingKind::Known, FindingKind::Unlearnt] {
        let found = findings(content.matrix, kind);
        let rows: Vec<&CaseRow> =
            found.iter().filter(|one| one.column == place).map(|one| one.row).collect();
        if rows.is_empty() {
            continue;
        }
        let list: String = rows.iter().take(LISTED).map(|row| failure(row, column)).collect();
        let more = match rows.len().saturating_sub(LISTED) {
            0 => String::new(),
            more => format!("<p class=\"soft\">and {more} more in the matrix</p>\n"),
        };
        let (heading, count) = (kind.heading(), rows.len());
        out += &format!(
            "<details><summary>{heading} ({count})</summary>\n<ul class=\"cases\">\n{list}</ul>\n\
             {more}</details>\n"
        );
    }
    out
}

fn failure(row: &CaseRow, column: &MatrixColumn<'_>) -> String {
    let (id, word) = (text(&row.id), row.verdict.keyword());
    let known = row.known.as_ref().map(|known| {
        let link = known.link.as_deref().map(out_link).unwrap_or_default();
        format!("<br>known: {} {link}", text(&known.reason))
    });
    let file = case_link(column.header, row).map(|link| format!("<br>{}", out_link(&link)));
    format!(
        "<li><a href=\"matrix.html#cell={}&amp;at={}\">{id}</a> <span class=\"chip {word}\">{word}</span> \
         {}{}{}</li>\n",
        query(&row.id),
        query(&column.label),
        text(&row.message),
        known.unwrap_or_default(),
        file.unwrap_or_default()
    )
}
