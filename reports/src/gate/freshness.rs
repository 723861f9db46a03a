//! The checks that evidence belongs to the planned release, and is young enough ([`reasons`]).

use super::{GateInputs, GatePolicy};
use crate::matrix::{Matrix, MatrixColumn};

/// Seconds of a day.
const DAY: u64 = 86_400;

/// Returns the reasons why evidence or baseline cannot be used, a line each.
pub(super) fn reasons(
    policy: &GatePolicy,
    (before, after): (&Matrix<'_>, &Matrix<'_>),
    circumstances: &GateInputs,
) -> Vec<String> {
    let mut reasons = Vec::new();
    let baseline = &policy.baseline;
    for column in &before.columns {
        let origin = origin(column, "baseline");
        reasons.extend(age(&origin, baseline.max_age_days, circumstances.now));
        reasons.extend(commit(&origin, baseline.commit.as_deref()));
    }
    for column in &after.columns {
        let origin = origin(column, "evidence");
        reasons.extend(age(&origin, Some(policy.evidence.max_age_days), circumstances.now));
        reasons.extend(commit(&origin, circumstances.commit.as_deref()));
        reasons.extend(program(column, circumstances));
    }
    for name in circumstances.programs.keys() {
        if after.columns.iter().all(|column| column.backend.name != *name) {
            reasons.push(format!("evidence: {name} was not judged, and its program is named"));
        }
    }
    for backend in &after.missing {
        reasons.push(format!("evidence: {} was not installed", backend.name));
    }
    reasons
}

/// The origin of some evidence, as it says itself.
pub(super) struct EvidenceOrigin<'a> {
    /// The word for it in reasons.
    pub(super) what: &'a str,
    /// The backend it is about.
    pub(super) label: &'a str,
    pub(super) started: &'a str,
    pub(super) commit: Option<&'a str>,
}

fn origin<'a>(column: &'a MatrixColumn<'_>, what: &'a str) -> EvidenceOrigin<'a> {
    let MatrixColumn { label, header, .. } = column;
    EvidenceOrigin { what, label, started: &header.started, commit: header.commit.as_deref() }
}

/// Returns the reason why evidence is too old, or its age unknown.
pub(super) fn age(origin: &EvidenceOrigin<'_>, most: Option<u32>, now: u64) -> Option<String> {
    let most = u64::from(most?);
    let EvidenceOrigin { what, label, started, .. } = origin;
    let Some(at) = seconds(started) else {
        return Some(format!("{what}: {label}: `{started}` is no time: its age is not known"));
    };
    if at > now + DAY {
        return Some(format!("{what}: {label}: is of {started}, which is yet to come"));
    }
    let days = now.saturating_sub(at) / DAY;
    let stale = now.saturating_sub(at) > most * DAY;
    stale.then(|| {
        format!("{what}: {label}: is of {started}, {days} days old; at most {most} may be")
    })
}

/// Returns the reason why evidence is not of the commit that is wanted.
pub(super) fn commit(origin: &EvidenceOrigin<'_>, wanted: Option<&str>) -> Option<String> {
    let wanted = wanted?;
    let EvidenceOrigin { what, label, .. } = origin;
    match origin.commit {
        Some(found) if found == wanted => None,
        Some(found) => Some(format!("{what}: {label}: is of commit {found}, not of {wanted}")),
        None => {
            Some(format!("{what}: {label}: does not say of which commit it is; wanted {wanted}"))
        }
    }
}

fn program(column: &MatrixColumn<'_>, circumstances: &GateInputs) -> Option<String> {
    let wanted = circumstances.programs.get(&column.backend.name)?;
    let (label, found) = (&column.label, &column.backend.sha256);
    (found != wanted).then(|| {
        format!("evidence: {label}: was made with a program of sha256 {found}, not {wanted}")
    })
}

/// Seconds since 1970 of an RFC 3339 time in UTC, to the second.
fn seconds(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let numbers = |text: &str, mark: char| -> Option<Vec<i64>> {
        text.split(mark).map(|part| part.split('.').next()?.parse().ok()).collect()
    };
    let (date, time) = (numbers(date, '-')?, numbers(time, ':')?);
    let ([year, month, day], [hour, minute, second]) = (date.as_slice(), time.as_slice()) else {
        return None;
    };
    let fits = (1..=12).contains(month)
        && (1..=31).contains(day)
        && (0..24).contains(hour)
        && (0..60).contains(minute)
        && (0..=60).contains(second)
        && (1970..=9999).contains(year);
    if !fits {
        return None;
    }
    // Days since 1970-01-01 (Hinnant's days_from_civil), years that begin in March.
    let year = if *month <= 2 { year - 1 } else { *year };
    let (era, of_era) = (year / 400, year % 400);
    let from_march = (month + 9) % 12;
    let of_year = (153 * from_march + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    u64::try_from(days * 86_400 + hour * 3600 + minute * 60 + second).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_since_1970() {
        for (text, wanted) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2026-11-29T10:51:46Z", Some(1_795_949_506)),
            ("2024-02-29T23:59:59Z", Some(1_709_251_199)),
            ("2024-02-29T23:59:59.5Z", Some(1_709_251_199)),
            ("2024-02-29 23:59:59Z", None),
            ("2024-02-29T23:59:59", None),
            ("yesterday", None),
            ("2024-13-29T23:59:59Z", None),
        ] {
            assert_eq!(seconds(text), wanted, "{text}");
        }
    }
}
