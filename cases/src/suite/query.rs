//! The consistency checks of cases that are a question about policy documents.

use super::FieldFault;
use crate::case::{
    Answer, Case, CaseStep, Control, DuringEvent, ExpectedDecision, Launcher, PolicyQuery, RunSpec,
};

/// The reason why a question has no control.
const NO_EFFECT: &str =
    "a question has no effect that could be compared; the audit shows that its answer can differ";

/// The control of the case: a question has none.
pub(super) fn control(steps: &[CaseStep], written: Control) -> Result<Control, FieldFault> {
    let asks = steps.iter().any(|step| step.act.question().is_some());
    match (asks, written) {
        (true, Control::Host) => Ok(Control::None(NO_EFFECT.to_owned())),
        (true, _) => Err(("control", "a question has no control: leave it out".to_owned())),
        (false, written) => Ok(written),
    }
}

/// Everything that a question, and a case that is none, has to keep to.
pub(super) fn check(case: &Case) -> Result<(), FieldFault> {
    let answer = match &case.expect.decision {
        ExpectedDecision::Answer(answer) => Some(answer),
        _ => None,
    };
    let asked = case.steps.iter().filter(|step| step.act.question().is_some()).count();
    match (case.question(), answer) {
        (None, None) if asked == 0 => documents(case),
        (Some(question), Some(answer)) => {
            [fits(question, answer), alone(case), check_fault_is_specific(case, answer)]
                .into_iter()
                .collect()
        }
        _ => Err((
            "expect",
            "a question (decide, compile) expects an answer, and nothing else does".into(),
        )),
    }
}

/// Commands are run under the four lists of a case: a document may say anything.
fn documents(case: &Case) -> Result<(), FieldFault> {
    let whole = case
        .steps
        .iter()
        .any(|step| step.policy.orbit.as_ref().is_some_and(crate::case::OrbitSpec::has_documents));
    let hypothetical = |step: &CaseStep| {
        step.policy.caliban.as_ref().is_some_and(crate::case::CalibanSpec::is_for_questions)
    };
    if case.steps.iter().any(hypothetical) {
        let why = "a run has its own variables (launcher.env) and platform: leave them out";
        return Err(("policy", why.to_owned()));
    }
    if case.steps.iter().any(|step| step.policy.executor.is_some()) {
        return Err(("policy", "an executor is for a question (decide: executor)".to_owned()));
    }
    match whole {
        true => Err(("policy", "whole documents are for questions (decide)".to_owned())),
        false => Ok(()),
    }
}

fn fits(question: &PolicyQuery, answer: &Answer) -> Result<(), FieldFault> {
    let fits = match answer {
        Answer::Invalid(_) => question.is_of_documents(),
        Answer::Settings(_) => *question == PolicyQuery::Settings,
        Answer::Ask(_) => matches!(question, PolicyQuery::Ask(_)),
        Answer::Allowed(_) | Answer::Denied(_) => matches!(question, PolicyQuery::Path(..)),
        Answer::Effective(_) => *question == PolicyQuery::Effective,
        Answer::Valid {} => *question == PolicyQuery::Validate,
        Answer::Blocked(_) => matches!(question, PolicyQuery::Explain(_)),
        Answer::Status(_) => *question == PolicyQuery::Status,
        Answer::Starts(_) => *question == PolicyQuery::Executor,
        Answer::Grants(_) => matches!(question, PolicyQuery::Grants(_)),
        Answer::Permits(_) | Answer::Forbids(_) => matches!(question, PolicyQuery::Compile(..)),
    };
    let (asked, word) = (question.keyword(), answer.keyword());
    if fits { Ok(()) } else { Err(("expect", format!("{word} is no answer to {asked}"))) }
}

/// A question is all there is: no command, nothing around it.
fn alone(case: &Case) -> Result<(), FieldFault> {
    // A profile depends on the environment that the command will have.
    let compiles = matches!(case.question(), Some(PolicyQuery::Compile(..)));
    let env = if compiles { case.launcher.env.clone() } else { Default::default() };
    let launcher = Launcher { env, ..Launcher::default() };
    let rules = [
        (case.steps.len() > 1, "steps", "a question is the only step"),
        (
            is_about_nothing(case),
            "policy",
            "a question is about documents: `orbit` or `inferoa`, or `caliban` for settings and \
             ask, or `executor`; a finished run and a line are asked about under the neutral policy",
        ),
        (
            compiles && case.policy().caliban.as_ref().is_some_and(|spec| spec.platform.is_some()),
            "policy",
            "the target says which system is meant; leave `platform` out",
        ),
        (case.twin.is_some(), "twin", "a question has no twin"),
        (!case.expect.is_decision_alone(), "expect", "an answer stands alone"),
        (case.repeat > 1 || case.parallel > 1, "repeat", "a question is asked once"),
        (case.stdin.is_some(), "stdin", "a question runs nothing that could read"),
        (case.during != Vec::<DuringEvent>::new(), "during", "a question takes no time"),
        (case.launcher != launcher, "launcher", "a question launches nothing"),
        (case.run != RunSpec::default(), "run", "a question runs nothing"),
    ];
    let broken = rules.into_iter().find(|(broken, ..)| *broken);
    broken.map_or(Ok(()), |(_, field, why)| Err((field, why.to_owned())))
}

