//! Collecting: judgements set against plan and known failures, as header and rows of the record.

mod arms;
pub mod evidence;

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use boxproof_cases::{Case, FrozenSet, RequirementId, Suite};
use boxproof_reports::{
    BackendInfo, BlindLook, BlindShown, CaseRow, CorpusInfo, EarlierTry, Header, KnownFailure,
    Level, Outcome, RequirementText, RunUser, Selection, SetInfo, TwinState, UserKind, Verdict,
};

use crate::backend::{Backend, BackendKind};
use crate::case_pair::CasePair;
use crate::execution::CaseExecution;
use crate::host::HostFacts;
use crate::judge::{self, Judgement};
use crate::known::{
    CaseOutcome, KnownFailures as Listed, KnownRow, RunSetting, StaleReason, StaleRow,
};
use crate::plan::{self, PlannedAction, PlannedCase, RunPlan};
use crate::session_request::SessionRequest;
use crate::shell_quoting::shell_word;
use crate::tries::{BlindLooks, JudgedPairs, RunTries};
use arms::{arm_rows, bounded};

/// Returns the provenance of the run that `request` asked for.
pub fn header(
    request: &SessionRequest,
    plan: &RunPlan,
    host: &HostFacts,
    started: String,
) -> Header {
    // Of the whole selection, also where a part of it is run.
    let selected = request.suite.cases.iter().filter(|case| request.selection.selects(case));
    let ids = selected.map(|case| case.id.as_str());
    let selection = Selection {
        filters: request.selection.filters(),
        all: request.all,
        slow: request.selection.includes_slow(),
        strict: request.strict,
        shard: request.selection.shard(),
        ..Selection::whole_selection(ids)
    };
    let kind = if host.uid == 0 { UserKind::Root } else { UserKind::Ordinary };
    Header {
        format: boxproof_reports::record::FORMAT,
        harness: env!("CARGO_PKG_VERSION").to_owned(),
        corpus: CorpusInfo {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            sha256: request.suite.sha256.clone(),
            source: request.suite.source.clone(),
        },
        started,
        host: host.report.clone(),
        user: RunUser { kind, uid: host.uid },
        backends: request.backends.iter().map(backend_info).collect(),
        selection,
        requirements: promises(request, plan),
        set: request.set.as_ref().map(|set| SetInfo {
            version: set.version.clone(),
            profiles: set
                .profiles
                .iter()
                .map(|(name, profile)| (name.clone(), profile.ids().count() as u64))
                .collect(),
        }),
        base_url: request.base_url.clone().or_else(|| {
            let built_in =
                concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/v", env!("CARGO_PKG_VERSION"), "/");
            request.suite.is_embedded().then(|| built_in.to_owned())
        }),
        commit: request.commit.clone(),
        case_files: case_files(request, plan),
    }
}

/// The text of each file with a planned case.
fn case_files(request: &SessionRequest, plan: &RunPlan) -> BTreeMap<String, String> {
    let cases = plan.cases.iter().map(|planned| &request.suite.cases[planned.case]);
    let files: BTreeSet<&PathBuf> = cases.map(|case| &case.file).collect();
    let text = |file: &PathBuf| {
        let text = request.suite.files.get(file)?;
        Some((file.display().to_string(), text.clone()))
    };
    files.into_iter().filter_map(text).collect()
}

/// The requirements that planned cases cite.
fn promises(request: &SessionRequest, plan: &RunPlan) -> BTreeMap<String, RequirementText> {
    let cases = plan.cases.iter().map(|planned| &request.suite.cases[planned.case]);
    let cited: BTreeSet<_> = cases.flat_map(|case| &case.requirements).collect();
    let promise = |id: &&RequirementId| {
        let found = request.suite.requirements.get(id)?;
        Some((
            id.to_string(),
            RequirementText { text: found.text.clone(), source: found.source.clone() },
        ))
    };
    cited.iter().filter_map(promise).collect()
}

fn backend_info(backend: &Backend) -> BackendInfo {
    let program = backend.program.as_ref().map(|p| p.display().to_string());
    BackendInfo {
        name: backend.name.clone(),
        version: backend.version.clone().unwrap_or_default(),
        sha256: backend.sha256.clone().unwrap_or_default(),
        program: program.unwrap_or_default(),
        mechanism: backend.mechanism.clone().unwrap_or_default(),
        claims: backend
            .claims
            .iter()
            .map(|(capability, level)| (capability.to_string(), level.keyword().to_owned()))
            .collect(),
        homepage: match &backend.kind {
            BackendKind::Argv(manifest) | BackendKind::Receipts(manifest) => {
                manifest.homepage.clone()
            }
            _ => None,
        },
        missing: backend
            .missing
            .as_ref()
            .map(|missing| format!("{}: {}", missing.what, missing.hint)),
    }
}

