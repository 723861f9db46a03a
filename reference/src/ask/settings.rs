//! Questions about settings of the caliban dialect: their effect, and whether commands are asked
//! about. Detection may run the program that they name; no command is run.

use std::path::{Path, PathBuf};

use boxproof_cases::protocol::{
    AskBy, AskDecision, AskQuestion, DecideAskRequest, Document, EffectiveSettings, Permission,
    Platform, PolicyFault, Reading, Session, SettingsRequest, Told,
};
use clap::{Args, ValueEnum};

use super::{Batch, NO, YES, wire};
use crate::dialect::caliban::{
    Availability, Host, Settings, SettingsError, Sound, Variables, available, decide, effective,
    here,
};
use crate::settings;

/// The settings of a question.
#[derive(Debug, Args)]
pub(crate) struct Asked {
    /// The settings file
    #[arg(long, value_name = "FILE")]
    settings: PathBuf,
    /// The workspace, which `${WORKSPACE}` stands for
    #[arg(long, value_name = "DIR")]
    workspace: PathBuf,
    /// The reading of the settings: as decided, or as the program behaves
    #[arg(long, value_enum, default_value_t = Sort::Adr)]
    reading: Sort,
}

/// [`Reading`] as an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// As decided
    Adr,
    /// As the program behaves
    Head,
}

/// [`Permission`] as an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Rules {
    /// It is not run
    Deny,
    /// A person is asked
    Ask,
    /// It is run
    Allow,
}

/// Commands, and further input of the decision.
#[derive(Debug, Args)]
pub(crate) struct Commands {
    #[command(flatten)]
    asked: Asked,
    /// The answer of the permission rules for them
    #[arg(long, value_enum, default_value_t = Rules::Ask)]
    rules: Rules,
    /// The session only plans
    #[arg(long)]
    plan: bool,
    /// The commands, each a shell line
    #[arg(required = true, value_name = "COMMAND")]
    commands: Vec<String>,
}

/// Settings as they are found in one session.
struct Found {
    sound: Sound,
    availability: Availability,
    platform: Platform,
    variables: Variables,
}

fn find(
    prefix: &[&str],
    (documents, reading): (&[Document], Reading),
    variables: Variables,
    platform: Option<Platform>,
) -> Result<Found, SettingsError> {
    let sound = Settings::parse(documents)?.check(reading, &variables)?;
    let platform = platform.unwrap_or_else(here);
    let availability = available(&sound, platform, &Host { prefix: Some(prefix) })?;
    Ok(Found { sound, availability, platform, variables })
}

impl Found {
    fn effective(&self, session: Option<&str>) -> EffectiveSettings {
        let Self { sound, availability, platform, variables } = self;
        effective(sound, availability, *platform, variables, session)
    }

    fn decide(&self, asked: &AskQuestion) -> AskDecision {
        decide(&self.sound, &self.availability, asked)
    }
}

/// Returns the session's variables that paths may name.
fn variables(workspace: &Path, session: &Session) -> Result<Variables, PolicyFault> {
    if !workspace.is_absolute() {
        let message = format!("workspace: {} is not an absolute path", workspace.display());
        return Err(PolicyFault { message, file: None, line: None, column: None });
    }
    Ok(match &session.variables {
        Some(own) => Variables::new(&workspace.to_string_lossy(), own.clone()),
        None => settings::variables(workspace),
    })
}

/// Answers with the effective settings of a request; returns the exit code.
pub(super) fn settings_in_file(prefix: &[&str], batch: &Batch) -> Result<i32, String> {
    let request: SettingsRequest = wire::read(batch)?;
    wire::speaks(request.protocol)?;
    let SettingsRequest { reading, documents, workspace, session, .. } = request;
    let found = variables(workspace.as_path(), &session).and_then(|variables| {
        find(prefix, (&documents, reading), variables, session.platform)
            .map_err(|error| error.to_fault())
    });
    let told = found.map(|found| Told::Settings(Box::new(found.effective(session.id.as_deref()))));
    wire::write(batch, told)
}

/// Decides which commands of a request are asked about; returns the exit code.
pub(super) fn decide_in_file(prefix: &[&str], batch: &Batch) -> Result<i32, String> {
    let request: DecideAskRequest = wire::read(batch)?;
    wire::speaks(request.protocol)?;
    let DecideAskRequest { reading, documents, workspace, session, commands, .. } = request;
    let found = variables(workspace.as_path(), &session).and_then(|variables| {
        find(prefix, (&documents, reading), variables, session.platform)
            .map_err(|error| error.to_fault())
    });
    let decided = |found: Found| commands.iter().map(|asked| found.decide(asked)).collect();
    wire::write(batch, found.map(decided).map(Told::Asks))
}

/// Prints the effective settings; returns the exit code.
pub(super) fn settings(prefix: &[&str], asked: &Asked) -> Result<i32, String> {
    let effective = asked.find(prefix)?.effective(None);
    let text = serde_json::to_string_pretty(&effective).map_err(|error| error.to_string())?;
    crate::say::line(format_args!("{text}"));
    Ok(YES)
}

/// Prints for each command whether it is asked about; returns the exit code.
pub(super) fn decide_ask(prefix: &[&str], commands: &Commands) -> Result<i32, String> {
    let found = commands.asked.find(prefix)?;
    for warning in found.effective(None).warnings {
        eprintln!("refbox: {warning}");
    }
    let rules = match commands.rules {
        Rules::Deny => Permission::Deny,
        Rules::Ask => Permission::Ask,
        Rules::Allow => Permission::Allow,
    };
    let mut code = YES;
    for command in &commands.commands {
        let asked = AskQuestion { command: command.clone(), rules, plan: commands.plan };
        let decided = found.decide(&asked);
        crate::say::line(format_args!("{}", said(command, &decided)));
        if decided.decision != Permission::Allow {
            code = NO;
        }
    }
    Ok(code)
}

fn said(command: &str, decided: &AskDecision) -> String {
    let by = match decided.by {
        AskBy::Rules => "the permission rules",
        AskBy::AutoAllow => "the sandbox, auto_allow_bash_if_sandboxed",
        AskBy::Plan => "plan mode",
    };
    let place = match (&decided.bypassed_by, decided.sandboxed) {
        (_, true) => "in the sandbox".to_owned(),
        (Some(pattern), false) => format!("outside the sandbox, by {pattern:?}"),
        (None, false) => "without a sandbox".to_owned(),
    };
    format!("{}: {command:?}: by {by}; it runs {place}", decided.decision.word())
}

impl Asked {
    fn find(&self, prefix: &[&str]) -> Result<Found, String> {
        let name = self.settings.display().to_string();
        let text =
            std::fs::read_to_string(&self.settings).map_err(|error| format!("{name}: {error}"))?;
        let workspace = std::path::absolute(&self.workspace)
            .map_err(|error| format!("{}: {error}", self.workspace.display()))?;
        let reading = match self.reading {
            Sort::Adr => Reading::Adr,
            Sort::Head => Reading::Head,
        };
        let documents = [Document { name, text }];
        let variables = settings::variables(&workspace);
        find(prefix, (&documents, reading), variables, None).map_err(|error| error.to_string())
    }
}
