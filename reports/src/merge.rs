//! Sets one or more runs side by side ([`merge`]): one column a backend, host and user.
//!
//! Runs of the same backend, host and user are shards of one another: their rows must be
//! disjoint, and together they must be the whole selection.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use crate::label::{backend_label, column_labels, host_label};
use crate::matrix::{AreaSection, Matrix, MatrixColumn, MatrixRow};
use crate::record::{BackendInfo, CaseRow, Header, Run, Selection, Shard};

/// The reason why runs cannot be set side by side.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MergeError {
    /// There are no runs.
    #[error("no run record was given; name at least one")]
    Nothing,
    /// The runs were made with different corpora, so equal ids need not be equal cases.
    #[error(
        "the records are of different corpora ({first} and {second}); run all with one corpus, \
         or compare them with diff"
    )]
    Corpora {
        /// Version and hash of the first record's corpus.
        first: String,
        /// Version and hash of another record's corpus.
        second: String,
    },
    /// Two records of the same backend, host and user have a case in common.
    #[error(
        "case `{id}` of `{column}` is in two records; merge the shards of one run, or compare \
         two runs with diff"
    )]
    Overlap {
        /// The backend, host and user.
        column: String,
        /// The case.
        id: String,
    },
    /// A run was ended before its end.
    #[error(
        "the record of {started} is of a run that {by} ended after {rows} rows; run it again, or \
         look at it with report"
    )]
    Interrupted {
        /// The start time of the run.
        started: String,
        /// The signal or event that ended the run.
        by: String,
        /// The number of its rows.
        rows: u64,
    },
    /// The records of a backend are not its whole selection.
    #[error(
        "the records of `{column}` have {found} of {selected} selected cases ({shards}); give \
         every shard, run on hosts with the same facts, by the same harness and backend"
    )]
    Incomplete {
        /// The backend, host and user.
        column: String,
        /// The number of cases in the records.
        found: u64,
        /// The number of selected cases.
        selected: u64,
        /// The shards that are present.
        shards: String,
    },
    /// Records are of several runs, where those of one are asked for.
    #[error(
        "the record of {started} is no part of the same run: commit, host, user, backends and \
         selection must be the same"
    )]
    Several {
        /// The start time of that other run.
        started: String,
    },
    /// Records of one backend, host and user were made with different selections.
    #[error("the records of `{column}` are of different selections; use the same filters")]
    Selections {
        /// The backend, host and user.
        column: String,
    },
}

/// Sets `runs` side by side.
///
/// # Errors
/// When that would hide or invent something; see [`MergeError`].
pub fn merge(runs: &[Run]) -> Result<Matrix<'_>, MergeError> {
    match runs.iter().find_map(interruption) {
        Some((run, by)) => Err(MergeError::Interrupted {
            started: run.header.started.clone(),
            by: by.to_owned(),
            rows: run.footer.rows,
        }),
        None => {
            groups(runs)?.iter().try_for_each(ColumnGroup::check_complete)?;
            merge_partial(runs)
        }
    }
}

/// Sets `runs` side by side, including interrupted runs and incomplete sets of shards. The matrix
/// names its gaps.
///
/// # Errors
/// Those of [`merge`], except for interrupted runs.
pub fn merge_partial(runs: &[Run]) -> Result<Matrix<'_>, MergeError> {
    let groups = groups(runs)?;
    let whole = |group: &&ColumnGroup<'_>| !group.is_shard();
    groups.iter().filter(whole).try_for_each(ColumnGroup::check_complete)?;
    let labels = column_labels(&groups.iter().map(|g| (g.backend, g.header)).collect::<Vec<_>>());
    let sections = sections(&groups);
    let columns = groups.iter().zip(labels).map(|(group, label)| group.column(label)).collect();
    let interrupted = runs.iter().filter_map(interruption).map(|(run, by)| {
        let selected = run.header.selection.ids * run.header.backends.len() as u64;
        let (rows, started) = (run.footer.rows, &run.header.started);
        format!("the run of {started} was ended by {by}: {rows} of up to {selected} rows are there")
    });
    let shards = groups.iter().filter(|group| group.is_shard());
    let shards = shards.filter_map(|group| Some(group.check_complete().err()?.to_string()));
    let interrupted = interrupted.chain(shards).collect();
    Ok(Matrix { columns, missing: missing(runs), interrupted, sections })
}

/// Returns the columns that `runs` make together.
fn groups(runs: &[Run]) -> Result<Vec<ColumnGroup<'_>>, MergeError> {
    let first = runs.first().ok_or(MergeError::Nothing)?;
    for run in runs {
        check_corpus(&first.header, &run.header)?;
    }
    let mut groups: Vec<ColumnGroup<'_>> = Vec::new();
    for run in runs {
        for backend in run.header.backends.iter().filter(|b| b.missing.is_none()) {
            match groups.iter_mut().find(|group| group.takes(run, backend)) {
                Some(group) => group.add(run)?,
                None => groups.push(ColumnGroup::new(run, backend)),
            }
        }
    }
    Ok(groups)
}

/// A run that was ended before its end, and by what.
fn interruption(run: &Run) -> Option<(&Run, &str)> {
    run.footer.interrupted.as_deref().map(|by| (run, by))
}