/// Returns one row for each planned pair whose backend is installed, in the plan's order.
pub(crate) fn rows(
    request: &SessionRequest,
    plan: &RunPlan,
    (tries, looks): (&RunTries, &BlindLooks),
    setting: &impl Fn(&Backend) -> RunSetting,
) -> Vec<CaseRow> {
    let row = |planned: &PlannedCase| {
        let case = &request.suite.cases[planned.case];
        let backend = &request.backends[planned.backend];
        let pair = planned.pair();
        match (&planned.what, tries.last.get(&pair)) {
            (PlannedAction::Skip { verdict, reason }, _) => {
                // What is asked stands in the rows of the backends that it was asked of.
                CaseRow { asked: None, ..skipped(case, backend, *verdict, reason) }
            }
            (PlannedAction::Run, Some((execution, judgement))) => {
                let row = concluded(request, case, backend, execution, judgement);
                let look = looks.get(&pair);
                let row = with_look(row, look.map(|(look, _)| look));
                let earlier: Vec<_> = tries.earlier.get(&pair).into_iter().collect();
                let ordinary = look.and_then(|(_, seen)| seen.as_ref());
                let evidence = evidence::gather(execution, &earlier, ordinary);
                let earlier = earlier.into_iter().map(earlier_try).collect();
                let stress = tries.repetitions.get(&pair).cloned();
                with_outcome(
                    CaseRow { earlier, stress, evidence: Some(evidence), ..row },
                    backend.known.for_suite(&request.suite),
                    &setting(backend),
                )
            }
            (PlannedAction::Run, None) => {
                let row = skipped(case, backend, Verdict::Error, "harness");
                CaseRow {
                    message: evidence::NOT_EXECUTED.to_owned(),
                    outcome: Outcome::Unexpected,
                    ..row
                }
            }
        }
    };
    // A backend that is not installed is in the header and has no rows.
    let present = |planned: &&PlannedCase| request.backends[planned.backend].missing.is_none();
    let profiles = request.set.as_ref().map(FrozenSet::by_id).unwrap_or_default();
    let held = |row: CaseRow| {
        let profiles = profiles.get(&row.id).cloned().unwrap_or_default();
        CaseRow { profiles, ..row }
    };
    plan.cases.iter().filter(present).map(row).map(held).collect()
}

/// The row of a pair that was judged.
pub fn row(
    request: &SessionRequest,
    pair: CasePair,
    (execution, judgement): (&CaseExecution, &Judgement),
    setting: &impl Fn(&Backend) -> RunSetting,
) -> CaseRow {
    let (case, backend) = (&request.suite.cases[pair.case], &request.backends[pair.backend]);
    let row = concluded(request, case, backend, execution, judgement);
    with_outcome(row, backend.known.for_suite(&request.suite), &setting(backend))
}

/// Takes out the rows of what a run that was cut short did not come to.
pub fn keep_judged(request: &SessionRequest, rows: &mut Vec<CaseRow>, judged: &JudgedPairs) {
    let name = |pair: &CasePair| {
        let (case, backend) = (&request.suite.cases[pair.case], &request.backends[pair.backend]);
        (case.id.as_str(), backend.name.as_str())
    };
    let judged: BTreeSet<_> = judged.keys().map(name).collect();
    rows.retain(|row| {
        !row.verdict.is_unlearnt() || judged.contains(&(row.id.as_str(), row.backend.as_str()))
    });
}

