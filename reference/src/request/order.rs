//! What a request asks for, whatever language its rules are in: [`Order`].

use std::sync::Arc;

use boxproof_cases::protocol::{Policy, Run, RunRequest};

use crate::error::Refusal;
use crate::law::Law;

/// One run to be carried out.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    /// The neutral policy; with a profile, all that a profile says nothing about.
    pub(crate) policy: Policy,
    /// The profile that the workspace is under.
    pub(crate) law: Option<Arc<Law>>,
    /// The command.
    pub(crate) run: Run,
}

impl Order {
    /// What `request` asks for.
    pub(crate) fn of(request: &RunRequest) -> Result<Self, Refusal> {
        let RunRequest { policy, run, .. } = request.clone();
        Ok(Self { policy, law: None, run })
    }
}
