//! A substitute for the mechanisms `namespaces` and `landlock`, which are Linux's.

use boxproof_cases::protocol::{ClaimLevel, ErrorKind};

use super::{Mechanism, PreparedRun};
use crate::error::Refusal;
use crate::plan::Plan;
use crate::request::RunJob;

/// Refuses every plan.
pub(crate) struct UnsupportedMechanism;

impl Mechanism for UnsupportedMechanism {
    fn prepare<'a>(
        &self,
        _job: &'a RunJob,
        _plan: &'a Plan,
    ) -> Result<Box<dyn PreparedRun + 'a>, Refusal> {
        let message = "namespaces and Landlock are parts of Linux; use seatbelt";
        Err(Refusal::new(ErrorKind::Unavailable, message))
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
