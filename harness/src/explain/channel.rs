//! Explanation of a channel case: passes, failures and the reason why they matter.

use boxproof_cases::Case;

use super::entry;

/// The reason why receipts matter.
pub(super) const MATTERS: &str = "A receipt is evidence only if nothing goes by without one, nothing in it can be changed, and \
     no other program can have written it. One silent action, and the chain proves nothing about the rest.";

/// Returns the result that the channel must have.
pub(super) fn passes(case: &Case) -> String {
    format!(
        "{}; every chain verifies; a marker sent after the last step has left its receipt",
        crate::case_summary::summarize_case(case).expect
    )
}

/// Lists the meaning of each verdict here.
pub(super) fn fails() -> Vec<String> {
    let lines = [
        ("under-block", "something goes by without its receipt, or is taken that must be refused"),
        ("over-block", "an answer is changed or kept back, or something good is refused"),
        ("contract", "receipts are there, and do not say what was done, or a chain is broken"),
        ("leak", "a process of the channel outlives the run"),
        ("inconclusive", "a part did not come up, or the marker left no receipt: nothing learnt"),
    ];
    lines.map(|(verdict, text)| entry(verdict, text)).into()
}
