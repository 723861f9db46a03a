//! The observations of a case in its row, for the judge: [`gather`] and [`read`].

use boxproof_cases::protocol::from_json;
use boxproof_reports::JudgeEvidence;
use serde_json::Value;

use crate::execution::CaseExecution;
use crate::judge::Judgement;

/// The message of a row that was planned and has neither observations nor a judgement.
pub const NOT_EXECUTED: &str = "the case was planned but not executed";

/// Returns the observations that a row rests on: of its last try, of earlier ones, and of the
/// second look.
pub fn gather(
    last: &CaseExecution,
    earlier: &[&(CaseExecution, Judgement)],
    ordinary: Option<&CaseExecution>,
) -> JudgeEvidence {
    JudgeEvidence {
        last: written(last),
        earlier: earlier.iter().map(|(execution, _)| written(execution)).collect(),
        ordinary: ordinary.map(written),
    }
}

/// Returns `execution` as JSON; what JSON cannot hold is null, which is no observation.
fn written(execution: &CaseExecution) -> Value {
    serde_json::to_value(execution).unwrap_or_default()
}

/// Reads observations back.
///
/// # Errors
/// Observations that this version does not know, with the member at fault.
pub fn read(evidence: &Value) -> Result<CaseExecution, String> {
    from_json(evidence.to_string().as_bytes()).map_err(|error| error.to_string())
}
