//! Launch of a request: the process to start ([`LaunchPlan`]).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use boxproof_cases::case::PolicyDocuments;
use boxproof_cases::protocol::{
    Document, Mode, ProfileRequest, RunRequest, SettingsDialect, SettingsRunRequest,
    SourcePrecedence,
};

use super::{
    AGENT_VERB, Backend, BackendKind, BackendNoise, DoubleReply, ExitTable, Manifest, StopMethod,
    context, program, template,
};

/// The harness's part of a launch.
#[derive(Debug, Clone, Copy)]
pub struct LaunchContext<'a> {
    /// A fresh directory for this run's configuration and state; outside workspace and temporary
    /// directory.
    pub state: &'a Path,
    /// The command's home.
    pub home: &'a Path,
    /// The uid the backend runs as.
    pub uid: u32,
    /// The probe program, which every command may have to run.
    pub probe: &'a Path,
    /// True for a twin that is wider by taking back the protection of names.
    pub unprotects: bool,
    /// The launcher's environment.
    pub base_env: &'a BTreeMap<String, String>,
    /// The documents that a native request asks for in place of the policy.
    pub documents: Option<&'a PolicyDocuments>,
    /// Settings that a native request has in place of the policy, and their reading.
    pub settings: Option<(&'a Document, SourcePrecedence)>,
    /// The path to which a native request is written.
    pub request_file: &'a Path,
    /// The path at which a native result is expected.
    pub result_file: &'a Path,
}

/// The start of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaunchPlan {
    /// As this process.
    Spawn(Box<SpawnPlan>),
    /// Not at all: the backend refuses every policy.
    Refuse {
        /// The message of the refusal.
        message: String,
    },
}

/// The process to start, and how to read what it does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SpawnPlan {
    /// Program and arguments.
    pub argv: Vec<OsString>,
    /// The whole environment of the backend's process.
    pub env: BTreeMap<String, String>,
    /// Its working directory.
    pub cwd: PathBuf,
    /// Files to write before the start; directories are made as needed.
    pub files: Vec<(PathBuf, Vec<u8>)>,
    /// The path to which a native backend writes its result.
    pub result: Option<PathBuf>,
    /// Commands to run before, in order; each must exit 0.
    pub set_up: Vec<Vec<OsString>>,
    /// Commands to run after the end, in order, regardless of its outcome.
    pub tear_down: Vec<Vec<OsString>>,
    /// Errnos that are refusals besides, by how the backend closes things under this policy.
    pub besides: Vec<&'static str>,
    /// The endings that are the backend's own, where a manifest says them.
    pub exits: Option<ExitTable>,
    /// The lines that the backend writes of its own.
    pub noise: BackendNoise,
    /// True if stdout has what the command wrote to both streams, so that a reason may stand there.
    pub undivided: bool,
    /// The way in which it is ended when its time is up.
    pub stop: StopMethod,
    /// Globs of paths it may leave behind, below `$WS`, `$HOME` or `$TMPDIR`.
    pub residue: Vec<String>,
}

/// The reason why a run cannot be started as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// The backend has no way to say this policy; the reason. Nothing is learnt about it.
    #[error("this policy cannot be said to the backend: {0}")]
    Inexpressible(String),
    /// The manifest is at fault.
    #[error("the manifest of the backend is at fault: {field}: {message}")]
    Manifest {
        /// The field.
        field: &'static str,
        /// The fault.
        message: String,
    },
}

impl LaunchError {
    /// A fault of a manifest; `field` is told by the place that knows it.
    pub(super) fn fault(message: impl Into<String>) -> Self {
        Self::Manifest { field: "", message: message.into() }
    }

    /// Returns the error as one about `field`.
    fn about(self, field: &'static str) -> Self {
        match self {
            Self::Manifest { message, .. } => Self::Manifest { field, message },
            other => other,
        }
    }
}

