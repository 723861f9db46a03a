//! A matrix of many cases and backends stays small.

use boxproof_reports::{ArmName, ArmRow, CaseRow, ExitRow, OracleRow, Run, StreamText, Verdict};
use serde_json::{Value, json};

use super::{data, page};
use crate::sample::{backend, bad, header, row, run};

/// Makes a run with as many cases and backends as a published matrix, every cell with three
/// distinct arms.
fn large(cases: usize, backends: usize) -> Run {
    let infos: Vec<_> = (0..backends).map(|b| backend(&format!("backend-{b}"))).collect();
    let rows: Vec<CaseRow> = (0..cases)
        .flat_map(|case| (0..backends).map(move |backend| full_row(case, backend)))
        .collect();
    run(&header(&infos, &rows), &rows)
}

fn full_row(case: usize, backend: usize) -> CaseRow {
    let (id, name) =
        (format!("area{}/behaviour/case-{case}", case % 12), format!("backend-{backend}"));
    let failing = (case + backend).is_multiple_of(5);
    let base = match failing {
        true => bad(&id, &name, Verdict::UnderBlock, "oracle"),
        false => row(&id, &name),
    };
    let arm = |arm, exit: i32, seen: Value, holds| ArmRow {
        arm,
        command: String::new(),
        exit: Some(ExitRow::Code(exit)),
        stdout: StreamText::from_bytes(format!("case {case} wrote this\nand that\n").as_bytes()),
        stderr: StreamText::from_bytes(match exit {
            0 => b"" as &[u8],
            _ => b"sh: 1: cannot create $OUT/new: Read-only file system\n",
        }),
        observation: Some(seen),
        oracles: vec![OracleRow {
            oracle: format!("absent $OUT/new-{case}"),
            holds,
            saw: if holds { "as before".to_owned() } else { "appeared".to_owned() },
            unread: false,
        }],
        duration_ms: 10.0 + (case * 37 + backend * 11) as f64 / 7.0,
    };
    let done = json!({"outcome": "succeeded", "probe": "create"});
    let refused = json!({"outcome": "refused", "probe": "create", "errno": "EROFS", "by": backend});
    let confined = if failing { done.clone() } else { refused };
    CaseRow {
        earlier: Vec::new(),
        blind: None,
        reproduce: Some(format!("boxproof run '{id}' --backend {name} --verbose")),
        message: if failing {
            format!("`absent $OUT/new-{case}` does not hold")
        } else {
            base.message
        },
        arms: vec![
            arm(ArmName::Control, 0, done.clone(), false),
            arm(ArmName::Twin, 0, done, false),
            arm(ArmName::Confined, i32::from(!failing), confined, !failing),
        ],
        ..base
    }
}

#[test]
fn a_published_matrix_is_small() {
    let page = page(&[large(500, 15)]);
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
    let data = data(&page);
    let cells =
        data["cases"].as_array().unwrap().iter().flat_map(|c| c["cells"].as_array().unwrap());
    assert_eq!(cells.filter(|cell| !cell.is_null()).count(), 7500);
    assert!(page.contains(" more are in the run record."), "the details have no budget");
}
