//! The errors for settings that are invalid, and for hosts that have no sandbox for them.

use std::fmt;

use boxproof_cases::protocol::PolicyFault;

use crate::error::clipped;
use crate::policy::orbit::SourceLocation;

/// The kinds of errors, in upstream's words where it has some.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsErrorKind {
    /// The document, or a value in it, cannot be meant.
    #[error("invalid sandbox config: {0}")]
    InvalidConfig(String),
    /// The program that confines is missing or does not work.
    #[error("sandbox backend '{backend}' not available at {looked_at}")]
    BackendUnavailable {
        /// The program's name.
        backend: String,
        /// The places that were searched.
        looked_at: String,
    },
    /// The program that confines is too old, or does not say how old it is.
    #[error("sandbox backend '{backend}' too old: found {found}, need >= {need}")]
    BackendTooOld {
        /// The program's name.
        backend: String,
        /// Its version, or its whole output.
        found: String,
        /// The oldest that is taken.
        need: String,
    },
    /// There is no sandbox for this system.
    #[error("sandbox not supported on platform '{os}'{remedy}", remedy = remedy(os))]
    UnsupportedPlatform {
        /// The system.
        os: String,
    },
}

/// Returns the remedy for a system without a sandbox, if there is one.
fn remedy(os: &str) -> &'static str {
    match os {
        "wsl1" => "; use WSL 2, which has a Linux kernel",
        _ => "",
    }
}

/// An error, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsError {
    /// The error.
    pub kind: SettingsErrorKind,
    /// Its place in the document; `None` where no line is at fault.
    pub place: Option<SourceLocation>,
}

impl SettingsError {
    pub(super) fn config(reason: impl Into<String>, place: Option<SourceLocation>) -> Self {
        Self { kind: SettingsErrorKind::InvalidConfig(clipped(&reason.into())), place }
    }

    /// Returns whether the host lacks something; otherwise the settings are wrong.
    pub fn is_of_the_host(&self) -> bool {
        !matches!(self.kind, SettingsErrorKind::InvalidConfig(_))
    }

    /// Returns the error in the terms of the protocol.
    pub fn to_fault(&self) -> PolicyFault {
        let place = self.place.as_ref();
        PolicyFault {
            message: self.kind.to_string(),
            file: place.map(|place| place.file.to_string()),
            line: place.and_then(|place| u32::try_from(place.line).ok()),
            column: place.and_then(|place| u32::try_from(place.column).ok()),
        }
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        self.kind.fmt(f)
    }
}

impl std::error::Error for SettingsError {}
