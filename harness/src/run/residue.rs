//! The files that a backend may leave behind. Main function: [`residue_globs`].

use globset::{Glob, GlobSet, GlobSetBuilder};

use crate::backend::{Backend, BackendKind};

/// Returns the globs of files that the backend may leave behind, by its manifest.
pub(super) fn residue_globs(backend: &Backend) -> Result<GlobSet, String> {
    let mut globs = GlobSetBuilder::new();
    if let BackendKind::Argv(manifest) = &backend.kind {
        for glob in &manifest.residue {
            globs.add(Glob::new(glob).map_err(|error| format!("residue: {error}"))?);
        }
    }
    globs.build().map_err(|error| format!("residue: {error}"))
}
