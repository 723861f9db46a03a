//! The page of a corpus's coverage.

use super::escape::text;
use super::site::framed;

/// One table of the page.
pub(crate) struct CoverageTable {
    pub(crate) title: &'static str,
    pub(crate) heads: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// The whole page: sums, what has no case, and the tables.
pub(crate) fn page(sums: &str, bare: &[String], tables: &[CoverageTable]) -> String {
    let items: String = bare.iter().map(|line| format!("<li>{}</li>\n", text(line))).collect();
    let bare = match items.is_empty() {
        true => items,
        false => format!("<section><h2>Without a case</h2>\n<ul>\n{items}</ul></section>\n"),
    };
    let tables: String = tables.iter().map(table).collect();
    let body = format!("<p class=\"lead\">Coverage: {}.</p>\n{bare}{tables}", text(sums));
    framed("coverage", "<h1>boxproof</h1>\n", &body)
}

fn table(table: &CoverageTable) -> String {
    let head = |name: &String| format!("<th scope=\"col\">{}</th>", text(name));
    let row = |cells: &Vec<String>| {
        let (first, rest) = cells.split_first().map_or(("", &[][..]), |(a, b)| (a.as_str(), b));
        let rest: String = rest.iter().map(|cell| format!("<td>{}</td>", text(cell))).collect();
        format!("<tr><th scope=\"row\">{}</th>{rest}</tr>\n", text(first))
    };
    format!(
        "<section><h2>{0}</h2>\n<div class=\"scroll\" role=\"region\" tabindex=\"0\" \
         aria-label=\"{0}\">\n<table class=\"figures\"><thead><tr>{1}</tr></thead>\n<tbody>\n{2}\
         </tbody></table></div></section>\n",
        text(table.title),
        table.heads.iter().map(head).collect::<String>(),
        table.rows.iter().map(row).collect::<String>()
    )
}
