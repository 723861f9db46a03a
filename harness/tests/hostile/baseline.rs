//! Baseline rows, which held from the start: an honest backend in this test program, and one that
//! confines nothing.

use crate::context::{BOTH, HostileRow, RowContext};

/// A command that exits with 7.
pub(crate) const ALLOWED: &str = "exec/exit-codes/seven";
/// A file created outside the workspace.
pub(crate) const DENIED: &str = "fs/create-outside/create";

pub(crate) fn rows() -> Vec<HostileRow> {
    vec![
        HostileRow { name: "honest", users: BOTH, slow: false, check: honest },
        HostileRow { name: "confines-nothing", users: BOTH, slow: false, check: confines_nothing },
    ]
}

fn honest(context: &RowContext) {
    let ran = context.run(&context.native("honest", "", ""), &[ALLOWED, DENIED]);
    ran.is_bounded();
    assert_eq!([ran.verdict(ALLOWED), ran.verdict(DENIED)], ["pass", "pass"], "{ran:#?}");
}

fn confines_nothing(context: &RowContext) {
    let ran = context.run(&context.backend("open", "exec \"$@\""), &[ALLOWED, DENIED]);
    ran.is_bounded();
    assert_eq!([ran.verdict(ALLOWED), ran.verdict(DENIED)], ["pass", "under-block oracle"]);
}