/// Returns whether the question is not about the policy of its case.
fn is_about_nothing(case: &Case) -> bool {
    let (documents, caliban) = (case.policy().documents(), &case.policy().caliban);
    match case.question() {
        Some(PolicyQuery::Explain(_) | PolicyQuery::Grants(_)) => {
            documents.is_some() || caliban.is_some()
        }
        Some(PolicyQuery::Compile(..)) => false,
        Some(PolicyQuery::Executor) => case.policy().executor.is_none(),
        Some(PolicyQuery::Settings | PolicyQuery::Ask(_)) => caliban.is_none(),
        _ => documents.is_none(),
    }
}

/// An error that is not told apart from another one shows little.
fn check_fault_is_specific(case: &Case, answer: &Answer) -> Result<(), FieldFault> {
    match (answer, &case.policy().orbit) {
        (Answer::Invalid(fault), _) if !fault.is_told() => {
            Err(("expect", "invalid says which: give its message, or texts that it has".into()))
        }
        (_, Some(orbit)) => orbit.check().map_err(|why| ("policy", why)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use rstest::rstest;

    use crate::case::Control;
    use crate::load::LoadError;
    use crate::suite::Suite;

    const CASE: &str = "purpose: Works.
requirement: R-x
policy: {orbit: {read: [a]}}
act: {decide: read, path: b}
expect: {answer: {denied: <no matching rule>}}
";

    fn load(text: &str) -> Result<Suite, Vec<LoadError>> {
        let requirements = "R-x: {text: It works., source: a test}\n".to_owned();
        Suite::from_files(
            "test",
            BTreeMap::from([(PathBuf::from("policy/case.yaml"), text.to_owned())]),
            &BTreeMap::from([(PathBuf::from("r.yaml"), requirements)]),
        )
    }

    #[test]
    fn a_question_needs_no_arms() {
        let suite = load(CASE).unwrap();
        assert!(matches!(suite.cases[0].control, Control::None(_)));
        assert_eq!(suite.cases[0].twin, None);
    }

    #[rstest]
    #[case("act: {decide: read, path: b}", "act: {sh: 'true'}", "nothing else does")]
    #[case("{answer: {denied: <no matching rule>}}", "{allowed: {}}", "nothing else does")]
    #[case("decide: read, path: b", "decide: validate", "denied is no answer to validate")]
    #[case(
        "decide: read, path: b",
        "compile: seatbelt, read: b",
        "denied is no answer to seatbelt"
    )]
    #[case("{denied: <no matching rule>}", "{permits: {}}", "permits is no answer to read")]
    #[case("{denied: <no matching rule>}", "{invalid: {line: 1}}", "says which")]
    #[case("<no matching rule>}", "a}, exit: 0", "stands alone")]
    #[case("orbit: {read: [a]}", "mode: read_only", "about documents")]
    #[case("{read: [a]}", "{read: [a], host: x}", "either `host` or the four lists")]
    #[case("{read: [a]}", "{over: x}", "needs `host`")]
    #[case("decide: read, path: b", "decide: settings", "denied is no answer to settings")]
    #[case("orbit: {read: [a]}", "caliban: {settings: ''}", "about documents")]
    #[case("{decide: read, path: b}", "{decide: grants, line: b}", "denied is no answer to grants")]
    #[case("policy:", "twin: {mode: read_only}\npolicy:", "has no twin")]
    #[case("policy:", "control: private_ns\npolicy:", "no control")]
    #[case("policy:", "repeat: 2\npolicy:", "asked once")]
    #[case("policy:", "stdin: x\npolicy:", "could read")]
    #[case("policy:", "run: {capture: true}\npolicy:", "runs nothing")]
    fn what_does_not_fit_is_told(#[case] from: &str, #[case] to: &str, #[case] message: &str) {
        let errors = load(&CASE.replace(from, to)).unwrap_err();
        assert!(errors[0].to_string().contains(message), "{}", errors[0]);
    }

    #[test]
    fn commands_run_in_a_session_of_their_own() {
        let text = "purpose: Works.\nrequirement: R-x\n\
                    policy: {caliban: {settings: '', platform: macos}}\n\
                    act: {sh: 'true'}\nexpect: {allowed: {}}\n";
        assert!(load(text).unwrap_err()[0].to_string().contains("leave them out"));
    }

    #[test]
    fn commands_do_not_run_under_whole_documents() {
        let text = "purpose: Works.\nrequirement: R-x\npolicy: {orbit: {host: x}}\n\
                    act: {sh: 'true'}\nexpect: {allowed: {}}\n";
        assert!(load(text).unwrap_err()[0].to_string().contains("for questions"));
    }
}
