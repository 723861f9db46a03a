//! From settings of the caliban dialect to an order. Detection may ask the program they name.

use std::path::Path;

use boxproof_cases::protocol::{Reading, SettingsRunRequest};

use crate::dialect::caliban::{
    self, Commanded, Compiled, Host, Place, Settings, SettingsError, Variables,
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
        let Compiled { policy, run, notes, lenient } =
            compiled(&request).map_err(|error| refused(&error))?;
        Ok(Self {
            protocol,
            policy,
            law: None,
            unavailable: None,
            run,
            notes,
            lenient,
            profile_file,
            inferred: None,
        })
    }
}

/// The session's own place for a profile; a program has none under [`Reading::Head`].
fn profile_file(request: &SettingsRunRequest) -> Option<ProfilePlace> {
    let session = request.session.as_deref().filter(|_| request.reading == Reading::Adr)?;
    let variables = variables(request.workspace.as_path());
    let Place { base, folders, name } = Place::of(request.reading, &variables, session);
    Some(ProfilePlace { base: base.into(), folders, name })
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
    let stands = |path: &str| std::fs::metadata(path).ok().map(|found| found.is_dir());
    let commanded = Commanded { run: &request.run, names: &names, stands: &stands };
    caliban::order(&sound, &availability, commanded)
}

/// What paths may name, from this process's own environment.
pub(crate) fn variables(workspace: &Path) -> Variables {
    Variables::new(&workspace.to_string_lossy(), text_variables())
}

fn text_variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}
