//! `boxproof site`: writes run records as a static site.

use std::ffi::OsStr;
use std::path::PathBuf;

use boxproof_reports::html::site;

use super::{CliFailure, print, records, unusable};
use crate::output::OutputDirectory;

/// Arguments of `site`.
#[derive(Debug, clap::Args)]
pub(super) struct SiteArgs {
    /// Run records (NDJSON), or directories of them, of any hosts, users and dates.
    #[arg(value_name = "FILE", required = true)]
    records: Vec<PathBuf>,
    /// The directory of the site; made if it is not there. Files of the same names are replaced.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub(super) fn run(args: &SiteArgs) -> Result<i32, CliFailure> {
    let runs = records::read_all(&args.records)?;
    if runs.is_empty() {
        return Err(CliFailure::usage("no run record was found; write some with run --report"));
    }
    let files = site::render(runs).map_err(|error| CliFailure::usage(error.to_string()))?;
    let directory = OutputDirectory::make(&args.out).map_err(unusable)?;
    for file in &files {
        directory.replace(OsStr::new(&file.name), file.text.as_bytes(), 0o666)?;
    }
    let index = args.out.join("index.html");
    print(&format!("{} files; open {}\n", files.len(), index.display()))?;
    Ok(0)
}
