//! The command line: verbs and their help.

mod compile;
mod query;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;

use boxproof_cases::protocol::{CompileTarget, exit};
use clap::{Parser, Subcommand};

use crate::policy::MechanismName;
use crate::{run, stdout};
use query::{FileQueryVerb, QueryVerb};

const EXAMPLES: &str = "\
Examples:
  refbox capabilities
  refbox run --request request.json --result result.json
  refbox check --policy host.yaml --profile dev --workspace . read src/a.rs

A request: {\"protocol\": 1, \"policy\": {\"workspace\": \"/w\"},
            \"run\": {\"command\": {\"argv\": [\"id\"]}, \"cwd\": \"/w\"}}";

const RUN_EXIT: &str = "\
Exit codes: the command's own; 128+n if it died of signal n; 124 after a timeout; 126 if nothing
was started; 127 if the program was not found. The result file tells these apart.

Example:
  refbox run --request request.json --result result.json";

const COMPILE_EXIT: &str = "\
Exit codes: 0 if there is a text, 2 if there is none.

Examples:
  refbox compile --target seatbelt --request request.json
  refbox compile --target bubblewrap --request request.json --result answer.json";

/// A sandbox that answers the boxproof backend protocol.
#[derive(Debug, Parser)]
#[command(name = "refbox", version, after_help = EXAMPLES)]
struct RefboxCli {
    #[command(subcommand)]
    verb: RefboxVerb,
}

#[derive(Debug, Subcommand)]
enum RefboxVerb {
    /// Print what can be enforced on this host, as JSON, found by trial runs
    #[command(after_help = "Example:\n  refbox capabilities --mechanism bubblewrap")]
    Capabilities {
        /// Answer for this mechanism instead of the one that `auto` takes
        #[arg(long, value_name = "NAME", value_parser = mechanism)]
        mechanism: Option<MechanismName>,
    },
    #[command(flatten)]
    Run(RunVerb),
    /// Print a policy as the text that another program enforces
    #[command(after_help = COMPILE_EXIT)]
    Compile {
        /// bubblewrap (the words of a command line, one a line) or seatbelt (a profile)
        #[arg(long, value_name = "TARGET", value_parser = target)]
        target: CompileTarget,
        /// The request: JSON with protocol, rules, cwd and env
        #[arg(long, value_name = "FILE")]
        request: PathBuf,
        /// The file for the answer as JSON, instead of the text to stdout
        #[arg(long, value_name = "FILE")]
        result: Option<PathBuf>,
    },
    /// Sign the actions in sandboxes, and verify receipts
    #[cfg(all(target_os = "linux", feature = "receipts"))]
    Receipts {
        /// The part of the channel
        #[command(subcommand)]
        verb: boxproof_receipts::ReceiptsVerb,
    },
    #[command(flatten)]
    Ask(QueryVerb),
}

/// The verb that is started most often.
#[derive(Debug, Subcommand)]
enum RunVerb {
    /// Run a command under a policy
    #[command(after_help = RUN_EXIT)]
    Run {
        /// The request: JSON with protocol, policy and run
        #[arg(long, value_name = "FILE")]
        request: PathBuf,
        /// The file for the result, also when nothing was started
        #[arg(long, value_name = "FILE")]
        result: PathBuf,
        /// The file for events, a JSON object a line: under a profile of documents that the command
        /// was handed to it (`harness_delegated`)
        #[arg(long, value_name = "FILE")]
        events: Option<PathBuf>,
    },
}

/// The verb `run` alone: the tree of all verbs costs a start more than the arguments of one do.
#[derive(Debug, Parser)]
#[command(name = "refbox", version)]
struct RunCli {
    #[command(subcommand)]
    verb: RunVerb,
}

/// The verbs whose question is in a file.
#[derive(Debug, Parser)]
#[command(name = "refbox", version)]
struct FileQueryCli {
    #[command(subcommand)]
    ask: FileQueryVerb,
}

/// Runs one verb; returns the exit code.
pub(crate) fn main(prefix: &[&str], args: Vec<OsString>) -> i32 {
    if args.first().is_some_and(|verb| verb == "run") {
        let code = RunCli::try_parse_from(with_program_name(args))
            .map_or_else(|error| misused(&error), |cli| run_command(prefix, &cli.verb));
        return stdout::checked(code);
    }
    if query::is_in_files(&args) {
        let code = FileQueryCli::try_parse_from(with_program_name(args))
            .map_or_else(|error| misused(&error), |cli| query::answer_in_file(prefix, &cli.ask));
        return stdout::checked(code);
    }
    stdout::checked(match RefboxCli::try_parse_from(with_program_name(args)) {
        Err(error) => misused(&error),
        Ok(RefboxCli { verb: RefboxVerb::Run(verb) }) => run_command(prefix, &verb),
        Ok(RefboxCli { verb: RefboxVerb::Compile { target, request, result } }) => {
            compile::compile(target, &request, result.as_deref())
        }
        #[cfg(all(target_os = "linux", feature = "receipts"))]
        Ok(RefboxCli { verb: RefboxVerb::Receipts { verb } }) => boxproof_receipts::main(&verb),
        Ok(RefboxCli { verb: RefboxVerb::Ask(ask) }) => query::answer(prefix, &ask),
        Ok(RefboxCli { verb: RefboxVerb::Capabilities { mechanism } }) => {
            capabilities(prefix, mechanism)
        }
    })
}

fn run_command(prefix: &[&str], verb: &RunVerb) -> i32 {
    let RunVerb::Run { request, result, events } = verb;
    run::run(prefix, request, result, events.as_deref())
}

fn with_program_name(args: Vec<OsString>) -> impl Iterator<Item = OsString> {
    std::iter::once(OsString::from("refbox")).chain(args)
}

fn misused(error: &clap::Error) -> i32 {
    let printed = error.print();
    // Help and version are such errors, too. Where a complaint cannot be printed, the exit code
    // still tells.
    if !error.use_stderr() {
        stdout::remember(printed.and_then(|()| io::stdout().flush()));
    }
    error.exit_code()
}

fn mechanism(name: &str) -> Result<MechanismName, String> {
    let known = || MechanismName::ALL.map(MechanismName::name).join(", ");
    MechanismName::named(name).ok_or_else(|| format!("unknown mechanism; known: {}", known()))
}

fn target(name: &str) -> Result<CompileTarget, String> {
    let known = || CompileTarget::ALL.map(CompileTarget::keyword).join(", ");
    let found = CompileTarget::ALL.into_iter().find(|target| target.keyword() == name);
    found.ok_or_else(|| format!("unknown target; known: {}", known()))
}

fn capabilities(prefix: &[&str], asked: Option<MechanismName>) -> i32 {
    let found = run::found(prefix, asked);
    let text = found
        .and_then(|found| serde_json::to_string_pretty(&found).map_err(|error| error.to_string()));
    match text {
        Ok(text) => {
            stdout::line(format_args!("{text}"));
            0
        }
        Err(error) => {
            eprintln!("refbox: {error}");
            exit::REFUSED
        }
    }
}
