//! Findings: a table a kind, and each in detail.

use super::budget::{BlockKind, PageBlock};
use super::escape::{code, fence, text};
use crate::findings::{Finding, FindingKind, findings};
use crate::matrix::Matrix;
use crate::record::CaseRow;
use crate::terminal::finding_text;
use crate::text::earlier_words;

/// One table a kind of finding.
pub(super) fn tables(matrix: &Matrix<'_>) -> Vec<PageBlock> {
    FindingKind::ALL.into_iter().map(|kind| table(matrix, kind, &listed(matrix, kind))).collect()
}

/// The backend that confines nothing.
const BASELINE: &str = "none";

/// Returns the findings of `kind`. What the baseline fails is no news beside another backend.
fn listed<'a>(matrix: &Matrix<'a>, kind: FindingKind) -> Vec<Finding<'a>> {
    let is_baseline = |column: usize| matrix.columns[column].backend.name == BASELINE;
    let alone = (0..matrix.columns.len()).all(is_baseline);
    let found = findings(matrix, kind).into_iter();
    found.filter(|finding| alone || !is_baseline(finding.column)).collect()
}

/// Returns the sentence about the findings of the baseline that the table leaves out.
fn left_out(matrix: &Matrix<'_>, kind: FindingKind, listed: usize) -> String {
    match findings(matrix, kind).len() - listed {
        0 => String::new(),
        count => format!("Besides, {count} of `{BASELINE}`, which confines nothing.\n\n"),
    }
}

fn table(matrix: &Matrix<'_>, kind: FindingKind, found: &[Finding<'_>]) -> PageBlock {
    let open = format!(
        "### {} ({})\n\n{}| case | backend | verdict | level | why |\n|---|---|---|---|---|\n",
        capitalized(kind.heading()),
        found.len(),
        left_out(matrix, kind, found.len())
    );
    let items = found.iter().map(|finding| row(matrix, finding)).collect();
    PageBlock { sort: BlockKind::Finding, open, items, close: "\n".to_owned() }
}

fn row(matrix: &Matrix<'_>, finding: &Finding<'_>) -> String {
    let row = finding.row;
    let backend = text(&matrix.columns[finding.column].label);
    let (id, level) = (code(&row.id), row.level.keyword());
    format!("| {id} | {backend} | {} | {level} | {} |\n", row.verdict, why(row))
}

fn why(row: &CaseRow) -> String {
    let known = row.known.as_ref().map(|known| {
        let link = known.link.as_ref().map(|link| format!(" ({link})")).unwrap_or_default();
        format!("known: {}{link}", known.reason)
    });
    let parts = [known.unwrap_or_default(), row.message.clone(), row.reason.clone()];
    let earlier = row.earlier.iter().map(|t| format!("earlier try: {}", earlier_words(t)));
    let parts: Vec<String> = parts.into_iter().chain(earlier).collect();
    let parts: Vec<String> =
        parts.iter().filter(|part| !part.is_empty()).map(|p| text(p)).collect();
    parts.join("; ")
}

/// Each finding in detail, folded. Known failures have nothing to add to their table.
pub(super) fn details(matrix: &Matrix<'_>) -> Vec<PageBlock> {
    let kinds = FindingKind::ALL.into_iter().filter(|kind| *kind != FindingKind::Known);
    let items: Vec<String> = kinds
        .flat_map(|kind| listed(matrix, kind).into_iter().map(move |f| (kind, f)))
        .map(|(kind, finding)| detail(matrix, kind, &finding))
        .collect();
    let open = "### In detail\n\n".to_owned();
    vec![PageBlock { sort: BlockKind::Detail, open, items, close: String::new() }]
}

fn detail(matrix: &Matrix<'_>, kind: FindingKind, finding: &Finding<'_>) -> String {
    let row = finding.row;
    let backend = text(&matrix.columns[finding.column].label);
    let quote = fence(&finding_text(matrix, kind, finding));
    let title = format!("{} {backend}: {}", html_code(&row.id), row.verdict);
    format!("<details><summary>{title}</summary>\n\n{quote}\n</details>\n\n")
}

/// Code inside an HTML line, where Markdown's code spans do not work.
fn html_code(id: &str) -> String {
    let entity = |c: char| match c {
        c if c.is_ascii_alphanumeric() || "-./:_".contains(c) => c.to_string(),
        c => format!("&#{};", c as u32),
    };
    format!("<code>{}</code>", crate::text::clean(id).chars().map(entity).collect::<String>())
}

fn capitalized(heading: &str) -> String {
    let (first, rest) = heading.split_at(1);
    first.to_uppercase() + rest
}
