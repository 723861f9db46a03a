//! Names for people: backends, hosts and the columns of a matrix.

use std::collections::BTreeSet;

use crate::record::{BackendInfo, Header};
use crate::text::{clean, short_hash};

/// `name version`, with what is known of it.
#[must_use]
pub fn backend_label(backend: &BackendInfo) -> String {
    [&backend.name, &backend.version].map(String::as_str).join(" ").trim_end().to_owned()
}

/// Distribution (else system), kernel and architecture, as far as the record has them.
#[must_use]
pub fn host_label(header: &Header) -> String {
    let fact = |name: &str| header.host.get(name).and_then(|value| value.as_str());
    let parts: Vec<&str> = [fact("distro").or(fact("os")), fact("kernel"), fact("arch")]
        .into_iter()
        .flatten()
        .collect();
    if parts.is_empty() { "unknown host".to_owned() } else { parts.join(" ") }
}

/// Describes the corpus of the run.
pub(crate) fn corpus_words(header: &Header) -> String {
    let corpus = &header.corpus;
    let hash = short_hash(&corpus.sha256);
    clean(&format!("corpus {} ({}, sha256 {hash})", corpus.version, corpus.source))
}

/// Describes the harness and the selected cases.
pub(crate) fn selection_words(header: &Header) -> String {
    let selection = &header.selection;
    let filters = match selection.filters.join(" and ") {
        none if none.is_empty() => "no filter".to_owned(),
        some => format!("filter {some}"),
    };
    let slow = if selection.slow { "slow cases included" } else { "slow cases left out" };
    let all = if selection.all { "; what is not claimed is asked, too" } else { "" };
    let strict = if selection.strict { "; every level counts" } else { "" };
    let (harness, ids) = (&header.harness, selection.ids);
    clean(&format!("boxproof {harness}; {ids} cases selected; {filters}; {slow}{all}{strict}"))
}

/// Describes the backend's program.
pub(crate) fn backend_words(backend: &BackendInfo) -> String {
    let mechanism = match backend.mechanism.as_str() {
        "" => String::new(),
        mechanism => format!(", {mechanism}"),
    };
    clean(&format!("{}{mechanism}, sha256 {}", backend_label(backend), short_hash(&backend.sha256)))
}

/// Describes the user, host and time of the run.
pub(crate) fn place_words(header: &Header) -> String {
    let (kind, uid) = (header.user.kind.keyword(), header.user.uid);
    clean(&format!("{kind} (uid {uid}) on {}, {}", host_label(header), header.started))
}

/// Describes the remedy for a backend that is not installed.
pub(crate) fn missing_words(backend: &BackendInfo) -> String {
    let hint = backend.missing.as_deref().unwrap_or_default();
    clean(&format!("{}: not installed; {hint}", backend.name))
}

/// The shortest label of each column that tells it from the others.
pub(crate) fn column_labels(columns: &[(&BackendInfo, &Header)]) -> Vec<String> {
    let mut labels: Vec<String> = columns.iter().map(|(b, _)| b.name.clone()).collect();
    tell_apart(&mut labels, columns, |(_, header)| header.user.kind.keyword().to_owned());
    tell_apart(&mut labels, columns, |(backend, _)| backend.version.clone());
    tell_apart(&mut labels, columns, |(_, header)| host_label(header));
    let facts: BTreeSet<&String> = columns.iter().flat_map(|(_, h)| h.host.keys()).collect();
    for fact in facts {
        tell_apart(&mut labels, columns, |(_, header)| match header.host.get(fact) {
            Some(value) => format!("{fact}={value}"),
            None => format!("{fact} unknown"),
        });
    }
    tell_apart(&mut labels, columns, |(backend, _)| backend.mechanism.clone());
    tell_apart(&mut labels, columns, |(_, header)| format!("boxproof {}", header.harness));
    tell_apart(&mut labels, columns, |(_, header)| header.started.clone());
    labels
}

/// Adds `detail` to the labels that several columns have, where it tells these apart.
fn tell_apart(
    labels: &mut [String],
    columns: &[(&BackendInfo, &Header)],
    detail: impl Fn((&BackendInfo, &Header)) -> String,
) {
    let details: Vec<String> = columns.iter().map(|column| detail(*column)).collect();
    let clash =
        |a: usize| (0..columns.len()).any(|b| labels[a] == labels[b] && details[a] != details[b]);
    let clashing: Vec<usize> = (0..columns.len()).filter(|column| clash(*column)).collect();
    for column in clashing {
        labels[column] = format!("{} {}", labels[column], details[column]).trim_end().to_owned();
    }
}