/// Lists known-failure rows that should not be there any more, one sentence each.
pub fn stale(
    request: &SessionRequest,
    rows: &[CaseRow],
    setting: &impl Fn(&Backend) -> RunSetting,
) -> Vec<String> {
    let ids: Vec<&str> = request.suite.cases.iter().map(|case| case.id.as_str()).collect();
    let built_in = LazyCell::new(|| Suite::survey_embedded().0);
    // A list beside a manifest may be about the built-in corpus, while another one was run, or the
    // files that are selected.
    let is_elsewhere = |row: &KnownRow| {
        !ids.iter().any(|id| row.case.matches(id))
            && built_in.cases.iter().any(|case| row.case.matches(case.id.as_str()))
    };
    let is_left_out = |stale: &StaleRow| {
        (!request.suite.is_embedded() || stale.why == StaleReason::Unused)
            && is_elsewhere(stale.row)
    };
    let of_backend = |backend: &Backend| -> Vec<String> {
        let found: Vec<CaseOutcome<'_>> = rows
            .iter()
            .filter(|row| row.backend == backend.name)
            .map(|row| CaseOutcome { case: &row.id, verdict: row.verdict, signature: &row.reason })
            .collect();
        let stale = backend.known.for_suite(&request.suite).stale(&ids, &found, &setting(backend));
        stale
            .iter()
            .filter(|stale| !is_left_out(stale))
            .map(|stale| {
                format!("{}: known failure {}: {}", backend.name, stale.row.case, why(stale.why))
            })
            .collect()
    };
    request.backends.iter().filter(|b| b.missing.is_none()).flat_map(of_backend).collect()
}

fn why(staleness: StaleReason) -> &'static str {
    match staleness {
        StaleReason::Unused => "no case it matches was judged: remove the row",
        StaleReason::Drifted => "it fails in another way now: look again, then update the row",
        StaleReason::Expired => "its time is up: look again, then renew or remove the row",
    }
}

fn skipped(case: &Case, backend: &Backend, verdict: Verdict, reason: &str) -> CaseRow {
    CaseRow {
        id: case.id.as_str().to_owned(),
        backend: backend.name.clone(),
        verdict,
        reason: reason.to_owned(),
        message: String::new(),
        outcome: Outcome::Expected,
        known: None,
        level: level(case),
        area: case.area().to_owned(),
        file: Some(case.file.display().to_string()),
        requirements: case.requirements.iter().map(ToString::to_string).collect(),
        profiles: Vec::new(),
        host: case.host.iter().map(|fact| fact.keyword().to_owned()).collect(),
        needs: case.needs.iter().map(ToString::to_string).collect(),
        about: case.about.as_ref().map(|all| all.iter().map(ToString::to_string).collect()),
        twin: TwinState::NotNeeded,
        duration_ms: 0.0,
        purpose: case.purpose.clone(),
        asked: Some(crate::case_summary::summarize_case(case)),
        arms: Vec::new(),
        earlier: Vec::new(),
        stress: None,
        blind: None,
        reproduce: None,
        evidence: None,
    }
}

fn level(case: &Case) -> Level {
    match case.level {
        boxproof_cases::case::Level::Must => Level::Must,
        boxproof_cases::case::Level::Should => Level::Should,
        boxproof_cases::case::Level::May => Level::May,
    }
}

fn concluded(
    request: &SessionRequest,
    case: &Case,
    backend: &Backend,
    execution: &CaseExecution,
    judgement: &Judgement,
) -> CaseRow {
    let spec = shell_word(&backend.spec);
    let unclaimed = plan::unclaimed(case, backend, &request.plain);
    let judgement = &match unclaimed {
        Some(capability) => judge::unclaimed(case, judgement, capability),
        None => judgement.clone(),
    };
    let all = match (request.all, unclaimed) {
        (true, _) => " --all",
        (false, Some(_)) => " --gaps",
        (false, None) => "",
    };
    let reproduce =
        format!("boxproof run '{}' --backend {spec} --verbose{all}{}", case.id, request.reproduce);
    let row = skipped(case, backend, judgement.verdict, &judgement.reason);
    with_judgement(CaseRow { reproduce: Some(reproduce), ..row }, execution, judgement)
}

/// Returns `row` with what was seen of its case and concluded from that.
pub fn with_judgement(row: CaseRow, execution: &CaseExecution, judgement: &Judgement) -> CaseRow {
    let arms = arm_rows(execution, judgement.verdict);
    CaseRow {
        verdict: judgement.verdict,
        reason: judgement.reason.clone(),
        message: bounded(&judgement.message),
        twin: judgement.twin,
        duration_ms: arms.iter().map(|arm| arm.duration_ms).sum(),
        arms,
        ..row
    }
}

/// Returns what a record tells of an earlier try.
pub fn earlier_try((execution, judgement): &(CaseExecution, Judgement)) -> EarlierTry {
    EarlierTry {
        verdict: judgement.verdict,
        reason: judgement.reason.clone(),
        message: bounded(&judgement.message),
        arms: arm_rows(execution, judgement.verdict),
    }
}