/// The whole run of which `runs` are the parts: its header, and its rows in the order in which one
/// run has them.
///
/// # Errors
/// Those of [`merge`], and records of several runs.
pub fn joined(runs: &[Run]) -> Result<(Header, Vec<CaseRow>), MergeError> {
    merge(runs)?;
    let first = runs.first().ok_or(MergeError::Nothing)?;
    let whole = |header: &Header| {
        let selection = Selection { shard: None, ..header.selection.clone() };
        // A part has only requirements and files of its own cases.
        let (requirements, case_files) = (BTreeMap::new(), BTreeMap::new());
        let started = String::new();
        Header { selection, requirements, case_files, started, ..header.clone() }
    };
    let mut header = first.header.clone();
    for run in runs {
        if whole(&run.header) != whole(&first.header) {
            return Err(MergeError::Several { started: run.header.started.clone() });
        }
        header.started = header.started.min(run.header.started.clone());
        header.requirements.extend(run.header.requirements.clone());
        header.case_files.extend(run.header.case_files.clone());
    }
    header.selection.shard = None;
    let place = |row: &CaseRow| first.header.backends.iter().position(|b| b.name == row.backend);
    let mut rows: Vec<CaseRow> = runs.iter().flat_map(|run| run.rows.clone()).collect();
    rows.sort_by(|a, b| (&a.id, place(a)).cmp(&(&b.id, place(b))));
    Ok((header, rows))
}

/// The records that make up one column.
struct ColumnGroup<'a> {
    /// True if the run of a shard was interrupted.
    interrupted: bool,
    backend: &'a BackendInfo,
    header: &'a Header,
    shards: BTreeSet<Option<Shard>>,
    rows: BTreeMap<&'a str, &'a CaseRow>,
}

impl<'a> ColumnGroup<'a> {
    fn new(run: &'a Run, backend: &'a BackendInfo) -> Self {
        let shards = BTreeSet::from([run.header.selection.shard]);
        let interrupted = run.footer.interrupted.is_some();
        Self {
            interrupted,
            backend,
            header: &run.header,
            shards,
            rows: rows_of(run, backend).collect(),
        }
    }

    /// Returns whether `backend` in `run` is the same backend on the same host under the same user.
    fn takes(&self, run: &Run, backend: &BackendInfo) -> bool {
        let identity = |b: &BackendInfo| BackendInfo { program: String::new(), ..b.clone() };
        let (ours, theirs) = (self.header, &run.header);
        identity(self.backend) == identity(backend)
            && (ours.user, &ours.host, &ours.harness)
                == (theirs.user, &theirs.host, &theirs.harness)
    }

    fn add(&mut self, run: &'a Run) -> Result<(), MergeError> {
        let (ours, theirs) = (&self.header.selection, &run.header.selection);
        if (ours.ids, &ours.ids_sha256) != (theirs.ids, &theirs.ids_sha256) {
            return Err(MergeError::Selections { column: self.describe() });
        }
        self.shards.insert(theirs.shard);
        self.interrupted |= run.footer.interrupted.is_some();
        for (id, row) in rows_of(run, self.backend) {
            if self.rows.insert(id, row).is_some() {
                return Err(MergeError::Overlap { column: self.describe(), id: id.to_owned() });
            }
        }
        Ok(())
    }

    /// Returns whether every record of the column is a shard of a run.
    fn is_shard(&self) -> bool {
        self.shards.iter().all(Option::is_some)
    }

    fn check_complete(&self) -> Result<(), MergeError> {
        let selection = &self.header.selection;
        if self.interrupted || selection.is_exactly(&self.rows.keys().copied().collect()) {
            return Ok(());
        }
        Err(MergeError::Incomplete {
            column: self.describe(),
            found: self.rows.len() as u64,
            selected: selection.ids,
            shards: self.shards.iter().map(shard_word).collect::<Vec<_>>().join(", "),
        })
    }

    fn column(&self, label: String) -> MatrixColumn<'a> {
        MatrixColumn { label, backend: self.backend, header: self.header }
    }

    fn describe(&self) -> String {
        let user = self.header.user.kind.keyword();
        format!("{} ({}, {user})", backend_label(self.backend), host_label(self.header))
    }
}

fn rows_of<'a>(
    run: &'a Run,
    backend: &BackendInfo,
) -> impl Iterator<Item = (&'a str, &'a CaseRow)> {
    run.rows.iter().filter(|row| row.backend == backend.name).map(|row| (row.id.as_str(), row))
}

fn check_corpus(first: &Header, other: &Header) -> Result<(), MergeError> {
    let word = |header: &Header| format!("{} {}", header.corpus.version, header.corpus.sha256);
    if first.corpus.sha256 == other.corpus.sha256 {
        return Ok(());
    }
    Err(MergeError::Corpora { first: word(first), second: word(other) })
}

fn shard_word(shard: &Option<Shard>) -> String {
    shard.map_or("not sharded".to_owned(), |s| format!("shard {}/{}", s.index, s.of))
}

fn missing(runs: &[Run]) -> Vec<&BackendInfo> {
    let mut missing: Vec<&BackendInfo> = Vec::new();
    for backend in runs.iter().flat_map(|run| &run.header.backends) {
        if backend.missing.is_some() && !missing.iter().any(|b| b.name == backend.name) {
            missing.push(backend);
        }
    }
    missing
}

fn sections<'a>(groups: &[ColumnGroup<'a>]) -> Vec<AreaSection<'a>> {
    let mut areas: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (id, row) in groups.iter().flat_map(|group| &group.rows) {
        areas.entry(&row.area).or_default().insert(id);
    }
    let cells = |id: &str| groups.iter().map(|group| group.rows.get(id).copied()).collect();
    let row = |id| MatrixRow { id, cells: cells(id) };
    areas
        .into_iter()
        .map(|(area, ids)| AreaSection { area, rows: ids.into_iter().map(row).collect() })
        .collect()
}
