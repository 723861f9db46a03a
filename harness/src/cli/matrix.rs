//! `boxproof matrix`: a real run of every backend that is installed, kept as records and pages.

mod runs;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use boxproof_reports::diff::{diff, terminal};
use boxproof_reports::{ExitCode, Run, html, markdown, merge, summary_line};

use super::outputs::{OutputArgs, PageOutputs};
use super::{
    CaseArgs, CliFailure, FailureDetail, child, print, print_text, records, terminal_options,
    unusable,
};
use crate::output::{OutputDirectory, OutputTarget};

/// Arguments of `matrix`.
#[derive(Debug, clap::Args)]
pub(super) struct MatrixArgs {
    #[command(flatten)]
    cases: CaseArgs,
    /// `all` (the reference, no sandbox, and every shipped sandbox), or backends by comma.
    #[arg(long, value_name = "LIST", default_value = "all", value_delimiter = ',')]
    backends: Vec<String>,
    /// The directory to which records (run-*.ndjson), matrix.md and matrix.html are written.
    /// Records that other hosts or users left there become columns, too.
    #[arg(long, value_name = "DIR", default_value = "reports/matrix")]
    out: PathBuf,
    /// Run as this account, which only root can; repeatable, a column each. By default as
    /// `boxproof run` does: root runs backends that are meant for ordinary users as one.
    #[arg(long, value_name = "NAME")]
    user: Vec<String>,
    /// Run everything a second time and tell what is not the same.
    #[arg(long)]
    twice: bool,
    /// Put the summary between the lines `<!-- matrix -->` and `<!-- /matrix -->` of this page.
    #[arg(long, value_name = "FILE")]
    readme: Option<PathBuf>,
    #[command(flatten)]
    outputs: OutputArgs,
    /// The directory in which the scratch directory is made.
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
}

/// The published page.
const PAGE: &str = "matrix.md";
/// The lines between which a page shows the summary.
const OPEN: &str = "<!-- matrix -->\n";
/// The second of them.
const CLOSE: &str = "<!-- /matrix -->\n";

pub(super) fn run(args: &MatrixArgs) -> Result<i32, CliFailure> {
    let outputs = MatrixOutputs::open(args)?;
    let users: Vec<Option<&str>> = match args.user.is_empty() {
        true => vec![None],
        false => args.user.iter().map(|name| Some(name.as_str())).collect(),
    };
    let specs = runs::specs(&args.backends);
    let cases = args.cases.settle()?;
    let (mut first, mut second) = (Vec::new(), Vec::new());
    let asked = |user| child::ChildRequest {
        cases: &cases,
        backends: &specs,
        scratch: args.scratch.as_deref(),
        user,
    };
    for user in &users {
        let bytes = match child::record(asked(*user))? {
            Ok(bytes) => bytes,
            Err(code) => return Ok(code),
        };
        first.push(outputs.keep(&bytes)?);
    }
    let judged = outputs.publish()?;
    if args.twice {
        for user in &users {
            match child::record(asked(*user))? {
                Ok(bytes) => second.push(child::read_back(&bytes)?),
                Err(code) => return Ok(code),
            }
        }
        return compare(&first, &second);
    }
    Ok(if judged { 0 } else { 4 })
}

/// The most bytes of the page that shows the summary.
const PAGE_LIMIT: u64 = 64 << 20;

/// The files for records and pages, opened before anything is run.
struct MatrixOutputs<'a> {
    directory: OutputDirectory,
    readme: Option<(&'a Path, OutputTarget)>,
    pages: PageOutputs,
}

impl<'a> MatrixOutputs<'a> {
    fn open(args: &'a MatrixArgs) -> Result<Self, CliFailure> {
        let directory = OutputDirectory::make(&args.out).map_err(unusable)?;
        directory.try_new(OsStr::new(PAGE)).map_err(unusable)?;
        let readme = args.readme.as_deref().map(|path| {
            let target = OutputTarget::open(path)?;
            target.try_new().map(|()| (path, target))
        });
        let pages = args.outputs.open(None)?;
        let outputs = Self { directory, readme: readme.transpose().map_err(unusable)?, pages };
        outputs.with_summary("")?;
        Ok(outputs)
    }

