//! A substitute for the mechanism `namespaces`, which is Linux's.

use boxproof_cases::protocol::ErrorKind;

use crate::control::RunningSandbox;
use crate::error::Refusal;
use crate::init::SandboxInit;
use crate::plan::View;

pub(crate) fn start(_view: &View, _inner: SandboxInit<'_>) -> Result<RunningSandbox, Refusal> {
    Err(Refusal::new(ErrorKind::Unavailable, "namespaces are part of Linux; use seatbelt"))
}

/// Explains a failure at the place `code`; there is none.
pub(crate) fn explain(code: u32, _errno: i32, _view: &View) -> Refusal {
    Refusal::setup(format!("the sandbox failed at an unknown place ({code})"))
}
