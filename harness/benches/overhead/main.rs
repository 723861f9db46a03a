//! Overhead of the harness, under the reference: nothing is measured where that has no mechanism.

#[cfg(target_os = "linux")]
mod linux;

fn main() {
    #[cfg(target_os = "linux")]
    linux::main();
}
