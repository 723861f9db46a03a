//! The reference sandbox's own program; everything is in the library.

fn main() {
    std::process::exit(boxproof_reference::main(&[], std::env::args_os().skip(1)));
}
