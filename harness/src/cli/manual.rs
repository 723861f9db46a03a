//! `boxproof completions` and `boxproof man`: the command line, for shells and for man(1).

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::{Command, CommandFactory};
use clap_complete::Shell;

use super::{Cli, CliFailure, print, unusable};
use crate::output::OutputDirectory;

/// Arguments of `completions`.
#[derive(Debug, clap::Args)]
pub(super) struct CompletionsArgs {
    /// The shell that reads them.
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn completions(args: &CompletionsArgs) -> Result<i32, CliFailure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "boxproof", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(0)
}

/// Arguments of `man`.
#[derive(Debug, clap::Args)]
pub(super) struct ManArgs {
    /// The verb whose page is printed; by default that of boxproof itself.
    #[arg(value_name = "VERB")]
    verb: Option<String>,
    /// Write the pages of all verbs to this directory.
    #[arg(long, value_name = "DIR", conflicts_with = "verb")]
    out: Option<PathBuf>,
}

pub(super) fn man(args: &ManArgs) -> Result<i32, CliFailure> {
    let pages = pages()?;
    if let Some(out) = &args.out {
        let directory = OutputDirectory::make(out).map_err(unusable)?;
        for (name, text) in &pages {
            directory.replace(OsStr::new(&format!("{name}.1")), text.as_bytes(), 0o666)?;
        }
        return Ok(0);
    }
    let name = args.verb.as_ref().map_or("boxproof".to_owned(), |verb| format!("boxproof-{verb}"));
    let Some((_, text)) = pages.iter().find(|(page, _)| *page == name) else {
        let verbs = pages.iter().filter_map(|(page, _)| page.strip_prefix("boxproof-"));
        let verb = args.verb.as_deref().unwrap_or_default();
        let near = boxproof_cases::suggestion(verb, verbs);
        return Err(CliFailure::usage(format!("there is no verb `{verb}`{near}")));
    };
    print(text)?;
    Ok(0)
}

/// Returns the name and the text of each page: that of the program, and one a verb.
fn pages() -> Result<Vec<(String, String)>, CliFailure> {
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    let mut pages = vec![page(&program, "boxproof")?];
    for verb in program.get_subcommands() {
        pages.extend(pages_below(verb, "boxproof")?);
    }
    Ok(pages)
}

fn pages_below(verb: &Command, above: &str) -> Result<Vec<(String, String)>, CliFailure> {
    let name = format!("{above}-{}", verb.get_name());
    let mut pages = vec![page(verb, &name)?];
    for part in verb.get_subcommands() {
        pages.extend(pages_below(part, &name)?);
    }
    Ok(pages)
}

fn page(command: &Command, name: &str) -> Result<(String, String), CliFailure> {
    let mut text = Vec::new();
    // The page's own name; what is typed stands in the synopsis.
    clap_mangen::Man::new(command.clone().display_name(name.to_owned())).render(&mut text)?;
    Ok((name.to_owned(), String::from_utf8_lossy(&text).into_owned()))
}
