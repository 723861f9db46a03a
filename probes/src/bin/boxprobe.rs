//! The probe program on its own; everything is in the library.

fn main() {
    std::process::exit(boxproof_probes::main(std::env::args_os().skip(1)));
}
