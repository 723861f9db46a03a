//! `boxproof schema`: the JSON Schemas of what boxproof reads and writes.

use super::{CliFailure, print};
use crate::schemas::{find, published};

/// Arguments of `schema`.
#[derive(Debug, clap::Args)]
pub(super) struct SchemaArgs {
    /// The schema to print, such as `case` or `manifest`; by default they are listed.
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

pub(super) fn run(args: &SchemaArgs) -> Result<i32, CliFailure> {
    match &args.name {
        Some(name) => print(find(name).map_err(CliFailure::usage)?.text)?,
        None => {
            let all = published();
            let width = all.iter().map(|schema| schema.name.len()).max().unwrap_or_default();
            for schema in all {
                print(&format!("{:width$}  {}\n", schema.name, schema.summary()))?;
            }
        }
    }
    Ok(0)
}
