//! `boxproof audit --mutants`: runs the cases on the reference with one fault each. What the cases
//! do not notice, they do not test.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use boxproof_cases::Suite;
use boxproof_cases::coverage::{CorpusCoverage, PublicReports};
use boxproof_reports::CaseRow;
use globset::Glob;
use nix::sys::signal::Signal;

use super::{CliFailure, me, note, print_text};
use crate::backend::{Backend, SettledUser, own_channel, resolve};
use crate::host::program_answer;
use crate::mutants::{
    MutantFate, MutantResult, ReferenceFault, cases_of, paired, redundant, score,
};
use crate::plan::{PairScope, RunPairs};
use crate::selection::CaseSelection;
use crate::session::{RunConclusion, SessionRequest, conduct, tools_for};

/// The pattern of all names.
pub(super) const EVERY: &str = "*";

/// The time that the program has to print its faults.
const PATIENCE: Duration = Duration::from_secs(20);

/// The cases of a mutant that are run in each round, as long as it is not killed: those that can
/// show it are many, and the likeliest come first.
const ROUNDS: [usize; 5] = [1, 3, 10, 40, usize::MAX];

/// The cases that a mutant whose survival has a reason is run on.
const EXPLAINED: usize = 3;

/// The area whose faults are in the channel of receipts.
const CHANNEL: &str = "receipts";

/// The cases that show a mutant that are told.
const TOLD: usize = 3;

/// What an audit of mutants needs.
pub(super) struct MutantAudit {
    pub(super) suite: Suite,
    /// The cases that are run at most.
    pub(super) selection: CaseSelection,
    /// The names of the faults, as a pattern.
    pub(super) names: String,
    pub(super) jobs: Option<usize>,
    pub(super) scratch: Option<PathBuf>,
}

/// Runs every mutant until it is killed, or no case is left; prints the fates and the score.
pub(super) fn run(audit: &MutantAudit) -> Result<i32, CliFailure> {
    let me = me()?;
    let wanted = Glob::new(&audit.names).map_err(|error| CliFailure::usage(error.to_string()))?;
    let wanted = wanted.compile_matcher();
    let faults = faults(&me)?.into_iter().filter(|fault| wanted.is_match(&fault.name));
    let mut results: Vec<MutantResult> = faults.map(MutantResult::new).collect();
    if results.is_empty() {
        return Err(CliFailure::usage(format!("--mutants: no fault is called {}", audit.names)));
    }
    let baselines = Baselines::resolve(&me, &mut results)?;
    // An area at a time, so that not everything that was seen is kept at once.
    for area in results.chunk_by_mut(|one, other| one.fault.area == other.fault.area) {
        if let Some(signal) = rounds(audit, &baselines, area)? {
            return Ok(128 + signal as i32);
        }
        print_text(&area.iter().map(line).collect::<String>())?;
    }
    print_text(&score(&results))?;
    if audit.names == EVERY {
        print_text(&redundant_lines(audit, &results)?)?;
    }
    Ok(i32::from(!results.iter().all(MutantResult::is_settled)))
}

/// Tells the case files that show nothing.
fn redundant_lines(audit: &MutantAudit, results: &[MutantResult]) -> Result<String, CliFailure> {
    let usage = |error: &dyn std::fmt::Display| CliFailure::usage(error.to_string());
    let reports = PublicReports::built_in().map_err(|error| usage(&error))?;
    let coverage = CorpusCoverage::new(&audit.suite, &reports);
    let files = coverage.reports.iter().flat_map(|report| &report.files);
    let asking = files.map(String::as_str).collect();
    let lines = redundant(results, &audit.suite, &asking).map_err(|error| usage(&error))?;
    let count = lines.len();
    let lines: String = lines.into_iter().map(|line| format!("redundant    {line}\n")).collect();
    Ok(format!(
        "{lines}{count} case files show no fault, ask no public report and have no requirement for \
         themselves\n"
    ))
}

/// Asks the program `me` for its faults.
fn faults(me: &Path) -> Result<Vec<ReferenceFault>, CliFailure> {
    let argv: Vec<OsString> = vec![me.into(), "reference".into(), "faults".into()];
    let answer = program_answer::start(&argv, None)?.answer(Instant::now() + PATIENCE)?;
    if answer.code != Some(0) {
        return Err(CliFailure::usage(
            "--mutants: this program has no faults to select; build one that has: \
             cargo build --release -p boxproof --features faults",
        ));
    }
    let text = String::from_utf8_lossy(&answer.stdout).into_owned();
    let faults: Result<_, _> = text.lines().map(serde_json::from_str).collect();
    faults.map_err(|error| CliFailure::usage(format!("--mutants: {error}")))
}

/// The reference without faults: by mechanism, and its channel.
struct Baselines(BTreeMap<String, Backend>);

impl Baselines {
    /// Finds what `results` need, and takes out those whose mechanism this host does not have.
    fn resolve(me: &Path, results: &mut Vec<MutantResult>) -> Result<Self, CliFailure> {
        let settled = SettledUser::own();
        let mut found = BTreeMap::new();
        let keys: BTreeSet<String> = results.iter().map(|result| key(&result.fault)).collect();
        for key in keys {
            let backend = match key.as_str() {
                CHANNEL => own_channel(me, &settled),
                spec => resolve(spec, me, &settled),
            };
            match backend {
                Ok(backend) => {
                    found.insert(key.clone(), Backend { name: key, ..backend });
                }
                Err(error) => {
                    note(format_args!("no mutants of {key}: {error}"));
                    results.retain(|result| self::key(&result.fault) != key);
                }
            }
        }
        Ok(Self(found))
    }
}

