//! The differences besides the cases: backends, hosts, corpus, harness ([`changes`]).

use std::collections::{BTreeMap, BTreeSet};

use super::pairs::ColumnPair;
use crate::matrix::{Matrix, MatrixColumn};
use crate::record::Header;
use crate::text::short_hash;

/// Returns one sentence a change; a change that all columns share is reported once.
pub(super) fn changes(
    before: &Matrix<'_>,
    after: &Matrix<'_>,
    pairs: &[ColumnPair],
) -> Vec<String> {
    let mut told: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut compared = 0;
    for pair in pairs {
        let (old, new) = match (pair.before, pair.after) {
            (Some(old), Some(new)) => (&before.columns[old], &after.columns[new]),
            (None, _) => {
                told.entry("the column is new".to_owned()).or_default().push(&pair.label);
                continue;
            }
            (_, None) => {
                told.entry("the column is gone".to_owned()).or_default().push(&pair.label);
                continue;
            }
        };
        compared += 1;
        for change in of_column(old, new) {
            told.entry(change).or_default().push(&pair.label);
        }
    }
    let sentence = |(change, columns): (String, Vec<&str>)| match columns.len() {
        all if all == compared && all > 1 => change,
        _ => format!("{}: {change}", columns.join(", ")),
    };
    told.into_iter().map(sentence).collect()
}

fn of_column(old: &MatrixColumn<'_>, new: &MatrixColumn<'_>) -> Vec<String> {
    let (was, is) = (old.backend, new.backend);
    let mut changes = Vec::new();
    let mut change = |what: &str, was: &str, is: &str| {
        if was != is {
            changes.push(format!("{what} was {}, is {}", known(was), known(is)));
        }
    };
    change("version", &was.version, &is.version);
    change("program sha256", &short_hash(&was.sha256), &short_hash(&is.sha256));
    change("mechanism", &was.mechanism, &is.mechanism);
    for capability in keys(&was.claims, &is.claims) {
        let level = |claims: &BTreeMap<String, String>| {
            claims.get(capability).cloned().unwrap_or_else(|| "none".to_owned())
        };
        change(&format!("claim {capability}"), &level(&was.claims), &level(&is.claims));
    }
    changes.extend(of_header(old.header, new.header));
    changes
}

fn of_header(was: &Header, is: &Header) -> Vec<String> {
    let mut changes = Vec::new();
    let mut change = |what: &str, was: &str, is: &str| {
        if was != is {
            changes.push(format!("{what} was {}, is {}", known(was), known(is)));
        }
    };
    let corpus = |header: &Header| {
        format!("{} ({})", header.corpus.version, short_hash(&header.corpus.sha256))
    };
    change("corpus", &corpus(was), &corpus(is));
    change("harness", &was.harness, &is.harness);
    let filters = |header: &Header| header.selection.filters.join(" and ");
    change("filter", &filters(was), &filters(is));
    for fact in keys(&was.host, &is.host) {
        let value = |host: &BTreeMap<String, serde_json::Value>| match host.get(fact) {
            Some(serde_json::Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => String::new(),
        };
        change(&format!("host fact {fact}"), &value(&was.host), &value(&is.host));
    }
    changes
}

fn keys<'a, V>(a: &'a BTreeMap<String, V>, b: &'a BTreeMap<String, V>) -> BTreeSet<&'a String> {
    a.keys().chain(b.keys()).collect()
}

fn known(text: &str) -> &str {
    if text.is_empty() { "not stated" } else { text }
}
