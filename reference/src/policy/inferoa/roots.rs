//! The writable roots as they are on the disk. The only part of the dialect that looks there.

use std::path::{Path, PathBuf};

use super::block::SandboxBlock;
use super::document::ConfigError;
use super::expand::ExpansionContext;

/// Trees that are made afresh or describe the kernel.
const NEVER: [&str; 3] = ["/proc", "/dev", "/sys"];

/// An extra root: as it is written, and its real path.
pub(super) type ExtraRoot = (String, PathBuf);

/// Real paths of the workspace and of every extra root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WritableRoots {
    /// The workspace.
    pub(crate) workspace: PathBuf,
    /// The roots that the block adds, each once.
    pub(crate) extra: Vec<ExtraRoot>,
}

impl SandboxBlock {
    /// Returns the roots of the block; they are always parsed, and looked up on the disk where they
    /// `matter`.
    ///
    /// # Errors
    /// A path that is invalid, is no directory or cannot be made writable.
    pub(crate) fn roots(
        &self,
        around: &ExpansionContext,
        matter: bool,
    ) -> Result<WritableRoots, ConfigError> {
        let workspace = std::fs::canonicalize(&around.workspace).ok().filter(|path| path.is_dir());
        let workspace = workspace.ok_or_else(|| ConfigError {
            file: "workspace".to_owned(),
            place: None,
            message: format!("{} is no directory", around.workspace.display()),
        })?;
        let mut extra: Vec<ExtraRoot> = Vec::new();
        for written in &self.extra {
            let fault = |why: String| ConfigError {
                file: self.file.clone(),
                place: Some(written.place),
                message: format!("sandbox.extra_writable_roots: {:?}: {why}", written.text),
            };
            let path = around.path(&written.text).map_err(fault)?;
            if !matter {
                continue;
            }
            let real = real(&path).map_err(fault)?;
            if real != workspace && extra.iter().all(|(_, known)| *known != real) {
                extra.push((written.text.clone(), real));
            }
        }
        Ok(WritableRoots { workspace, extra })
    }
}

fn real(path: &Path) -> Result<PathBuf, String> {
    let shown = path.display();
    let real = std::fs::canonicalize(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound if path.to_string_lossy().contains(['*', '?', '[']) => {
            format!("{shown} is a pattern, and patterns are not read; name each directory")
        }
        std::io::ErrorKind::NotFound => {
            format!("{shown} does not exist; create the directory or remove the entry")
        }
        _ => format!("{shown}: {error}; make it reachable or remove the entry"),
    })?;
    if !real.is_dir() {
        return Err(format!("{shown} is no directory; name the directory that holds it"));
    }
    let mut never = NEVER.iter().filter(|_| !fault!("dialects.kernel-roots"));
    match never.find(|tree| real.starts_with(tree)) {
        Some(tree) => {
            Err(format!("{shown} lies in {tree}, which is never made writable; remove it"))
        }
        None => Ok(real),
    }
}
