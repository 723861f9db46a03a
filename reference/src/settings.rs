//! An order from settings of the caliban dialect. Detection may run the program they name.

use std::collections::BTreeMap;
use std::path::Path;

use boxproof_cases::protocol::{
    CompileSettings, PROTOCOL, Platform, Reading, Run, SettingsRunRequest,
};

use crate::dialect::caliban::{
    self, Availability, Commanded, Compiled, Host, Opens, Place, Settings, SettingsError, Variables,
};
use crate::error::Refusal;
use crate::request::{Order, ProfilePlace};

impl TryFrom<SettingsRunRequest> for Order {
    type Error = Refusal;

    fn try_from(request: SettingsRunRequest) -> Result<Self, Refusal> {
        if let Some(why) = request.session.as_deref().and_then(caliban::no_name) {
            return Err(Refusal::invalid(why));
        }
        if !request.workspace.as_path().is_absolute() {
            return Err(Refusal::invalid("workspace: not an absolute path"));
        }
        let protocol = request.protocol;
        let profile_file = profile_file(&request);
        let compiled = compiled(&request).map_err(|error| refused(&error))?;
        Ok(ordered(protocol, compiled, profile_file))
    }
}

/// The session's own place for a profile; a program has none under [`Reading::Head`].
fn profile_file(request: &SettingsRunRequest) -> Option<ProfilePlace> {
    let session = request.session.as_deref().filter(|_| request.reading == Reading::Adr)?;
    let variables = variables(request.workspace.as_path());
    let Place { base, folders, name } = Place::of(request.reading, &variables, session);
    Some(ProfilePlace { base: base.into(), folders, name })
}

/// Builds the run under settings as it would be on `platform`, with their further permissions.
/// `env` is the command's environment, and the variables that paths may name.
pub(crate) fn order_on(
    platform: Platform,
    env: &BTreeMap<String, String>,
    asked: &CompileSettings,
    run: &Run,
) -> Result<(Order, Opens), Refusal> {
    let workspace = asked.workspace.as_path();
    if !workspace.is_absolute() {
        return Err(Refusal::invalid("workspace: not an absolute path"));
    }
    let set = env.iter().map(|(name, value)| (name.clone(), value.clone()));
    let variables = Variables::new(&workspace.to_string_lossy(), set);
    let wrong = |error: SettingsError| refused(&error);
    let settings = Settings::parse(&asked.documents).map_err(wrong)?;
    let sound = settings.check(asked.reading, &variables).map_err(wrong)?;
    if !sound.is_enabled() {
        return Err(Refusal::unsupported(
            "enabled: false leaves nothing to compile; set it to true",
        ));
    }
    let names: Vec<String> = env.keys().cloned().collect();
    let commanded = Commanded { run, names: &names, stands: &stands };
    let compiled = caliban::order(&sound, &Availability::Active, commanded).map_err(wrong)?;
    let notes = sound.warnings(&Availability::Active, platform);
    let order = Order { notes, ..ordered(PROTOCOL, compiled, None) };
    Ok((order, sound.opens(platform)))
}

fn ordered(protocol: u32, compiled: Compiled, profile_file: Option<ProfilePlace>) -> Order {
    let Compiled { policy, run, notes, lenient, on_failure } = compiled;
    Order {
        protocol,
        policy,
        law: None,
        profile: None,
        unavailable: None,
        run,
        notes,
        lenient,
        profile_file,
        inferred: None,
        dialect: crate::explain::action::Dialect::Caliban,
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

fn compiled(request: &SettingsRunRequest) -> Result<Compiled, SettingsError> {
    let variables = variables(request.workspace.as_path());
    let sound = Settings::parse(&request.documents)?.check(request.reading, &variables)?;
    // Our own mechanisms are tried by the run itself.
    let availability = caliban::available(&sound, caliban::here(), &Host { prefix: None })?;
    let names: Vec<String> = text_variables().map(|(name, _)| name).collect();
    let commanded = Commanded { run: &request.run, names: &names, stands: &stands };
    caliban::order(&sound, &availability, commanded)
}

/// Returns the variables that paths may name, from this process's own environment.
pub(crate) fn variables(workspace: &Path) -> Variables {
    Variables::new(&workspace.to_string_lossy(), text_variables())
}

fn text_variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}
