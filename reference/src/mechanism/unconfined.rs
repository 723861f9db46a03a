//! No confinement: the inner stage as a process beside this one, for mode unconfined and for
//! embedders.

use std::borrow::Cow;
use std::io;

use boxproof_cases::protocol::ClaimLevel;

use super::{InitInputs, Mechanism, PreparedRun, unprepared};
use crate::control::{CommandContainment, RunningSandbox};
use crate::error::Refusal;
use crate::init::{self, SandboxInit};
use crate::plan::Plan;
use crate::request::RunJob;
use crate::sys::{self, ReleasePipe};

/// No confinement.
pub(crate) struct UnconfinedMechanism;

impl Mechanism for UnconfinedMechanism {
    fn prepare<'a>(
        &self,
        job: &'a RunJob,
        plan: &'a Plan,
    ) -> Result<Box<dyn PreparedRun + 'a>, Refusal> {
        match plan.view {
            None => Ok(Box::new(UnconfinedRun { job, plan })),
            Some(_) => Err(Refusal::setup("the plan confines, and this mechanism does not")),
        }
    }

    fn own_level(&self, _claim: &str, _boxed: bool) -> Option<ClaimLevel> {
        None
    }

    fn limits(&self) -> &'static [&'static str] {
        &[]
    }

    fn mediates(&self) -> bool {
        false
    }
}

/// A run that needs no resources.
struct UnconfinedRun<'a> {
    job: &'a RunJob,
    plan: &'a Plan,
}

impl PreparedRun for UnconfinedRun<'_> {
    fn plan(&self) -> Cow<'_, Plan> {
        Cow::Borrowed(self.plan)
    }

    fn argv(&self, _plan: &Plan) -> Result<Vec<String>, Refusal> {
        Ok(self.job.run.command.to_argv())
    }

    fn containment(&self) -> CommandContainment {
        CommandContainment::Subreaper
    }

    fn start(&self, _prefix: &[&str], inputs: InitInputs<'_>) -> Result<RunningSandbox, Refusal> {
        start(&inputs.into_init()?).map_err(unprepared)
    }
}

/// Starts the inner stage, which serves the command from a session of its own.
pub(crate) fn start(inner: &SandboxInit<'_>) -> io::Result<RunningSandbox> {
    let serve = |leash: ReleasePipe| {
        let served = init::serve_beside(inner, leash);
        // Only matters where the supervisor heard nothing.
        i32::from(served.is_err())
    };
    let (process, stack) = sys::start_beside(serve)?;
    Ok(RunningSandbox { process, said: None, namespaced: false, stack: Some(stack) })
}
