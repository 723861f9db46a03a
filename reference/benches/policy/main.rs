//! Policy decisions: the index against GlobSet and RegexSet, what many rules cost, and what
//! building and resolving do. `cargo bench -p boxproof-reference --bench policy`.
#![allow(clippy::unwrap_used, reason = "a bench fails by panicking")]

mod decisions;
#[path = "../../../harness/benches/pairs/mod.rs"]
mod pairs;
mod rules;
mod whole;

fn main() {
    let mut criterion = pairs::criterion();
    decisions::table(&mut criterion);
    whole::building(&mut criterion);
    whole::resolving(&mut criterion);
    criterion.final_summary();
}

/// Returns the verdict on a figure with a bound.
fn verdict(holds: bool) -> &'static str {
    if holds { "holds" } else { "BROKEN" }
}
