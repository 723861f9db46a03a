//! The head of the document and of the page: policy, title, and the conclusion.

use super::assets;
use super::escape::text;
use super::tables::address;
use crate::label::{backend_label, corpus_words};
use crate::matrix::Matrix;
use crate::record::Level;
use crate::sentences::outcome_line;
use crate::summary::summary_line;
use crate::verdict::Outcome;

/// Everything before the page itself.
pub(super) fn document(matrix: &Matrix<'_>, style: &str) -> String {
    let names: Vec<String> = matrix.columns.iter().map(|c| text(&c.label)).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <title>boxproof: {}</title>\n<style>{style}</style>\n</head>\n<body>\n",
        assets::policy(style),
        names.join(", ")
    )
}

/// The name of the page, its sections, and the summary.
pub(super) fn banner(matrix: &Matrix<'_>, has_timing: bool) -> String {
    let corpus = matrix.columns.first().map(|c| text(&corpus_words(c.header))).unwrap_or_default();
    let missing = matrix.missing.iter().map(|b| text(&backend_label(b))).collect::<Vec<_>>();
    let missing = match missing.join(", ") {
        none if none.is_empty() => none,
        some => format!("<p class=\"warn\">Not installed, so not judged: {some}.</p>\n"),
    };
    let warning =
        |sentence: &String| format!("<p class=\"warn\">Not whole: {}.</p>\n", text(sentence));
    let missing: String = matrix.interrupted.iter().map(warning).chain([missing]).collect();
    format!(
        "<a class=\"skip\" href=\"#matrix\">to the matrix</a>\n<header>\n<h1>boxproof</h1>\n\
         <nav aria-label=\"sections\">{}</nav>\n</header>\n<main>\n\
         <p class=\"lead\">{}</p>\n{}{missing}<p class=\"soft\">{corpus}</p>\n",
        sections(has_timing),
        text(&summary_line(matrix.rows())),
        outcomes(matrix),
    )
}

fn sections(has_timing: bool) -> String {
    let names = ["matrix", "conformance", "timing", "claims", "gaps", "provenance"];
    let names = names.into_iter().filter(|name| has_timing || *name != "timing");
    let links: Vec<String> = names.map(|name| format!("<a href=\"#{name}\">{name}</a>")).collect();
    links.join(" ")
}

/// Renders the counts of the outcomes, with ways to see them.
fn outcomes(matrix: &Matrix<'_>) -> String {
    let Some(line) = outcome_line(matrix) else {
        return String::new();
    };
    let has = |outcome| matrix.rows().any(|row| row.outcome == outcome);
    let shows = Outcome::ALL.into_iter().skip(1);
    let links: Vec<String> = shows
        .filter(|outcome| has(*outcome))
        .map(|outcome| {
            let word = outcome.keyword();
            format!("<a class=\"js\" href=\"{}\">show {word}</a>", address(&[("outcome", word)]))
        })
        .collect();
    format!("<p>{} {}</p>\n", text(&line), links.join(" "))
}

/// Every level some case has, most binding first.
pub(super) fn levels(matrix: &Matrix<'_>) -> impl Iterator<Item = Level> {
    Level::ALL.into_iter().filter(|level| matrix.rows().any(|row| row.level == *level))
}
