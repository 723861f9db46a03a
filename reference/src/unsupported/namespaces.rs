//! A substitute for the mechanism `namespaces`, which is Linux's.

use boxproof_cases::protocol::{ClaimLevel, ErrorKind};

use super::{Mechanism, PreparedRun};
use crate::error::Refusal;
use crate::plan::Plan;
use crate::request::RunJob;

pub(crate) use self::UnsupportedNamespaces as NamespacesMechanism;

/// Refuses every plan.
pub(crate) struct UnsupportedNamespaces;

impl Mechanism for UnsupportedNamespaces {
    fn prepare<'a>(
        &self,
        _job: &'a RunJob,
        _plan: &'a Plan,
    ) -> Result<Box<dyn PreparedRun + 'a>, Refusal> {
        Err(Refusal::new(ErrorKind::Unavailable, "namespaces are part of Linux; use seatbelt"))
    }

    fn own_level(&self, _claim: &str, _boxed: bool) -> Option<ClaimLevel> {
        Some(ClaimLevel::None)
    }

    fn limits(&self) -> &'static [&'static str] {
        &[]
    }

    fn mediates(&self) -> bool {
        false
    }
}
