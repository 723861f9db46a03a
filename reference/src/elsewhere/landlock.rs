//! A substitute for the mechanism `landlock`, which is Linux's.

use std::convert::Infallible;

use boxproof_cases::protocol::ErrorKind;

use super::Running;
use super::temp::Temp;
use crate::error::Refusal;
use crate::inner::Inner;
use crate::plan::View;

/// None is ever made.
pub(crate) struct Prepared(Infallible);

pub(crate) fn prepare(_view: &View) -> Result<Prepared, Refusal> {
    Err(Refusal::new(ErrorKind::Unavailable, "Landlock is part of Linux; use seatbelt"))
}

impl Prepared {
    pub(super) fn temp(&self) -> Option<&Temp> {
        match self.0 {}
    }

    pub(crate) fn start(&self, _inner: Inner<'_>) -> Result<Running, Refusal> {
        match self.0 {}
    }
}