/// Adds the second look to `row`; where it differs, the reproduce line takes a second look at every
/// case.
fn with_look(row: CaseRow, look: Option<&BlindLook>) -> CaseRow {
    let Some(look) = look else { return row };
    let differs = look.shown == BlindShown::Differs;
    let reproduce = row.reproduce.map(|line| if differs { line + " --blind all" } else { line });
    CaseRow { blind: Some(told_look(look)), reproduce, ..row }
}

/// Returns what a record tells of a second look.
pub fn told_look(look: &BlindLook) -> BlindLook {
    BlindLook { saw: bounded(&look.saw), ..look.clone() }
}

fn with_outcome(row: CaseRow, listed: &Listed, setting: &RunSetting) -> CaseRow {
    let found = CaseOutcome { case: &row.id, verdict: row.verdict, signature: &row.reason };
    let (outcome, known) = listed.outcome(found, setting);
    let outcome = match outcome {
        Outcome::Expected if row.is_flaky() && row.verdict == Verdict::Pass => Outcome::Flaky,
        // It failed as known, once.
        Outcome::Xpass
            if row.earlier.iter().any(|earlier| is_known(&row, earlier, listed, setting)) =>
        {
            Outcome::Flaky
        }
        outcome => outcome,
    };
    let known =
        known.map(|row| KnownFailure { reason: row.reason.clone(), link: row.link.clone() });
    CaseRow { outcome, known, ..row }
}

