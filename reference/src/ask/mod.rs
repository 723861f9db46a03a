//! Verbs that answer questions about policy documents, shell lines and finished runs. They run no
//! command.

mod answer;
mod check;
mod effective;
mod executor;
mod explain;
mod finished;
mod grants;
mod settings;
mod status;
mod wire;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use boxproof_cases::protocol::UNRESTRICTED_PROFILE;
use clap::{Args, Subcommand, ValueEnum};

use crate::dialect::orbit::{Document, PolicySet, Profile, doubts};

/// All requests are allowed, or the documents are valid.
const YES: i32 = 0;
/// A request is denied.
const NO: i32 = 1;
/// There is no answer: a document, a path or the call is wrong.
const INVALID: i32 = 2;

const CHECK_EXAMPLES: &str = "\
Exit codes: 0 if all is allowed, 1 if something is denied, 2 if there is no answer.
With --request and --result many paths are asked about in one call, and the answers are JSON.

Examples:
  refbox check --policy host.yaml --profile dev --workspace . read src/a.rs README.md
  refbox check --policy host.yaml --workspace-policy .policy.yaml --profile dev --format json \\
      --workspace . modify src/a.rs
  refbox check --request request.json --result answer.json";

const EFFECTIVE_EXAMPLES: &str = "\
Examples:
  refbox effective --policy host.yaml --workspace-policy .policy.yaml --profile dev
  refbox effective --request request.json --result answer.json";

const EXPLAIN_EXAMPLES: &str = "\
Example:
  refbox policy explain --policy host.yaml --workspace-policy .policy.yaml --profile dev \\
      --workspace . secrets/key.pem";

const SETTINGS_EXAMPLES: &str = "\
Examples:
  refbox settings --settings settings.toml --workspace .
  refbox settings --request request.json --result answer.json";

const DECIDE_ASK_EXAMPLES: &str = "\
Exit codes: 0 if all are allowed, 1 if one is asked about or denied, 2 if there is no answer.

Examples:
  refbox decide-ask --settings settings.toml --workspace . 'git status' 'make test'
  refbox decide-ask --settings settings.toml --workspace . --rules deny 'git push'
  refbox decide-ask --request request.json --result answer.json";

/// The documents of a question.
#[derive(Debug, Args)]
pub(crate) struct Documents {
    /// The host's document
    #[arg(long, value_name = "FILE")]
    policy: PathBuf,
    /// The workspace's document, laid over the host's
    #[arg(long, value_name = "FILE")]
    workspace_policy: Option<PathBuf>,
}

/// One profile of documents.
#[derive(Debug, Args)]
pub(crate) struct Asked {
    #[command(flatten)]
    documents: Documents,
    /// The profile, letter for letter
    #[arg(long, value_name = "NAME", default_value = UNRESTRICTED_PROFILE)]
    profile: String,
    /// The format of the answer; text unless given
    #[arg(long, value_enum)]
    format: Option<Format>,
}

/// A question in a file, and the file for its answer.
#[derive(Debug, Args)]
pub(crate) struct Batch {
    /// The question: JSON with protocol, dialect and documents
    #[arg(long, value_name = "FILE")]
    request: PathBuf,
    /// The file for the answer
    #[arg(long, value_name = "FILE")]
    result: PathBuf,
}

/// One operation on paths under one profile.
#[derive(Debug, Args)]
pub(crate) struct Paths {
    #[command(flatten)]
    asked: Asked,
    /// The workspace; relative paths lie in it, and links are followed there
    #[arg(long, value_name = "DIR")]
    workspace: PathBuf,
    /// The operation
    op: Op,
    /// The paths
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<String>,
}

/// The format of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// One JSON object
    Json,
}

/// An operation on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Op {
    /// Read it
    Read,
    /// Change, make or remove it
    Modify,
}

/// A question about documents.
#[derive(Debug, Subcommand)]
pub(crate) enum Ask {
    /// Check whether a profile allows paths
    #[command(after_help = CHECK_EXAMPLES)]
    Check(Paths),
    /// Print a profile as it is in force: every rule in order, and where it comes from
    #[command(after_help = EFFECTIVE_EXAMPLES)]
    Effective(Asked),
    /// Look into policy documents
    #[command(subcommand)]
    Policy(Policy),
    /// Explain whether the sandbox made a finished run fail, and by which rule
    #[command(after_help = finished::EXAMPLES)]
    Explain(Box<finished::Over>),
    /// Validate documents; request and answer are files
    Validate(Batch),
    /// Print the effective settings of the caliban dialect, as JSON
    #[command(after_help = SETTINGS_EXAMPLES)]
    Settings(settings::Asked),
    /// Print for commands whether a person is asked first, and whether the sandbox holds them
    #[command(after_help = DECIDE_ASK_EXAMPLES)]
    #[command(name = "decide-ask")]
    Commands(settings::Commands),
    /// Print the effect of a configuration file's sandbox block
    #[command(after_help = status::EXAMPLES)]
    Status(status::Block),
    /// Print which grants shell lines infer
    #[command(after_help = grants::EXAMPLES)]
    Grants(grants::Lines),
    /// Print the command that an agent executor would start here, as JSON
    #[command(after_help = executor::EXAMPLES)]
    Executor(executor::Executor),
}

