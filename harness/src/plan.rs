//! The plan: cases that are run, cases that are not, and the reason ([`RunPlan`]).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use boxproof_cases::case::{HostPlatform, ToolVersion};
use boxproof_cases::{Capability, Case, Suite};
use boxproof_reports::Verdict;

use crate::backend::{Backend, BackendKind};
use crate::case_pair::CasePair;
use crate::host::HostFacts;
use crate::selection::CaseSelection;

/// Every selected case against every backend, in the suite's order, backends innermost.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunPlan {
    /// The planned cases.
    pub cases: Vec<PlannedCase>,
}

/// One case against one backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedCase {
    /// The case's place in [`Suite::cases`].
    pub case: usize,
    /// The backend's place in the list that was planned for.
    pub backend: usize,
    /// The plan for the case.
    pub what: PlannedAction,
}

impl PlannedCase {
    /// Returns the case and the backend.
    pub fn pair(&self) -> CasePair {
        CasePair { case: self.case, backend: self.backend }
    }
}

/// The plan for a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlannedAction {
    /// It is run and judged.
    Run,
    /// It is not run.
    Skip {
        /// The verdict that stands for it.
        verdict: Verdict,
        /// The thing that is lacking: a capability, a fact, a means to see, `platform`, or
        /// `not installed`.
        reason: String,
    },
}

/// The options of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlanOptions {
    /// True if cases are run even where the backend does not claim what they need.
    pub all: bool,
    /// The pairs of case and backend that are planned.
    pub scope: PairScope,
    /// The cases that are run where a backend does not claim what they are about.
    pub plain: PlainCases,
}

/// One case a capability.
pub type PlainCases = BTreeMap<Capability, String>;

/// The pairs of case and backend that a plan holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum PairScope {
    /// Every selected case against every backend.
    #[default]
    Every,
    /// The pairs that an audit reads: denials on [`ALLOW_ALL`], allowances on [`DENY_ALL`], and
    /// every case on the other backends.
    Audited,
    /// These pairs.
    Listed(Arc<RunPairs>),
}

/// The ids of the cases that each backend is run on, by its name.
pub type RunPairs = HashMap<String, HashSet<String>>;

/// The name of the backend that denies nothing.
pub const ALLOW_ALL: &str = "allow-all";

/// The name of the backend that allows nothing.
pub const DENY_ALL: &str = "deny-all";

impl PairScope {
    fn holds(&self, case: &Case, backend: &Backend) -> bool {
        let negative = case.expect.decision.is_negative();
        match (self, backend.name.as_str()) {
            (Self::Listed(pairs), name) => {
                pairs.get(name).is_some_and(|ids| ids.contains(case.id.as_str()))
            }
            (Self::Audited, ALLOW_ALL) => negative,
            (Self::Audited, DENY_ALL) => !negative,
            _ => true,
        }
    }
}

/// The reason of cases that are meant for another operating system.
const PLATFORM: &str = "platform";

/// The reason of cases whose backend cannot be run here.
const NOT_INSTALLED: &str = "not installed";

/// Plans the selected cases of `suite` for each of `backends` on `host`.
pub fn plan(
    suite: &Suite,
    selection: &CaseSelection,
    backends: &[Backend],
    host: &HostFacts,
    options: &PlanOptions,
) -> RunPlan {
    let selected = suite.cases.iter().enumerate().filter(|(_, case)| selection.runs(case));
    let pairs = selected.flat_map(|(at, case)| {
        let against = move |(backend, b)| PlannedCase {
            case: at,
            backend,
            what: decide(case, b, host, options),
        };
        let held = move |(_, b): &(usize, &Backend)| options.scope.holds(case, b);
        backends.iter().enumerate().filter(held).map(against)
    });
    RunPlan { cases: pairs.collect() }
}

/// Decides by the first thing lacking: host before backend, so that a report never blames a backend
/// for an act that could not be shown here.
fn decide(
    case: &Case,
    backend: &Backend,
    host: &HostFacts,
    options: &PlanOptions,
) -> PlannedAction {
    let skip = |verdict, reason: &str| PlannedAction::Skip { verdict, reason: reason.to_owned() };
    if !case.platforms.contains(&HostPlatform::HERE) {
        return skip(Verdict::NotApplicable, PLATFORM);
    }
    if let Some(lacking) = host.sight.lacks(case) {
        return skip(Verdict::NotApplicable, lacking);
    }
    if let Some(fact) = case.host.iter().find(|fact| !host.facts.contains(fact)) {
        return skip(Verdict::NotApplicable, fact.keyword());
    }
    if let Some(why) = too_old(case, host).or_else(|| host.bounds.lacks(&case.launcher)) {
        return skip(Verdict::NotApplicable, &why);
    }
    if backend.missing.is_some() {
        return skip(Verdict::Skipped, NOT_INSTALLED);
    }
    match case.needs.iter().find(|needed| !backend.answers_for(needed)) {
        Some(_) if unclaimed(case, backend, &options.plain).is_some() => PlannedAction::Run,
        Some(needed) if !options.all => skip(Verdict::Unsupported, needed.name()),
        _ => PlannedAction::Run,
    }
}

