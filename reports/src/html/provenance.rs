//! The provenance of the figures: corpus, harness, hosts, backends with their hashes.

use super::escape::text;
use crate::label::{host_label, missing_words, selection_words};
use crate::matrix::{Matrix, MatrixColumn};
use crate::record::Header;

/// Runs, backends, and backends that are not installed.
pub(super) fn section(matrix: &Matrix<'_>) -> String {
    let runs = runs(matrix);
    let entries: String = runs.iter().enumerate().map(|(i, run)| entry(i + 1, run)).collect();
    let missing: String = matrix
        .missing
        .iter()
        .map(|backend| format!("<li>{}</li>\n", text(&missing_words(backend))))
        .collect();
    let missing = match missing.is_empty() {
        true => missing,
        false => format!("<h3>Not installed</h3>\n<ul>\n{missing}</ul>\n"),
    };
    format!(
        "<section id=\"provenance\">\n<h2>Provenance</h2>\n{entries}<h3>Backends</h3>\n{}{missing}\
         </section>\n",
        backends(matrix, &runs)
    )
}

/// The headers of the columns, each once.
fn runs<'a>(matrix: &Matrix<'a>) -> Vec<&'a Header> {
    let mut runs: Vec<&Header> = Vec::new();
    for column in &matrix.columns {
        if !runs.contains(&column.header) {
            runs.push(column.header);
        }
    }
    runs
}

fn entry(number: usize, header: &Header) -> String {
    let (corpus, user) = (&header.corpus, header.user);
    let facts = [
        ("corpus", format!("{} ({})", corpus.version, corpus.source)),
        ("corpus sha256", corpus.sha256.clone()),
        ("harness", format!("boxproof {}", header.harness)),
        ("started", header.started.clone()),
        ("host", host_label(header)),
        ("user", format!("{} (uid {})", user.kind.keyword(), user.uid)),
        ("selection", selection_words(header)),
    ];
    let host: Vec<(&str, String)> =
        header.host.iter().map(|(name, value)| (name.as_str(), plain(value))).collect();
    format!(
        "<h3>Run {number}</h3>\n<dl>\n{}</dl>\n<details><summary>{} host facts</summary>\n\
         <dl>\n{}</dl>\n</details>\n",
        list(&facts),
        host.len(),
        list(&host)
    )
}

fn list(facts: &[(&str, String)]) -> String {
    let entry = |(name, value): &(&str, String)| {
        format!("<dt>{}</dt><dd>{}</dd>\n", text(name), text(value))
    };
    facts.iter().map(entry).collect()
}

/// A fact without the quotes of a JSON string.
fn plain(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn backends(matrix: &Matrix<'_>, runs: &[&Header]) -> String {
    let rows: String = matrix.columns.iter().map(|column| backend(column, runs)).collect();
    format!(
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"backends\">\n\
         <table class=\"facts\"><thead><tr><th scope=\"col\">column</th><th scope=\"col\">version\
         </th><th scope=\"col\">mechanism</th><th scope=\"col\">run</th><th scope=\"col\">program\
         </th><th scope=\"col\">sha256</th></tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
    )
}

fn backend(column: &MatrixColumn<'_>, runs: &[&Header]) -> String {
    let backend = column.backend;
    let run = runs.iter().position(|run| *run == column.header).map_or(0, |index| index + 1);
    let known = |value: &str| if value.is_empty() { "-".to_owned() } else { text(value) };
    format!(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{run}</td><td>{}</td>\
         <td><code>{}</code></td></tr>\n",
        text(&column.label),
        known(&backend.version),
        known(&backend.mechanism),
        known(&backend.program),
        known(&backend.sha256)
    )
}
