//! The sentences of the judge: one for each row of the table, and one for each kind of answer.

use std::fmt::Write as _;
use std::path::Path;

use boxproof_reports::Verdict;

use super::table::rows;
use super::*;
use crate::judge::Reason;
use crate::judge::reason::{VerdictFinding, gravest};

/// The golden file; `UPDATE_GOLDEN=1` writes it anew.
const GOLDEN: &str = "src/judge/tests/messages.txt";

#[test]
fn each_row_of_the_table_gets_its_sentence() {
    let mut found = String::new();
    for (name, text, spoil) in rows().map(|row| (row.0, row.1, row.2)) {
        let case = case(&text);
        let mut execution = good(&case);
        spoil(&mut execution);
        let message = judge_act(&case, &execution).message;
        if !message.is_empty() {
            writeln!(found, "{name}: {message}").unwrap();
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(GOLDEN);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap();
    for (found, golden) in found.lines().zip(golden.lines()) {
        assert_eq!(found, golden);
    }
    assert_eq!(found.lines().count(), golden.lines().count());
}

#[test]
fn a_fault_of_the_harness_outweighs_what_was_not_learnt() {
    let unlearnt = VerdictFinding::inconclusive(Reason::NoTrace, "no trace");
    let fault = VerdictFinding::error(Reason::Harness, "no disk");
    let found = gravest([Err(unlearnt), Err(fault)]);
    assert_eq!(found.map_err(|finding| finding.verdict), Err(Verdict::Error));
}
