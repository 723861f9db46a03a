//! Resolution of the argument of `--backend` to a [`Backend`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use boxproof_cases::case::HostPlatform;
use boxproof_cases::load::{FILE_LIMIT, LoadError};
use boxproof_reports::excerpt;

use super::{
    Backend, BackendKind, Manifest, ManifestKind, MissingBackend, RunAs, SettledUser, native,
    program, shipped,
};
use crate::host::program_answer::AskedAs;
use crate::known::{KnownFailures, is_exempt};
use crate::plain_file;

/// The most characters of a version or mechanism that a backend tells.
const WORD: usize = 100;
/// The most characters of a limit that a backend tells.
const SENTENCE: usize = 1000;

/// The name of the sandbox built into this very program.
pub(crate) const REFERENCE: &str = "reference";

/// The reason why a backend cannot be resolved.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// Neither a shipped manifest nor a program.
    #[error(
        "no backend `{spec}`: name one of {shipped}, a program that answers `capabilities`, or a \
         manifest (FILE.yaml)"
    )]
    Unknown {
        /// The specification that was asked for.
        spec: String,
        /// The names of the shipped backends.
        shipped: String,
    },
    /// A manifest or a list of known failures that cannot be used.
    #[error("{0}")]
    Load(#[from] LoadError),
    /// A program that does not answer `capabilities` as it should.
    #[error("backend `{name}`: `{program} capabilities` failed: {message}; see cases/PROTOCOL.md")]
    Native {
        /// The backend's name.
        name: String,
        /// The program that was asked.
        program: String,
        /// The fault.
        message: String,
    },
    /// A program that is there and cannot be started.
    #[error("{what}: {hint}")]
    Obstacle {
        /// The thing that stands in the way.
        what: String,
        /// The remedy.
        hint: String,
    },
    /// A program that is not started by the user who asks.
    #[error("backend `{name}`: {message}")]
    User {
        /// The backend's name.
        name: String,
        /// The fault.
        message: String,
    },
}

/// Resolves `spec` to a backend; `me` is the running program, which is the reference, too. Its
/// program is started as `settled` has it. A known backend that is not installed is
/// [`Backend::missing`].
///
/// # Errors
/// An unknown backend, or one that cannot be queried.
pub fn resolve(spec: &str, me: &Path, settled: &SettledUser) -> Result<Backend, BackendError> {
    Ok(Backend { spec: spec.to_owned(), ..look_up(spec, me, settled)? })
}

fn look_up(spec: &str, me: &Path, settled: &SettledUser) -> Result<Backend, BackendError> {
    let (name, mechanism) = spec.split_once(':').unwrap_or((spec, native::AUTO));
    if name == REFERENCE {
        let prefix = vec![REFERENCE.to_owned()];
        let start = NativeStart { program: me.to_owned(), prefix, mechanism, user: None };
        return by_verbs(spec, start, KnownFailures::default());
    }
    if let Some((manifest, known)) = manifest(spec)? {
        return from_manifest(manifest, known, settled);
    }
    match program::find(spec) {
        Some(program) => {
            let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let start =
                NativeStart { program, prefix: Vec::new(), mechanism: native::AUTO, user: None };
            by_verbs(&name, start, KnownFailures::default())
        }
        None => Err(match program::obstacle(spec) {
            Some((what, hint)) => BackendError::Obstacle { what, hint },
            None => BackendError::Unknown { spec: spec.to_owned(), shipped: all_names() },
        }),
    }
}

/// Returns the user that the runs of the backend `spec` are meant for; a program without a manifest
/// is for any. Starts nothing.
///
/// # Errors
/// A manifest that cannot be used.
pub fn run_as(spec: &str) -> Result<RunAs, BackendError> {
    Ok(manifest(spec)?.map_or(RunAs::Any, |(manifest, _)| manifest.run_as()))
}

