//! The data the script reads ([`of`]): every case and cell once, texts and arms by number.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::escape::lines;
use super::intern::Interner;
use super::verdict_labels;
use crate::label::host_label;
use crate::matrix::{Matrix, MatrixColumn, MatrixRow};
use crate::record::{ArmName, ArmRow, CaseQuestion, CaseRow, Level, RequirementText, TwinState};
use crate::row_reading::case_link;
use crate::text::{clean, earlier_words, end_words};
use crate::verdict::Verdict;

/// Stands in a reproduce line for the case id; no cleaned text holds it.
const ID: &str = "\u{1}";
/// Stands in a reproduce line for the backend's name.
const BACKEND: &str = "\u{2}";
const TWINS: [TwinState; 4] =
    [TwinState::Shown, TwinState::None, TwinState::Inexpressible, TwinState::NotNeeded];

/// One cell: verdict, outcome and twin by number; milliseconds; arms as (number, milliseconds);
/// then texts by number: reason, message, reproduce line, known failure, its link.
#[derive(Serialize)]
struct CellData(usize, usize, usize, f64, Vec<(usize, f64)>, [usize; 5]);

/// One arm but for its duration: name, end, stdout, whether cut, stderr, whether cut,
/// observation, oracles as (what, holds, seen), command line; all texts by number.
#[derive(Clone, PartialEq, Eq, Hash, Serialize)]
struct ArmData(
    &'static str,
    usize,
    usize,
    bool,
    usize,
    bool,
    usize,
    Vec<(usize, bool, usize)>,
    usize,
);

struct PageTables {
    texts: Interner<String>,
    arms: Interner<ArmData>,
}

/// Everything the script needs, as plain JSON.
pub(super) fn page_data(matrix: &Matrix<'_>) -> Value {
    // Text 0 is empty, so that 0 reads as nothing.
    let mut tables = PageTables {
        texts: Interner::starting_with([String::new()]),
        arms: Interner::starting_with([]),
    };
    let rows = matrix.sections.iter().flat_map(|section| &section.rows);
    let cases: Vec<Value> = rows.map(|row| tables.case(matrix, row)).collect();
    json!({
        "verdicts": Verdict::ALL.map(|v| json!({
            "word": v.keyword(), "symbol": verdict_labels::symbol(v), "judged": v.is_judged(),
        })),
        "outcomes": verdict_labels::outcomes(matrix)
            .map(|o| json!({
                "word": o.keyword(), "means": verdict_labels::outcome(o),
                "mark": verdict_labels::mark(o),
            }))
            .collect::<Vec<_>>(),
        "twins": TWINS.map(verdict_labels::twin),
        "levels": Level::ALL.map(Level::keyword),
        "areas": matrix.sections.iter().map(|section| section.rows.len()).collect::<Vec<_>>(),
        "requirements": requirements(matrix),
        "columns": matrix.columns.iter().map(column).collect::<Vec<_>>(),
        "cases": cases,
        "texts": tables.texts.into_values(),
        "arms": tables.arms.into_values(),
    })
}

fn column(column: &MatrixColumn<'_>) -> Value {
    json!({
        "label": clean(&column.label),
        "name": clean(&column.backend.name),
        "version": clean(&column.backend.version),
        "user": column.header.user.kind.keyword(),
        "host": clean(&host_label(column.header)),
        "homepage": column.backend.homepage.as_deref().map(clean),
        "claims": column.backend.claims.iter()
            .map(|(capability, level)| (clean(capability), clean(level)))
            .collect::<BTreeMap<_, _>>(),
    })
}

/// The sentences of the requirements, and where they are promised.
fn requirements(matrix: &Matrix<'_>) -> BTreeMap<String, Value> {
    let all = matrix.columns.iter().flat_map(|column| &column.header.requirements);
    let told = |words: &RequirementText| json!({"text": clean(&words.text), "source": clean(&words.source)});
    all.map(|(name, words)| (clean(name), told(words))).collect()
}

