//! The command line: [`Cli`] is what was typed; each verb has a file of its own.

mod audit;
mod backend;
mod bench;
mod blind;
mod capabilities;
mod cases;
mod check;
mod child;
mod compare;
mod coverage;
mod diff;
mod doctor;
mod examples;
mod expect;
mod explain;
mod follow;
mod gate;
mod install;
mod judge;
mod lint;
mod list;
mod manual;
mod matrix;
mod mutants;
mod new;
mod outputs;
mod print;
mod project;
mod records;
mod report;
mod repro;
mod run;
mod schema;
mod show;
mod sign;
mod site;
mod user;
mod values;

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use boxproof_reports::ExitCode;
use boxproof_reports::terminal::{FailureVerbosity, Style, TerminalOptions};
use clap::{Parser, Subcommand};
use nix::unistd::{AccessFlags, access};

use self::cases::{CaseArgs, CorpusArgs, SettledCases};
use self::print::{is_written, note, print, print_text};
use crate::backend::{Backend, BackendKind, SettledUser, resolve};
use crate::scratch::RefusedBase;
use crate::sys;

/// Proves what a command sandbox really does.
#[derive(Debug, Parser)]
#[command(name = "boxproof", version, about, after_help = examples::PROGRAM, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    verb: MainVerb,
}

#[derive(Debug, Subcommand)]
enum MainVerb {
    /// Run cases against backends and print the matrix.
    #[command(after_help = examples::RUN)]
    Run(run::RunArgs),
    /// List the selected cases.
    #[command(after_help = examples::LIST)]
    List(list::ListArgs),
    /// Show what one case asks, expects and cites.
    #[command(after_help = examples::SHOW)]
    Show(show::ShowArgs),
    /// Explain one case: what it asks, what passes, what fails, and why it matters.
    #[command(after_help = examples::EXPLAIN)]
    Explain(explain::ExplainArgs),
    /// Run every backend that is installed, and write records and matrix of it.
    #[command(after_help = examples::MATRIX)]
    Matrix(matrix::MatrixArgs),
    /// Show one failure without the harness: a script with everything it needs.
    #[command(after_help = examples::REPRO)]
    Repro(repro::ReproArgs),
    /// Render run records: terminal, Markdown, HTML.
    #[command(after_help = examples::REPORT)]
    Report(report::ReportArgs),
    /// Write run records as a static site: overview, matrix, a page a backend and profile, badges.
    #[command(after_help = examples::SITE)]
    Site(site::SiteArgs),
    /// Set run records against the table of outcomes that was made by hand.
    #[command(after_help = examples::COMPARE)]
    Compare(compare::CompareArgs),
    /// Compare two runs: what opened, what closed, what was fixed, what else changed.
    #[command(after_help = examples::DIFF)]
    Diff(diff::DiffArgs),
    /// Decide on a release: run records beside those of the one before, by a policy file.
    #[command(after_help = examples::GATE)]
    Gate(gate::GateArgs),
    /// Judge run records again, from the observations that they keep.
    Judge(judge::JudgeArgs),
    /// Sign a record, so that its reader can tell it from a changed one.
    Sign(sign::SignArgs),
    /// Check that the holder of a key vouches for a record.
    Verify(sign::VerifyArgs),
    /// Measure two programs of a backend block by block: what became slower, and is that so?
    Bench(bench::BenchArgs),
    /// Write what a backend is known to get wrong.
    #[command(after_help = examples::EXPECT)]
    Expect(expect::ExpectArgs),
    /// Check the corpus: does it load, is it well written, is every requirement covered?
    #[command(after_help = examples::LINT)]
    Lint(lint::LintArgs),
    /// Show what the cases are about: requirements, public reports, capabilities, words of the format.
    #[command(after_help = examples::COVERAGE)]
    Coverage(coverage::CoverageArgs),
    /// Show that every case can fail: each denial on a backend that allows all, each allowance on
    /// one that denies all.
    #[command(after_help = examples::AUDIT)]
    Audit(audit::AuditArgs),
    /// Tell what this host has and allows, and what to do where it does not.
    #[command(after_help = examples::DOCTOR)]
    Doctor(doctor::DoctorArgs),
    /// List, show or check backends.
    #[command(after_help = examples::BACKEND)]
    Backend(backend::BackendArgs),
    /// List everything that a backend can claim.
    #[command(after_help = examples::CAPABILITIES)]
    Capabilities(capabilities::CapabilitiesArgs),
    /// Write a manifest, a case or a project file to begin with.
    #[command(after_help = examples::NEW)]
    New(new::NewArgs),
    /// Print the JSON Schema of a file format or a message.
    #[command(after_help = examples::SCHEMA)]
    Schema(schema::SchemaArgs),
    /// Print the completions of a shell.
    #[command(after_help = examples::COMPLETIONS)]
    Completions(manual::CompletionsArgs),
    /// Print a manual page, or write them all.
    #[command(after_help = examples::MAN)]
    Man(manual::ManArgs),
}

