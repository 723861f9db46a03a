//! A shell line that must have no effect shows all the same that it ran.

use super::{LintFinding, finding};
use crate::case::{Act, Case, ExpectedDecision, Oracle};

/// Checks that a line that is denied, contained or withheld leaves a trace when it runs, because a
/// line that does not run at all has no effect either. The trace is a record of the probe program,
/// an effect that an oracle sees, or output that the line's text does not contain.
pub(super) fn trace(case: &Case) -> Option<LintFinding> {
    let (
        ExpectedDecision::Denied(_)
        | ExpectedDecision::Contained(_)
        | ExpectedDecision::Withheld(_),
        Act::Sh(line),
    ) = (&case.expect.decision, case.act())
    else {
        return None;
    };
    let seen = case.expect.oracle.iter().any(Oracle::is_positive);
    if seen || speaks(line) || writes(case, line) || is_read_by_policy(case) {
        return None;
    }
    let message = format!(
        "{}: nothing shows that the line ran: begin it with `$PROBE --nonce $NONCE mark \
         --name=tried;`, or let an oracle see what it leaves",
        case.id
    );
    Some(finding(&case.file, "act-trace", message))
}

/// Returns whether the probe program writes a record in `line`.
fn speaks(line: &str) -> bool {
    line.contains("$PROBE") && line.contains("$NONCE")
}

/// Returns whether the policy depends on the text of the line, so that nothing can stand before it.
fn is_read_by_policy(case: &Case) -> bool {
    let settings = case.policy().caliban.as_ref().map(|caliban| caliban.settings.as_str());
    let bypasses = settings.is_some_and(|text| text.contains("allow_unsandboxed_commands"));
    bypasses || case.needs.iter().any(|needed| needed.name() == "grants.infer")
}

/// Returns whether stdout is to hold a text that `line` does not contain.
fn writes(case: &Case, line: &str) -> bool {
    let stdout = case.expect.stdout.iter();
    let mut texts = stdout.flat_map(|stdout| stdout.contains.iter().chain(&stdout.equals));
    texts.any(|text| !text.trim().is_empty() && !line.contains(text.trim()))
}
