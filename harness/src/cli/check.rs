//! `boxproof backend check`: the plain cases about every capability a backend claims, and whether
//! its manifest has a word about each.

use std::collections::BTreeMap;
use std::path::PathBuf;

use boxproof_cases::protocol::ClaimLevel;
use boxproof_cases::{Capability, Suite};
use boxproof_reports::{CaseRow, Outcome, Verdict};

use super::{CliFailure, note, print_text};
use crate::backend::{Backend, BackendKind, plain_cases};
use crate::plan::PairScope;
use crate::selection::{CaseSelection, SlowCases};
use crate::session::{RunConclusion, SessionRequest, conduct, tools_for};

/// The plain cases by capability.
type PlainCases = BTreeMap<Capability, Vec<String>>;

/// The result of one capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CapabilityStanding {
    /// Its plain cases pass.
    Behaves,
    /// One of them fails, as it is known to.
    KnownFailure,
    /// One of them fails.
    Fails,
    /// It is claimed, and a plain case cannot be asked.
    CannotBeAsked,
    /// Nothing was learnt of one of them.
    Unlearnt,
    /// None of them applies to this host.
    NotHere,
    /// The manifest has no word about it.
    Silent,
}

impl CapabilityStanding {
    fn standing_label(self) -> &'static str {
        match self {
            Self::Behaves => "behaves",
            Self::KnownFailure => "known failure",
            Self::Fails => "fails",
            Self::CannotBeAsked => "cannot be asked",
            Self::Unlearnt => "nothing learnt",
            Self::NotHere => "not on this host",
            Self::Silent => "no word about it",
        }
    }

    /// Returns the exit code for a backend that claims the capability.
    fn code(self) -> i32 {
        match self {
            Self::Behaves | Self::KnownFailure | Self::NotHere => 0,
            Self::Unlearnt => 3,
            Self::Fails | Self::CannotBeAsked | Self::Silent => 1,
        }
    }
}

/// Checks the one backend in `backends`.
pub(super) fn run(backends: Vec<Backend>, scratch: Option<PathBuf>) -> Result<i32, CliFailure> {
    let backend = backends[0].clone();
    if let Some(missing) = &backend.missing {
        note(format_args!("{}: {}", missing.what, missing.hint));
        return Ok(3);
    }
    let plain = plain_cases().map_err(|error| CliFailure::usage(error.to_string()))?;
    let asked = plain.iter().filter(|(capability, _)| backend.answers_for(capability));
    let asked: Vec<&String> = asked.flat_map(|(_, cases)| cases).collect();
    let rows = match asked.is_empty() {
        true => Vec::new(),
        false => match rows(backends, &asked, scratch)? {
            Ok(rows) => rows,
            Err(code) => return Ok(code),
        },
    };
    report(&backend, &plain, &rows)
}

/// The rows of the cases called `ids`, or the exit code of an interrupted run.
fn rows(
    backends: Vec<Backend>,
    ids: &[&String],
    scratch: Option<PathBuf>,
) -> Result<Result<Vec<CaseRow>, i32>, CliFailure> {
    let request = SessionRequest {
        suite: Suite::embedded().map_err(|errors| CliFailure::usage(format!("{errors:?}")))?,
        selection: CaseSelection::new(ids, SlowCases::Included)
            .map_err(|error| CliFailure::usage(error.to_string()))?,
        backends,
        all: false,
        plain: Default::default(),
        scope: PairScope::Every,
        strict: false,
        jobs: None,
        scratch,
        set: None,
        commit: None,
        base_url: None,
        blind: None,
        stress: None,
        reproduce: String::new(),
    };
    let tools = tools_for(&request.suite, &request.selection);
    Ok(match conduct(&request, tools, &mut ())? {
        RunConclusion::Finished(finished) => Ok(finished.rows),
        RunConclusion::Interrupted(signal, _) => Err(128 + signal as i32),
    })
}

/// The most characters of a reason: a whole command line may be in it.
const WHY: usize = 240;

/// Prints a line a capability and returns the exit code.
fn report(backend: &Backend, plain: &PlainCases, rows: &[CaseRow]) -> Result<i32, CliFailure> {
    let (mut code, mut behave) = (0, 0);
    for (capability, cases) in plain {
        let of_it: Vec<&CaseRow> = rows.iter().filter(|row| cases.contains(&row.id)).collect();
        let outcomes: Vec<_> = of_it.iter().map(|row| (row.verdict, row.outcome)).collect();
        let Some(standing) = standing(backend, capability, &outcomes) else { continue };
        let claimed = backend.claim(capability) != ClaimLevel::None;
        let counts = claimed || standing == CapabilityStanding::Silent;
        code = worse(code, if counts { standing.code() } else { 0 });
        behave += u32::from(claimed && standing == CapabilityStanding::Behaves);
        let level = if counts { backend.claim(capability).keyword() } else { "asked" };
        print_text(&format!("{:30} {level:9} {}\n", capability.name(), standing.standing_label()))?;
        for row in of_it.iter().filter(|row| row.verdict != Verdict::Pass) {
            let why = boxproof_reports::excerpt(why(row), WHY);
            print_text(&format!("  {} {}: {why}\n", row.verdict.keyword(), row.id))?;
        }
    }
    print_text(&format!("{}: {behave} claims behave\n", backend.name))?;
    Ok(if code == 0 && behave == 0 { 4 } else { code })
}

