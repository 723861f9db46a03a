//! The demonstration: the whole channel once, on loopback and in a private directory, and the
//! signed receipts.

mod parts;
mod session;
mod table;

use std::path::{Path, PathBuf};
use std::process::Output;

use clap::Args;

use self::parts::{Folder, Part, ask, mop_up};
use super::authority::Authority;
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
    let told = Folder::new().and_then(|folder| {
        mop_up(folder.path())?;
        let told = run(&folder, args);
        parts::unless_ending();
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

fn run(folder: &Folder, args: &DemoArgs) -> Result<bool, String> {
    let file = |name: &str| folder.path().join(name);
    let authority = Authority::new(folder.path())?;
    say("an execd on loopback, that really acts");
    let execd = Execd::start(None).map_err(|error| format!("execd: {error}"))?;
    let (store, key) = (file("receipts.jsonl"), file("key"));
    ask(&["keys", "new"], &[("--key", &key)])?;
    say("the daemon on the host, that alone has the key");
    let socket = file("events.sock");
    let files = [("--socket", &*socket), ("--store", &*store), ("--key", &*key)];
    let daemon = Part::start("daemon", &files, &["--unsafe-socket-path"])?;
    say("the relay on the host, that knows sandboxes by their certificates");
    let (ca, (cert, key_)) = (authority.certificate(), authority.relay()?);
    let files = [("--socket", &*socket), ("--ca", &*ca), ("--cert", &*cert), ("--key", &*key_)];
    let relay = Part::start("relay", &files, &["--listen", "127.0.0.1:0"])?;
    say("the proxy in the sandbox, in front of execd");
    let (cert, key_) = authority.proxy("proxy", &[&format!("urn:opensandbox:{SANDBOX}")])?;
    let files = [("--ca", &*ca), ("--cert", &*cert), ("--key", &*key_)];
    let execd_url = format!("http://{}", execd.address());
    let relay_url = format!("https://{}", relay.address()?);
    let words = ["--listen", "127.0.0.1:0", "--execd", &execd_url, "--relay", &relay_url];
    let proxy = Part::start("proxy", &files, &words)?;
    say("an agent that works through the proxy");
    session::run(proxy.address()?, folder.path())?;
    // Each part delivers its events before it ends, so that none is missing afterwards.
    for part in [proxy, relay, daemon] {
        part.end()?;
    }
    drop(execd);
    show(&store, &file("key.pub"), &file("all.jsonl"), args)
}

fn say(text: &str) {
    crate::say::line(format_args!("* {text}"));
}

/// Prints the receipts, and whether all chains verify.
fn show(store: &Path, key: &Path, all: &Path, args: &DemoArgs) -> Result<bool, String> {
    let receipts = ask(&["export"], &[("--store", store)])?.stdout;
    let rows = table::rows(&receipts)?;
    crate::say::line(format_args!("\n{}", table::text(&rows)));
    std::fs::write(all, &receipts).map_err(|error| format!("{}: {error}", all.display()))?;
    let words = ["verify", "--strict", "--require-terminal"];
    let verified = parts::ask_any(&words, &[("--key", key), ("", all)])?;
    let valid = verified.status.success();
    crate::say::line(format_args!("{} chains: {}", table::chains(&rows).len(), verdict(&verified)));
    if let Some(file) = &args.export {
        std::fs::write(file, &receipts).map_err(|error| format!("{}: {error}", file.display()))?;
        let public = keys::public_path(file);
        std::fs::copy(key, &public).map_err(|error| format!("{}: {error}", public.display()))?;
        let (receipts, key) = (file.display(), public.display());
        crate::say::line(format_args!("receipts: {receipts}"));
        crate::say::line(format_args!(
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
