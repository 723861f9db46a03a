//! Records in time ([`RecordHistory`]): the last of each host and user, those before, the trend.

use std::collections::BTreeMap;

use crate::conformance::PassedShare;
use crate::label::{backend_label, host_label};
use crate::record::{Header, Run};

/// The share of one backend, host and user on one date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TrendPoint {
    /// The start of the run, or the date of runs that are shards of one another.
    pub(super) when: String,
    /// The backend's name and version.
    pub(super) backend: String,
    /// The hash of the corpus.
    pub(super) corpus: String,
    /// The share of the judged cases that passed.
    pub(super) share: PassedShare,
}

/// Backend, user and distribution.
type SeriesKey = (String, &'static str, String);

/// The records by time.
#[derive(Debug)]
pub(super) struct RecordHistory {
    /// The last record of each host, user and list of backends, if it is of the newest corpus.
    pub(super) latest: Vec<Run>,
    /// The record before each of these.
    pub(super) before: Vec<Run>,
    /// The number of last records that are of an older corpus.
    pub(super) outdated: usize,
    series: BTreeMap<SeriesKey, Vec<TrendPoint>>,
}

impl RecordHistory {
    /// Sorts `runs` by time.
    pub(super) fn new(mut runs: Vec<Run>) -> Self {
        runs.sort_by(|a, b| a.header.started.cmp(&b.header.started));
        let series = series(&runs);
        let corpus = runs.last().map(|run| run.header.corpus.sha256.clone()).unwrap_or_default();
        let (mut latest, mut before) = (BTreeMap::new(), BTreeMap::new());
        for run in runs {
            let key = place(&run.header);
            if let Some(older) = latest.insert(key.clone(), run) {
                before.insert(key, older);
            }
        }
        let last = latest.len();
        latest.retain(|_, run| run.header.corpus.sha256 == corpus);
        before.retain(|key, _| latest.contains_key(key));
        let outdated = last - latest.len();
        let values = |map: BTreeMap<_, Run>| map.into_values().collect();
        Self { latest: values(latest), before: values(before), outdated, series }
    }

    /// The points of a backend on the host and by the user of `header`, the oldest first.
    pub(super) fn trend(&self, backend: &str, header: &Header) -> &[TrendPoint] {
        self.series.get(&series_key(backend, header)).map_or(&[], Vec::as_slice)
    }
}

/// The facts that must be equal for a record to replace an older one.
fn place(header: &Header) -> (String, u32, Vec<String>, u32) {
    let distro = header.host.get("distro").map(ToString::to_string).unwrap_or_default();
    let arch = header.host.get("arch").map(ToString::to_string).unwrap_or_default();
    let names = header.backends.iter().map(|backend| backend.name.clone()).collect();
    let shard = header.selection.shard.map_or(0, |shard| shard.index);
    (format!("{distro} {arch} {}", header.user.kind.keyword()), header.user.uid, names, shard)
}

fn series_key(backend: &str, header: &Header) -> SeriesKey {
    let fact = |name: &str| header.host.get(name).map(ToString::to_string).unwrap_or_default();
    let host = format!("{} {} {}", fact("os"), fact("distro"), fact("arch"));
    (backend.to_owned(), header.user.kind.keyword(), host)
}

fn series(runs: &[Run]) -> BTreeMap<SeriesKey, Vec<TrendPoint>> {
    let mut series: BTreeMap<SeriesKey, Vec<TrendPoint>> = BTreeMap::new();
    for run in runs {
        let header = &run.header;
        let when = match header.selection.shard {
            Some(_) => header.started.chars().take("2026-01-01".len()).collect(),
            None => header.started.clone(),
        };
        for backend in header.backends.iter().filter(|backend| backend.missing.is_none()) {
            let rows = run.rows.iter().filter(|row| row.backend == backend.name);
            let share: PassedShare = rows.collect();
            let points = series.entry(series_key(&backend.name, header)).or_default();
            match points.last_mut().filter(|last| last.when == when) {
                Some(last) => last.share = sum(last.share, share),
                None => points.push(TrendPoint {
                    when: when.clone(),
                    backend: backend_label(backend),
                    corpus: header.corpus.sha256.clone(),
                    share,
                }),
            }
        }
    }
    series
}

fn sum(a: PassedShare, b: PassedShare) -> PassedShare {
    PassedShare {
        passed: a.passed + b.passed,
        judged: a.judged + b.judged,
        unjudged: a.unjudged + b.unjudged,
    }
}

/// Names the hosts and users of the last records.
pub(super) fn place_words(header: &Header) -> String {
    format!("{} on {}", header.user.kind.keyword(), host_label(header))
}
