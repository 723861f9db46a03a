//! What the pages of the site have in common: frame, names of files, small parts.

use std::collections::BTreeMap;

use super::super::assets;
use super::super::escape::text;
use crate::matrix::MatrixColumn;
use crate::record::CaseRow;
use crate::summary::OutcomeTally;

/// Frames `body` as a page of the site.
pub(super) fn frame(title: &str, body: &str) -> String {
    let header = "<h1><a href=\"index.html\">boxproof</a></h1>\n\
                  <nav aria-label=\"site\"><a href=\"index.html\">overview</a> \
                  <a href=\"matrix.html\">matrix</a> <a href=\"index.html#yours\">add yours</a></nav>\n";
    framed(title, header, body)
}

/// Frames `body` as a page below the markup `header`.
pub(in super::super) fn framed(title: &str, header: &str, body: &str) -> String {
    let style = assets::site_style();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>boxproof: {}</title>\n<style>{style}</style>\n</head>\n<body>\n<header>\n\
         {header}</header>\n<main>\n{body}</main>\n</body>\n</html>\n",
        assets::site_policy(&style),
        text(title)
    )
}

/// A file name for each name: letters and digits of it, and a number where others would be the
/// same. Equal names have one file.
pub(super) fn file_names<'a>(kind: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut taken: BTreeMap<String, &str> = BTreeMap::new();
    let word = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let file = |name: &'a str| {
        let stem: String = name.chars().map(word).collect();
        let numbered = std::iter::once(String::new()).chain((2..).map(|n: u32| format!("_{n}")));
        let mut files = numbered.map(|number| format!("{kind}-{stem}{number}.html"));
        let free = |file: &String| taken.get(file).is_none_or(|holder| *holder == name);
        let file = files.find(free).unwrap_or_default();
        taken.insert(file.clone(), name);
        file
    };
    names.map(file).collect()
}

/// `version`, mechanism, user and host of a column.
pub(super) fn column_facts(column: &MatrixColumn<'_>) -> Vec<(&'static str, String)> {
    let (backend, header) = (column.backend, column.header);
    let facts = [
        ("version", backend.version.clone()),
        ("mechanism", backend.mechanism.clone()),
        ("program", backend.program.clone()),
        ("sha256", backend.sha256.clone()),
        ("place", super::history::place_words(header)),
        ("run", header.started.clone()),
        ("corpus", format!("{} {}", header.corpus.version, header.corpus.sha256)),
    ];
    facts.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}

/// A link to the page of a web site, where it is one; else the text.
pub(super) fn out_link(address: &str) -> String {
    let told = text(address);
    let safe = address.starts_with("https://") && !address.contains(char::is_whitespace);
    match safe && told.len() < 2048 {
        true => format!("<a rel=\"noreferrer noopener\" href=\"{told}\">{told}</a>"),
        false => told,
    }
}

/// The counts of a column, in words.
pub(super) fn tally_words<'a>(rows: impl Iterator<Item = &'a CaseRow>) -> String {
    text(&rows.collect::<OutcomeTally>().to_string())
}
