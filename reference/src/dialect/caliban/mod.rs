//! Dialect `caliban`: the table `[sandbox]` of a TOML settings file, and its effect.
//!
//! [`Settings::parse`] reads one document, [`Settings::check`] validates it and replaces variables,
//! [`available`] detects the sandbox, [`effective`] combines both, [`decide`] decides whether a
//! command is asked about, and [`order`] compiles the whole to the neutral policy. Only
//! implementations of [`Look`] touch the disk.

mod ask;
mod bypass;
mod compile;
mod detect;
mod document;
mod effective;
mod error;
mod expand;
mod look;
mod opens;
mod place;
mod proxy;
mod scrub;
#[cfg(test)]
mod tests;
mod validate;

pub use ask::decide;
pub use bypass::{Bypass, bypassed_by};
pub use compile::{Commanded, Compiled, order};
pub use detect::{Availability, Look, available};
pub use document::Settings;
pub use effective::effective;
pub use error::{Kind, SettingsError};
pub use expand::Variables;
pub use look::{Host, here};
pub use opens::Opens;
pub use place::{Place, no_name};
pub use validate::Sound;
