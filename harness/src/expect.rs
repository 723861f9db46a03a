//! Known failures written anew from measurements ([`update`]): the least rows that express them,
//! with the reasons, links and dates that people wrote before. Pure.

mod globs;
mod races;
mod write;

use std::collections::BTreeSet;

use boxproof_cases::Suite;
use boxproof_reports::{CaseRow, UserKind, Verdict};

use crate::known::{CivilDate, IdPattern, KnownRow, RunSetting, SystemName};

use races::RaceRows;
pub use write::text;

/// The results of one run.
#[derive(Debug, Clone)]
pub struct MeasuredRun<'a> {
    /// The circumstances of the run.
    pub setting: RunSetting,
    /// The rows of the backend in question.
    pub rows: Vec<&'a CaseRow>,
}

/// The options of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UpdateOptions {
    /// True if inconclusive cases and errors are written down, too, although nothing was learnt
    /// there.
    pub unlearnt: bool,
    /// True if the backend runs on several systems, so that rows name theirs.
    pub several_systems: bool,
}

/// The scope of a row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct RowScope {
    user: Option<UserKind>,
    version: Option<String>,
    os: Option<SystemName>,
}

/// The notes of a person about a failure.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct FailureNotes {
    reason: String,
    link: Option<String>,
    expires: Option<CivilDate>,
}

/// One case that is known to fail.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct KnownItem {
    case: String,
    verdict: Verdict,
    signature: String,
    scope: RowScope,
    /// The notes of a person; nothing where the failure is new.
    words: Option<FailureNotes>,
    /// The message of the run, for failures without notes.
    message: String,
}

