//! `boxproof doctor`: what this host has and allows, found by doing.

use std::path::PathBuf;

use super::{Failure, print};
use crate::host::{Host, Tools, findings};
use crate::scratch;

/// Arguments of `doctor`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print everything that was found, as JSON.
    #[arg(long)]
    json: bool,
    /// Where the scratch folder is made.
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> Result<i32, Failure> {
    let base = args.scratch.clone().unwrap_or_else(scratch::default_base);
    let made = scratch::Scratch::make(&base)?;
    let host = Host::detect(&made.path, Tools::all());
    drop(made);
    if args.json {
        let facts: Vec<_> = host.facts.iter().map(|fact| fact.word()).collect();
        let all = serde_json::json!({ "facts": facts, "host": host.report });
        print(&format!("{all:#}\n"));
        return Ok(0);
    }
    for (name, value) in &host.report {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        print(&format!("{name:18} {value}\n"));
    }
    print("\n");
    for finding in findings(&host) {
        let mark = if finding.ok { "has  " } else { "lacks" };
        print(&format!("{mark} {:14} {}\n", finding.fact.word(), finding.saw));
        if !finding.ok {
            print(&format!("      {}\n      {}\n", finding.meaning, finding.remedy));
        }
    }
    Ok(0)
}