impl PageTables {
    fn case(&mut self, matrix: &Matrix<'_>, row: &MatrixRow<'_>) -> Value {
        let headers = matrix.columns.iter().map(|column| column.header);
        let links = headers.zip(&row.cells);
        let link = links.filter_map(|(header, cell)| case_link(header, (*cell)?)).next();
        let cells: Vec<Option<CellData>> =
            row.cells.iter().map(|cell| cell.map(|row| self.cell(row))).collect();
        let any = row.cells.iter().flatten().next();
        let words = |list: &[String]| list.iter().map(|word| clean(word)).collect::<Vec<_>>();
        json!({
            "id": clean(row.id),
            "area": any.map(|any| clean(&any.area)),
            "level": any.map(|any| any.level.keyword()),
            "purpose": any.map(|any| clean(&any.purpose)),
            "requirements": any.map(|any| words(&any.requirements)),
            "needs": any.map(|any| words(&any.needs)),
            "link": self.texts.number(link.as_deref().map(clean).unwrap_or_default()),
            "asked": asked(row),
            "cells": cells,
        })
    }

    fn cell(&mut self, row: &CaseRow) -> CellData {
        let arms = row.arms.iter().map(|arm| (arm.arm.keyword(), arm));
        let earlier = row.earlier.iter().flat_map(|earlier| &earlier.arms);
        let arms = arms.chain(earlier.map(|arm| (earlier_word(arm.arm), arm)));
        let arms = arms.map(|(name, arm)| (self.arm(name, arm), tenths(arm.duration_ms))).collect();
        let known = row.known.as_ref();
        let texts = [
            clean(&row.reason),
            clean(&message_with_tries(row)),
            row.reproduce.as_deref().map(|line| template(line, row)).unwrap_or_default(),
            known.map(|known| clean(&known.reason)).unwrap_or_default(),
            known.and_then(|known| known.link.as_deref()).map(clean).unwrap_or_default(),
        ];
        CellData(
            row.verdict as usize,
            row.outcome as usize,
            row.twin as usize,
            tenths(row.duration_ms),
            arms,
            texts.map(|text| self.texts.number(text)),
        )
    }

    fn arm(&mut self, name: &'static str, arm: &ArmRow) -> usize {
        let mut text = |text: String| self.texts.number(text);
        let (stdout, stderr) = (text(lines(&arm.stdout.text)), text(lines(&arm.stderr.text)));
        let observation = arm.observation.as_ref().map(|seen| clean(&seen.to_string()));
        let oracles = arm.oracles.iter();
        let oracles = oracles.map(|o| (text(clean(&o.oracle)), o.holds, text(clean(&o.saw))));
        let oracles = oracles.collect();
        let (end, seen) = (text(end_words(arm.exit)), text(observation.unwrap_or_default()));
        let command = text(clean(&arm.command));
        let (cut_out, cut_err) = (arm.stdout.truncated, arm.stderr.truncated);
        self.arms
            .number(ArmData(name, end, stdout, cut_out, stderr, cut_err, seen, oracles, command))
    }
}

/// The message, and what earlier tries came to.
fn message_with_tries(row: &CaseRow) -> String {
    let earlier = row.earlier.iter().map(|t| format!("earlier try: {}", earlier_words(t)));
    let parts = std::iter::once(row.message.clone()).chain(earlier);
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}

/// The name of an arm of an earlier try.
fn earlier_word(arm: ArmName) -> &'static str {
    match arm {
        ArmName::Control => "control, earlier",
        ArmName::Twin => "twin, earlier",
        ArmName::Confined => "confined, earlier",
    }
}

/// Returns the parts of the case's question, as (name, text); nothing in records of format 1.
fn asked(row: &MatrixRow<'_>) -> Vec<(&'static str, String)> {
    let parts = row.cells.iter().flatten().find_map(|row| row.asked.as_ref());
    let parts = parts.into_iter().flat_map(CaseQuestion::parts);
    parts.map(|(name, text)| (name, lines(text))).collect()
}

/// The reproduce line with marks for id and backend: then nearly all cells share one text.
fn template(line: &str, row: &CaseRow) -> String {
    let line = clean(line).replace(&clean(&row.id), ID);
    let backend = clean(&row.backend);
    line.replace(&format!("--backend {backend}"), &format!("--backend {BACKEND}"))
}

fn tenths(ms: f64) -> f64 {
    (ms * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Outcome;

    #[test]
    fn numbers_are_places_in_the_lists() {
        for (number, outcome) in Outcome::ALL.into_iter().enumerate() {
            assert_eq!(outcome as usize, number);
        }
        for (number, twin) in TWINS.into_iter().enumerate() {
            assert_eq!(twin as usize, number);
        }
    }
}