/// A failure outweighs what was not learnt.
fn worse(one: i32, other: i32) -> i32 {
    match (one, other) {
        (1, _) | (_, 1) => 1,
        (one, other) => one.max(other),
    }
}

fn why(row: &CaseRow) -> &str {
    if row.message.is_empty() { &row.reason } else { &row.message }
}

/// Returns the result of the plain cases about `capability`; none where the backend is not asked.
fn standing(
    backend: &Backend,
    capability: &Capability,
    outcomes: &[(Verdict, Outcome)],
) -> Option<CapabilityStanding> {
    // A backend that speaks for itself denies what it leaves out; a manifest may have forgotten it.
    if matches!(backend.kind, BackendKind::Argv(_)) && !backend.claims.contains_key(capability) {
        return Some(CapabilityStanding::Silent);
    }
    if !backend.answers_for(capability) {
        return None;
    }
    let any = |wanted: &[Verdict]| outcomes.iter().any(|(verdict, _)| wanted.contains(verdict));
    let mut failed =
        outcomes.iter().filter(|(verdict, _)| verdict.is_judged() && *verdict != Verdict::Pass);
    let is_known = |(_, outcome): &(Verdict, Outcome)| *outcome == Outcome::Xfail;
    Some(if failed.clone().any(|it| !is_known(it)) {
        CapabilityStanding::Fails
    } else if any(&[Verdict::Unsupported]) {
        CapabilityStanding::CannotBeAsked
    } else if any(&[Verdict::Inconclusive, Verdict::ProbeBroken, Verdict::Error]) {
        CapabilityStanding::Unlearnt
    } else if failed.any(is_known) {
        CapabilityStanding::KnownFailure
    } else if any(&[Verdict::Pass]) {
        CapabilityStanding::Behaves
    } else {
        CapabilityStanding::NotHere
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::bare;
    use rstest::rstest;

    #[test]
    fn every_plain_case_is_there_and_needs_what_it_is_about() {
        let suite = Suite::embedded().unwrap();
        for (capability, ids) in plain_cases().unwrap() {
            assert!(!ids.is_empty(), "{capability}");
            for id in ids {
                let case = suite.cases.iter().find(|case| case.id.as_str() == id);
                let case = case.unwrap_or_else(|| panic!("{id} is not in the corpus"));
                let about = case.needs.contains(&capability);
                assert!(about, "{id} does not need {capability}: {:?}", case.needs);
            }
        }
    }

    /// Supervision beyond signals is left out: its own cases are plain enough.
    #[test]
    fn every_capability_that_is_the_subject_of_a_case_has_a_plain_one() {
        let (suite, plain) = (Suite::embedded().unwrap(), plain_cases().unwrap());
        let subjects = suite.cases.iter().flat_map(boxproof_cases::Case::subjects);
        for subject in subjects.filter(|subject| !subject.name().starts_with("supervise.")) {
            assert!(plain.contains_key(subject), "{subject}");
        }
    }

    #[rstest]
    #[case(&[Verdict::Pass, Verdict::Pass], CapabilityStanding::Behaves)]
    #[case(&[Verdict::Pass, Verdict::UnderBlock], CapabilityStanding::Fails)]
    #[case(&[Verdict::OverBlock, Verdict::Unsupported], CapabilityStanding::Fails)]
    #[case(&[Verdict::Pass, Verdict::Unsupported], CapabilityStanding::CannotBeAsked)]
    #[case(&[Verdict::Pass, Verdict::Inconclusive], CapabilityStanding::Unlearnt)]
    #[case(&[Verdict::NotApplicable, Verdict::Pass], CapabilityStanding::Behaves)]
    #[case(&[Verdict::NotApplicable], CapabilityStanding::NotHere)]
    #[case(&[], CapabilityStanding::NotHere)]
    fn the_worst_decides(#[case] verdicts: &[Verdict], #[case] expected: CapabilityStanding) {
        let backend = allow_all();
        let outcomes: Vec<_> = verdicts.iter().map(|v| (*v, Outcome::Unexpected)).collect();
        let capability = Capability::new("fs.write").unwrap();
        assert_eq!(standing(&backend, &capability, &outcomes), Some(expected));
        assert_eq!(standing(&bare("silent"), &capability, &outcomes), None);
    }

    fn allow_all() -> Backend {
        let settled = crate::backend::SettledUser::own();
        crate::backend::resolve("allow-all", std::path::Path::new("/x"), &settled).unwrap()
    }

    #[test]
    fn a_known_failure_is_no_other_one() {
        let backend = allow_all();
        let capability = Capability::new("fs.write").unwrap();
        let known = (Verdict::UnderBlock, Outcome::Xfail);
        let other = (Verdict::UnderBlock, Outcome::Unexpected);
        let come_to = |outcomes: &[_]| standing(&backend, &capability, outcomes);
        assert_eq!(come_to(&[known]), Some(CapabilityStanding::KnownFailure));
        assert_eq!(come_to(&[known, other]), Some(CapabilityStanding::Fails));
    }

    #[rstest]
    #[case(0, 3, 3)]
    #[case(3, 1, 1)]
    #[case(1, 3, 1)]
    #[case(0, 0, 0)]
    fn a_failure_outweighs_what_was_not_learnt(
        #[case] one: i32,
        #[case] other: i32,
        #[case] both: i32,
    ) {
        assert_eq!(worse(one, other), both);
    }
}
