//! A report for people.

use std::fmt::Write as _;

use super::chain::{ChainVerification, CheckedReceipt};
use super::file::FileReport;

/// The report as lines.
pub(super) fn text(report: &FileReport) -> String {
    let mut text = String::new();
    for chain in &report.chains {
        // Writing into a string does not fail.
        let _never = one(&mut text, chain);
    }
    let mut line = |words: String| {
        text.push_str(&words);
        text.push('\n');
    };
    for malformed in &report.malformed {
        line(format!("line {}: {}", malformed.line, malformed.error));
    }
    for finding in &report.findings {
        line(format!("line {}: finding {}: {}", finding.line, finding.name, finding.detail));
    }
    for session in &report.sessions {
        let (at, name) = (session.line, session.name);
        let (sandbox, correlator) = (&session.sandbox_id, &session.correlator);
        line(format!("line {at}: advisory {name}: sandbox {sandbox:?}, session {correlator:?}"));
    }
    for (what, lines) in report.provenance.iter().flat_map(|found| {
        [("no peer_credential", &found.missing), ("malformed peer_credential", &found.malformed)]
    }) {
        lines.iter().for_each(|at| line(format!("line {at}: provenance: {what}")));
    }
    for warning in &report.warnings {
        line(format!("warning: {warning}"));
    }
    line(if report.valid { "valid".to_owned() } else { "BROKEN".to_owned() });
    text
}

fn one(text: &mut String, chain: &ChainVerification) -> std::fmt::Result {
    writeln!(text, "chain {:?}: {} receipts", chain.chain_id, chain.length)?;
    for receipt in &chain.receipts {
        writeln!(text, "  {} {} {}", receipt.index, receipt.receipt_id, receipt_status(receipt))?;
    }
    if !chain.error.is_empty() {
        writeln!(text, "  error: {}", chain.error)?;
    }
    for warning in &chain.warnings {
        writeln!(text, "  warning: {warning}")?;
    }
    if !chain.response_hash_note.is_empty() {
        writeln!(text, "  note: {}", chain.response_hash_note)?;
    }
    if chain.incomplete_session {
        writeln!(text, "  Advisory: incomplete session: PTY open/close imbalance")?;
    }
    if chain.incomplete_tool_roundtrip {
        writeln!(text, "  advisory: incomplete tool roundtrip: the last call has no result")?;
    }
    let valid = if chain.valid { "valid" } else { "BROKEN" };
    writeln!(text, "  {valid}, status {}", chain.status)
}

fn receipt_status(receipt: &CheckedReceipt) -> &'static str {
    match (receipt.signature_valid, receipt.hash_link_valid, receipt.sequence_valid) {
        (true, true, true) => "ok",
        (false, ..) => "BAD SIGNATURE",
        (true, false, _) => "BAD HASH LINK",
        (true, true, false) => "BAD SEQUENCE",
    }
}
