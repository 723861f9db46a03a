//! The corpus as tests: each case against the built reference is one test of `cargo test` and of
//! cargo-nextest. All selected cases are executed in one run before any thread exists; the tests
//! then only report their rows. A case that the backend cannot be asked here is no test, and is
//! reported apart.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::path::Path;
use std::process::exit;

use boxproof::backend::{Backend, SettledUser, resolve};
use boxproof::host::{HostFacts, PendingTools};
use boxproof::multicall::dispatch;
use boxproof::plan::{PairScope, PlanOptions, PlannedAction, plan};
use boxproof::scratch::default_base;
use boxproof::selection::{CaseSelection, SlowCases};
use boxproof::session::{CompletedRun, RunConclusion, SessionRequest, conduct, tools_for};
use boxproof_cases::{Case, Suite};
use boxproof_reports::{
    BackendInfo, CaseRow, ExitCode, ExitOptions, Header, RecordWriter, Verdict, exit_code,
};
use libtest_mimic::{Arguments, Completion, Failed, Trial};

fn main() {
    let args: Vec<OsString> = std::env::args_os().collect();
    // The probe of a run is a copy of this very program.
    if let Some(code) = dispatch(&args) {
        exit(code);
    }
    let arguments = Arguments::from_args();
    let program = Path::new(env!("CARGO_BIN_EXE_boxproof"));
    let backend =
        resolve("reference", program, &SettledUser::own()).unwrap_or_else(|error| broken(&error));
    let suite = Suite::embedded().unwrap_or_else(|errors| broken(&errors));
    let (suite, left_out) = askable(&suite, &backend);
    let wanted = wanted(&suite, &arguments);
    let (rows, backends) = if arguments.list || wanted.is_empty() {
        (HashMap::new(), Vec::new())
    } else {
        for (reason, count) in &left_out {
            eprintln!("not asked here: {count} {reason}");
        }
        execute(&suite, &wanted, backend)
    };
    let trials = suite.cases.iter().map(|case| trial(case, rows.get(case.id.as_str()), &backends));
    libtest_mimic::run(&arguments, trials.collect()).exit();
}

/// The cases that the backend can be asked on this host, and why how many others cannot.
fn askable(suite: &Suite, backend: &Backend) -> (Suite, BTreeMap<String, usize>) {
    let base = default_base();
    let there = base.ancestors().find(|directory| directory.exists()).unwrap_or(Path::new("/"));
    let host = HostFacts::detect(there, PendingTools::all());
    let everything = CaseSelection::new::<&str>(&[], SlowCases::Included);
    let everything = everything.unwrap_or_else(|error| broken(&error));
    let backends = std::slice::from_ref(backend);
    let plan = plan(suite, &everything, backends, &host, &PlanOptions::default());
    let (mut asked, mut left_out) = (HashSet::new(), BTreeMap::new());
    for planned in &plan.cases {
        match &planned.what {
            PlannedAction::Run => _ = asked.insert(suite.cases[planned.case].id.as_str()),
            PlannedAction::Skip { verdict, reason } => {
                *left_out.entry(format!("{} ({reason})", verdict.keyword())).or_insert(0) += 1;
            }
        }
    }
    (only(suite, &asked), left_out)
}

fn broken(error: &impl std::fmt::Debug) -> ! {
    eprintln!("{error:?}");
    exit(i32::from(ExitCode::Usage.code()))
}

/// The ids of the cases that the arguments select.
fn wanted(suite: &Suite, arguments: &Arguments) -> Vec<String> {
    let is_wanted = |case: &&Case| {
        let test = trial(case, None, &[]);
        !arguments.is_filtered_out(&test) && !arguments.is_ignored(&test)
    };
    suite.cases.iter().filter(is_wanted).map(|case| case.id.as_str().to_owned()).collect()
}

/// Runs the wanted cases: id → row, and what the backend was.
fn execute(
    suite: &Suite,
    wanted: &[String],
    backend: Backend,
) -> (HashMap<String, CaseRow>, Vec<BackendInfo>) {
    let request = request(suite, wanted, backend);
    let tools = tools_for(&request.suite, &request.selection);
    let finished = match conduct(&request, tools, &mut ()) {
        Ok(RunConclusion::Finished(finished)) => *finished,
        Ok(RunConclusion::Interrupted(signal, _)) => exit(128 + signal as i32),
        Err(error) => broken(&error),
    };
    let CompletedRun { header, rows, .. } = finished;
    if let Some(path) = std::env::var_os("BOXPROOF_RECORD") {
        keep(Path::new(&path), &header, &rows).unwrap_or_else(|error| broken(&error));
    }
    (rows.into_iter().map(|row| (row.id.clone(), row)).collect(), header.backends)
}

/// Writes the run record of what was executed, which `.ci/run` keeps beside the record of its own
/// run.
fn keep(path: &Path, header: &Header, rows: &[CaseRow]) -> Result<(), Box<dyn std::error::Error>> {
    let mut writer = RecordWriter::new(std::fs::File::create(path)?, header)?;
    for row in rows {
        writer.row(row)?;
    }
    writer.finish()?;
    Ok(())
}

fn request(suite: &Suite, wanted: &[String], backend: Backend) -> SessionRequest {
    let selection = CaseSelection::new(wanted, SlowCases::ByIdOnly);
    SessionRequest {
        // An id selects the rows below it, too; only what was asked for is to run.
        suite: only(suite, &wanted.iter().map(String::as_str).collect()),
        selection: selection.unwrap_or_else(|error| broken(&error)),
        backends: vec![backend],
        all: false,
        plain: Default::default(),
        scope: PairScope::Every,
        strict: false,
        jobs: None,
        scratch: None,
        set: None,
        commit: None,
        base_url: None,
        blind: None,
        stress: None,
        reproduce: String::new(),
    }
}

fn only(suite: &Suite, wanted: &HashSet<&str>) -> Suite {
    let mut suite = suite.clone();
    suite.cases.retain(|case| wanted.contains(case.id.as_str()));
    suite
}

/// The test of one case; a slow one is ignored unless asked for.
fn trial(case: &Case, row: Option<&CaseRow>, backends: &[BackendInfo]) -> Trial {
    let told = row.map(|row| tell(row, backends));
    let told = told.unwrap_or_else(|| Err("it was not executed".into()));
    Trial::ignorable_test(case.id.as_str(), || told).with_ignored_flag(case.slow)
}

/// Maps a row to a test's result: only a pass is ok, and only a row that the run's exit code counts
/// fails.
fn tell(row: &CaseRow, backends: &[BackendInfo]) -> Result<Completion, Failed> {
    let verdict = format!("{} {} {}", row.verdict.keyword(), row.reason, row.message);
    match exit_code(std::slice::from_ref(row), ExitOptions::default(), backends) {
        ExitCode::Expected if row.verdict == Verdict::Pass => Ok(Completion::Completed),
        ExitCode::Expected => Ok(Completion::ignored_with(verdict)),
        ExitCode::Vacuous if !row.verdict.is_unlearnt() => Ok(Completion::ignored_with(verdict)),
        _ => {
            let reproduce = row.reproduce.clone().unwrap_or_default();
            Err(format!("{verdict}\n{reproduce}").into())
        }
    }
}
