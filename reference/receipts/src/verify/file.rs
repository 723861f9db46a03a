//! A file of receipts: sorted into its chains, each verified, and the findings across all of them.

use ed25519_dalek::VerifyingKey;
use serde::Serialize;

use super::chain::{ChainExpectations, ChainVerification, verify_refs};
use super::missing_chains::FileChains;
use super::provenance::ProvenanceReport;
use super::pty::{self, UnpairedSession};
use super::strict::{self, StrictFinding};
use crate::parsed_receipt::{self, ParsedReceipt};

/// The fewest lines that are worth a thread.
const PART: usize = 256;

/// The chains to verify.
#[derive(Debug, Clone, Copy, Default)]
pub struct VerifyOptions<'a> {
    /// This chain only.
    pub chain: Option<&'a str>,
    /// Report findings that other verifiers accept.
    pub strict: bool,
    /// Check the process that the daemon saw.
    pub provenance: bool,
}

/// The result for a file.
#[derive(Debug, Serialize)]
pub struct FileReport {
    /// Every chain is valid, every line a receipt, and there are no findings.
    pub valid: bool,
    /// The chains, in the order of their first receipts.
    pub chains: Vec<ChainVerification>,
    /// Lines that are not receipts.
    pub malformed: Vec<MalformedLine>,
    /// Terminal sessions that do not pair; none of them makes a chain invalid.
    pub sessions: Vec<UnpairedSession>,
    /// The findings of strict reading.
    pub findings: Vec<StrictFinding>,
    /// The receipts without the process that the daemon saw, if the check was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provenance: Option<ProvenanceReport>,
    /// Findings that are no errors.
    pub warnings: Vec<String>,
}

/// A line that is no receipt.
#[derive(Debug, Serialize)]
pub struct MalformedLine {
    /// Its number, from 1.
    pub line: usize,
    /// `MALFORMED_RECEIPT` and why.
    pub error: String,
}

/// A receipt and where it lies.
#[derive(Debug)]
pub(super) struct ReceiptLine {
    pub(super) number: usize,
    pub(super) receipt: ParsedReceipt,
}

/// Verifies all receipts of a text that has one a line.
pub fn verify_file(
    bytes: &[u8],
    key: &VerifyingKey,
    options: &ChainExpectations,
    wanted: VerifyOptions,
) -> Result<FileReport, String> {
    let (lines, malformed) = read(bytes);
    let all = sorted(&lines);
    let mut chains = all.clone();
    if let Some(name) = wanted.chain {
        chains.retain(|chain| chain.first().is_some_and(|line| line.receipt.chain_id() == name));
        if chains.is_empty() && options.expected_length.unwrap_or(0) == 0 {
            return Err(format!("no receipt of chain {name:?} in the file"));
        }
    }
    if lines.is_empty() && malformed.is_empty() && options.expected_length.unwrap_or(0) == 0 {
        return Err("no receipts in the file, so nothing is verified".to_owned());
    }
    if chains.is_empty() {
        chains.push(Vec::new());
    }
    let outside = options.expected_length.is_some() || options.expected_final_hash.is_some();
    if outside && chains.len() > 1 {
        let count = chains.len();
        return Err(format!("the file has {count} chains; say which one is meant by --chain"));
    }
    let found: Vec<ChainVerification> =
        chains.iter().map(|chain| verify_refs(&receipts(chain), key, options)).collect();
    let findings = match wanted.strict {
        true => strict::findings(&chains, &lines, &FileChains::new(&all, wanted.chain.is_some())),
        false => Vec::new(),
    };
    let provenance =
        wanted.provenance.then(|| ProvenanceReport::from_lines(chains.iter().flatten().copied()));
    let known = provenance.as_ref().is_none_or(|provenance| provenance.malformed.is_empty());
    let valid =
        known && malformed.is_empty() && findings.is_empty() && found.iter().all(|v| v.valid);
    let (sessions, warnings) = (pty::unpaired(&lines), warnings(&lines));
    Ok(FileReport { valid, chains: found, malformed, sessions, findings, provenance, warnings })
}

/// Reads all lines, a part of them on each processor.
fn read(bytes: &[u8]) -> (Vec<ReceiptLine>, Vec<MalformedLine>) {
    let blank = |text: &[u8]| text.iter().all(u8::is_ascii_whitespace);
    let numbered = bytes.split(|byte| *byte == b'\n').enumerate();
    let texts: Vec<(usize, &[u8])> =
        numbered.filter(|(_, text)| !blank(text)).map(|(index, text)| (index + 1, text)).collect();
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let part = texts.len().div_ceil(workers).max(PART);
    let one = |(number, text): &(usize, &[u8])| match parsed_receipt::read(text) {
        Ok(receipt) => Ok(ReceiptLine { number: *number, receipt }),
        Err(error) => {
            Err(MalformedLine { line: *number, error: format!("MALFORMED_RECEIPT: {error}") })
        }
    };
    let read: Vec<Result<ReceiptLine, MalformedLine>> = std::thread::scope(|scope| {
        let parts = texts.chunks(part);
        let workers: Vec<_> = parts
            .map(|part| scope.spawn(move || part.iter().map(one).collect::<Vec<_>>()))
            .collect();
        // A worker that panics takes this thread along.
        let joined = workers.into_iter().map(std::thread::ScopedJoinHandle::join);
        joined
            .flat_map(|part| part.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    let (mut lines, mut malformed) = (Vec::new(), Vec::new());
    for result in read {
        match result {
            Ok(line) => lines.push(line),
            Err(line) => malformed.push(line),
        }
    }
    (lines, malformed)
}

fn receipts<'a>(chain: &[&'a ReceiptLine]) -> Vec<&'a ParsedReceipt> {
    chain.iter().map(|line| &line.receipt).collect()
}

/// The chains of a file. A receipt of a chain that does not begin in it stays where it lies, in
/// the chain before: there it is a splice.
fn sorted(lines: &[ReceiptLine]) -> Vec<Vec<&ReceiptLine>> {
    let begins =
        |line: &ReceiptLine| line.receipt.body.subject.chain.previous_receipt_hash.is_none();
    let begun: Vec<&str> =
        lines.iter().filter(|line| begins(line)).map(|line| line.receipt.chain_id()).collect();
    let mut chains: Vec<(&str, Vec<&ReceiptLine>)> = Vec::new();
    let mut last = 0;
    for line in lines {
        let id = line.receipt.chain_id();
        let known = chains.iter().position(|(known, _)| *known == id);
        last = match known {
            Some(at) => at,
            None if begun.contains(&id) || chains.is_empty() => {
                chains.push((id, Vec::new()));
                chains.len() - 1
            }
            None => last,
        };
        chains[last].1.push(line);
    }
    chains.into_iter().map(|(_, lines)| lines).collect()
}

fn warnings(lines: &[ReceiptLine]) -> Vec<String> {
    let named = |line: &&ReceiptLine| {
        line.receipt.value.pointer("/credentialSubject/action/tool_name").is_some()
    };
    let tell =
        |line: &ReceiptLine| format!("line {}: action.tool_name is not in the schema", line.number);
    lines.iter().filter(named).map(tell).collect()
}
