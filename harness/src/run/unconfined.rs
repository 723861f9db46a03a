//! The arm without a sandbox: the command on the host, or in a throw-away namespace.

use std::collections::BTreeMap;

use boxproof_cases::case::Control;
use boxproof_cases::protocol::RunRequest;

use super::{Runner, private_ns};
use crate::backend::{BackendKind, SpawnPlan};

impl Runner<'_> {
    /// Returns whether "no sandbox" means the throw-away namespace: the act's object exists only in
    /// a box, and on the host the act could do harm.
    pub(super) fn is_bare_in_namespace(&self) -> bool {
        self.case.control == Control::PrivateNs && matches!(self.backend.kind, BackendKind::Bare)
    }

    /// Returns the process of the control: the command as it is, or in a throw-away namespace.
    pub(super) fn unconfined(
        &self,
        request: &RunRequest,
        env: BTreeMap<String, String>,
    ) -> Result<SpawnPlan, String> {
        let command = request.run.command.to_argv();
        let argv = match self.case.control {
            Control::PrivateNs => {
                private_ns::wrap(self.context.probe, &request.policy.deny_read, &command)
            }
            _ => command.into_iter().map(Into::into).collect(),
        };
        Ok(SpawnPlan { argv, env, cwd: request.run.cwd.0.clone(), ..SpawnPlan::default() })
    }
}