/// The manifest that `spec` means, with its known failures, if it means one.
pub(super) fn manifest(spec: &str) -> Result<Option<(Manifest, KnownFailures)>, BackendError> {
    if spec.ends_with(".yaml") || spec.ends_with(".yml") {
        return from_file(Path::new(spec)).map(Some);
    }
    let Some(shipped) = shipped::find(spec) else { return Ok(None) };
    let manifest = Manifest::parse(&shipped.file, shipped.text)?;
    let known = shipped.known.map(|(file, text)| KnownFailures::parse(&file, text, &manifest.name));
    let known = known.transpose()?.unwrap_or_default().shipped();
    Ok(Some((manifest, known)))
}

fn all_names() -> String {
    let shipped = shipped::names();
    let names: BTreeSet<&str> = shipped.into_iter().chain([REFERENCE]).collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

fn from_file(file: &Path) -> Result<(Manifest, KnownFailures), BackendError> {
    let mut manifest = Manifest::parse(file, &read(file)?)?;
    // A path is the manifest's neighbour, wherever the caller stands.
    if manifest.program.contains('/') && Path::new(&manifest.program).is_relative() {
        let beside = file.parent().unwrap_or(Path::new("")).join(&manifest.program);
        manifest.program = std::path::absolute(&beside).unwrap_or(beside).display().to_string();
    }
    if is_exempt(&manifest.name) {
        let message = format!(
            "`{}` is a backend that comes with boxproof: choose another name",
            manifest.name
        );
        return Err(LoadError::at(file, &read(file)?, "name", message).into());
    }
    let beside: PathBuf = file.with_extension("known.yaml");
    let known = if beside.symlink_metadata().is_ok() {
        KnownFailures::parse(&beside, &read(&beside)?, &manifest.name)?
    } else {
        KnownFailures::default()
    };
    Ok((manifest, known))
}

/// The text of a manifest or list, which a link may lead to.
fn read(file: &Path) -> Result<String, LoadError> {
    plain_file::read_text(file, FILE_LIMIT).map_err(|error| {
        let closed = program::closed_directory(file);
        let why = closed.map(|why| format!("; {why}: {}", program::ENTER)).unwrap_or_default();
        LoadError::whole(file, format!("cannot be read: {error}{why}"))
    })
}

pub(super) fn from_manifest(
    manifest: Manifest,
    known: KnownFailures,
    settled: &SettledUser,
) -> Result<Backend, BackendError> {
    if !manifest.platforms.contains(&HostPlatform::HERE) {
        let missing = MissingBackend {
            what: format!("{} does not run on this platform", manifest.name),
            hint: "leave it out here".to_owned(),
        };
        return Ok(found(manifest, known, None, Some(missing)));
    }
    if manifest.program.is_empty() {
        return Ok(found(manifest, known, None, None));
    }
    if let Some(missing) = lacking(&manifest) {
        return Ok(found(manifest, known, None, Some(missing)));
    }
    let user = settled.start_as(manifest.run_as());
    let user =
        user.map_err(|message| BackendError::User { name: manifest.name.clone(), message })?;
    let program = program::find(&manifest.program);
    match (manifest.kind, program) {
        (ManifestKind::Native, Some(program)) => {
            let (prefix, mechanism) = (manifest.prefix, native::AUTO);
            by_verbs(&manifest.name, NativeStart { program, prefix, mechanism, user }, known)
        }
        (_, program) => {
            let version = program
                .as_deref()
                .and_then(|program| program::version(program, &manifest.version, user));
            let backend = found(manifest, known, program, None);
            Ok(in_range(Backend { version, ..backend }))
        }
    }
}

/// The first thing that `manifest` needs and that is not here.
fn lacking(manifest: &Manifest) -> Option<MissingBackend> {
    let itself = std::iter::once((&manifest.program, &manifest.install, &manifest.homepage));
    let others = manifest.requires.iter().map(|(program, install)| (program, install, &None));
    let mut programs = itself.chain(others);
    let absent = programs.find(|(program, ..)| program::find(program).is_none());
    if let Some((program, install, homepage)) = absent {
        let (what, hint) = program::obstacle(program).unwrap_or_else(|| {
            let hint = install_hint(program, install, homepage.as_deref());
            (format!("{program} is not installed"), hint)
        });
        return Some(MissingBackend { what, hint });
    }
    let ordinary = !nix::unistd::geteuid().is_root();
    (manifest.run_as() == RunAs::Root && ordinary).then(|| MissingBackend {
        what: format!("{} needs root", manifest.name),
        hint: "run boxproof as root".to_owned(),
    })
}

/// Returns `backend`, marked as missing if its version is not one that its manifest is about.
fn in_range(backend: Backend) -> Backend {
    let (BackendKind::Argv(manifest) | BackendKind::Receipts(manifest)) = &backend.kind else {
        return backend;
    };
    let Some(range) = &manifest.version_range else { return backend };
    let version = backend.version.clone().unwrap_or_default();
    if range.holds(&version) {
        return backend;
    }
    let what = match version.as_str() {
        "" => format!("{} does not say its version", backend.name),
        version => format!("{} {version} is not {range}", backend.name),
    };
    let hint = install_hint(&manifest.program, &manifest.install, manifest.homepage.as_deref());
    Backend { missing: Some(MissingBackend { what, hint }), ..backend }
}

fn install_hint(
    program: &str,
    install: &BTreeMap<String, String>,
    homepage: Option<&str>,
) -> String {
    let ways = install.iter().map(|(manager, what)| format!("{manager}: {what}"));
    let ways: Vec<_> = ways.chain(homepage.map(str::to_owned)).collect();
    match ways.is_empty() {
        true if program.contains('/') => "there is no such file: correct `program`".to_owned(),
        true => format!("put {program} into PATH"),
        false => format!("install it ({})", ways.join(", ")),
    }
}

fn found(
    manifest: Manifest,
    known: KnownFailures,
    program: Option<PathBuf>,
    missing: Option<MissingBackend>,
) -> Backend {
    Backend {
        name: manifest.name.clone(),
        spec: manifest.name.clone(),
        version: None,
        sha256: program.as_deref().and_then(program::sha256),
        program,
        mechanism: None,
        claims: manifest.claims.levels(),
        evidence: manifest.claims.evidence(),
        asked: manifest.asked.clone(),
        limits: manifest.limits.clone(),
        kind: match manifest.kind {
            ManifestKind::Argv | ManifestKind::Agent => BackendKind::Argv(Box::new(manifest)),
            ManifestKind::Receipts => BackendKind::Receipts(Box::new(manifest)),
            ManifestKind::Bare => BackendKind::Bare,
            ManifestKind::Refuse => BackendKind::Refuse,
            ManifestKind::Double => {
                manifest.double.map_or(BackendKind::Refuse, BackendKind::Double)
            }
            // Reached only where the program is missing, so that nothing is started by it.
            ManifestKind::Native => BackendKind::Native {
                program: PathBuf::from(&manifest.program),
                prefix: manifest.prefix.clone(),
                mechanism: native::AUTO.to_owned(),
            },
        },
        known,
        missing,
    }
}

/// The way in which a native backend is started.
struct NativeStart<'a> {
    program: PathBuf,
    /// Arguments before the verb.
    prefix: Vec<String>,
    mechanism: &'a str,
    /// The user it is started as; `None` for this process's own user.
    user: Option<&'a AskedAs>,
}

fn by_verbs(
    name: &str,
    start: NativeStart<'_>,
    known: KnownFailures,
) -> Result<Backend, BackendError> {
    let NativeStart { program, prefix, mechanism, user } = start;
    let question = native::query_capabilities(&program, &prefix, mechanism, user);
    // While it answers.
    let sha256 = program::sha256(&program);
    let answer = question.and_then(|question| question.answer(native::PATIENCE));
    let answer = answer.map_err(|message| BackendError::Native {
        name: name.to_owned(),
        program: program.display().to_string(),
        message,
    })?;
    Ok(Backend {
        name: name.to_owned(),
        spec: name.to_owned(),
        version: Some(excerpt(&answer.said.version, WORD)),
        sha256,
        program: Some(program.clone()),
        mechanism: Some(excerpt(&answer.said.mechanism, WORD)),
        claims: answer.claims,
        evidence: BTreeMap::new(),
        asked: BTreeSet::new(),
        limits: answer.said.limits.iter().map(|limit| excerpt(limit, SENTENCE)).collect(),
        kind: BackendKind::Native { program, prefix, mechanism: mechanism.to_owned() },
        known,
        missing: None,
    })
}
