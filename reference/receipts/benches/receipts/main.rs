//! The cost of signing and verifying receipts beyond Ed25519 and the disk, as interleaved ratios.
//!
//! Prints medians of pairs (A B B A) with an A/A control.

#[cfg(target_os = "linux")]
mod pairs;
#[cfg(target_os = "linux")]
mod sign;
#[cfg(target_os = "linux")]
mod verify;

fn main() {
    #[cfg(target_os = "linux")]
    pairs::main();
}
