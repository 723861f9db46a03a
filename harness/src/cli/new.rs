//! `boxproof new`: files of one's own to begin with.

use std::path::{Path, PathBuf};

use clap::Subcommand;

use super::{CliFailure, CorpusArgs, note, print_text, unusable};
use crate::output::OutputDirectory;
use crate::project::PROJECT_FILE;
use crate::starter;

/// Arguments of `new`.
#[derive(Debug, clap::Args)]
pub(super) struct NewArgs {
    #[command(subcommand)]
    what: StarterKind,
}

#[derive(Debug, Subcommand)]
enum StarterKind {
    /// Write the manifest of a backend, NAME.yaml: a recipe that works, with a remark on each part.
    #[command(after_help = "Example:\n  boxproof new backend box")]
    Backend {
        /// The name of the backend.
        name: String,
    },
    /// Write a case, DIR/AREA/NAME.yaml, that loads, and fails where nothing is denied.
    #[command(after_help = "Example:\n  boxproof new case fs/my-rule")]
    Case {
        /// The id of the case.
        #[arg(value_name = "AREA/NAME")]
        id: String,
        #[command(flatten)]
        corpus: CorpusArgs,
    },
    /// Write the project file boxproof.toml, by which `boxproof run` alone works here.
    #[command(after_help = "Example:\n  boxproof new project")]
    Project,
}

pub(super) fn run(args: &NewArgs) -> Result<i32, CliFailure> {
    match &args.what {
        StarterKind::Backend { name } => {
            let text = starter::backend(name).map_err(CliFailure::usage)?;
            let file = PathBuf::from(format!("{name}.yaml"));
            create(&file, &text)?;
            print_text(&format!("{}\n", file.display()))?;
            note(format_args!("next: boxproof run --set quick --backend ./{}", file.display()));
        }
        StarterKind::Case { id, corpus } => {
            let text = starter::case(id).map_err(CliFailure::usage)?;
            let cases = corpus.settle()?.directories.into_iter().next();
            let cases = cases.unwrap_or_else(|| PathBuf::from("cases"));
            let file = cases.join(format!("{id}.yaml"));
            create(&file, &text)?;
            print_text(&format!("{}\n", file.display()))?;
            let cases = cases.display();
            note(format_args!(
                "next: boxproof run --cases {cases} --backend reference --backend none"
            ));
        }
        StarterKind::Project => {
            create(Path::new(PROJECT_FILE), &starter::project())?;
            print_text(&format!("{PROJECT_FILE}\n"))?;
            note("next: boxproof run");
        }
    }
    Ok(0)
}

/// Writes `text` to the file, which is not there yet.
fn create(file: &Path, text: &str) -> Result<(), CliFailure> {
    let name = file.file_name().unwrap_or_default();
    let directory = OutputDirectory::make(file.parent().unwrap_or(Path::new("")));
    directory.and_then(|directory| directory.create(name, text.as_bytes())).map_err(unusable)
}
