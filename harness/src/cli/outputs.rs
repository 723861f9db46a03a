//! Further forms of a run's results, each in a file of its own: arguments of `run`, `report` and
//! `matrix`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use boxproof_reports::timing::TimingRecord;
use boxproof_reports::{Matrix, annotations, badge, html, junit, markdown, sarif, tap};

use super::run::GITHUB_LIMIT;
use super::{CliFailure, note, unusable};
use crate::output::ReportOutput;

/// The forms and their files.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Further outputs")]
pub(super) struct OutputArgs {
    /// Write JUnit XML to this file.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write SARIF 2.1.0 to this file.
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Write the HTML matrix to this file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write Markdown for a job summary to this file.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write a badge, as the endpoint of shields.io takes it, to this file.
    #[arg(long, value_name = "FILE")]
    badge: Option<PathBuf>,
    /// Write the Test Anything Protocol, version 14, to this file.
    #[arg(long, value_name = "FILE")]
    tap: Option<PathBuf>,
}

/// One form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutputForm {
    Junit,
    Sarif,
    Html,
    Markdown,
    Badge,
    Tap,
}

impl OutputArgs {
    fn asked(&self) -> impl Iterator<Item = (OutputForm, &Path)> {
        let asked = [
            (OutputForm::Junit, &self.junit),
            (OutputForm::Sarif, &self.sarif),
            (OutputForm::Html, &self.html),
            (OutputForm::Markdown, &self.markdown),
            (OutputForm::Badge, &self.badge),
            (OutputForm::Tap, &self.tap),
        ];
        asked.into_iter().filter_map(|(form, path)| Some((form, path.as_deref()?)))
    }

    /// Opens every place that is asked for, beside `report`, the record's.
    ///
    /// # Errors
    /// A place that cannot be written to, or is named twice.
    pub(super) fn open(&self, report: Option<&Path>) -> Result<PageOutputs, CliFailure> {
        let mut taken: Vec<&Path> = report.into_iter().collect();
        let mut pages = Vec::new();
        for (form, path) in self.asked() {
            if taken.contains(&path) && !path.starts_with("/dev") {
                let path = path.display();
                return Err(CliFailure::usage(format!(
                    "{path}: two outputs go there; name another"
                )));
            }
            taken.push(path);
            pages.push((form, ReportOutput::open(path).map_err(unusable)?));
        }
        Ok(PageOutputs(pages))
    }
}

/// The places of further outputs, which are known to be writable.
#[derive(Debug, Default)]
pub(super) struct PageOutputs(Vec<(OutputForm, ReportOutput)>);

impl PageOutputs {
    /// Returns the same for after this process has given its rights up.
    ///
    /// # Errors
    /// Returns an error when no process can be made.
    pub(super) fn keep_rights(self) -> std::io::Result<Self> {
        let kept = self.0.into_iter().map(|(form, place)| Ok((form, place.keep_rights()?)));
        Ok(Self(kept.collect::<std::io::Result<_>>()?))
    }

    /// Writes every page of `matrix`; returns whether all are there, whole. Those that are not are
    /// told, a line each.
    pub(super) fn write(self, matrix: &Matrix<'_>) -> bool {
        self.write_with_timing(matrix, &[])
    }

    /// Writes every page as [`Self::write`], with timing records where the form shows them.
    pub(super) fn write_with_timing(self, matrix: &Matrix<'_>, timing: &[TimingRecord]) -> bool {
        let faults = self.0.into_iter().filter_map(|(form, place)| {
            let written = page(form, matrix, timing)
                .and_then(|page| place.write(page.as_bytes()).map_err(|error| error.to_string()));
            written.err()
        });
        faults.map(note).count() == 0
    }
}

fn page(form: OutputForm, matrix: &Matrix<'_>, timing: &[TimingRecord]) -> Result<String, String> {
    match form {
        OutputForm::Junit => Ok(junit::render(matrix)),
        OutputForm::Sarif => sarif::render(matrix).map_err(|error| error.to_string()),
        OutputForm::Html => Ok(html::render_with_timing(matrix, timing)),
        OutputForm::Markdown => Ok(markdown::render(matrix, GITHUB_LIMIT)),
        OutputForm::Badge => Ok(badge::render(matrix)),
        OutputForm::Tap => Ok(tap::render(matrix)),
    }
}

/// Shows findings beside the code where a GitHub runner listens; `manifests` are files by backend.
/// On standard error, for standard output may be a file.
pub(super) fn annotate(matrix: &Matrix<'_>, manifests: &BTreeMap<String, String>) {
    if std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true") {
        // As with every note: there is no other place to say that this one cannot be written to.
        let _ = std::io::Write::write_all(
            &mut std::io::stderr().lock(),
            annotations::render(matrix, manifests).as_bytes(),
        );
    }
}
