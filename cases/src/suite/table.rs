//! The check of a table of cases as it is written: [`faults`].

use crate::case::{CaseFile, Row};

/// A row, and a field of it with what is wrong with it.
pub(super) type RowFault = (Option<String>, (String, String));

/// Returns what is wrong with the rows of `file`, whose text is `text`, as a table.
pub(super) fn faults(file: &CaseFile, text: &str) -> Vec<RowFault> {
    if file.rows.is_empty() {
        let is_written = text.lines().any(|line| line.starts_with("rows:"));
        let fault = ("rows".to_owned(), "no row: remove the key, or add a row".to_owned());
        return is_written.then_some((None, fault)).into_iter().collect();
    }
    let of_row = |(name, row): (&String, &Row)| {
        let valueless = row.valueless().map(|message| ("with".to_owned(), message));
        let found: Vec<_> = valueless.into_iter().chain(unused(row, text)).collect();
        let name = name.clone();
        found.into_iter().map(move |fault| (Some(name.clone()), fault))
    };
    file.rows.iter().flat_map(of_row).collect()
}

/// The parameters of `row` that stand nowhere in the file. A row that replaces the place of one may
/// still have it, for its name.
fn unused<'a>(row: &'a Row, text: &'a str) -> impl Iterator<Item = (String, String)> + 'a {
    let unused = row
        .with
        .iter()
        .filter(|(name, value)| value.is_some() && !text.contains(&format!("${{{name}}}")));
    unused.map(|(name, _)| {
        let message = format!("nothing uses `{name}`: write `${{{name}}}` where it belongs");
        (format!("with.{name}"), message)
    })
}
