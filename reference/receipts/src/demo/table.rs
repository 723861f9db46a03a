//! Receipts as a table that a person can read; pure.

use std::fmt::Write;

use serde_json::Value;

/// The columns.
const HEAD: [&str; 7] = ["chain", "no.", "action", "risk", "status", "parameters", "response"];

/// One receipt.
pub(super) type ReceiptRow = [String; 7];

/// The rows of exported receipts.
pub(super) fn rows(receipts: &[u8]) -> Result<Vec<ReceiptRow>, String> {
    let lines = receipts.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let row = |line| {
        let receipt: Value = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        let text = |path: &str| match receipt.pointer(path) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        let subject = |path: &str| text(&format!("/credentialSubject{path}"));
        Ok([
            subject("/chain/chain_id"),
            subject("/chain/sequence"),
            subject("/action/type"),
            subject("/action/risk_level"),
            subject("/outcome/status"),
            short(&subject("/action/parameters_hash")),
            short(&subject("/outcome/response_hash")),
        ])
    };
    lines.map(row).collect()
}

/// The first digits of a hash.
fn short(hash: &str) -> String {
    hash.strip_prefix("sha256:").map_or(String::new(), |digits| digits.chars().take(12).collect())
}

/// The chains, in the order of their first receipts.
pub(super) fn chains(rows: &[ReceiptRow]) -> Vec<String> {
    let mut chains = Vec::new();
    for [chain, ..] in rows {
        if !chains.contains(chain) {
            chains.push(chain.clone());
        }
    }
    chains
}

/// The table.
pub(super) fn text(rows: &[ReceiptRow]) -> String {
    let head = HEAD.map(str::to_owned);
    let lines: Vec<&ReceiptRow> = std::iter::once(&head).chain(rows).collect();
    let wide = |at: usize| lines.iter().map(|line| line[at].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..HEAD.len()).map(wide).collect();
    let mut table = String::new();
    for line in lines {
        let mut text = String::new();
        for (cell, width) in line.iter().zip(&widths) {
            // Writing to a string does not fail.
            let _written = write!(text, "{cell:<width$}  ");
        }
        table.push_str(text.trim_end());
        table.push('\n');
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receipts_are_rows_and_chains_have_an_order() {
        let receipt = |chain: &str| {
            format!(
                r#"{{"credentialSubject":{{"action":{{"type":"a.b","risk_level":"low","parameters_hash":"sha256:0123456789abcdef"}},"outcome":{{"status":"success"}},"chain":{{"sequence":7,"chain_id":"{chain}"}}}}}}"#
            )
        };
        let text_ = format!("{}\n{}\n{}\n", receipt("z"), receipt("a"), receipt("z"));
        let rows = rows(text_.as_bytes()).unwrap();
        assert_eq!(rows[0], ["z", "7", "a.b", "low", "success", "0123456789ab", ""]);
        assert_eq!(chains(&rows), ["z", "a"]);
        let table = text(&rows);
        assert_eq!(table.lines().count(), 4);
        assert_eq!(
            table.lines().nth(2).unwrap(),
            "a      7    a.b     low   success  0123456789ab"
        );
    }
}