/// Returns the one capability that `backend` lacks for `case`, if the case is the one of `plain` that
/// asks for it, and the backend itself could answer: one without results tells no event, and variables
/// of a command line are boxproof's own choice.
pub fn unclaimed<'a>(
    case: &'a Case,
    backend: &Backend,
    plain: &PlainCases,
) -> Option<&'a Capability> {
    let mut lacking = case.needs.iter().filter(|needed| !backend.answers_for(needed));
    let capability = lacking.next()?;
    let is_alone = lacking.next().is_none();
    let is_act = case.question().is_none() && case.channel().is_none();
    let is_plain = || plain.get(capability).is_some_and(|id| id == case.id.as_str());
    let is_rendered = matches!(backend.kind, BackendKind::Argv(_));
    let answers = !is_rendered || (case.expect.result.is_none() && !is_of_environment(capability));
    (is_act && is_alone && answers && is_plain()).then_some(capability)
}

fn is_of_environment(capability: &Capability) -> bool {
    capability.name().starts_with("env.")
}

/// Names a tool that is too old, with the version found and the one that is wanted.
fn too_old(case: &Case, host: &HostFacts) -> Option<String> {
    case.least_versions.iter().find_map(|(fact, least)| {
        let found = ToolVersion::in_text(host.text(fact.keyword()));
        let told = found.as_ref().map_or_else(|| "of no version".to_owned(), ToString::to_string);
        let old = found.is_none_or(|found| found < *least);
        old.then(|| format!("{} {told}, older than {least}", fact.keyword()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{Manifest, MissingBackend};
    use crate::host::ProcessBounds;
    use crate::observability::Observability;
    use crate::selection::SlowCases;
    use boxproof_cases::case::{ExpectedDecision, HostFact};
    use boxproof_cases::protocol::ClaimLevel;
    use rstest::rstest;
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    const OTHER: &str = if cfg!(target_os = "macos") { "linux" } else { "macos" };

    fn suite(extra: &str) -> Suite {
        let case = "purpose: P.\nrequirement: R-x\nact: {sh: 'true'}\nexpect: {allowed: {}}\n";
        let case = case.to_owned() + &extra.replace("OTHER", OTHER);
        let requirements = "R-x: {text: It works., source: a test}\n".to_owned();
        Suite::from_files(
            "test",
            BTreeMap::from([(PathBuf::from("fs/case.yaml"), case)]),
            &BTreeMap::from([(PathBuf::from("r.yaml"), requirements)]),
        )
        .unwrap()
    }

    fn backend(missing: bool) -> Backend {
        let cap = |name: &str| Capability::new(name).unwrap();
        let levels = [
            ("fs.write", ClaimLevel::Enforced),
            ("fs.deny_write", ClaimLevel::Partial),
            ("net.none", ClaimLevel::None),
        ];
        Backend {
            name: "box".into(),
            spec: "box".into(),
            version: None,
            sha256: None,
            program: None,
            mechanism: None,
            claims: levels.into_iter().map(|(name, level)| (cap(name), level)).collect(),
            evidence: Default::default(),
            asked: BTreeSet::from([cap("exec.not_found")]),
            limits: Vec::new(),
            kind: BackendKind::Bare,
            known: Default::default(),
            missing: missing.then(|| MissingBackend { what: "box".into(), hint: "get it".into() }),
        }
    }

    fn planned(extra: &str, missing: bool, all: bool) -> String {
        planned_with(Observability::default(), extra, missing, all)
    }

    fn planned_with(sight: Observability, extra: &str, missing: bool, all: bool) -> String {
        let report = BTreeMap::from([("git".to_owned(), "git version 2.43.0".into())]);
        let facts = BTreeSet::from([HostFact::Git]);
        let bounds = ProcessBounds { least_nice: 7, ..ProcessBounds::default() };
        let host = HostFacts { facts, sight, bounds, report, ..HostFacts::default() };
        let selection = CaseSelection::new::<&str>(&[], SlowCases::ByIdOnly).unwrap();
        let options = PlanOptions { all, ..PlanOptions::default() };
        let plan = plan(&suite(extra), &selection, &[backend(missing)], &host, &options);
        assert_eq!(plan.cases.len(), 1);
        match &plan.cases[0].what {
            PlannedAction::Run => "run".to_owned(),
            PlannedAction::Skip { verdict, reason } => format!("{verdict}({reason})"),
        }
    }

    #[rstest]
    #[case("", "run")]
    #[case("host: [git]", "run")]
    #[case("host: [git, node]", "not-applicable(node)")]
    #[case("host: [git >= 2.43]", "run")]
    #[case("host: [git >= 2.5]", "run")]
    #[case("host: [git >= 2.43.1]", "not-applicable(git 2.43, older than 2.43.1)")]
    #[case("host: [node >= 22.21]", "not-applicable(node)")]
    #[case("launcher: {nice: 7}", "run")]
    #[case("launcher: {nice: 6}", "not-applicable(nice 6, below 7 of this process)")]
    #[case("platforms: [OTHER]", "not-applicable(platform)")]
    #[case("needs: [fs.write, fs.deny_write]", "run")]
    #[case("needs: [exec.not_found]", "run")]
    #[case("needs: [fs.write, net.none]", "unsupported(net.none)")]
    #[case("needs: [fs.read_allowlist]", "unsupported(fs.read_allowlist)")]
    #[case("needs: [net.none]\nhost: [node]", "not-applicable(node)")]
    #[case("host: [node]\nplatforms: [OTHER]", "not-applicable(platform)")]
    fn each_reason_is_reached(#[case] extra: &str, #[case] what: &str) {
        assert_eq!(planned(extra, false, false), what);
    }

    #[rstest]
    #[case::of_another_case("needs: [net.none]", "fs/other", "unsupported(net.none)")]
    #[case::of_this_one("needs: [net.none]", "fs/case", "run")]
    #[case::beside_what_is_claimed("needs: [fs.write, net.none]", "fs/case", "run")]
    #[case::beside_another_gap(
        "needs: [fs.read_allowlist, net.none]",
        "fs/case",
        "unsupported(fs.read_allowlist)"
    )]
    #[case::on_another_host("needs: [net.none]\nhost: [node]", "fs/case", "not-applicable(node)")]
    fn one_plain_case_is_run_where_its_capability_is_not_claimed(
        #[case] extra: &str,
        #[case] plain: &str,
        #[case] what: &str,
    ) {
        let plain = PlainCases::from([(Capability::new("net.none").unwrap(), plain.to_owned())]);
        let options = PlanOptions { plain, ..PlanOptions::default() };
        let selection = CaseSelection::new::<&str>(&[], SlowCases::ByIdOnly).unwrap();
        let (suite, host) = (suite(extra), HostFacts::default());
        let plan = plan(&suite, &selection, &[backend(false)], &host, &options);
        let found = match &plan.cases[0].what {
            PlannedAction::Run => "run".to_owned(),
            PlannedAction::Skip { verdict, reason } => format!("{verdict}({reason})"),
        };
        assert_eq!(found, what);
    }

    /// A backend that is called by a command line tells no results, and passes the variables on that
    /// boxproof renders.
    #[rstest]
    #[case::an_effect("net.none", "expect: {allowed: {}}", true)]
    #[case::a_result("explain.events", "expect: {allowed: {}, result: {started: true}}", false)]
    #[case::a_variable("env.scrub", "expect: {allowed: {}}", false)]
    fn a_gap_is_asked_of_what_the_backend_itself_does(
        #[case] capability: &str,
        #[case] expect: &str,
        #[case] asked: bool,
    ) {
        let text = format!("act: {{sh: 'true'}}\nneeds: [{capability}]\n{expect}\n");
        let (case, capability) =
            (crate::testing::case(&text), Capability::new(capability).unwrap());
        let plain = PlainCases::from([(capability.clone(), case.id.to_string())]);
        let text = "name: box\nsummary: A box.\nprogram: box\nargv: '{{ command }}'\n";
        let manifest = Manifest::parse(std::path::Path::new("box.yaml"), text).unwrap();
        let kind = BackendKind::Argv(Box::new(manifest));
        let argv = Backend { claims: BTreeMap::new(), kind, ..backend(false) };
        let bare = Backend { claims: BTreeMap::new(), ..backend(false) };
        let of = |backend| unclaimed(&case, backend, &plain).is_some();
        assert_eq!((of(&argv), of(&bare)), (asked, true));
    }

    #[rstest]
    #[case("", "skipped(not installed)")]
    #[case("needs: [net.none]", "skipped(not installed)")]
    #[case("host: [node]", "not-applicable(node)")]
    fn a_missing_backend_runs_nothing(#[case] extra: &str, #[case] what: &str) {
        assert_eq!(planned(extra, true, true), what);
    }

    #[rstest]
    #[case("needs: [net.none]", "run")]
    #[case("host: [node]", "not-applicable(node)")]
    fn all_overrides_claims_and_nothing_else(#[case] extra: &str, #[case] what: &str) {
        assert_eq!(planned(extra, false, true), what);
    }

    /// The means to see come before the host's facts and the backend, and `all` does not add to
    /// them.
    #[rstest]
    #[case::namespaces("control: private_ns", "run", "not-applicable(namespaces)")]
    #[case::victims("stdin: $VICTIM", "run", "not-applicable(victims)")]
    #[case::sockets("stdin: $ABSTRACT", "run", "not-applicable(sockets)")]
    #[case::before_facts(
        "control: private_ns\nhost: [node]",
        "not-applicable(node)",
        "not-applicable(namespaces)"
    )]
    #[case::after_platform(
        "control: private_ns\nplatforms: [OTHER]",
        "not-applicable(platform)",
        "not-applicable(platform)"
    )]
    #[case::nothing_to_see("", "run", "run")]
    fn what_cannot_be_seen_is_not_run(
        #[case] extra: &str,
        #[case] by_all: &str,
        #[case] by_little: &str,
        #[values(false, true)] all: bool,
    ) {
        assert_eq!(planned_with(Observability::default(), extra, false, all), by_all);
        assert_eq!(planned_with(Observability::on_macos(), extra, false, all), by_little);
    }

    #[test]
    fn what_cannot_be_seen_is_said_before_that_the_backend_is_missing() {
        let extra = "control: private_ns";
        let of = |sight| planned_with(sight, extra, true, false);
        assert_eq!(of(Observability::default()), "skipped(not installed)");
        assert_eq!(of(Observability::on_macos()), "not-applicable(namespaces)");
    }

    #[test]
    fn every_selected_case_meets_every_backend() {
        let suite = suite("rows: {a: {}, b: {}, c: {level: may}}");
        let selection = CaseSelection::new(&["level:must"], SlowCases::ByIdOnly).unwrap();
        let backends = [backend(false), backend(true)];
        let plan =
            plan(&suite, &selection, &backends, &HostFacts::default(), &PlanOptions::default());
        let pairs: Vec<_> =
            plan.cases.iter().map(|planned| (planned.case, planned.backend)).collect();
        assert_eq!(pairs, [(0, 0), (0, 1), (1, 0), (1, 1)]);
    }

    #[test]
    fn a_list_of_pairs_leaves_out_the_others() {
        let suite = suite("rows: {a: {}, b: {}}");
        let selection = CaseSelection::new::<&str>(&[], SlowCases::ByIdOnly).unwrap();
        let ids = HashSet::from(["fs/case/b".to_owned()]);
        let pairs = Arc::new(RunPairs::from([("box".to_owned(), ids)]));
        let options = PlanOptions { scope: PairScope::Listed(pairs), ..PlanOptions::default() };
        let backends = [backend(false), Backend { name: "other".into(), ..backend(false) }];
        let plan = plan(&suite, &selection, &backends, &HostFacts::default(), &options);
        let planned: Vec<_> = plan.cases.iter().map(|one| (one.case, one.backend)).collect();
        assert_eq!(planned, [(1, 0)]);
    }

    #[test]
    fn a_question_is_no_plain_case() {
        let act =
            crate::testing::case("needs: [net.none]\nact: {sh: 'true'}\nexpect: {allowed: {}}\n");
        let question = crate::testing::case(
            "needs: [net.none]\npolicy: {orbit: {}}\nact: {decide: validate}\n\
             expect: {answer: {valid: {}}}\n",
        );
        let plain = PlainCases::from([(Capability::new("net.none").unwrap(), act.id.to_string())]);
        assert!(unclaimed(&act, &backend(false), &plain).is_some());
        assert!(unclaimed(&question, &backend(false), &plain).is_none());
    }

    #[rstest]
    #[case(ExpectedDecision::Allowed, [DENY_ALL, "echo"])]
    #[case(ExpectedDecision::Refused, [ALLOW_ALL, "echo"])]
    fn an_audit_leaves_out_what_it_does_not_read(
        #[case] decision: ExpectedDecision,
        #[case] planned: [&str; 2],
    ) {
        let mut suite = suite("");
        suite.cases[0].expect.decision = decision;
        let selection = CaseSelection::new::<&str>(&[], SlowCases::ByIdOnly).unwrap();
        let backends = [ALLOW_ALL, DENY_ALL, "echo"]
            .map(|name| Backend { name: name.to_owned(), ..backend(false) });
        let options = PlanOptions { scope: PairScope::Audited, ..PlanOptions::default() };
        let plan = plan(&suite, &selection, &backends, &HostFacts::default(), &options);
        let names: Vec<_> =
            plan.cases.iter().map(|planned| backends[planned.backend].name.as_str()).collect();
        assert_eq!(names, planned);
    }
}
