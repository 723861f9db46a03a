//! Verbs that answer questions about policy documents, shell lines and finished runs. They run no
//! command.

mod batch;
mod check;
mod decided_path;
mod effective;
mod executor;
mod explain;
mod finished_run;
mod grants;
mod settings;
mod status;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use boxproof_cases::protocol::UNRESTRICTED_PROFILE;
use clap::{Args, Subcommand, ValueEnum};

use crate::error::utf8_text;
use crate::policy::orbit::{PolicyDocument, PolicySet, ResolvedProfile, doubts};

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
pub(crate) struct DocumentArgs {
    /// The host's document
    #[arg(long, value_name = "FILE")]
    policy: PathBuf,
    /// The workspace's document, laid over the host's
    #[arg(long, value_name = "FILE")]
    workspace_policy: Option<PathBuf>,
}

/// One profile of documents.
#[derive(Debug, Args)]
pub(crate) struct ProfileArgs {
    #[command(flatten)]
    documents: DocumentArgs,
    /// The profile, letter for letter
    #[arg(long, value_name = "NAME", default_value = UNRESTRICTED_PROFILE)]
    profile: String,
    /// The format of the answer; text unless given
    #[arg(long, value_enum)]
    format: Option<OutputFormat>,
}

/// A question in a file, and the file for its answer.
#[derive(Debug, Args)]
pub(crate) struct BatchFiles {
    /// The question: JSON with protocol, dialect and documents
    #[arg(long, value_name = "FILE")]
    request: PathBuf,
    /// The file for the answer
    #[arg(long, value_name = "FILE")]
    result: PathBuf,
}

/// One operation on paths under one profile.
#[derive(Debug, Args)]
pub(crate) struct PathQueryArgs {
    #[command(flatten)]
    asked: ProfileArgs,
    /// The workspace; relative paths lie in it, and links are followed there
    #[arg(long, value_name = "DIR")]
    workspace: PathBuf,
    /// The operation
    op: OperationArg,
    /// The paths
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<String>,
}

/// The format of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people
    Text,
    /// One JSON object
    Json,
}

/// An operation on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OperationArg {
    /// Read it
    Read,
    /// Change, make or remove it
    Modify,
}

/// A question about documents.
#[derive(Debug, Subcommand)]
pub(crate) enum QueryVerb {
    /// Check whether a profile allows paths
    #[command(after_help = CHECK_EXAMPLES)]
    Check(PathQueryArgs),
    /// Print a profile as it is in force: every rule in order, and where it comes from
    #[command(after_help = EFFECTIVE_EXAMPLES)]
    Effective(ProfileArgs),
    /// Look into policy documents
    #[command(subcommand)]
    Policy(PolicyVerb),
    /// Explain whether the sandbox made a finished run fail, and by which rule
    #[command(after_help = finished_run::EXAMPLES)]
    Explain(Box<finished_run::FinishedRunArgs>),
    /// Validate documents; request and answer are files
    Validate(BatchFiles),
    /// Print the effective settings of the caliban dialect, as JSON
    #[command(after_help = SETTINGS_EXAMPLES)]
    Settings(settings::SettingsArgs),
    /// Print for commands whether a person is asked first, and whether the sandbox holds them
    #[command(after_help = DECIDE_ASK_EXAMPLES)]
    #[command(name = "decide-ask")]
    Commands(settings::CommandArgs),
    /// Print the effect of a configuration file's sandbox block
    #[command(after_help = status::EXAMPLES)]
    Status(status::BlockArgs),
    /// Print which grants shell lines infer
    #[command(after_help = grants::EXAMPLES)]
    Grants(grants::ShellLineArgs),
    /// Print the command that an agent executor would start here, as JSON
    #[command(after_help = executor::EXAMPLES)]
    Executor(executor::ExecutorArgs),
}

/// The questions that one call asks by a file, and has answered in another.
#[derive(Debug, Subcommand)]
pub(crate) enum FileQueryVerb {
    /// Check whether a profile allows many paths
    Check(BatchFiles),
    /// Print which rules of a profile are in force
    Effective(BatchFiles),
    /// Print the effective settings
    Settings(BatchFiles),
    /// Print for many commands whether a person is asked first
    DecideAsk(BatchFiles),
    /// Print the effect of a sandbox block
    Status(BatchFiles),
    /// Print which grants shell lines infer
    Grants(BatchFiles),
    /// Print the command that an agent executor would start
    Executor(BatchFiles),
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
pub(crate) enum PolicyVerb {
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
        asked: ProfileArgs,
        /// The workspace; relative paths lie in it, and links are followed there
        #[arg(long, value_name = "DIR")]
        workspace: PathBuf,
        /// The path
        path: String,
    },
}

