//! `boxproof audit`: the vacuity guard. Every denial must be an under-block where nothing is
//! denied, every allowance an over-block where nothing is allowed; what is not proves nothing.

use std::path::PathBuf;

use boxproof_cases::Suite;
use boxproof_reports::{CaseRow, Verdict};

use super::{Cases, Failure, backends, print_text};
use crate::backend::SettledUser;
use crate::session::{Conclusion, Request, conduct, tools_for};

/// Arguments of `audit`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    cases: Cases,
    /// How many CPU-bound arms are in flight; by default twice the cores.
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Where the scratch folder is made.
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
}

const ALLOW_ALL: &str = "allow-all";
const DENY_ALL: &str = "deny-all";

pub(super) fn run(args: Args) -> Result<i32, Failure> {
    let suite = args.cases.suite()?;
    let selection = args.cases.selection(&suite)?;
    let tools = tools_for(&suite, &selection);
    let request = Request {
        suite: suite.clone(),
        selection,
        backends: backends(&[ALLOW_ALL.to_owned(), DENY_ALL.to_owned()], &SettledUser::own())?,
        all: true,
        strict: false,
        jobs: args.jobs,
        scratch: args.scratch,
        reproduce: args.cases.reproduce(),
    };
    let finished = match conduct(&request, tools, |_, _| {})? {
        Conclusion::Finished(finished) => finished,
        Conclusion::Interrupted(signal) => return Ok(128 + signal as i32),
    };
    let audited: Vec<&CaseRow> = finished.rows.iter().filter(|row| concerns(row, &suite)).collect();
    let (inapplicable, audited): (Vec<_>, Vec<_>) =
        audited.into_iter().partition(|row| row.verdict == Verdict::NotApplicable);
    let vacuous: Vec<_> = audited.iter().filter(|row| !is_due(row, &suite)).collect();
    for row in &vacuous {
        print_text(&format!(
            "{} on {}: {} {} instead of {}: {}\n",
            row.id,
            row.backend,
            row.verdict.word(),
            row.reason,
            wanted(row).word(),
            row.message
        ))?;
    }
    for row in &inapplicable {
        print_text(&format!("{}: not audited: the host lacks {}\n", row.id, row.reason))?;
    }
    print_text(&format!("{} vacuous of {}\n", vacuous.len(), audited.len()))?;
    Ok(if audited.is_empty() { 4 } else { i32::from(!vacuous.is_empty()) })
}

/// Denials concern the backend that allows all, allowances the one that denies all.
fn concerns(row: &CaseRow, suite: &Suite) -> bool {
    let case = suite.cases.iter().find(|case| case.id.as_str() == row.id);
    let negative = case.is_some_and(|case| case.expect.decision.is_negative());
    negative == (row.backend == ALLOW_ALL)
}

/// Whether the verdict is the one that a backend which is always wrong must get. A channel's broken
/// twins (one garbles everything, one is silent) are wrong in more than one way.
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
