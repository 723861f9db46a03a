//! The cost of the step `mediate`. It is Linux's so far: nothing is measured elsewhere.

#[cfg(target_os = "linux")]
mod linux;

fn main() {
    #[cfg(target_os = "linux")]
    linux::main();
}
