//! The pairing of the columns of the newer run with those of the older one ([`of`]).

use crate::label::host_label;
use crate::matrix::{Matrix, MatrixColumn};
use crate::record::UserKind;

/// Two columns that are compared, or one without a partner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ColumnPair {
    /// The pair's name in the comparison.
    pub(super) label: String,
    /// The column of the older run.
    pub(super) before: Option<usize>,
    /// The column of the newer run.
    pub(super) after: Option<usize>,
}

/// Every column of either run, once; those of the newer run first.
pub(super) fn pair_columns(before: &Matrix<'_>, after: &Matrix<'_>) -> Vec<ColumnPair> {
    let mut free: Vec<usize> = (0..before.columns.len()).collect();
    let mut partners: Vec<Option<usize>> = vec![None; after.columns.len()];
    // Columns that agree in more are paired first, so that a column of another host takes no
    // partner away.
    for agree in [same_host, same_user] {
        for (place, column) in after.columns.iter().enumerate() {
            if partners[place].is_none() {
                let at = free.iter().position(|old| agree(&before.columns[*old], column));
                partners[place] = at.map(|at| free.remove(at));
            }
        }
    }
    let pairs = partners.into_iter().enumerate().map(|(place, partner)| ColumnPair {
        label: after.columns[place].label.clone(),
        before: partner,
        after: Some(place),
    });
    let gone = free.into_iter().map(|place| ColumnPair {
        label: before.columns[place].label.clone(),
        before: Some(place),
        after: None,
    });
    pairs.chain(gone).collect()
}

fn same_user(a: &MatrixColumn<'_>, b: &MatrixColumn<'_>) -> bool {
    let identity = |column: &MatrixColumn<'_>| -> (String, UserKind) {
        (column.backend.name.clone(), column.header.user.kind)
    };
    identity(a) == identity(b)
}

fn same_host(a: &MatrixColumn<'_>, b: &MatrixColumn<'_>) -> bool {
    same_user(a, b) && host_label(a.header) == host_label(b.header)
}