/// The questions that one call asks by a file, and has answered in another.
#[derive(Debug, Subcommand)]
pub(crate) enum InFiles {
    /// Check whether a profile allows many paths
    Check(Batch),
    /// Print which rules of a profile are in force
    Effective(Batch),
    /// Print the effective settings
    Settings(Batch),
    /// Print for many commands whether a person is asked first
    DecideAsk(Batch),
    /// Print the effect of a sandbox block
    Status(Batch),
    /// Print which grants shell lines infer
    Grants(Batch),
    /// Print the command that an agent executor would start
    Executor(Batch),
}

/// Returns whether `args` are a question in files.
pub(crate) fn is_in_files(args: &[OsString]) -> bool {
    let verb = args.first().and_then(|verb| verb.to_str());
    let options = args.iter().take_while(|arg| *arg != "--").filter_map(|arg| arg.to_str());
    let names_file = |arg: &str| ["--request", "--result"].iter().any(|name| arg.starts_with(name));
    /// The verbs that take their questions in files.
    const VERBS: [&str; 7] =
        ["check", "effective", "settings", "decide-ask", "status", "grants", "executor"];
    verb.is_some_and(|verb| VERBS.contains(&verb)) && options.into_iter().any(names_file)
}

/// A question about the documents themselves.
#[derive(Debug, Subcommand)]
pub(crate) enum Policy {
    /// Validate documents, each by itself and both together
    Validate {
        /// The host's document
        policy: PathBuf,
        /// The workspace's document, laid over the host's
        #[arg(long, value_name = "FILE")]
        workspace_policy: Option<PathBuf>,
    },
    /// Show which rules match a path, in order, and which one decides
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain {
        #[command(flatten)]
        asked: Asked,
        /// The workspace; relative paths lie in it, and links are followed there
        #[arg(long, value_name = "DIR")]
        workspace: PathBuf,
        /// The path
        path: String,
    },
}

/// Answers; returns the exit code.
pub(crate) fn answer(prefix: &[&str], ask: &Ask) -> i32 {
    said(match ask {
        Ask::Check(paths) => check::check(paths),
        Ask::Effective(asked) => effective::effective(asked),
        Ask::Policy(policy) => looked_into(policy),
        Ask::Explain(over) => finished::explain(over),
        Ask::Validate(batch) => wire::validate(batch),
        Ask::Settings(asked) => settings::settings(prefix, asked),
        Ask::Executor(asked) => executor::executor(asked),
        Ask::Commands(commands) => settings::decide_ask(prefix, commands),
        Ask::Status(block) => status::status(prefix, block),
        Ask::Grants(lines) => grants::grants(lines),
    })
}

/// Answers in a file; returns the exit code.
pub(crate) fn answer_in_file(prefix: &[&str], ask: &InFiles) -> i32 {
    said(match ask {
        InFiles::Check(batch) => wire::check(batch),
        InFiles::Effective(batch) => wire::effective(batch),
        InFiles::Settings(batch) => settings::settings_in_file(prefix, batch),
        InFiles::DecideAsk(batch) => settings::decide_in_file(prefix, batch),
        InFiles::Status(batch) => wire::status(prefix, batch),
        InFiles::Grants(batch) => grants::in_file(batch),
        InFiles::Executor(batch) => executor::in_file(batch),
    })
}

fn said(answered: Result<i32, String>) -> i32 {
    answered.unwrap_or_else(|why| {
        eprintln!("refbox: {why}");
        INVALID
    })
}

fn looked_into(policy: &Policy) -> Result<i32, String> {
    match policy {
        Policy::Validate { policy, workspace_policy } => read(policy, workspace_policy.as_deref())
            .and_then(|policy| {
                for name in policy.profile_names() {
                    warn(&policy.profile(name).map_err(|error| error.to_string())?, None);
                }
                crate::say::line(format_args!("valid"));
                Ok(YES)
            }),
        Policy::Explain { asked, workspace, path } => explain::explain(asked, workspace, path),
    }
}

/// Prints the doubts about rules.
fn warn(profile: &Profile, workspace: Option<&Path>) {
    for doubt in doubts(profile, workspace) {
        eprintln!("refbox: {doubt}");
    }
}

impl Asked {
    fn format(&self) -> Format {
        self.format.unwrap_or(Format::Text)
    }
}

impl Documents {
    fn read(&self) -> Result<PolicySet, String> {
        read(&self.policy, self.workspace_policy.as_deref())
    }
}

fn read(host: &Path, workspace: Option<&Path>) -> Result<PolicySet, String> {
    let host = document(host)?;
    let workspace = workspace.map(document).transpose()?;
    PolicySet::new(&host, workspace.as_ref()).map_err(|error| error.to_string())
}

fn document(path: &Path) -> Result<Document, String> {
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| format!("{shown}: {error}"))?;
    Document::parse(&shown, &shown, &text).map_err(|error| error.to_string())
}

impl From<Op> for crate::dialect::orbit::Op {
    fn from(op: Op) -> Self {
        match op {
            Op::Read => Self::Read,
            Op::Modify => Self::Modify,
        }
    }
}
