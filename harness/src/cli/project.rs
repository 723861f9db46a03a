//! The project file of the place where boxproof is called ([`ProjectArgs`]).

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

use super::CliFailure;
use crate::plain_file;
use crate::project::{PROJECT_FILE, ProjectFile, RunSettings};
use crate::shell_quoting::shell_word;

/// The choice of the project file.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct ProjectArgs {
    /// The project file; by default boxproof.toml in the working directory, or above it as far as
    /// the root of the repository.
    #[arg(long, value_name = "FILE", conflicts_with = "no_project")]
    project: Option<PathBuf>,
    /// Read no project file.
    #[arg(long)]
    no_project: bool,
}

/// The most bytes of a project file.
const PROJECT_LIMIT: u64 = 1 << 20;

impl ProjectArgs {
    /// Reads the project file, if there is one: its path, and its settings with paths that lead
    /// from the working directory.
    pub(super) fn read(&self) -> Result<Option<(PathBuf, ProjectFile)>, CliFailure> {
        let file = match &self.project {
            _ if self.no_project => None,
            Some(file) => Some(file.clone()),
            None => found()?,
        };
        file.map(|file| read(&file).map(|project| (file, project))).transpose()
    }
}

impl ProjectArgs {
    /// Returns the settings of runs, by default none.
    pub(super) fn settings(&self) -> Result<RunSettings, CliFailure> {
        Ok(self.read()?.map(|(_, project)| project.run).unwrap_or_default())
    }

    /// Returns the flag by which a reproduce line is about the same project.
    pub(super) fn reproduce(&self) -> String {
        match &self.project {
            Some(file) => format!(" --project {}", shell_word(&file.to_string_lossy())),
            None if self.no_project => " --no-project".to_owned(),
            None => String::new(),
        }
    }
}

/// Reads the project file at `file`.
pub(super) fn read(file: &Path) -> Result<ProjectFile, CliFailure> {
    let fault =
        |error: &dyn std::fmt::Display| CliFailure::usage(format!("{}: {error}", file.display()));
    let text = plain_file::read_text(file, PROJECT_LIMIT).map_err(|error| fault(&error))?;
    let project = ProjectFile::parse(file, &text);
    let project = project.map_err(|error| CliFailure::usage(error.to_string()))?;
    Ok(project.below(file.parent().unwrap_or(Path::new(""))))
}

/// Returns the project file of this place, and its settings.
pub(super) fn here() -> Result<(PathBuf, ProjectFile), CliFailure> {
    let file = found()?.ok_or_else(|| {
        CliFailure::usage(format!(
            "there is no {PROJECT_FILE} here, nor above as far as the root of a repository: \
             `boxproof new project` writes one"
        ))
    })?;
    Ok((file.clone(), read(&file)?))
}

/// Looks for the project file here, and above as far as the root of the repository: a directory
/// outside of any repository has no project but its own.
fn found() -> Result<Option<PathBuf>, CliFailure> {
    let here = match std::env::current_dir() {
        Ok(here) => here,
        // A directory that is gone holds no file.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let is_root = |directory: &Path| directory.join(".git").symlink_metadata().is_ok();
    let depth = here.ancestors().position(is_root).unwrap_or_default();
    let mut base = PathBuf::new();
    for _ in 0..=depth {
        let file = base.join(PROJECT_FILE);
        if let Ok(status) = file.symlink_metadata() {
            check_owner(&file, status.uid())?;
            return Ok(Some(file));
        }
        base.push("..");
    }
    Ok(None)
}

/// Refuses a file of another account: it names programs that are started. Root in the directory of a
/// user would start the user's programs.
fn check_owner(file: &Path, owner: u32) -> Result<(), CliFailure> {
    if [0, geteuid().as_raw()].contains(&owner) {
        return Ok(());
    }
    Err(CliFailure::usage(format!(
        "{}: it belongs to uid {owner}, not to you: name it by --project, or say --no-project",
        file.display()
    )))
}
