//! A substitute for the mechanism `landlock`, which is Linux's.

use std::convert::Infallible;

use boxproof_cases::protocol::ErrorKind;

use super::temp_directory::TempDirectory;
use crate::control::RunningSandbox;
use crate::error::Refusal;
use crate::init::SandboxInit;
use crate::plan::View;

pub(crate) use self::UnsupportedLandlock as PreparedLandlock;

/// None is ever made.
pub(crate) struct UnsupportedLandlock(Infallible);

pub(crate) fn prepare(_view: &View) -> Result<UnsupportedLandlock, Refusal> {
    Err(Refusal::new(ErrorKind::Unavailable, "Landlock is part of Linux; use seatbelt"))
}

impl UnsupportedLandlock {
    pub(super) fn temp(&self) -> Option<&TempDirectory> {
        match self.0 {}
    }

    pub(crate) fn start(&self, _inner: SandboxInit<'_>) -> Result<RunningSandbox, Refusal> {
        match self.0 {}
    }
}