/// Answers; returns the exit code.
pub(crate) fn answer(prefix: &[&str], ask: &QueryVerb) -> i32 {
    said(match ask {
        QueryVerb::Check(paths) => check::check(paths),
        QueryVerb::Effective(asked) => effective::effective(asked),
        QueryVerb::Policy(policy) => looked_into(policy),
        QueryVerb::Explain(over) => finished_run::explain(over),
        QueryVerb::Validate(batch) => batch::validate(batch),
        QueryVerb::Settings(asked) => settings::settings(prefix, asked),
        QueryVerb::Executor(asked) => executor::executor(asked),
        QueryVerb::Commands(commands) => settings::decide_ask(prefix, commands),
        QueryVerb::Status(block) => status::status(prefix, block),
        QueryVerb::Grants(lines) => grants::grants(lines),
    })
}

/// Answers in a file; returns the exit code.
pub(crate) fn answer_in_file(prefix: &[&str], ask: &FileQueryVerb) -> i32 {
    said(match ask {
        FileQueryVerb::Check(batch) => batch::check(batch),
        FileQueryVerb::Effective(batch) => batch::effective(batch),
        FileQueryVerb::Settings(batch) => settings::settings_in_file(prefix, batch),
        FileQueryVerb::DecideAsk(batch) => settings::decide_in_file(prefix, batch),
        FileQueryVerb::Status(batch) => batch::status(prefix, batch),
        FileQueryVerb::Grants(batch) => grants::in_file(batch),
        FileQueryVerb::Executor(batch) => executor::in_file(batch),
    })
}

fn said(answered: Result<i32, String>) -> i32 {
    answered.unwrap_or_else(|why| {
        eprintln!("refbox: {why}");
        INVALID
    })
}

fn looked_into(policy: &PolicyVerb) -> Result<i32, String> {
    match policy {
        PolicyVerb::Validate { policy, workspace_policy } => {
            read(policy, workspace_policy.as_deref()).and_then(|policy| {
                // A deny says the same under every profile, and where there is none.
                let mut all = BTreeSet::new();
                for name in policy.profile_names().chain([UNRESTRICTED_PROFILE]) {
                    let profile = policy.profile(name).map_err(|error| error.to_string())?;
                    all.extend(doubts(&profile, None));
                }
                all.iter().for_each(|doubt| eprintln!("refbox: {doubt}"));
                crate::stdout::line(format_args!("valid"));
                Ok(YES)
            })
        }
        PolicyVerb::Explain { asked, workspace, path } => explain::explain(asked, workspace, path),
    }
}

/// Prints the doubts about rules.
fn warn(profile: &ResolvedProfile, workspace: Option<&Path>) {
    for doubt in doubts(profile, workspace) {
        eprintln!("refbox: {doubt}");
    }
}

impl ProfileArgs {
    fn format(&self) -> OutputFormat {
        self.format.unwrap_or(OutputFormat::Text)
    }
}

impl DocumentArgs {
    fn read(&self) -> Result<PolicySet, String> {
        read(&self.policy, self.workspace_policy.as_deref())
    }
}

fn read(host: &Path, workspace: Option<&Path>) -> Result<PolicySet, String> {
    let host = document(host)?;
    let workspace = workspace.map(document).transpose()?;
    PolicySet::new(&host, workspace.as_ref()).map_err(|error| error.to_string())
}

fn document(path: &Path) -> Result<PolicyDocument, String> {
    let shown = path.display().to_string();
    PolicyDocument::parse(&shown, &shown, &document_text(path)?).map_err(|error| error.to_string())
}

/// Returns the text of a document; the error names the file, and the place where it is no text.
fn document_text(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let bytes = std::fs::read(path).map_err(|error| format!("{shown}: {error}"))?;
    utf8_text(bytes).map_err(|(line, column)| {
        format!("{shown}:{line}:{column}: this is no UTF-8; save the file as UTF-8")
    })
}

impl From<OperationArg> for crate::policy::orbit::PolicyOperation {
    fn from(op: OperationArg) -> Self {
        match op {
            OperationArg::Read => Self::Read,
            OperationArg::Modify => Self::Modify,
        }
    }
}
