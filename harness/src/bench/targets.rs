//! The programs of a bench as backends ([`BenchTargets`]): base, head, and base again as a control.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use boxproof_reports::timing::MeasuredProgram;
use sha2::{Digest, Sha256};

use super::BenchError;
use crate::backend::{Backend, BackendKind, SettledUser, resolve};

/// The word by which both programs speak the protocol themselves.
pub(super) const NATIVE: &str = "native";

/// Other programs in the same blocks, for comparison: nothing, and sandboxes that may be here.
const PEERS: [(&str, &str); 3] =
    [("bare", "none"), ("bubblewrap", "bubblewrap"), ("firejail", "firejail")];

/// The backends of a bench.
#[derive(Debug)]
pub(super) struct BenchTargets {
    pub(super) base: Backend,
    pub(super) head: Backend,
    pub(super) control: Backend,
    /// With the name of each.
    pub(super) peers: Vec<(String, Backend)>,
}

impl BenchTargets {
    /// Resolves `spec` with the program `base`, and with `head`. Programs in machine code that
    /// need no place of their own are copied below `scratch`, so that all lie alike.
    ///
    /// # Errors
    /// A program that is none, or not one of `spec`.
    pub(super) fn resolve(
        spec: &str,
        (base, head): (&Path, &Path),
        scratch: &Path,
    ) -> Result<Self, BenchError> {
        let is_moved = spec == NATIVE || spec == "reference" || spec.starts_with("reference:");
        let at = |program: &Path, name: &str| {
            let moved = is_moved && is_machine_code(program)?;
            if moved { copy(program, &scratch.join(name)) } else { program.canonicalize() }
        };
        let backend = |program: &Path, name: &str| -> Result<Backend, BenchError> {
            let placed = at(program, name)
                .map_err(|error| BenchError::Usage(format!("{}: {error}", program.display())))?;
            with_program(spec, &placed)
        };
        let (base, control) = (backend(base, "base")?, backend(base, "copy")?);
        let head = backend(head, "head")?;
        let me = std::env::current_exe()?;
        let peer = |(name, spec): (&str, &str)| {
            let found = resolve(spec, &me, &SettledUser::root_as_asked()).ok()?;
            (found.missing.is_none() && found.name != base.name).then(|| (name.to_owned(), found))
        };
        let peers = PEERS.into_iter().filter_map(peer).collect();
        Ok(Self { base, head, control, peers })
    }
}

/// Returns the backend `spec`, started by `program`.
fn with_program(spec: &str, program: &Path) -> Result<Backend, BenchError> {
    let usage = |error: crate::backend::BackendError| BenchError::Usage(error.to_string());
    let settled = SettledUser::root_as_asked();
    if spec == NATIVE {
        return resolve(&program.to_string_lossy(), program, &settled).map_err(usage);
    }
    let found = resolve(spec, program, &settled).map_err(usage)?;
    let kind = match found.kind {
        BackendKind::Native { prefix, mechanism, .. } => {
            BackendKind::Native { program: program.to_owned(), prefix, mechanism }
        }
        BackendKind::Argv(manifest) => BackendKind::Argv(manifest),
        _ => {
            let name = found.name;
            return Err(BenchError::Usage(format!(
                "--backend {name}: it starts no program that could be measured"
            )));
        }
    };
    Ok(Backend { kind, program: Some(program.to_owned()), missing: None, ..found })
}

/// The program as the record names it.
///
/// # Errors
/// A file that cannot be read.
pub(super) fn measured_program(path: &Path, backend: &Backend) -> io::Result<MeasuredProgram> {
    let mut hash = Sha256::new();
    io::copy(&mut File::open(path)?, &mut hash)?;
    Ok(MeasuredProgram {
        program: path.display().to_string(),
        version: backend.version.clone().unwrap_or_default(),
        sha256: format!("{:x}", hash.finalize()),
    })
}

fn is_machine_code(program: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    File::open(program)?.take(4).read_to_end(&mut start)?;
    Ok(!start.starts_with(b"#!"))
}

fn copy(program: &Path, directory: &Path) -> io::Result<PathBuf> {
    fs::create_dir(directory)?;
    let path = directory.join(program.file_name().unwrap_or("program".as_ref()));
    io::copy(&mut File::open(program)?, &mut File::create(&path)?)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(path)
}