    /// Writes the record where it belongs and returns what it says.
    fn keep(&self, bytes: &[u8]) -> Result<Run, CliFailure> {
        let run = child::read_back(bytes)?;
        let name = runs::file_name(&run.header);
        self.directory.replace(OsStr::new(&name), bytes, 0o666)?;
        // The older one, as it was published.
        self.directory.remove(OsStr::new(&format!("{name}.gz")))?;
        let file = self.directory.join(OsStr::new(&name));
        print_text(&format!("{}: {}\n", file.display(), summary_line(&run.rows)))?;
        Ok(run)
    }

    /// Renders every record in the directory; returns whether any case was judged at all.
    fn publish(mut self) -> Result<bool, CliFailure> {
        let (files, runs): (Vec<_>, Vec<_>) =
            records::read_in(&self.directory)?.into_iter().unzip();
        let matrix = merge(&runs).map_err(|error| {
            let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
            CliFailure::usage(format!(
                "{error}\nwritten are the records only; make anew or remove what does not belong \
                 with them: {}",
                names.join(", ")
            ))
        })?;
        let pages = [(PAGE, markdown::published(&matrix)), ("matrix.html", html::render(&matrix))];
        for (name, page) in pages {
            self.directory.replace(OsStr::new(name), page.as_bytes(), 0o666)?;
        }
        if !std::mem::take(&mut self.pages).write(&matrix) {
            let message = "a page could not be written".to_owned();
            return Err(CliFailure { code: ExitCode::Unlearnt, message });
        }
        let summary = markdown::summary(&matrix);
        let text = self.with_summary(&summary)?;
        if let (Some((_, target)), Some(text)) = (&mut self.readme, text) {
            target.write(text.as_bytes())?;
        }
        print(&format!("\n{summary}"))?;
        let judged = matrix.rows().any(|row| row.verdict.is_judged());
        Ok(judged)
    }

    /// The page with `summary` in it; none where none was named.
    fn with_summary(&self, summary: &str) -> Result<Option<String>, CliFailure> {
        let Some((page, target)) = &self.readme else { return Ok(None) };
        let text = String::from_utf8(target.read(PAGE_LIMIT).map_err(unusable)?)
            .map_err(|error| fault(page, &error))?;
        let text = replaced(&text, summary).ok_or_else(|| {
            let (open, close) = (OPEN.trim_end(), CLOSE.trim_end());
            fault(page, &format!("it has not one line `{open}` and below it one `{close}`"))
        })?;
        Ok(Some(text))
    }
}

/// Returns `page` with `summary` between its marks; nothing where it does not have them, once each.
fn replaced(page: &str, summary: &str) -> Option<String> {
    let (head, rest) = page.split_once(OPEN)?;
    let (_, tail) = rest.split_once(CLOSE)?;
    let once = !rest.contains(OPEN) && !tail.contains(CLOSE);
    once.then(|| format!("{head}{OPEN}\n{summary}\n{CLOSE}{tail}"))
}

/// Tells what a second run shows otherwise: nothing, or something is flaky.
fn compare(first: &[Run], second: &[Run]) -> Result<i32, CliFailure> {
    let merged = |runs| merge(runs).map_err(|error| CliFailure::usage(error.to_string()));
    let (first, second) = (merged(first)?, merged(second)?);
    let found = diff(&first, &second);
    print(&format!(
        "\nsecond run\n{}",
        terminal(&found, terminal_options(false, FailureDetail::Full).width)
    ))?;
    Ok(i32::from(!found.transitions.is_empty()))
}

fn fault(path: &Path, error: &dyn std::fmt::Display) -> CliFailure {
    CliFailure::usage(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[test]
    fn a_summary_goes_between_its_marks_again_and_again() {
        let page = format!("# Title\n\n{OPEN}old\n{CLOSE}rest\n");
        let once = replaced(&page, "new\n").unwrap();
        assert_eq!(once, format!("# Title\n\n{OPEN}\nnew\n\n{CLOSE}rest\n"));
        assert_eq!(replaced(&once, "new\n").unwrap(), once);
    }

    #[rstest]
    #[case("no marks\n")]
    #[case("<!-- matrix -->\n")]
    #[case("<!-- /matrix -->\n<!-- matrix -->\n")]
    #[case("<!-- matrix -->\n<!-- matrix -->\n<!-- /matrix -->\n")]
    fn a_page_without_its_marks_is_refused(#[case] page: &str) {
        assert_eq!(replaced(page, "new\n"), None);
    }
}
