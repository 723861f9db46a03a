//! The cost of a way out. It is Linux's so far: nothing is measured elsewhere.

#![allow(clippy::unwrap_used, reason = "a bench fails by panicking")]

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod origin;
#[cfg(target_os = "linux")]
mod rows;

fn main() {
    #[cfg(target_os = "linux")]
    linux::main();
}
