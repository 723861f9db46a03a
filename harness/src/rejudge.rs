//! Judging a run record again, from the record alone: its observations, and the cases that it
//! keeps. Main function: [`rejudge`].

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use boxproof_cases::{Case, Suite};
use boxproof_reports::{CaseRow, JudgeEvidence, Outcome, RecordWriter, Run, Verdict, WriteError};
use serde_json::Value;
use thiserror::Error;

use crate::blind;
use crate::collect::evidence::{NOT_EXECUTED, read};
use crate::collect::{earlier_try, told_look, with_judgement};
use crate::execution::CaseExecution;
use crate::judge::{self, LookedAgain, judge, look_again, set_beside};

/// A record that cannot be judged again.
#[derive(Debug, Error)]
pub enum RejudgeError {
    /// It keeps neither cases nor observations.
    #[error(
        "boxproof {0} wrote it without the observations that a verdict rests on; make the record \
         again"
    )]
    NothingKept(String),
    /// The cases that it keeps do not load.
    #[error("the cases that it keeps do not load\n{0}")]
    Cases(String),
    /// A row that cannot be judged.
    #[error("case `{id}` of backend `{backend}`: {why}")]
    Row {
        /// The case.
        id: String,
        /// The backend.
        backend: String,
        /// The reason.
        why: String,
    },
}

/// A record judged again.
#[derive(Debug)]
pub struct RejudgedRun {
    /// The rows as they follow from the observations, in the record's order.
    pub rows: Vec<CaseRow>,
    /// The number of rows that were judged.
    pub judged: usize,
    /// The number of rows of cases that were not run.
    pub not_run: usize,
}

/// A row that follows otherwise from its observations than the record has it.
#[derive(Debug, PartialEq, Eq)]
pub struct RowDifference {
    /// The case.
    pub id: String,
    /// The backend.
    pub backend: String,
    /// The difference, as a clause.
    pub saying: String,
}

/// Derives every row of `run` again.
///
/// # Errors
/// A record that keeps too little, or something that this version does not know.
pub fn rejudge(run: &Run) -> Result<RejudgedRun, RejudgeError> {
    if run.header.case_files.is_empty() && !run.rows.is_empty() {
        return Err(RejudgeError::NothingKept(run.header.harness.clone()));
    }
    let cases = cases(run)?;
    let mut rejudged = RejudgedRun { rows: Vec::new(), judged: 0, not_run: 0 };
    for row in &run.rows {
        let derived = derive(row, &cases).map_err(|why| RejudgeError::Row {
            id: row.id.clone(),
            backend: row.backend.clone(),
            why,
        })?;
        match derived {
            Some(_) => rejudged.judged += 1,
            None => rejudged.not_run += 1,
        }
        rejudged.rows.push(derived.unwrap_or_else(|| row.clone()));
    }
    Ok(rejudged)
}

/// The cases that the record keeps, by id.
fn cases(run: &Run) -> Result<HashMap<String, Case>, RejudgeError> {
    let files: BTreeMap<PathBuf, String> =
        run.header.case_files.iter().map(|(path, text)| (path.into(), text.clone())).collect();
    let cases = Suite::recorded_cases(&files).map_err(|errors| {
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        RejudgeError::Cases(lines.join("\n"))
    })?;
    Ok(cases.into_iter().map(|case| (case.id.as_str().to_owned(), case)).collect())
}

/// Derives `row` from its observations; none if the case was not run.
fn derive(row: &CaseRow, cases: &HashMap<String, Case>) -> Result<Option<CaseRow>, String> {
    let Some(evidence) = &row.evidence else {
        return match was_not_run(row) {
            true => Ok(None),
            false => Err(format!("it has the verdict {} without observations", row.verdict)),
        };
    };
    let case = cases.get(&row.id).ok_or("the record does not keep this case")?;
    let last = execution(&evidence.last)?;
    let mut judgement = judge(case, &last);
    let blind = match row.blind.is_some() || evidence.ordinary.is_some() {
        true => Some(told_look(&set_beside(&mut judgement, judge_again(case, evidence)?))),
        false => None,
    };
    let earlier = evidence.earlier.iter().map(|seen| {
        let seen = execution(seen)?;
        let judgement = judge(case, &seen);
        Ok(earlier_try(&(seen, judgement)))
    });
    let earlier = earlier.collect::<Result<Vec<_>, String>>()?;
    // The reason of what is asked where it is not claimed is the capability.
    let judgement = match case.needs.iter().find(|needed| needed.name() == row.reason) {
        Some(capability) => judge::unclaimed(case, &judgement, capability),
        None => judgement,
    };
    let outcome = match judgement.verdict == row.verdict {
        true => row.outcome,
        false => outcome_of(judgement.verdict, row.outcome),
    };
    let row = CaseRow { earlier, blind, outcome, ..row.clone() };
    Ok(Some(with_judgement(row, &last, &judgement)))
}

