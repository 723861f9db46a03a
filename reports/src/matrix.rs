//! Runs side by side ([`Matrix`]): one column a backend, host and user; one row a case.

use crate::record::{BackendInfo, CaseRow, Header};

/// Runs side by side. Borrows their rows.
///
/// ```no_run
/// use std::fs::File;
/// use std::io::BufReader;
///
/// use boxproof_reports::{merge, record};
///
/// let run = record::read(BufReader::new(File::open("run.ndjson")?))?;
/// let runs = [run];
/// let matrix = merge(&runs)?;
/// for column in 0..matrix.columns.len() {
///     println!("{}: {}", matrix.columns[column].label, matrix.rows_of(column).count());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix<'a> {
    /// One a backend, host and user; in the order of the records.
    pub columns: Vec<MatrixColumn<'a>>,
    /// Named backends that are not installed.
    pub missing: Vec<&'a BackendInfo>,
    /// Interrupted runs, a sentence each: some of their rows are missing.
    pub interrupted: Vec<String>,
    /// One an area, sorted by name.
    pub sections: Vec<AreaSection<'a>>,
}

/// One backend on one host under one user.
#[derive(Debug, Clone, PartialEq)]
pub struct MatrixColumn<'a> {
    /// The shortest name that tells it from the other columns.
    pub label: String,
    /// The backend.
    pub backend: &'a BackendInfo,
    /// The header of its first record.
    pub header: &'a Header,
}

/// The cases of one area.
#[derive(Debug, Clone, PartialEq)]
pub struct AreaSection<'a> {
    /// The area.
    pub area: &'a str,
    /// The section's cases, sorted by id.
    pub rows: Vec<MatrixRow<'a>>,
}

/// One case across all columns.
#[derive(Debug, Clone, PartialEq)]
pub struct MatrixRow<'a> {
    /// The case id.
    pub id: &'a str,
    /// A cell a column; `None` where the case was not selected.
    pub cells: Vec<Option<&'a CaseRow>>,
}

impl<'a> Matrix<'a> {
    /// The rows of one column, in the order of the matrix.
    pub fn rows_of(&self, column: usize) -> impl Iterator<Item = &'a CaseRow> {
        self.all_rows().filter_map(move |row| row.cells.get(column).copied().flatten())
    }

    /// Every row of every column.
    pub fn rows(&self) -> impl Iterator<Item = &'a CaseRow> {
        (0..self.columns.len()).flat_map(|column| self.rows_of(column))
    }

    fn all_rows(&self) -> impl Iterator<Item = &MatrixRow<'a>> {
        self.sections.iter().flat_map(|section| &section.rows)
    }
}
