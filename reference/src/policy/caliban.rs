//! Dialect `caliban`: the table `[sandbox]` of a TOML settings file, and its effect.
//!
//! [`CalibanSettings::parse`] reads one document, [`CalibanSettings::check`] validates it and replaces variables,
//! [`available`] detects the sandbox, [`effective`] combines both, [`decide`] decides whether a
//! command is asked about, and [`order`] compiles the whole to the neutral policy. Only
//! implementations of [`HostInspector`] touch the disk.

mod approval;
mod bypass;
mod compile;
mod detect;
mod document;
mod effective;
mod error;
mod expand;
mod extra_openings;
mod proxy;
mod scrub;
mod session_profile;
#[cfg(test)]
mod tests;
mod validate;

pub use approval::decide;
pub use bypass::{BypassPatterns, bypassed_by};
pub use compile::{CommandContext, CompiledSettings, order};
pub use detect::{HostInspector, SandboxAvailability, available};
pub use document::CalibanSettings;
pub use effective::effective;
pub use error::{SettingsError, SettingsErrorKind};
pub use expand::PathVariables;
pub use extra_openings::ExtraOpenings;
pub use session_profile::{SessionProfilePath, no_name};
pub use validate::ValidSettings;
