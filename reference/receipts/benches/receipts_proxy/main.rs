//! The cost of receipts for an agent: the proxy against a plain reverse proxy of the same library,
//! as interleaved ratios. `cargo bench -p boxproof-reference --bench receipts_proxy`.
#![allow(clippy::unwrap_used, reason = "a bench fails by panicking")]

#[cfg(target_os = "linux")]
mod awake;
#[cfg(target_os = "linux")]
mod channel;
#[cfg(target_os = "linux")]
mod client;
#[cfg(target_os = "linux")]
#[path = "../../../../harness/benches/pairs/mod.rs"]
#[allow(dead_code, reason = "made for other benches as well")]
mod pairs;
#[cfg(target_os = "linux")]
mod servers;
#[cfg(target_os = "linux")]
mod tables;

#[cfg(target_os = "linux")]
fn main() {
    // The bench is its own plain proxy and its own execd.
    match std::env::args().nth(1).as_deref() {
        Some(servers::EXECD) => servers::execd(),
        Some(servers::PLAIN) => servers::plain(&std::env::args().nth(2).unwrap()),
        _ => tables::main(),
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {}