fn is_known(row: &CaseRow, earlier: &EarlierTry, listed: &Listed, setting: &RunSetting) -> bool {
    let EarlierTry { verdict, reason, .. } = earlier;
    let found = CaseOutcome { case: &row.id, verdict: *verdict, signature: reason };
    listed.outcome(found, setting).0 == Outcome::Xfail
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashMap};

    use boxproof_probes::ProbeRecord;
    use boxproof_reports::{ArmName, ExitRow};
    use rstest::rstest;

    use super::arms::{short, telling};
    use super::*;
    use crate::execution::{
        ArmRecord, ArmReport, ArmSet, CapturedStream, ProbeObservation, ProcessExit, RunReport,
    };
    use crate::known::{CivilDate, SystemName};
    use crate::testing::{bare, suite};
    use PlannedCase;

    const CASE: &str =
        "level: should\nneeds: [fs.write]\nact: {sh: 'true'}\nexpect: {allowed: {}}\n";

    fn request() -> SessionRequest {
        SessionRequest {
            suite: suite(CASE),
            selection: Default::default(),
            backends: vec![bare("box")],
            all: false,
            plain: Default::default(),
            scope: plan::PairScope::Every,
            strict: false,
            jobs: None,
            scratch: None,
            set: None,
            commit: None,
            base_url: None,
            blind: None,
            stress: None,
            reproduce: " --cases c".to_owned(),
        }
    }

    fn setting(_: &Backend) -> RunSetting {
        RunSetting {
            os: SystemName::HERE,
            user: UserKind::Root,
            version: None,
            today: CivilDate::today(),
        }
    }

    /// The one row that comes of a plan and what was judged.
    fn row(what: PlannedAction, judged: Option<(CaseExecution, Judgement)>) -> CaseRow {
        let plan = RunPlan { cases: vec![PlannedCase { case: 0, backend: 0, what }] };
        let last: HashMap<_, _> =
            judged.map(|judged| (CasePair { case: 0, backend: 0 }, judged)).into_iter().collect();
        let tries = RunTries { last, ..RunTries::default() };
        let mut rows = rows(&request(), &plan, (&tries, &BlindLooks::new()), &setting);
        assert_eq!(rows.len(), 1);
        rows.remove(0)
    }

    fn judgement(verdict: Verdict, reason: &str) -> Judgement {
        let twin = TwinState::NotNeeded;
        Judgement { verdict, reason: reason.to_owned(), message: reason.to_owned(), twin }
    }

    fn run(exit: ProcessExit) -> RunReport {
        RunReport {
            command: "box -- act".to_owned(),
            exit,
            stdout: CapturedStream {
                text: "said".to_owned(),
                bytes: 9,
                ..CapturedStream::default()
            },
            stderr: CapturedStream {
                text: "said".to_owned(),
                bytes: 4,
                ..CapturedStream::default()
            },
            observation: ProbeObservation::NotExpected,
            besides: Vec::new(),
            ready: false,
            result: None,
            result_fault: None,
            special: None,
            shown: None,
            moments: Vec::new(),
            watched_ms: 1.0,
            stopped: false,
        }
    }

    fn arm(runs: Vec<RunReport>, duration_ms: f64) -> ArmRecord {
        ArmRecord::Done(Box::new(ArmReport {
            nonce: "n".to_owned(),
            runs,
            broken: None,
            oracles: Vec::new(),
            tree: BTreeMap::new(),
            laid: BTreeMap::new(),
            appeared: Vec::new(),
            leaks: Vec::new(),
            outlasting: Vec::new(),
            shortages: Vec::new(),
            spoilt: Vec::new(),
            unseen: Vec::new(),
            distrust: None,
            strays: Vec::new(),
            duration_ms,
        }))
    }

    #[test]
    fn what_was_planned_and_never_judged_is_an_error_to_look_at() {
        let row = row(PlannedAction::Run, None);
        assert_eq!((row.verdict, row.outcome), (Verdict::Error, Outcome::Unexpected));
        assert_eq!(row.reason, judge::Reason::Harness.code());
    }

    #[test]
    fn what_was_left_out_keeps_its_reason_and_has_no_arms() {
        let verdict = Verdict::Unsupported;
        let row = row(PlannedAction::Skip { verdict, reason: "fs.write".to_owned() }, None);
        assert_eq!((row.verdict, row.reason.as_str(), row.arms.len()), (verdict, "fs.write", 0));
        assert_eq!((row.outcome, row.reproduce), (Outcome::Expected, None));
        assert_eq!(row.asked, None);
    }

    #[rstest]
    #[case(Verdict::Pass, Outcome::Expected)]
    #[case(Verdict::UnderBlock, Outcome::Unexpected)]
    #[case(Verdict::Inconclusive, Outcome::Unexpected)]
    fn a_judgement_becomes_a_row(#[case] verdict: Verdict, #[case] outcome: Outcome) {
        let execution = CaseExecution::Arms(ArmSet {
            control: Some(arm(vec![run(ProcessExit::Code(0))], 1.5)),
            twin: Some(ArmRecord::Inexpressible("no".to_owned())),
            confined: arm(vec![run(ProcessExit::Signal(9))], 2.0),
        });
        let row = row(PlannedAction::Run, Some((execution, judgement(verdict, "why"))));
        assert_eq!((row.id.as_str(), row.area.as_str()), ("area/case", "area"));
        assert_eq!((row.verdict, row.outcome, row.level), (verdict, outcome, Level::Should));
        assert_eq!((row.reason.as_str(), row.message.as_str()), ("why", "why"));
        assert_eq!((row.requirements, row.needs), (vec!["R-x".into()], vec!["fs.write".into()]));
        assert_eq!(row.duration_ms, 3.5);
        let arms: Vec<_> = row.arms.iter().map(|arm| (arm.arm, arm.exit)).collect();
        let exits = [Some(ExitRow::Code(0)), Some(ExitRow::Signal(9))];
        assert_eq!(
            arms,
            [ArmName::Control, ArmName::Confined].into_iter().zip(exits).collect::<Vec<_>>()
        );
        let commands: Vec<&str> = row.arms.iter().map(|arm| arm.command.as_str()).collect();
        let backend_command = if verdict == Verdict::Pass { "" } else { "box -- act" };
        assert_eq!(commands, ["", backend_command]);
        assert!(row.arms[0].stdout.truncated && !row.arms[0].stderr.truncated);
        let again = "boxproof run 'area/case' --backend box --verbose --cases c";
        assert_eq!(row.reproduce.as_deref(), Some(again));
    }

    #[test]
    fn of_several_runs_the_odd_one_is_shown() {
        let runs = [0, 0, 7, 0].map(|code| run(ProcessExit::Code(code)));
        let arm = arm(runs.to_vec(), 1.0);
        assert_eq!(telling(arm.done().unwrap()).unwrap().exit, ProcessExit::Code(7));
    }

    #[test]
    fn long_details_are_left_out_and_short_ones_kept() {
        use boxproof_probes::DetailValue;
        let detail = BTreeMap::from([
            ("long".to_owned(), DetailValue::Text("x".repeat(300))),
            ("short".to_owned(), DetailValue::Number(7)),
        ]);
        let outcome = boxproof_probes::ActOutcome::Succeeded;
        let record = ProbeRecord { probe: "read".to_owned(), outcome, detail };
        assert_eq!(short(&record).unwrap()["detail"], serde_json::json!({ "short": 7 }));
    }
}
