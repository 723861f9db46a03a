//! The limits of a report that no row shows ([`scope_lines`]): users, hosts, selection, second look.
//! What is green says nothing of what lies beyond them.

use std::collections::BTreeSet;

use crate::label::host_label;
use crate::matrix::Matrix;
use crate::record::{Header, UserKind};
use crate::text::clean;

/// Renders what no run of the report looked at, a line each.
pub(crate) fn scope_lines(matrix: &Matrix<'_>) -> Vec<String> {
    let headers: Vec<&Header> = matrix.columns.iter().map(|column| column.header).collect();
    if headers.is_empty() {
        return Vec::new();
    }
    let hosts: BTreeSet<String> = headers.iter().map(|header| host_label(header)).collect();
    let hosts: Vec<String> = hosts.into_iter().collect();
    let is_slow = headers.iter().all(|header| header.selection.slow);
    let is_blind = matrix.rows().any(|row| row.blind.is_some());
    let lines = [
        users(&headers),
        Some(format!("every other host than {}", hosts.join(" and "))),
        filters(&headers),
        (!is_slow).then(|| "slow cases".to_owned()),
        (!is_blind).then(|| {
            "a second look (`--blind`): a backend that confines only what is tested passes as well"
                .to_owned()
        }),
    ];
    lines.into_iter().flatten().map(|line| clean(&line)).collect()
}

/// The kind of user that no column has.
fn users(headers: &[&Header]) -> Option<String> {
    let has = |kind| headers.iter().any(|header| header.user.kind == kind);
    match (has(UserKind::Root), has(UserKind::Ordinary)) {
        (true, true) => None,
        (true, false) => Some(
            "runs of an ordinary user; what runs as root can forge everything that a run reads"
                .to_owned(),
        ),
        (false, _) => Some("runs as root".to_owned()),
    }
}

fn filters(headers: &[&Header]) -> Option<String> {
    let filters: BTreeSet<String> = headers
        .iter()
        .map(|header| header.selection.filters.join(" and "))
        .filter(|filters| !filters.is_empty())
        .collect();
    let filters: Vec<String> = filters.into_iter().collect();
    (!filters.is_empty()).then(|| format!("cases besides those of {}", filters.join(" or ")))
}
