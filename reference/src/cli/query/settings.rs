//! Questions about settings of the caliban dialect: their effect, and whether commands are asked
//! about. Detection may run the program that they name; no command is run.

use std::path::{Path, PathBuf};

use boxproof_cases::protocol::{
    AskBy, AskDecision, AskQuestion, DecideAskRequest, Document, DocumentAnswer, EffectiveSettings,
    Permission, PolicyFault, Session, SettingsPlatform, SettingsRequest, SourcePrecedence,
};
use clap::{Args, ValueEnum};

use super::{BatchFiles, NO, YES, batch, document_text};
use crate::host::settings_platform;
use crate::policy::caliban::{
    CalibanSettings, PathVariables, SandboxAvailability, SettingsError, ValidSettings, available,
    decide, effective,
};
use crate::request::caliban as caliban_request;
use crate::run::LocalHost;

/// The settings of a question.
#[derive(Debug, Args)]
pub(crate) struct SettingsArgs {
    /// The settings file
    #[arg(long, value_name = "FILE")]
    settings: PathBuf,
    /// The workspace, which `${WORKSPACE}` stands for
    #[arg(long, value_name = "DIR")]
    workspace: PathBuf,
    /// The reading of the settings: as decided, or as the program behaves
    #[arg(long, value_enum, default_value_t = ReadingArg::Adr)]
    reading: ReadingArg,
}

/// [`SourcePrecedence`] as an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ReadingArg {
    /// As decided
    Adr,
    /// As the program behaves
    Head,
}

/// [`Permission`] as an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PermissionArg {
    /// It is not run
    Deny,
    /// A person is asked
    Ask,
    /// It is run
    Allow,
}

/// Commands, and further input of the decision.
#[derive(Debug, Args)]
pub(crate) struct CommandArgs {
    #[command(flatten)]
    asked: SettingsArgs,
    /// The answer of the permission rules for them
    #[arg(long, value_enum, default_value_t = PermissionArg::Ask)]
    rules: PermissionArg,
    /// The session only plans
    #[arg(long)]
    plan: bool,
    /// The commands, each a shell line
    #[arg(required = true, value_name = "COMMAND")]
    commands: Vec<String>,
}

/// Settings as they are found in one session.
struct SessionSettings {
    sound: ValidSettings,
    availability: SandboxAvailability,
    platform: SettingsPlatform,
    variables: PathVariables,
}

fn find(
    prefix: &[&str],
    (documents, reading): (&[Document], SourcePrecedence),
    variables: PathVariables,
    platform: Option<SettingsPlatform>,
) -> Result<SessionSettings, SettingsError> {
    let sound = CalibanSettings::parse(documents)?.check(reading, &variables)?;
    let platform = platform.unwrap_or_else(settings_platform);
    let availability = available(&sound, platform, &LocalHost { prefix: Some(prefix) })?;
    Ok(SessionSettings { sound, availability, platform, variables })
}

impl SessionSettings {
    fn effective(&self, session: Option<&str>) -> EffectiveSettings {
        let Self { sound, availability, platform, variables } = self;
        effective(sound, availability, *platform, variables, session)
    }

    fn decide(&self, asked: &AskQuestion) -> AskDecision {
        decide(&self.sound, &self.availability, asked)
    }
}

/// Returns the session's variables that paths may name.
fn variables(workspace: &Path, session: &Session) -> Result<PathVariables, PolicyFault> {
    if !workspace.is_absolute() {
        let message = format!("workspace: {} is not an absolute path", workspace.display());
        return Err(PolicyFault { message, file: None, line: None, column: None });
    }
    Ok(match &session.variables {
        Some(own) => PathVariables::new(&workspace.to_string_lossy(), own.clone()),
        None => caliban_request::variables(workspace),
    })
}

/// Answers with the effective settings of a request; returns the exit code.
pub(super) fn settings_in_file(prefix: &[&str], batch: &BatchFiles) -> Result<i32, String> {
    let request: SettingsRequest = batch::read(batch)?;
    batch::speaks(request.protocol)?;
    let SettingsRequest { reading, documents, workspace, session, .. } = request;
    let found = variables(workspace.as_path(), &session).and_then(|variables| {
        find(prefix, (&documents, reading), variables, session.platform)
            .map_err(|error| error.to_fault())
    });
    let told = found
        .map(|found| DocumentAnswer::Settings(Box::new(found.effective(session.id.as_deref()))));
    batch::write(batch, told)
}

/// Decides which commands of a request are asked about; returns the exit code.
pub(super) fn decide_in_file(prefix: &[&str], batch: &BatchFiles) -> Result<i32, String> {
    let request: DecideAskRequest = batch::read(batch)?;
    batch::speaks(request.protocol)?;
    let DecideAskRequest { reading, documents, workspace, session, commands, .. } = request;
    let found = variables(workspace.as_path(), &session).and_then(|variables| {
        find(prefix, (&documents, reading), variables, session.platform)
            .map_err(|error| error.to_fault())
    });
    let decided =
        |found: SessionSettings| commands.iter().map(|asked| found.decide(asked)).collect();
    batch::write(batch, found.map(decided).map(DocumentAnswer::Asks))
}

/// Prints the effective settings; returns the exit code.
pub(super) fn settings(prefix: &[&str], asked: &SettingsArgs) -> Result<i32, String> {
    let effective = asked.find(prefix)?.effective(None);
    let text = serde_json::to_string_pretty(&effective).map_err(|error| error.to_string())?;
    crate::stdout::line(format_args!("{text}"));
    Ok(YES)
}

/// Prints for each command whether it is asked about; returns the exit code.
pub(super) fn decide_ask(prefix: &[&str], commands: &CommandArgs) -> Result<i32, String> {
    let found = commands.asked.find(prefix)?;
    for warning in found.effective(None).warnings {
        eprintln!("refbox: {warning}");
    }
    let rules = match commands.rules {
        PermissionArg::Deny => Permission::Deny,
        PermissionArg::Ask => Permission::Ask,
        PermissionArg::Allow => Permission::Allow,
    };
    let mut code = YES;
    for command in &commands.commands {
        let asked = AskQuestion { command: command.clone(), rules, plan: commands.plan };
        let decided = found.decide(&asked);
        crate::stdout::line(format_args!("{}", said(command, &decided)));
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
    format!("{}: {command:?}: by {by}; it runs {place}", decided.decision.keyword())
}

impl SettingsArgs {
    fn find(&self, prefix: &[&str]) -> Result<SessionSettings, String> {
        let name = self.settings.display().to_string();
        let text = document_text(&self.settings)?;
        let workspace = std::path::absolute(&self.workspace)
            .map_err(|error| format!("{}: {error}", self.workspace.display()))?;
        let reading = match self.reading {
            ReadingArg::Adr => SourcePrecedence::Adr,
            ReadingArg::Head => SourcePrecedence::Head,
        };
        let documents = [Document { name, text }];
        let variables = caliban_request::variables(&workspace);
        find(prefix, (&documents, reading), variables, None).map_err(|error| error.to_string())
    }
}
