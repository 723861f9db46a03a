//! A substitute for the mechanism `landlock`, which is Linux's.

use boxproof_cases::protocol::{ClaimLevel, ErrorKind};

use super::{Mechanism, PreparedRun};
use crate::error::Refusal;
use crate::plan::Plan;
use crate::request::RunJob;

pub(crate) use self::UnsupportedLandlock as LandlockMechanism;

/// Refuses every plan.
pub(crate) struct UnsupportedLandlock;

impl Mechanism for UnsupportedLandlock {
    fn prepare<'a>(
        &self,
        _job: &'a RunJob,
        _plan: &'a Plan,
    ) -> Result<Box<dyn PreparedRun + 'a>, Refusal> {
        Err(Refusal::new(ErrorKind::Unavailable, "Landlock is part of Linux; use seatbelt"))
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
