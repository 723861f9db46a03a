//! The question: cases for a sandbox, and their expected results.
//!
//! | term | type |
//! |---|---|
//! | case, row | [`Case`] |
//! | corpus | [`Suite`] |
//! | policy, request, result | [`protocol`] |
//! | capability | [`Capability`] |
//! | coverage, public report | [`coverage`] |
//! | requirement | [`RequirementId`], [`RequirementRegistry`] |

use std::sync::LazyLock;

mod capability;
pub mod case;
pub mod coverage;
mod embedded;
mod lint;
pub mod load;
mod names;
mod nearest;
mod pointer;
pub mod protocol;
mod requirement;
pub mod schema;
pub mod sets;
mod suite;
pub mod vars;

pub use capability::Capability;
pub use case::{Case, CaseId};
pub use embedded::EmbeddedFiles;
pub use lint::{COVERAGE, LintFinding, finding, lint};
pub use load::LoadError;
pub use nearest::{nearest_name, suggestion};
pub use requirement::{CasePolarity, Requirement, RequirementId, RequirementRegistry};
pub use sets::FrozenSet;
pub use suite::{SkippedFile, Suite};

/// The corpus, the requirements, the frozen sets and the schemas of this crate.
static EMBEDDED_FILES: LazyLock<EmbeddedFiles> = LazyLock::new(|| {
    EmbeddedFiles::unpack(include_bytes!(concat!(env!("OUT_DIR"), "/files.deflate")))
});
