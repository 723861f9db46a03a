//! An order from settings of the caliban dialect. Detection may run the program they name.

use std::collections::BTreeMap;
use std::path::Path;

use boxproof_cases::protocol::{
    CompileSettings, PROTOCOL, Run, SettingsPlatform, SettingsRunRequest, SourcePrecedence,
};

use crate::error::Refusal;
use crate::host::settings_platform;
use crate::policy::caliban::{
    self, CalibanSettings, CommandContext, CompiledSettings, ExtraOpenings, HostInspector,
    PathVariables, SandboxAvailability, SessionProfilePath, SettingsError,
};
use crate::request::{ProfileLocation, RunJob};

/// Returns the run that `request` asks for; the program that its settings name is inspected on
/// `host`.
pub(crate) fn job(
    request: &SettingsRunRequest,
    host: &dyn HostInspector,
) -> Result<RunJob, Refusal> {
    if let Some(why) = request.session.as_deref().and_then(caliban::no_name) {
        return Err(Refusal::invalid(why));
    }
    if !request.workspace.as_path().is_absolute() {
        return Err(Refusal::invalid("workspace: not an absolute path"));
    }
    let protocol = request.protocol;
    let profile_file = profile_file(request);
    let compiled = compiled(request, host).map_err(|error| refused(&error))?;
    Ok(ordered(protocol, compiled, profile_file))
}

/// The session's own place for a profile; a program has none under [`SourcePrecedence::Head`].
fn profile_file(request: &SettingsRunRequest) -> Option<ProfileLocation> {
    let session =
        request.session.as_deref().filter(|_| request.reading == SourcePrecedence::Adr)?;
    let variables = variables(request.workspace.as_path());
    let SessionProfilePath { base, directories, name } =
        SessionProfilePath::for_session(request.reading, &variables, session);
    Some(ProfileLocation { base: base.into(), directories, name })
}

/// Builds the run under settings as it would be on `platform`, with their further permissions.
/// `env` is the command's environment, and the variables that paths may name.
pub(crate) fn order_on(
    platform: SettingsPlatform,
    env: &BTreeMap<String, String>,
    asked: &CompileSettings,
    run: &Run,
) -> Result<(RunJob, ExtraOpenings), Refusal> {
    let workspace = asked.workspace.as_path();
    if !workspace.is_absolute() {
        return Err(Refusal::invalid("workspace: not an absolute path"));
    }
    let set = env.iter().map(|(name, value)| (name.clone(), value.clone()));
    let variables = PathVariables::new(&workspace.to_string_lossy(), set);
    let wrong = |error: SettingsError| refused(&error);
    let settings = CalibanSettings::parse(&asked.documents).map_err(wrong)?;
    let sound = settings.check(asked.reading, &variables).map_err(wrong)?;
    if !sound.is_enabled() {
        return Err(Refusal::unsupported(
            "enabled: false leaves nothing to compile; set it to true",
        ));
    }
    let names: Vec<String> = env.keys().cloned().collect();
    let commanded = CommandContext { run, names: &names, stands: &stands };
    let compiled =
        caliban::order(&sound, &SandboxAvailability::Active, commanded).map_err(wrong)?;
    let notes = sound.warnings(&SandboxAvailability::Active, platform);
    let order = RunJob { notes, ..ordered(PROTOCOL, compiled, None) };
    Ok((order, sound.opens(platform)))
}

fn ordered(
    protocol: u32,
    compiled: CompiledSettings,
    profile_file: Option<ProfileLocation>,
) -> RunJob {
    let CompiledSettings { policy, run, notes, lenient, on_failure } = compiled;
    RunJob {
        protocol,
        policy,
        law: None,
        profile: None,
        unavailable: None,
        run,
        notes,
        lenient,
        profile_file,
        caller: None,
        inferred: None,
        dialect: crate::explain::advice::RuleDialect::Caliban,
        on_failure,
    }
}

/// Returns whether a path exists, and if so whether it is a directory.
fn stands(path: &str) -> Option<bool> {
    std::fs::metadata(path).ok().map(|found| found.is_dir())
}

fn refused(error: &SettingsError) -> Refusal {
    match error.is_of_the_host() {
        true => Refusal::new(boxproof_cases::protocol::ErrorKind::Unavailable, error.to_string()),
        false => Refusal::invalid(error.to_string()),
    }
}

fn compiled(
    request: &SettingsRunRequest,
    host: &dyn HostInspector,
) -> Result<CompiledSettings, SettingsError> {
    let variables = variables(request.workspace.as_path());
    let sound = CalibanSettings::parse(&request.documents)?.check(request.reading, &variables)?;
    let availability = caliban::available(&sound, settings_platform(), host)?;
    let names: Vec<String> = text_variables().map(|(name, _)| name).collect();
    let commanded = CommandContext { run: &request.run, names: &names, stands: &stands };
    caliban::order(&sound, &availability, commanded)
}

/// Returns the variables that paths may name, from this process's own environment.
pub(crate) fn variables(workspace: &Path) -> PathVariables {
    PathVariables::new(&workspace.to_string_lossy(), text_variables())
}

fn text_variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}
