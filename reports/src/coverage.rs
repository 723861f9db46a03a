//! The coverage of a corpus as pages: what each requirement, public report, capability and word of
//! the format has of cases, and what has none.

use boxproof_cases::CasePolarity;
use boxproof_cases::coverage::{CorpusCoverage, CoveredReport, CoveredRequirement, PLATFORMS};

use crate::html::coverage::CoverageTable;
use crate::markdown::escape::text as cell;
use crate::text::{clean, inert};

/// The most files that the row of a report names in a text.
const NAMED: usize = 3;

/// Renders the coverage as lines of text; with `bare_only`, without the tables.
#[must_use]
pub fn text(coverage: &CorpusCoverage<'_>, bare_only: bool) -> String {
    let tables = if bare_only { Vec::new() } else { tables(coverage) };
    let tables: String = tables.iter().map(text_table).collect();
    let bare: String = coverage.bare().iter().map(|line| format!("{}\n", clean(line))).collect();
    inert(&format!("{tables}{bare}{}\n", count_line(coverage)))
}

/// Renders the coverage as a Markdown page.
#[must_use]
pub fn markdown(coverage: &CorpusCoverage<'_>) -> String {
    let bare: String = coverage.bare().iter().map(|line| format!("- {}\n", cell(line))).collect();
    let bare = if bare.is_empty() { bare } else { format!("## Without a case\n\n{bare}\n") };
    let tables: String = tables(coverage).iter().map(markdown_table).collect();
    inert(&format!("# Coverage\n\n{}.\n\n{bare}{tables}", count_line(coverage)))
}

/// Renders the coverage as one HTML document that needs no other file.
#[must_use]
pub fn html(coverage: &CorpusCoverage<'_>) -> String {
    crate::html::coverage::page(&count_line(coverage), &coverage.bare(), &tables(coverage))
}

/// Renders the sums in one line.
fn count_line(coverage: &CorpusCoverage<'_>) -> String {
    let CorpusCoverage { suite, requirements, reports, capabilities, words } = coverage;
    let asked = reports.iter().filter(|report| report.cases > 0).count();
    let covered = requirements.iter().filter(|one| one.lacks.is_empty()).count();
    let whole = match suite.is_whole() {
        false => String::new(),
        true => format!(
            "; {asked} of {} public reports are asked; {} of {} capabilities are needed; {} of {} \
             words of the format are used",
            reports.len(),
            capabilities.iter().filter(|one| one.cases > 0).count(),
            capabilities.len(),
            words.iter().filter(|word| word.files > 0).count(),
            words.len()
        ),
    };
    format!(
        "{} cases; {covered} of {} requirements have the cases that they ask for{whole}; {} without \
         a case",
        suite.cases.len(),
        requirements.len(),
        coverage.bare().len()
    )
}

fn tables(coverage: &CorpusCoverage<'_>) -> Vec<CoverageTable> {
    let strings = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let kinds = ["allowed", "not allowed"];
    let platforms =
        PLATFORMS.iter().flat_map(|(_, name)| kinds.map(|kind| format!("{kind} on {name}")));
    let heads: Vec<String> = ["requirement", "asks for"].map(str::to_owned).into_iter().collect();
    let heads = heads.into_iter().chain(platforms).chain(["lacks", "text"].map(str::to_owned));
    let requirements = CoverageTable {
        title: "Requirements",
        heads: heads.collect(),
        rows: coverage.requirements.iter().map(requirement_row).collect(),
    };
    let reports = CoverageTable {
        title: "Public reports",
        heads: strings(&["about", "cases", "which", "reports"]),
        rows: coverage.reports.iter().map(report_row).collect(),
    };
    let capability = coverage.capabilities.iter().map(|one| {
        let name = one.capability.name().to_owned();
        vec![name, one.cases.to_string(), one.capability.meaning().to_owned()]
    });
    let capabilities = CoverageTable {
        title: "Capabilities",
        heads: strings(&["capability", "cases", "meaning"]),
        rows: capability.collect(),
    };
    let word = coverage.words.iter().map(|word| {
        let why = word.unusable.unwrap_or_default().to_owned();
        vec![word.word.clone(), word.files.to_string(), why]
    });
    let words = CoverageTable {
        title: "Words of the format",
        heads: strings(&["word", "files", "why none"]),
        rows: word.collect(),
    };
    let all = [requirements, reports, capabilities, words];
    all.into_iter().filter(|table| !table.rows.is_empty()).collect()
}

fn requirement_row(one: &CoveredRequirement<'_>) -> Vec<String> {
    let asks = match one.requirement.polarity {
        CasePolarity::Both => "both",
        CasePolarity::Positive => "allowed",
        CasePolarity::Negative => "not allowed",
    };
    let counts = one.platforms.iter().flat_map(|count| [count.positive, count.negative]);
    let ends = [one.lacks.join(", "), one.requirement.text.clone()];
    let starts = [one.id.to_string(), asks.to_owned()];
    starts.into_iter().chain(counts.map(|count| count.to_string())).chain(ends).collect()
}

fn report_row(report: &CoveredReport<'_>) -> Vec<String> {
    let which = match report.unasked {
        Some(why) => why.to_owned(),
        None => {
            let more = match report.files.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let named: Vec<&str> = report.files.iter().take(NAMED).map(String::as_str).collect();
            format!("{}{more}", named.join(" "))
        }
    };
    let about = if report.about.is_empty() { "cited by a case" } else { report.about };
    vec![about.to_owned(), report.cases.to_string(), which, report.ids.join(" ")]
}

/// The table with columns as wide as their cells, the last one apart.
fn text_table(table: &CoverageTable) -> String {
    let lines = || [&table.heads].into_iter().chain(&table.rows);
    let width = |column: usize| {
        lines().map(|cells| clean(&cells[column]).chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..table.heads.len()).map(width).collect();
    let line = |cells: &Vec<String>| {
        let padded =
            cells.iter().zip(&widths).map(|(cell, width)| format!("{:width$}", clean(cell)));
        format!("{}\n", padded.collect::<Vec<_>>().join("  ").trim_end())
    };
    format!("{}\n{}\n", table.title, lines().map(line).collect::<String>())
}

fn markdown_table(table: &CoverageTable) -> String {
    let line = |cells: &Vec<String>| {
        let cells: Vec<String> = cells.iter().map(|text| cell(text)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rule = format!("|{}\n", "---|".repeat(table.heads.len()));
    let rows: String = table.rows.iter().map(line).collect();
    format!("## {}\n\n{}{rule}{rows}\n", table.title, line(&table.heads))
}