/// The baseline of `fault`, as `--backend` names it.
fn key(fault: &ReferenceFault) -> String {
    match &fault.mechanism {
        Some(mechanism) => format!("reference:{mechanism}"),
        None if fault.area == CHANNEL => CHANNEL.to_owned(),
        None => "reference".to_owned(),
    }
}

/// Runs all rounds on `results`; the signal that ended them.
fn rounds(
    audit: &MutantAudit,
    baselines: &Baselines,
    results: &mut [MutantResult],
) -> Result<Option<Signal>, CliFailure> {
    let mut from = 0;
    for most in ROUNDS {
        let signal = round(audit, baselines, results, from..most)?;
        if signal.is_some() {
            return Ok(signal);
        }
        from = most;
    }
    Ok(None)
}

/// Runs the cases of one round on every mutant that is not killed; the signal that ended it.
fn round(
    audit: &MutantAudit,
    baselines: &Baselines,
    results: &mut [MutantResult],
    part: std::ops::Range<usize>,
) -> Result<Option<Signal>, CliFailure> {
    let mut pairs = RunPairs::new();
    let mut backends: Vec<Backend> = baselines.0.values().cloned().collect();
    let is_open = |result: &&MutantResult| {
        let is_explained = result.fault.survives.is_some() && part.start >= EXPLAINED;
        result.fate != MutantFate::Killed && !is_explained
    };
    for result in results.iter().filter(is_open) {
        let cases = cases_of(&result.fault, &audit.suite);
        let cases = cases.map_err(|error| CliFailure::usage(error.to_string()))?;
        let selected = cases.into_iter().filter(|case| audit.selection.selects(case));
        let count = part.end - part.start;
        let ids: Vec<String> =
            selected.skip(part.start).take(count).map(|case| case.id.as_str().to_owned()).collect();
        let Some(baseline) = baselines.0.get(&key(&result.fault)).filter(|_| !ids.is_empty())
        else {
            continue;
        };
        backends.push(baseline.with_fault(&result.fault.name));
        pairs.entry(baseline.name.clone()).or_default().extend(ids.iter().cloned());
        pairs.entry(result.fault.name.clone()).or_default().extend(ids);
    }
    backends.retain(|backend| pairs.contains_key(&backend.name));
    if backends.is_empty() {
        return Ok(None);
    }
    let runs: usize = pairs.values().map(HashSet::len).sum();
    note(format_args!("{} programs, {runs} cases", backends.len()));
    let rows = match run_pairs(audit, backends, pairs.clone())? {
        Ok(rows) => rows,
        Err(signal) => return Ok(Some(signal)),
    };
    let by_pair: HashMap<(&str, &str), &CaseRow> =
        rows.iter().map(|row| ((row.backend.as_str(), row.id.as_str()), row)).collect();
    for result in results.iter_mut().filter(|result| result.fate != MutantFate::Killed) {
        let (name, baseline) = (result.fault.name.clone(), key(&result.fault));
        let ids = pairs.get(&name).into_iter().flatten().map(String::as_str);
        result.take(&paired(&by_pair, (&name, &baseline), ids));
    }
    Ok(None)
}

/// Runs `pairs`; the rows, or the signal that came first. A second try would teach nothing new about
/// a mutant, so that there is none.
fn run_pairs(
    audit: &MutantAudit,
    backends: Vec<Backend>,
    pairs: RunPairs,
) -> Result<Result<Vec<CaseRow>, Signal>, CliFailure> {
    let ids = pairs.values().flatten().cloned().collect();
    let selection = audit.selection.clone().narrowed("mutants".to_owned(), ids);
    let tools = tools_for(&audit.suite, &selection);
    let request = SessionRequest {
        suite: audit.suite.clone(),
        selection,
        backends,
        all: false,
        plain: Default::default(),
        scope: PairScope::Listed(Arc::new(pairs)),
        strict: false,
        jobs: audit.jobs,
        scratch: audit.scratch.clone(),
        set: None,
        commit: None,
        base_url: None,
        blind: None,
        stress: Some(1),
        reproduce: String::new(),
    };
    Ok(match conduct(&request, tools, &mut ())? {
        RunConclusion::Finished(finished) => Ok(finished.rows),
        RunConclusion::Interrupted(signal, _) => Err(signal),
    })
}

/// The line about one mutant.
fn line(result: &MutantResult) -> String {
    let MutantResult { fault, fate, tried, shown, .. } = result;
    let reason = fault.survives.as_ref().filter(|_| *fate != MutantFate::Killed);
    let told = match (shown.is_empty(), reason) {
        (false, Some(reason)) => format!("{}; explained: {reason}", shown[0]),
        (false, None) => shown.iter().take(TOLD).cloned().collect::<Vec<_>>().join("; "),
        (true, Some(reason)) => format!("explained: {reason}"),
        (true, None) if tried.is_empty() => "no case passes without it".to_owned(),
        (true, None) => format!("{} cases pass", tried.len()),
    };
    let more = shown.len().saturating_sub(TOLD);
    let more = if more > 0 { format!("; {more} more") } else { String::new() };
    format!("{:<12} {}: {}: {told}{more}\n", fate.name(), fault.name, fault.breaks)
}