impl Backend {
    /// The process that runs `request`.
    ///
    /// # Errors
    /// Returns an error when the backend cannot express the policy, or its manifest is broken.
    pub fn launch(
        &self,
        request: &RunRequest,
        ctx: &LaunchContext<'_>,
    ) -> Result<LaunchPlan, LaunchError> {
        let spawn = match &self.kind {
            BackendKind::Argv(manifest) => {
                if let Some(why) = self.unsaid(request) {
                    return Err(LaunchError::Inexpressible(why));
                }
                let program = self.program.as_deref().unwrap_or(Path::new(&manifest.program));
                spawn_by_manifest(manifest, program, request, ctx)?
            }
            BackendKind::Native { program, prefix, mechanism } => {
                native(program, prefix, mechanism, request, ctx)?
            }
            BackendKind::Receipts(_) => {
                let why = "it is a receipts channel and runs no commands";
                return Err(LaunchError::Inexpressible(why.to_owned()));
            }
            // A double is played where its arm is watched; a double that is not played is run.
            BackendKind::Bare | BackendKind::Double(DoubleReply::KnowsCorpus) => SpawnPlan {
                argv: request.run.command.to_argv().into_iter().map(Into::into).collect(),
                ..plain(request, ctx)
            },
            BackendKind::Refuse | BackendKind::Double(_) => {
                return Ok(LaunchPlan::Refuse {
                    message: format!("{}: refused, as always", self.name),
                });
            }
        };
        Ok(LaunchPlan::Spawn(Box::new(spawn)))
    }

    /// Returns the reason why `request` cannot be asked, where the manifest says nothing about a part
    /// of it.
    pub fn unsaid(&self, request: &RunRequest) -> Option<String> {
        match &self.kind {
            BackendKind::Argv(manifest) => manifest.unsaid.reason(request),
            _ => None,
        }
    }
}

/// The process that runs `request` by the recipe of `manifest`, whose program is `program`.
///
/// # Errors
/// As [`Backend::launch`].
pub(super) fn spawn_by_manifest(
    manifest: &Manifest,
    program: &Path,
    request: &RunRequest,
    ctx: &LaunchContext<'_>,
) -> Result<SpawnPlan, LaunchError> {
    let context = context::template_context(program, request, ctx)?;
    for rule in &manifest.inexpressible {
        let holds = template::holds(&rule.when, &context);
        if holds.map_err(|error| error.about("inexpressible"))? {
            return Err(LaunchError::Inexpressible(rule.reason.clone()));
        }
    }
    let mut spawn = plain(request, ctx);
    if let Some(agent) = &manifest.agent {
        let agent = agent.rendered(&context).map_err(|error| error.about("agent.arguments"))?;
        let job =
            serde_json::to_vec(&agent).map_err(|error| LaunchError::fault(error.to_string()))?;
        let file = ctx.state.join("agent.json");
        spawn.argv = vec![ctx.probe.into(), AGENT_VERB.into(), file.clone().into()];
        spawn.files.push((file, job));
    }
    spawn.argv.push(program.into());
    let argv = template::argv(&manifest.argv, &context);
    spawn.argv.extend(argv.map_err(|error| error.about("argv"))?);
    if manifest.passes_env {
        spawn.env.extend(request.policy.env.set.clone());
    }
    for (name, value) in &manifest.env {
        let value = template::text(value, &context).map_err(|error| error.about("env"))?;
        spawn.env.insert(name.clone(), value);
    }
    for file in &manifest.files {
        let text = |text| template::text(text, &context).map_err(|error| error.about("files"));
        let path = PathBuf::from(text(&file.path)?);
        if !path.is_absolute() {
            return Err(LaunchError::fault(format!("files: {}: not absolute", path.display())));
        }
        spawn.files.push((path, text(&file.content)?.into_bytes()));
    }
    spawn.besides = besides(manifest, &context)?;
    spawn.set_up = steps(&manifest.set_up, &context).map_err(|error| error.about("set_up"))?;
    let tear_down = steps(&manifest.tear_down, &context);
    spawn.tear_down = tear_down.map_err(|error| error.about("tear_down"))?;
    Ok(SpawnPlan {
        exits: Some(manifest.exits.clone()),
        noise: manifest.noise.rendered(&context).map_err(|error| error.about("noise"))?,
        undivided: manifest.agent.is_some(),
        stop: manifest.stop.clone(),
        residue: manifest.residue.clone(),
        ..spawn
    })
}

