//! `boxproof audit`: the vacuity guard. Every denial must be an under-block where nothing is
//! denied, every allowance an over-block where nothing is allowed, and no row may pass where
//! nothing is run; a row that breaks this proves nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;

use boxproof_cases::Suite;
use boxproof_reports::{CaseRow, Verdict};

use super::mutants::{self, MutantAudit};
use super::values::parse_jobs;
use super::{CaseArgs, CliFailure, backends, print_text};
use crate::backend::{DoubleReply, SettledUser, shipped_doubles};
use crate::plan::{ALLOW_ALL, DENY_ALL, PairScope};
use crate::session::{CompletedRun, RunConclusion, SessionRequest, conduct, tools_for};

/// Arguments of `audit`.
#[derive(Debug, clap::Args)]
pub(super) struct AuditArgs {
    #[command(flatten)]
    cases: CaseArgs,
    /// The number of CPU-bound arms in flight; by default twice the cores.
    #[arg(long, value_name = "N", value_parser = parse_jobs)]
    jobs: Option<usize>,
    /// The directory in which the scratch directory is made.
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// The most rows that may pass on a forged record; more are an error.
    #[arg(long, value_name = "N")]
    most_forged: Option<usize>,
    /// Count what passes on a liar that knows the corpus, too: it forges every refusal, and confines
    /// nothing.
    #[arg(long)]
    knowing: bool,
    /// Run the cases on the reference with one fault each instead, to see which faults they notice.
    /// With `=GLOB`, only the faults of such names. Takes a program built with the feature `faults`.
    #[arg(long, value_name = "GLOB", num_args = 0..=1, require_equals = true, default_missing_value = mutants::EVERY)]
    mutants: Option<String>,
}

const KNOWING: &str = "knows-corpus";

pub(super) fn run(args: AuditArgs) -> Result<i32, CliFailure> {
    let cases = args.cases.settle()?;
    let (suite, selection) = cases.selected()?;
    if let Some(names) = args.mutants {
        let (jobs, scratch) = (args.jobs, args.scratch);
        return mutants::run(&MutantAudit { suite, selection, names, jobs, scratch });
    }
    let tools = tools_for(&suite, &selection);
    let doubles = shipped_doubles().into_iter().filter(|name| args.knowing || *name != KNOWING);
    let specs = [ALLOW_ALL, DENY_ALL].into_iter().chain(doubles);
    let request = SessionRequest {
        suite: suite.clone(),
        selection,
        backends: backends(&specs.map(str::to_owned).collect::<Vec<_>>(), &SettledUser::own())?,
        all: true,
        plain: Default::default(),
        scope: PairScope::Audited,
        strict: false,
        jobs: args.jobs,
        scratch: args.scratch,
        set: None,
        commit: None,
        base_url: None,
        blind: None,
        stress: None,
        reproduce: cases.corpus.reproduce(),
    };
    let finished = match conduct(&request, tools, &mut ())? {
        RunConclusion::Finished(finished) => finished,
        RunConclusion::Interrupted(signal, _) => return Ok(128 + signal as i32),
    };
    let mut text = String::new();
    let forged = tell_forged(&finished, &mut text);
    tell_knowing(&finished, &mut text);
    let idle = tell_idle(&finished, &mut text);
    let vacuous = tell_vacuous(&finished, &suite, &mut text);
    let too_many = args.most_forged.filter(|most| forged > *most);
    if let Some(most) = too_many {
        text.push_str(&format!("{forged} rows pass on a forged record, more than {most}\n"));
    }
    print_text(&text)?;
    let Some(vacuous) = vacuous else { return Ok(4) };
    Ok(i32::from(vacuous > 0 || idle > 0 || too_many.is_some()))
}

