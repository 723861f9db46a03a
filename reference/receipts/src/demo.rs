//! The demonstration: the whole channel once, on loopback and in a private directory, and the
//! signed receipts.

mod processes;
mod session;
mod table;

use std::path::{Path, PathBuf};
use std::process::Output;

use clap::Args;

use self::processes::{DemoDirectory, DemoProcess, mop_up, run_verb};
use super::authority::CertificateAuthority;
use super::execd::Execd;
use super::keys;

/// The sandbox of the demonstration.
const SANDBOX: &str = "demo";

/// The arguments of the demonstration.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Keep the receipts in this file, and the public key in FILE.pub
    #[arg(long, value_name = "FILE")]
    export: Option<PathBuf>,
}

/// Runs it; returns the exit code: 0 if all chains verify, 1 if one does not, 2 if it failed.
pub(crate) fn main(args: &DemoArgs) -> i32 {
    let told = DemoDirectory::new().and_then(|directory| {
        mop_up(directory.path())?;
        let told = run(&directory, args);
        processes::unless_ending();
        told
    });
    match told {
        Ok(valid) => i32::from(!valid),
        Err(why) => {
            eprintln!("refbox receipts demo: {why}");
            2
        }
    }
}

fn run(directory: &DemoDirectory, args: &DemoArgs) -> Result<bool, String> {
    let file = |name: &str| directory.path().join(name);
    let authority = CertificateAuthority::new(directory.path())?;
    print_step("an execd on loopback, that really acts");
    let execd = Execd::start(None).map_err(|error| format!("execd: {error}"))?;
    let (store, key) = (file("receipts.jsonl"), file("key"));
    run_verb(&["keys", "new"], &[("--key", &key)])?;
    print_step("the daemon on the host, that alone has the key");
    let socket = file("events.sock");
    let files = [("--socket", &*socket), ("--store", &*store), ("--key", &*key)];
    let daemon = DemoProcess::start("daemon", &files, &["--unsafe-socket-path"])?;
    print_step("the relay on the host, that knows sandboxes by their certificates");
    let (ca, (cert, key_)) = (authority.certificate(), authority.relay()?);
    let files = [("--socket", &*socket), ("--ca", &*ca), ("--cert", &*cert), ("--key", &*key_)];
    let relay = DemoProcess::start("relay", &files, &["--listen", "127.0.0.1:0"])?;
    print_step("the proxy in the sandbox, in front of execd");
    let (cert, key_) = authority.proxy("proxy", &[&format!("urn:opensandbox:{SANDBOX}")])?;
    let files = [("--ca", &*ca), ("--cert", &*cert), ("--key", &*key_)];
    let execd_url = format!("http://{}", execd.address());
    let relay_url = format!("https://{}", relay.address()?);
    let words = ["--listen", "127.0.0.1:0", "--execd", &execd_url, "--relay", &relay_url];
    let proxy = DemoProcess::start("proxy", &files, &words)?;
    print_step("an agent that works through the proxy");
    session::run(proxy.address()?, directory.path())?;
    // Each part delivers its events before it ends, so that none is missing afterwards.
    for part in [proxy, relay, daemon] {
        part.end()?;
    }
    drop(execd);
    show(&store, &file("key.pub"), &file("all.jsonl"), args)
}

fn print_step(text: &str) {
    crate::stdout::line(format_args!("* {text}"));
}

/// Prints the receipts, and whether all chains verify.
fn show(store: &Path, key: &Path, all: &Path, args: &DemoArgs) -> Result<bool, String> {
    let receipts = run_verb(&["export"], &[("--store", store)])?.stdout;
    let rows = table::rows(&receipts)?;
    crate::stdout::line(format_args!("\n{}", table::text(&rows)));
    std::fs::write(all, &receipts).map_err(|error| format!("{}: {error}", all.display()))?;
    let words = ["verify", "--strict", "--require-terminal"];
    let verified = processes::ask_any(&words, &[("--key", key), ("", all)])?;
    let valid = verified.status.success();
    crate::stdout::line(format_args!(
        "{} chains: {}",
        table::chains(&rows).len(),
        verdict(&verified)
    ));
    if let Some(file) = &args.export {
        std::fs::write(file, &receipts).map_err(|error| format!("{}: {error}", file.display()))?;
        let public = keys::public_path(file);
        std::fs::copy(key, &public).map_err(|error| format!("{}: {error}", public.display()))?;
        let (receipts, key) = (file.display(), public.display());
        crate::stdout::line(format_args!("receipts: {receipts}"));
        crate::stdout::line(format_args!(
            "again: refbox receipts verify --strict --key {key} {receipts}"
        ));
    }
    Ok(valid)
}

/// Returns the verdict of the verifier: that all is well, or its whole output.
fn verdict(verified: &Output) -> String {
    if verified.status.success() {
        return "every signature, link, number and anchor holds, and every chain has its end"
            .to_owned();
    }
    let said = String::from_utf8_lossy(&verified.stdout).into_owned();
    format!("BROKEN\n{said}{}", String::from_utf8_lossy(&verified.stderr))
}
