//! Supervision: how soon an end is seen, how late a time-out is, what becomes of a large tree, what
//! capture costs. One table each; `cargo bench -p boxproof-reference --bench supervise`.
#![allow(clippy::unwrap_used, reason = "a bench fails by panicking")]

#[cfg(target_os = "linux")]
mod capture;
#[cfg(target_os = "linux")]
mod exits;
#[cfg(target_os = "linux")]
mod lateness;
#[cfg(target_os = "linux")]
#[path = "../../../harness/benches/pairs/mod.rs"]
mod pairs;
#[cfg(target_os = "linux")]
mod trees;

#[cfg(target_os = "linux")]
fn main() {
    // The bench is its own command where a command has something to tell.
    match std::env::args().nth(1).as_deref() {
        Some(exits::STAMP) => exits::stamp(),
        Some(capture::OURS) => capture::ours(),
        Some(capture::STD) => capture::by_std(),
        _ => tables(),
    }
}

#[cfg(target_os = "linux")]
fn tables() {
    let mut criterion = pairs::criterion();
    exits::table(&mut criterion);
    lateness::table();
    trees::table();
    capture::table(&mut criterion);
    criterion.final_summary();
}

#[cfg(not(target_os = "linux"))]
fn main() {}

/// Returns the verdict on a figure with a limit.
#[cfg(target_os = "linux")]
fn verdict(figure: f64, limit: f64) -> &'static str {
    if figure <= limit { "holds" } else { "BROKEN" }
}