/// Tells what is wrong on the backends that allow or deny all, and how much it is; `None` where
/// nothing was audited.
fn tell_vacuous(finished: &CompletedRun, suite: &Suite, text: &mut String) -> Option<usize> {
    let audited: Vec<&CaseRow> = finished
        .rows
        .iter()
        .filter(|row| [ALLOW_ALL, DENY_ALL].contains(&row.backend.as_str()))
        .collect();
    let (inapplicable, audited): (Vec<_>, Vec<_>) =
        audited.into_iter().partition(|row| row.verdict == Verdict::NotApplicable);
    let vacuous: Vec<_> = audited.iter().filter(|row| !is_due(row, suite)).collect();
    for row in &vacuous {
        text.push_str(&format!(
            "{} on {}: {} {} instead of {}: {}\n",
            row.id,
            row.backend,
            row.verdict.keyword(),
            row.reason,
            wanted(row).keyword(),
            row.message
        ));
    }
    for row in &inapplicable {
        text.push_str(&format!("{}: not audited: the host lacks {}\n", row.id, row.reason));
    }
    text.push_str(&format!("{} vacuous of {}\n", vacuous.len(), audited.len()));
    (!audited.is_empty()).then_some(vacuous.len())
}

/// The rows of one double that were judged, and those of them that pass.
fn played(finished: &CompletedRun, double: DoubleReply) -> (usize, Vec<&CaseRow>) {
    let rows = finished.rows.iter().filter(|row| row.backend == double.name());
    let judged: Vec<_> = rows.filter(|row| row.verdict != Verdict::NotApplicable).collect();
    let passes = judged.iter().copied().filter(|row| row.verdict == Verdict::Pass);
    (judged.len(), passes.collect())
}

/// Tells which rows pass on a double that runs nothing and forges nothing, and how many.
fn tell_idle(finished: &CompletedRun, text: &mut String) -> usize {
    let mut all = 0;
    for double in DoubleReply::ALL.into_iter().filter(|double| !double.forges()) {
        let (judged, passes) = played(finished, double);
        for row in &passes {
            text.push_str(&format!(
                "{} on {}: pass although nothing was run\n",
                row.id, row.backend
            ));
        }
        text.push_str(&format!("{}: {} of {judged} pass\n", double.name(), passes.len()));
        all += passes.len();
    }
    all
}

/// Tells which rows pass on a forged record, by area, and how many.
fn tell_forged(finished: &CompletedRun, text: &mut String) -> usize {
    let mut all = 0;
    for double in DoubleReply::ALL.into_iter().filter(|double| double.forges() && !double.runs()) {
        let (judged, passes) = played(finished, double);
        for row in &passes {
            text.push_str(&format!(
                "{} on {}: only the record vouches for it\n",
                row.id, row.backend
            ));
        }
        text.push_str(&format!(
            "{}: {} of {judged} pass on the record alone{}\n",
            double.name(),
            passes.len(),
            by_area(&passes)
        ));
        all += passes.len();
    }
    all
}

/// Returns the number of rows of each area, after a colon; nothing where there are none.
fn by_area(rows: &[&CaseRow]) -> String {
    let mut areas: BTreeMap<&str, usize> = BTreeMap::new();
    rows.iter().for_each(|row| *areas.entry(&row.area).or_default() += 1);
    let areas: Vec<String> = areas.iter().map(|(area, count)| format!("{area} {count}")).collect();
    if areas.is_empty() { String::new() } else { format!(": {}", areas.join(", ")) }
}

/// Tells how many rows of each area pass on a liar that knows the corpus.
fn tell_knowing(finished: &CompletedRun, text: &mut String) {
    let (judged, passes) = played(finished, DoubleReply::KnowsCorpus);
    if judged > 0 {
        text.push_str(&format!(
            "{KNOWING}: {} of {judged} pass{}; a second look (`run --blind`) shows it\n",
            passes.len(),
            by_area(&passes)
        ));
    }
}

/// Returns whether the verdict is the one that a backend which is always wrong must get. A
/// channel's broken twins (one garbles everything, one is silent) are wrong in more than one way.
fn is_due(row: &CaseRow, suite: &Suite) -> bool {
    let case = suite.cases.iter().find(|case| case.id.as_str() == row.id);
    match case.is_some_and(|case| case.channel().is_some()) {
        true => [Verdict::UnderBlock, Verdict::OverBlock, Verdict::Contract].contains(&row.verdict),
        false => row.verdict == wanted(row),
    }
}

fn wanted(row: &CaseRow) -> Verdict {
    if row.backend == ALLOW_ALL { Verdict::UnderBlock } else { Verdict::OverBlock }
}
