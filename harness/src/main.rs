//! boxproof: one program that is the harness, the reference sandbox and the probes.

use std::ffi::OsString;
use std::path::Path;

fn main() -> ! {
    let mut args: Vec<OsString> = std::env::args_os().collect();
    let name = args.first().map(|name| Path::new(name).file_name().unwrap_or(name).to_owned());
    let verb = args.get(1).and_then(|verb| verb.to_str()).unwrap_or_default().to_owned();
    let code = match (name.as_deref().and_then(|name| name.to_str()), verb.as_str()) {
        (_, boxproof::workspace::VICTIM_VERB) => boxproof::workspace::serve_victim(),
        (_, boxproof::run::PRIVATE_NS_VERB) => boxproof::run::serve_private_ns(args.drain(2..)),
        (Some("boxprobe"), _) => boxproof_probes::main(args.drain(1..)),
        (Some("refbox"), _) => boxproof_reference::main(&[], args.drain(1..)),
        (_, "probe") => boxproof_probes::main(args.drain(2..)),
        (_, "reference") => boxproof_reference::main(&["reference"], args.drain(2..)),
        _ => boxproof::cli::main(),
    };
    std::process::exit(code)
}
