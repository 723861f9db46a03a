//! The cases that a verb is about: [`CorpusArgs`] names the corpus, [`CaseArgs`] selects from it. What
//! is not typed is taken from the project file; then they are settled.

use std::path::PathBuf;

use boxproof_cases::{LoadError, Suite};

use super::project::ProjectArgs;
use super::{CliFailure, lint, note};
use crate::project::RunSettings;
use crate::selection::{CaseSelection, SlowCases};
use crate::shell_quoting::shell_word;

/// The corpus.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct CorpusArgs {
    /// Cases of your own instead of the built-in corpus: every *.yaml below this directory.
    /// Repeatable.
    #[arg(long, value_name = "DIR")]
    cases: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) project: ProjectArgs,
}

/// The selection of cases.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct CaseArgs {
    /// The cases: globs on ids (`fs/**`), `level:must`, `area:net`, `needs:net.none`; `!` negates.
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    #[command(flatten)]
    pub(super) corpus: CorpusArgs,
    /// Select slow cases, too.
    #[arg(long)]
    slow: bool,
}

/// The corpus, as it is used.
#[derive(Debug, Clone)]
pub(super) struct SettledCorpus {
    /// The directories; none for the built-in corpus.
    pub(super) directories: Vec<PathBuf>,
}

/// The selection of cases, as it is used.
#[derive(Debug, Clone)]
pub(super) struct SettledCases {
    pub(super) filters: Vec<String>,
    pub(super) corpus: SettledCorpus,
    pub(super) slow: bool,
}

impl CorpusArgs {
    /// Returns the corpus that was typed, else that of the project file.
    pub(super) fn settle(&self) -> Result<SettledCorpus, CliFailure> {
        Ok(self.settle_by(&self.project.settings()?))
    }

    fn settle_by(&self, settings: &RunSettings) -> SettledCorpus {
        let typed = !self.cases.is_empty();
        SettledCorpus { directories: if typed { &self.cases } else { &settings.cases }.clone() }
    }
}

impl CaseArgs {
    /// Returns the selection that was typed, else that of the project file.
    pub(super) fn settle(&self) -> Result<SettledCases, CliFailure> {
        Ok(self.settle_by(&self.corpus.project.settings()?))
    }

    /// As [`Self::settle`], by the settings of the project file.
    pub(super) fn settle_by(&self, settings: &RunSettings) -> SettledCases {
        SettledCases {
            filters: if self.is_typed() { &self.filters } else { &settings.filters }.clone(),
            corpus: self.corpus.settle_by(settings),
            slow: self.slow || settings.slow,
        }
    }

    /// Returns whether filters were typed, which take the place of all that the project selects.
    pub(super) fn is_typed(&self) -> bool {
        !self.filters.is_empty()
    }
}

impl SettledCorpus {
    /// The corpus that was asked for, every probe of which there is and takes its arguments.
    pub(super) fn suite(&self) -> Result<Suite, CliFailure> {
        self.suite_of(&CaseSelection::default())
    }

    /// Returns the corpus with at least the cases that `selection` reaches. Directories are always
    /// read whole: nothing is run while anything in them is wrong.
    pub(super) fn suite_of(&self, selection: &CaseSelection) -> Result<Suite, CliFailure> {
        let (suite, errors) = match self.directories.is_empty() {
            true => Suite::survey_embedded_part(|stem| selection.reaches(stem)),
            false => self.survey(),
        };
        // A test looks at those of the built-in one.
        let found = if suite.is_embedded() { Vec::new() } else { lint::probe_calls(&suite) };
        match errors.is_empty() && found.is_empty() {
            true => Ok(suite),
            false => Err(lint::does_not_load(&errors, &found)),
        }
    }

    /// Returns the part of the corpus that can be read, and everything that is wrong with it.
    pub(super) fn survey(&self) -> (Suite, Vec<LoadError>) {
        match self.directories.as_slice() {
            [] => Suite::survey_embedded(),
            directories => Suite::survey(directories),
        }
    }

    /// Returns the flags by which a reproduce line finds the same corpus.
    pub(super) fn reproduce(&self) -> String {
        let flag =
            |directory: &PathBuf| format!(" --cases {}", shell_word(&directory.to_string_lossy()));
        self.directories.iter().map(flag).collect()
    }

    /// Returns the selection of the cases called `ids`, slow ones, too.
    pub(super) fn cases(self, ids: &[String]) -> SettledCases {
        SettledCases { filters: ids.to_owned(), corpus: self, slow: true }
    }
}

impl SettledCases {
    /// Returns the corpus and the selection from it; filters that match nothing are said so.
    pub(super) fn selected(&self) -> Result<(Suite, CaseSelection), CliFailure> {
        let selection = self.selection(None)?;
        Ok((self.suite_of(&selection)?, selection))
    }

    /// Returns the selection, with one more filter if there is one.
    pub(super) fn selection(&self, more: Option<&str>) -> Result<CaseSelection, CliFailure> {
        let slow = if self.slow { SlowCases::Included } else { SlowCases::ByIdOnly };
        let filters: Vec<String> =
            self.filters.iter().cloned().chain(more.map(str::to_owned)).collect();
        CaseSelection::new(&filters, slow).map_err(|error| CliFailure::usage(error.to_string()))
    }

    /// Returns the corpus with the cases that `selection` reaches; filters that match nothing are
    /// said so, and so is why nothing is selected.
    pub(super) fn suite_of(&self, selection: &CaseSelection) -> Result<Suite, CliFailure> {
        let suite = self.corpus.suite_of(selection)?;
        for filter in selection.idle(&suite) {
            note(format_args!("filter `{filter}` matches no case; see `boxproof list`"));
        }
        if let Some(why) = selection.why_nothing(&suite) {
            note(why);
        }
        Ok(suite)
    }
}