/// The rows that say what `runs` measured of the cases of `suite`, and what `old` says of what
/// they did not measure.
pub fn update(
    suite: &Suite,
    old: &[KnownRow],
    runs: &[MeasuredRun<'_>],
    options: UpdateOptions,
) -> Vec<KnownRow> {
    let races = races::races(old, runs, options);
    let mut items: Vec<KnownItem> =
        runs.iter().flat_map(|run| found(run, (runs, &races), old, options)).collect();
    let ids: Vec<&str> = suite.cases.iter().map(|case| case.id.as_str()).collect();
    items.extend(old.iter().flat_map(|row| kept(row, &ids, runs)));
    items.sort();
    items.dedup_by(|a, b| KnownItem { message: String::new(), ..a.clone() } == unspoken(b));
    let mut rows: Vec<KnownRow> =
        globs::rows(suite, both_users(items), runs).into_iter().filter_map(row).collect();
    rows.extend(races.rows);
    rows.sort_by_key(|row| {
        (row.case.to_string(), row.user, row.version.clone(), row.os, row.verdict)
    });
    rows
}

fn unspoken(item: &KnownItem) -> KnownItem {
    KnownItem { message: String::new(), ..item.clone() }
}

/// The failures of one run.
fn found(
    run: &MeasuredRun<'_>,
    (runs, races): (&[MeasuredRun<'_>], &RaceRows),
    old: &[KnownRow],
    options: UpdateOptions,
) -> Vec<KnownItem> {
    let written = |row: &&&CaseRow| {
        let counts = row.verdict.is_failure() || (options.unlearnt && row.verdict.is_unlearnt());
        counts && !races.speak_for(&row.id, &run.setting)
    };
    let item = |row: &&CaseRow| {
        let before = old.iter().find(|known| {
            known.applies(&run.setting)
                && known.case.matches(&row.id)
                && known.verdict == Some(row.verdict)
                && known.signature.as_deref() == Some(row.reason.as_str())
        });
        let version = before.and_then(|known| known.version.clone());
        KnownItem {
            case: row.id.clone(),
            verdict: row.verdict,
            signature: row.reason.clone(),
            scope: RowScope {
                user: Some(run.setting.user),
                version: version.or_else(|| only_this_version(row, run, runs)),
                os: before
                    .and_then(|known| known.os)
                    .or_else(|| options.several_systems.then_some(run.setting.os)),
            },
            words: before.map(failure_notes),
            message: row.message.clone(),
        }
    };
    run.rows.iter().filter(written).map(item).collect()
}

/// The version of `run`, where another version did not fail in this way under the same user.
fn only_this_version(
    row: &CaseRow,
    run: &MeasuredRun<'_>,
    runs: &[MeasuredRun<'_>],
) -> Option<String> {
    let beside = |other: &&MeasuredRun<'_>| {
        (other.setting.user, other.setting.os) == (run.setting.user, run.setting.os)
            && other.setting.version != run.setting.version
    };
    let otherwise = |other: &MeasuredRun<'_>| {
        let there = other.rows.iter().find(|there| there.id == row.id);
        there.is_some_and(|there| (there.verdict, &there.reason) != (row.verdict, &row.reason))
    };
    let differs = runs.iter().filter(beside).any(otherwise);
    differs.then(|| run.setting.version.clone()).flatten()
}

/// Returns the items of `row` for cases and users that no run measured.
fn kept(row: &KnownRow, ids: &[&str], runs: &[MeasuredRun<'_>]) -> Vec<KnownItem> {
    // Races are kept on their own.
    let (Some(verdict), Some(signature)) = (row.verdict, &row.signature) else {
        return Vec::new();
    };
    let users = [UserKind::Root, UserKind::Ordinary];
    let users = users.into_iter().filter(|user| row.user.is_none_or(|only| only == *user));
    let of_user = |user: UserKind| {
        let here: Vec<&MeasuredRun<'_>> = runs
            .iter()
            .filter(|run| run.setting.user == user && row.applies(&run.setting))
            .collect();
        let unmeasured =
            move |id: &&str| row.case.matches(id) && !here.iter().any(|run| settles(run, id));
        let item = move |id: &str| KnownItem {
            case: id.to_owned(),
            verdict,
            signature: signature.clone(),
            scope: RowScope { user: Some(user), version: row.version.clone(), os: row.os },
            words: Some(failure_notes(row)),
            message: String::new(),
        };
        ids.iter().copied().filter(unmeasured).map(item).collect::<Vec<_>>()
    };
    users.flat_map(of_user).collect()
}

/// Returns whether `run` settles the case: a case that the host could not show, or that taught
/// nothing, leaves open what is known of it.
fn settles(run: &MeasuredRun<'_>, id: &str) -> bool {
    let row = run.rows.iter().find(|row| row.id == id);
    row.is_some_and(|row| row.verdict.is_judged() || row.verdict == Verdict::Unsupported)
}

fn failure_notes(row: &KnownRow) -> FailureNotes {
    FailureNotes {
        reason: row.reason.clone(),
        link: row.link.clone(),
        expires: row.expires.clone(),
    }
}

/// Items that root and an ordinary user have alike become one for both.
fn both_users(items: Vec<KnownItem>) -> Vec<KnownItem> {
    let alike = |a: &KnownItem, b: &KnownItem| {
        let neutral = |item: &KnownItem| KnownItem {
            scope: RowScope { user: None, ..item.scope.clone() },
            words: None,
            ..unspoken(item)
        };
        neutral(a) == neutral(b) && (a.words == b.words || a.words.is_none() || b.words.is_none())
    };
    let mut merged: Vec<KnownItem> = Vec::new();
    for item in items {
        match merged
            .iter_mut()
            .find(|other| other.scope.user != item.scope.user && alike(other, &item))
        {
            Some(other) => {
                other.scope.user = None;
                other.words = other.words.take().or(item.words);
            }
            None => merged.push(item),
        }
    }
    merged
}

/// The most characters of a message that become a reason.
const REASON: usize = 160;

/// The row for an item whose case is an id or a glob.
fn row(item: KnownItem) -> Option<KnownRow> {
    let words = item.words.unwrap_or_else(|| FailureNotes {
        reason: one_line_reason(&item.message, &item.signature),
        link: None,
        expires: None,
    });
    Some(KnownRow {
        // An id or a glob of ours is always one.
        case: IdPattern::try_from(item.case).ok()?,
        verdict: Some(item.verdict),
        signature: Some(item.signature),
        any_of: Vec::new(),
        reason: words.reason,
        link: words.link,
        expires: words.expires,
        user: item.scope.user,
        version: item.scope.version,
        os: item.scope.os,
    })
}

/// Returns the message on one line, as a reason until a person writes one.
fn one_line_reason(message: &str, signature: &str) -> String {
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = line.chars().take(REASON).collect();
    match short.as_str() {
        "" => format!("Seen: {signature}"),
        short if short.len() < line.len() => format!("Seen: {short}…"),
        short => format!("Seen: {short}"),
    }
}

/// Counts the rows of `new` that are not in `old`, and the rows of `old` that are not in `new`.
pub fn changes(old: &[KnownRow], new: &[KnownRow]) -> (usize, usize) {
    let texts = |rows: &[KnownRow]| -> BTreeSet<String> { rows.iter().map(write::row).collect() };
    let (old, new) = (texts(old), texts(new));
    (new.difference(&old).count(), old.difference(&new).count())
}

#[cfg(test)]
mod tests;