/// A failure before anything is run: a message and an exit code.
#[derive(Debug)]
pub(crate) struct CliFailure {
    code: ExitCode,
    message: String,
}

impl CliFailure {
    fn usage(message: impl Into<String>) -> Self {
        Self { code: ExitCode::Usage, message: message.into() }
    }
}

/// Returns the failure for a path on the command line that cannot be used.
#[allow(clippy::needless_pass_by_value, reason = "as map_err passes it")]
fn unusable(error: io::Error) -> CliFailure {
    CliFailure::usage(error.to_string())
}

impl From<io::Error> for CliFailure {
    fn from(error: io::Error) -> Self {
        let code = if RefusedBase::is(&error) { ExitCode::Usage } else { ExitCode::Unlearnt };
        Self { code, message: error.to_string() }
    }
}

/// Runs what was typed and returns the process's exit code.
pub fn main() -> i32 {
    if let Err(error) = sys::survive_file_limit() {
        note(format!("SIGXFSZ: {error}"));
    }
    let done = match Cli::try_parse() {
        Ok(cli) => run_verb(cli.verb),
        // Help and version are such errors, too.
        Err(error) => match error.use_stderr() {
            true => Ok(print_usage(&error)),
            false => is_written(error.print()).map(|()| error.exit_code()),
        },
    };
    done.unwrap_or_else(|failure| {
        note(failure.message);
        i32::from(failure.code.code())
    })
}

fn print_usage(error: &clap::Error) -> i32 {
    // There is no other place to say that this place cannot be written to.
    let _ = error.print();
    error.exit_code()
}

fn run_verb(verb: MainVerb) -> Result<i32, CliFailure> {
    match verb {
        MainVerb::Run(args) => run::run(args),
        MainVerb::List(args) => list::run(&args),
        MainVerb::Show(args) => show::run(&args),
        MainVerb::Explain(args) => explain::run(&args),
        MainVerb::Matrix(args) => matrix::run(&args),
        MainVerb::Repro(args) => repro::run(&args),
        MainVerb::Report(args) => report::run(&args),
        MainVerb::Site(args) => site::run(&args),
        MainVerb::Compare(args) => compare::run(&args),
        MainVerb::Diff(args) => diff::run(&args),
        MainVerb::Gate(args) => gate::run(&args),
        MainVerb::Judge(args) => judge::run(&args),
        MainVerb::Sign(args) => sign::sign(&args),
        MainVerb::Verify(args) => sign::verify(&args),
        MainVerb::Bench(args) => bench::run(&args),
        MainVerb::Expect(args) => expect::run(args),
        MainVerb::Lint(args) => lint::run(&args),
        MainVerb::Coverage(args) => coverage::run(&args),
        MainVerb::Audit(args) => audit::run(args),
        MainVerb::Doctor(args) => doctor::run(&args),
        MainVerb::Backend(args) => backend::run(args),
        MainVerb::Capabilities(args) => capabilities::run(&args),
        MainVerb::New(args) => new::run(&args),
        MainVerb::Schema(args) => schema::run(&args),
        MainVerb::Completions(args) => manual::completions(&args),
        MainVerb::Man(args) => manual::man(&args),
    }
}

/// The running program itself: the default backend is its own `reference`. Where its name is out
/// of reach for the user we are, the kernel's name for it.
fn me() -> Result<PathBuf, CliFailure> {
    let named = std::env::current_exe()?;
    let reachable = access(&named, AccessFlags::X_OK).is_ok();
    Ok(if reachable { named } else { PathBuf::from("/proc/self/exe") })
}

/// Resolves `specs` to backends, whose programs are started as `settled` has it.
fn backends(specs: &[String], settled: &SettledUser) -> Result<Vec<Backend>, CliFailure> {
    let me = me()?;
    let mut found: Vec<Backend> = Vec::new();
    for spec in specs {
        let backend =
            resolve(spec, &me, settled).map_err(|error| CliFailure::usage(error.to_string()))?;
        if found.iter().any(|other| other.name == backend.name) {
            return Err(CliFailure::usage(format!("backend {} is named twice", backend.name)));
        }
        if let BackendKind::Argv(manifest) = &backend.kind {
            manifest.unsaid.notes(spec).iter().for_each(note);
        }
        found.push(backend);
    }
    Ok(found)
}

/// The detail in which each failure is reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum FailureDetail {
    /// A line a group of those that are alike.
    Brief,
    /// Everything, row by row.
    #[default]
    Full,
}

/// Returns the options for rendering to standard output.
fn terminal_options(verbose: bool, failures: FailureDetail) -> TerminalOptions {
    let color = anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
    let width = if io::stdout().is_terminal() { terminal_width() } else { 100 };
    let failures = match failures {
        FailureDetail::Brief => FailureVerbosity::Brief,
        FailureDetail::Full => FailureVerbosity::Full,
    };
    let style = if color { Style::Color } else { Style::Plain };
    TerminalOptions { style, width, verbose, failures }
}

/// As the terminal says, within what a page can use.
fn terminal_width() -> usize {
    usize::from(console::Term::stdout().size().1).clamp(60, 160)
}
