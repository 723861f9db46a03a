//! Asking what an agent executor starts: its declaration, and the machine that is meant. Pure.

use boxproof_cases::Case;
use boxproof_cases::protocol::{ExecutorRequest, PROTOCOL};

use crate::workspace::ArmWorkspace;

/// The request about the declaration of `case`.
pub(super) fn request(case: &Case, workspace: &ArmWorkspace) -> Result<ExecutorRequest, String> {
    let spec = case.policy().executor.as_ref().ok_or("a question without a declaration")?;
    Ok(ExecutorRequest {
        protocol: PROTOCOL,
        documents: vec![spec.document()],
        workspace: workspace.ws().into(),
        platform: Some(spec.platform),
        programs: Some(spec.programs.iter().map(|path| path.as_str().into()).collect()),
    })
}
