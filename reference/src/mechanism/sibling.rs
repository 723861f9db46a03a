//! Mechanisms whose inner stage is an ordinary process beside this one, and the resources of a run
//! by them: [`SiblingMechanism`]. All of them are removed with the run.

use super::{landlock, seatbelt};
use crate::control::RunningSandbox;
use crate::error::Refusal;
use crate::init::SandboxInit;
use crate::plan::Plan;
use crate::policy::MechanismName;
use crate::request::RunJob;

/// The resources of one run.
pub(crate) enum SiblingMechanism {
    /// Rules that the command puts itself under.
    Landlock(landlock::PreparedLandlock),
    /// A program in front of the command.
    Seatbelt(seatbelt::PreparedSeatbelt),
}

impl SiblingMechanism {
    /// Prepares the resources that `plan` needs under `mechanism`, if it is one of these.
    pub(crate) fn prepare(
        mechanism: MechanismName,
        order: &RunJob,
        plan: &Plan,
    ) -> Result<Option<Self>, Refusal> {
        match (mechanism, &plan.view) {
            (MechanismName::Landlock, Some(view)) => {
                landlock::prepare(view).map(Self::Landlock).map(Some)
            }
            (MechanismName::Seatbelt, Some(view)) => {
                seatbelt::prepare(view, order, plan).map(Self::Seatbelt).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The plan with the temp directory that the command is to use.
    pub(crate) fn plan(&self, plan: &Plan, order: &RunJob) -> Plan {
        let temp = match self {
            Self::Landlock(prepared) => prepared.temp(),
            Self::Seatbelt(prepared) => prepared.temp(),
        };
        temp.map_or_else(|| plan.clone(), |temp| temp.plan(plan, &order.policy.env))
    }

    /// Returns the arguments of the command, with the wrapper's before them.
    pub(crate) fn argv(&self, order: &RunJob, plan: &Plan) -> Result<Vec<String>, Refusal> {
        match self {
            Self::Landlock(_) => Ok(order.run.command.to_argv()),
            Self::Seatbelt(prepared) => prepared.argv(order, plan),
        }
    }

    /// Starts the inner stage.
    pub(crate) fn start(&self, inner: SandboxInit<'_>) -> Result<RunningSandbox, Refusal> {
        match self {
            Self::Landlock(prepared) => prepared.start(inner),
            Self::Seatbelt(prepared) => prepared.start(inner),
        }
    }
}
