//! The mechanism `seatbelt` with a script in the place of macOS's program: what that is given, and
//! what becomes of the profile's file. Started as `refbox …` the program is refbox with the script.
#![cfg_attr(
    target_os = "linux",
    allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")
)]

#[cfg(target_os = "linux")]
mod bench;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod runs;

#[cfg(target_os = "linux")]
fn main() {
    let words: Vec<std::ffi::OsString> = std::env::args_os().skip(1).collect();
    if let Some((first, rest)) = words.split_first()
        && first == bench::VERB
    {
        let script = std::env::var_os(bench::SCRIPT).unwrap();
        boxproof_reference::stand_in_for_sandbox_exec(script.into());
        std::process::exit(boxproof_reference::main(&[bench::VERB], rest.iter().cloned()));
    }
    // Before there are threads: a program that is being written cannot be executed.
    let _script = bench::script();
    let trials = files::trials().into_iter().chain(runs::trials()).collect();
    libtest_mimic::run(&libtest_mimic::Arguments::from_args(), trials).exit();
}

#[cfg(not(target_os = "linux"))]
fn main() {}