/// Returns the outcome of a row that has another `verdict` now, and had the outcome `before`: the lists of known
/// failures are not read again.
fn outcome_of(verdict: Verdict, before: Outcome) -> Outcome {
    match (verdict, before) {
        (Verdict::Pass, Outcome::Xfail | Outcome::Xpass) => Outcome::Xpass,
        (Verdict::Pass, Outcome::Flaky) => Outcome::Flaky,
        (Verdict::Pass, _) => Outcome::Expected,
        _ => Outcome::Unexpected,
    }
}

fn execution(seen: &Value) -> Result<CaseExecution, String> {
    read(seen).map_err(|why| format!("its observations cannot be read: {why}"))
}

/// The result of the second look.
fn judge_again(case: &Case, evidence: &JudgeEvidence) -> Result<LookedAgain, String> {
    match (blind::ordinary(case), &evidence.ordinary) {
        (Err(why), _) => Ok(LookedAgain::Unable(why)),
        (Ok(ordinary), Some(seen)) => Ok(look_again(&ordinary, &execution(seen)?)),
        (Ok(_), None) => Err("it has a second look without observations".to_owned()),
    }
}

/// Returns whether `row` says of a case that it was not run: then there is nothing to judge.
fn was_not_run(row: &CaseRow) -> bool {
    let is_skipped = match row.verdict {
        Verdict::Unsupported | Verdict::NotApplicable | Verdict::Skipped => true,
        Verdict::Error => row.message == NOT_EXECUTED,
        _ => false,
    };
    is_skipped && row.arms.is_empty() && row.earlier.is_empty() && row.blind.is_none()
}

/// Lists the rows of `run` that follow otherwise from their observations.
pub fn differences(run: &Run, rejudged: &RejudgedRun) -> Vec<RowDifference> {
    let pairs = run.rows.iter().zip(&rejudged.rows);
    let differing = pairs.filter_map(|(said, derived)| Some((said, saying(said, derived)?)));
    differing
        .map(|(row, saying)| RowDifference {
            id: row.id.clone(),
            backend: row.backend.clone(),
            saying,
        })
        .collect()
}

fn saying(said: &CaseRow, derived: &CaseRow) -> Option<String> {
    let verdict = |row: &CaseRow| match row.reason.as_str() {
        "" => row.verdict.to_string(),
        reason => format!("{} ({reason})", row.verdict),
    };
    if (said.verdict, &said.reason) != (derived.verdict, &derived.reason) {
        let why = [": ", derived.message.as_str()].concat();
        let why = if derived.message.is_empty() { "" } else { &why };
        return Some(format!("recorded {}, judged {}{why}", verdict(said), verdict(derived)));
    }
    let [said, derived] = [said, derived].map(|row| serde_json::to_value(row).unwrap_or_default());
    let members = said.as_object().into_iter().chain(derived.as_object()).flatten();
    let mut differing: Vec<&str> = members
        .filter(|(name, _)| said.get(name.as_str()) != derived.get(name.as_str()))
        .map(|(name, _)| name.as_str())
        .collect();
    differing.sort_unstable();
    differing.dedup();
    (!differing.is_empty()).then(|| format!("another {}", differing.join(", another ")))
}

/// Writes the record that `rejudged` makes of `run`.
///
/// # Errors
/// Rows that contradict one another.
pub fn written(run: &Run, rejudged: &RejudgedRun) -> Result<Vec<u8>, WriteError> {
    let mut record = RecordWriter::new(Vec::new(), &run.header)?;
    rejudged.rows.iter().try_for_each(|row| record.row(row))?;
    let (_, bytes) = match &run.footer.interrupted {
        Some(by) => record.finish_interrupted(by)?,
        None => record.finish()?,
    };
    Ok(bytes)
}
