//! Rendering of one arm: laid out and rendered, not executed ([`render`]).

use boxproof_cases::Case;
use boxproof_cases::protocol::Policy;
use boxproof_cases::vars::VariableValues;

use super::{ArmError, Runner, commandline};
use crate::arm_context::ArmContext;
use crate::backend::{Backend, LaunchPlan};
use crate::execution::ArmKind;
use crate::names::ArmNames;
use crate::sweep;
use crate::workspace::ArmWorkspace;

/// One arm, rendered.
#[derive(Debug, Clone)]
pub struct RenderedArm {
    /// The values of the variables; those of listeners and victim are [`token`]s.
    pub vars: VariableValues,
    /// Every step, in order; the last one is judged.
    pub steps: Vec<RenderedStep>,
}

/// One step of an arm.
#[derive(Debug, Clone)]
pub struct RenderedStep {
    /// The policy, worked out.
    pub policy: Policy,
    /// The launch of the step.
    pub start: LaunchPlan,
}

/// The reason why an arm cannot be rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// The backend has no way to say the policy.
    #[error("the backend cannot be asked: {0}")]
    Inexpressible(String),
    /// Fixture, act or manifest are at fault.
    #[error("{0}")]
    Fault(String),
}

impl From<ArmError> for RenderError {
    fn from(stop: ArmError) -> Self {
        match stop {
            ArmError::Inexpressible(why) => Self::Inexpressible(why),
            ArmError::Fault(why) => Self::Fault(why),
        }
    }
}

impl From<String> for RenderError {
    fn from(why: String) -> Self {
        Self::Fault(why)
    }
}

/// Variables whose value is known only when an arm runs.
pub const LATE: [&str; 7] = ["TCP4", "TCP6", "HTTP", "METADATA", "METADATA6", "UDP", "VICTIM"];

/// Returns the placeholder of a variable whose value is not known yet.
pub fn token(variable: &str) -> String {
    format!("@boxproof-{variable}@")
}

/// The processes that a fixture left running, of an arm that is laid out and not executed: they end with this.
struct PreparedProcesses {
    nonce: String,
}

impl Drop for PreparedProcesses {
    fn drop(&mut self) {
        sweep::end_carrying(&self.nonce);
    }
}

/// Lays out `case` for `context`, until the second value is dropped.
fn lay_out(
    case: &Case,
    context: &ArmContext<'_>,
) -> Result<(ArmWorkspace, Option<PreparedProcesses>), String> {
    let root = context.directory.join(ArmNames::for_run(context.run_id).root);
    let workspace = ArmWorkspace::lay_out(case, &root, context.probe, context.run_id)?;
    let nonce = workspace.nonce.clone();
    let left = case.prepare.is_some().then_some(PreparedProcesses { nonce });
    Ok((workspace, left))
}

/// Renders the question of `case`: the values of the variables, and the request.
///
/// # Errors
/// The part that cannot be laid out, or a case that is no question.
pub fn render_question(
    case: &Case,
    context: &ArmContext<'_>,
) -> Result<(RenderedArm, String), RenderError> {
    let (workspace, _left) = lay_out(case, context)?;
    let request = super::query::request(&[case], &workspace)?;
    Ok((RenderedArm { vars: workspace.vars.clone(), steps: Vec::new() }, request))
}

/// Lays out `case` and renders what `kind` would start if the user were `uid`; every step sees the
/// fixture as it is at the start.
///
/// # Errors
/// The part that cannot be laid out or expressed.
pub fn render(
    case: &Case,
    kind: ArmKind,
    backend: &Backend,
    context: &ArmContext<'_>,
    uid: u32,
) -> Result<RenderedArm, RenderError> {
    let (mut workspace, _left) = lay_out(case, context)?;
    for name in LATE.into_iter().filter(|name| case.uses(name)) {
        workspace.vars.set(name, token(name));
    }
    let mut runner =
        Runner { case, kind, backend, context, uid, state: 0, stalled: Default::default() };
    let mut steps = Vec::new();
    for step in &case.steps {
        let line = commandline(&step.act, &workspace.vars, workspace.names())?;
        let request = runner.request(step, &line.argv, &workspace)?;
        let start = runner.launch(step, &request, &workspace)?;
        steps.push(RenderedStep { policy: request.policy, start });
    }
    Ok(RenderedArm { vars: workspace.vars.clone(), steps })
}
