//! Paths in the texts that other programs read.

use std::path::Path;

use crate::error::Refusal;

/// Returns a path as text; a path that is no UTF-8 cannot be written down.
pub(crate) fn path_text(path: &Path) -> Result<&str, Refusal> {
    path.to_str().ok_or_else(|| {
        Refusal::unsupported(format!(
            "{}: a path that is not UTF-8 cannot be compiled; rename it",
            path.display()
        ))
    })
}