/// The errnos of calls that meet another object in the place of a name.
const OCCUPIED: [&str; 5] = ["EEXIST", "EISDIR", "ENOTDIR", "ENOTEMPTY", "EBUSY"];

/// Errnos that are refusals besides, as the manifest says of this policy.
fn besides(
    manifest: &Manifest,
    context: &minijinja::Value,
) -> Result<Vec<&'static str>, LaunchError> {
    let mut all = Vec::new();
    let said = [
        ("hides", &manifest.hides, &["ENOENT"][..]),
        ("stands_in", &manifest.stands_in, &OCCUPIED),
    ];
    for (field, when, errnos) in said {
        if when.is_empty() {
            continue;
        }
        if template::holds(when, context).map_err(|error| error.about(field))? {
            all.extend(errnos);
        }
    }
    Ok(all)
}

/// Commands of the recipe's own, found where boxproof finds programs: a case may start the backend
/// with a PATH that leads elsewhere.
fn steps(
    templates: &[String],
    context: &minijinja::Value,
) -> Result<Vec<Vec<OsString>>, LaunchError> {
    let found = |mut argv: Vec<OsString>| {
        let here = argv.first().and_then(|name| program::find(name.to_str()?));
        // A program that is not found keeps its name, so that the error of starting it tells which.
        argv.iter_mut().zip(here).for_each(|(name, path)| *name = path.into());
        argv
    };
    templates.iter().map(|step| template::argv(step, context).map(found)).collect()
}

/// Returns the launch that every backend has: the launcher's environment and the command's working
/// directory.
fn plain(request: &RunRequest, ctx: &LaunchContext<'_>) -> SpawnPlan {
    SpawnPlan { env: ctx.base_env.clone(), cwd: request.run.cwd.0.clone(), ..SpawnPlan::default() }
}

/// Turns the run into one under a profile.
fn profiled(request: &RunRequest, documents: &PolicyDocuments) -> ProfileRequest {
    let PolicyDocuments { dialect, documents, profile, workspace } = documents.clone();
    let root = &request.policy.workspace;
    let named = workspace.map(|name| root.as_path().join(name).into());
    ProfileRequest {
        protocol: request.protocol,
        dialect,
        documents,
        profile,
        workspace: named.unwrap_or_else(|| root.clone()),
        run: request.run.clone(),
    }
}

/// Turns the run into one under settings.
fn set(
    request: &RunRequest,
    (document, reading): (&Document, SourcePrecedence),
) -> SettingsRunRequest {
    SettingsRunRequest {
        protocol: request.protocol,
        dialect: SettingsDialect::Caliban,
        reading,
        documents: vec![document.clone()],
        workspace: request.policy.workspace.clone(),
        session: None,
        run: request.run.clone(),
    }
}

fn native(
    program: &Path,
    prefix: &[String],
    mechanism: &str,
    request: &RunRequest,
    ctx: &LaunchContext<'_>,
) -> Result<SpawnPlan, LaunchError> {
    let mut request = request.clone();
    // Where nothing is to be confined, no mechanism is asked to do it.
    if request.run.mechanism == "auto" && request.policy.mode != Mode::Unconfined {
        mechanism.clone_into(&mut request.run.mechanism);
    }
    let text = match (ctx.documents, ctx.settings) {
        (None, None) => serde_json::to_vec(&request),
        (_, Some(settings)) => serde_json::to_vec(&set(&request, settings)),
        (Some(documents), None) => serde_json::to_vec(&profiled(&request, documents)),
    };
    let text =
        text.map_err(|error| LaunchError::fault(format!("the request is no JSON: {error}")))?;
    let mut argv: Vec<OsString> = vec![program.into()];
    argv.extend(prefix.iter().map(Into::into));
    argv.extend(["run".into(), "--request".into(), ctx.request_file.into()]);
    argv.extend(["--result".into(), ctx.result_file.into()]);
    Ok(SpawnPlan {
        argv,
        files: vec![(ctx.request_file.to_owned(), text)],
        result: Some(ctx.result_file.to_owned()),
        ..plain(&request, ctx)
    })
}
