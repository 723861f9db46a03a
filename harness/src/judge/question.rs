//! Judging the answer to a question: the decision first, then its reasons. A missing answer is
//! never a denial.

use boxproof_cases::Case;
use boxproof_cases::case::{
    Answer, ByDenial, ByRule, Decision, Fault, GrantsExpect, Question, RuleExpect, Rules,
    StartExpect, StatusExpect, Why,
};
use boxproof_cases::protocol::{
    Blocked, Compiled, EffectiveProfile, ExecutorStart, PathAnswer, PathDecision, Permission,
    PolicyFault, RuleInForce, Runs, Status, Told,
};
use boxproof_reports::Verdict;

use super::compiled;
use super::reason::{Finding, Reason};
use crate::execution::{Answered, Execution, Reply, Tried};
use crate::models::Flaw;

/// Checks that the answer is the one that the case asks for.
pub(super) fn conclude(case: &Case, execution: &Execution) -> Result<(), Finding> {
    let Decision::Answer(wanted) = &case.expect.decision else {
        return Err(Finding::error(Reason::Harness, "a question without an answer to expect"));
    };
    let answered = match &execution.reply {
        Some(Reply::Answered(answered)) => answered,
        Some(Reply::Silent(why)) => {
            return Err(Finding::inconclusive(Reason::NoRecord, why.clone()));
        }
        Some(Reply::Inexpressible(why)) => {
            return Err(Finding::new(Verdict::Unsupported, Reason::Inexpressible, why.clone()));
        }
        Some(Reply::Fault(why)) => return Err(Finding::error(Reason::Harness, why.clone())),
        None => return Err(Finding::error(Reason::Harness, "the question was not asked")),
    };
    if let Answer::Settings(_) | Answer::Ask(_) = wanted
        && let Told::Settings(_) | Told::Asks(_) = &answered.told
    {
        super::settings::fits(wanted, &answered.told)?;
        return exit(answered);
    }
    let verb = case.question().map(Question::verb).unwrap_or_default();
    let kind = kind(&answered.told);
    if kind != verb && kind != INVALID {
        return Err(astray(&format!("asked to {verb}, it answers as to {kind}")));
    }
    fits(wanted, answered)?;
    exit(answered)
}

/// The answer that every question can have.
const INVALID: &str = "invalid";

/// The verb that has such an answer.
fn kind(told: &Told) -> &'static str {
    match told {
        Told::Decisions(_) => "check",
        Told::Effective(_) => "effective",
        Told::Valid {} => "validate",
        Told::Settings(_) => "settings",
        Told::Asks(_) => "decide-ask",
        Told::Explained(_) => "explain",
        Told::Status(_) => "status",
        Told::Starts(_) => "executor",
        Told::Grants(_) => "grants",
        Told::Compiled(_) => "compile",
        Told::Invalid(_) => INVALID,
    }
}

/// An answer in the terms of the case.
enum Said<'a> {
    Decided(&'a PathDecision),
    Invalid(PolicyFault),
    Valid,
    Effective(&'a EffectiveProfile),
    Settings,
    Asked(Permission),
    Explained(Option<&'a Blocked>),
    Status(&'a Status),
    Starts(&'a ExecutorStart),
    Grants(&'a [String], Option<&'a String>),
    /// An attempt: true if it is possible.
    Compiled(bool),
    /// Nothing at all runs under the text.
    Void(String),
}

fn said(answered: &Answered) -> Result<Said<'_>, Finding> {
    let invalid = |message: &String| PolicyFault {
        message: message.clone(),
        file: None,
        line: None,
        column: None,
    };
    match &answered.told {
        Told::Compiled(compiled) => means(compiled, answered.tried.as_ref()),
        Told::Decisions(answers) => match answers.as_slice() {
            [PathAnswer::Decided(decision)] => Ok(Said::Decided(decision)),
            [PathAnswer::Invalid(message)] => Ok(Said::Invalid(invalid(message))),
            _ => Err(astray(&format!("one path has {} answers", answers.len()))),
        },
        Told::Effective(profile) => Ok(Said::Effective(profile)),
        Told::Valid {} => Ok(Said::Valid),
        Told::Settings(_) => Ok(Said::Settings),
        Told::Asks(asked) => match asked.as_slice() {
            [asked] => Ok(Said::Asked(asked.decision)),
            _ => Err(astray(&format!("one command has {} answers", asked.len()))),
        },
        Told::Explained(why) => Ok(Said::Explained(why.blocked.as_ref())),
        Told::Status(status) => Ok(Said::Status(status)),
        Told::Starts(start) => Ok(Said::Starts(start)),
        Told::Grants(lines) => match lines.as_slice() {
            [line] => Ok(Said::Grants(&line.granted, line.subcommand.as_ref())),
            _ => Err(astray(&format!("one line has {} answers", lines.len()))),
        },
        Told::Invalid(fault) => Ok(Said::Invalid(fault.clone())),
    }
}

fn means<'a>(compiled: &Compiled, tried: Option<&Tried>) -> Result<Said<'a>, Finding> {
    let tried = tried.ok_or_else(|| Finding::error(Reason::Harness, "nothing was tried"))?;
    match compiled::permits(compiled, tried) {
        Ok(permits) => Ok(Said::Compiled(permits)),
        Err(Flaw::Void(why)) => Ok(Said::Void(why)),
        Err(flaw) => Err(astray(&flaw.to_string())),
    }
}

pub(super) fn astray(message: &str) -> Finding {
    Finding::inconclusive(Reason::UntrustedRecord, message)
}

fn fits(wanted: &Answer, answered: &Answered) -> Result<(), Finding> {
    match (wanted, said(answered)?) {
        (Answer::Allowed(by), Said::Decided(decision)) if decision.allowed => rests(by, decision),
        (Answer::Denied(by), Said::Decided(decision)) if !decision.allowed => rests(by, decision),
        (Answer::Invalid(fault), Said::Invalid(found)) => same_fault(fault, &found),
        (Answer::Valid {}, Said::Valid) => Ok(()),
        (Answer::Permits(_), Said::Compiled(true))
        | (Answer::Forbids(_), Said::Compiled(false)) => compiled::says(answered),
        (Answer::Effective(rules), Said::Effective(profile)) => in_force(rules, profile),
        (Answer::Blocked(Why::Not(_)), Said::Explained(None)) => Ok(()),
        (Answer::Blocked(Why::By(by)), Said::Explained(Some(blocked))) => denied(by, blocked),
        (Answer::Status(wanted), Said::Status(status)) => comes_to(wanted, status),
        (Answer::Starts(wanted), Said::Starts(start)) => starts(wanted, start),
        (Answer::Grants(wanted), Said::Grants(granted, subcommand)) => {
            granted_as(wanted, granted, subcommand)
        }
        (wanted, said) => Err(otherwise(wanted, &said)),
    }
}

/// Returns the finding for another answer than the one asked for.
fn otherwise(wanted: &Answer, said: &Said<'_>) -> Finding {
    let message = format!("{} is expected, and the answer is: {}", wanted.word(), words(said));
    let granted = match said {
        Said::Decided(decision) => decision.allowed,
        Said::Compiled(permits) => *permits,
        Said::Valid | Said::Effective(_) | Said::Settings | Said::Starts(_) => true,
        Said::Asked(decision) => *decision != Permission::Deny,
        Said::Explained(blocked) => blocked.is_none(),
        Said::Status(status) => status.runs != Runs::Refused,
        Said::Grants(granted, _) => !granted.is_empty(),
        Said::Invalid(_) | Said::Void(_) => false,
    };
    match (wanted.is_negative(), granted) {
        (true, true) => Finding::new(Verdict::UnderBlock, Reason::Decision, message),
        (false, false) => Finding::over_block(Reason::Decision, message),
        // A denial is no error and an error no denial: the caller goes on from it differently.
        (true, false) => Finding::contract(Reason::Decision, message),
        (false, true) => astray(&message),
    }
}

fn words(said: &Said<'_>) -> String {
    match said {
        Said::Decided(decision) => {
            let word = if decision.allowed { "allowed" } else { "denied" };
            format!("{word} by `{}`", decision.matched_rule)
        }
        Said::Invalid(fault) => format!("invalid: {}", fault.message),
        Said::Valid => "valid".to_owned(),
        Said::Settings => "settings in force".to_owned(),
        Said::Asked(decision) => decision.word().to_owned(),
        Said::Effective(profile) => format!("the rules of {}", profile.profile),
        Said::Explained(None) => "the sandbox is not why it failed".to_owned(),
        Said::Explained(Some(blocked)) => format!("{}: {}", blocked.rule, blocked.reason),
        Said::Status(status) => format!("status {:?}", status.runs),
        Said::Starts(start) => format!("{:?} is started", start.argv),
        Said::Grants(granted, _) => format!("grants {granted:?}"),
        Said::Compiled(true) => "a text that permits it".to_owned(),
        Said::Compiled(false) => "a text that forbids it".to_owned(),
        Said::Void(why) => format!("a text under which nothing runs: {why}"),
    }
}

/// Checks the reasons of a decision that is right.
fn rests(by: &ByRule, decision: &PathDecision) -> Result<(), Finding> {
    let rule = decision.decided_by.as_ref();
    let means = decision.means.as_path().display().to_string();
    differs("matched rule", Some(&by.rule), Some(&decision.matched_rule))?;
    differs("meaning", by.means.as_ref(), Some(&means))?;
    differs("origin", by.origin.as_ref(), rule.map(|rule| &rule.origin))?;
    differs("document", by.file.as_ref(), rule.and_then(|rule| rule.file.as_ref()))?;
    differs("line", by.line.as_ref(), rule.and_then(|rule| rule.line.as_ref()))?;
    let warning = decision.warning.as_deref().unwrap_or_default();
    match &by.warning {
        Some(text) if text.is_empty() && !warning.is_empty() => {
            Err(rule_finding(format!("there is a warning: {warning}")))
        }
        Some(text) if !warning.contains(text.as_str()) => {
            Err(rule_finding(format!("the warning is {warning:?}, without {text:?}")))
        }
        _ => Ok(()),
    }
}

/// Checks that the named denial is the right one.
fn denied(by: &ByDenial, blocked: &Blocked) -> Result<(), Finding> {
    let path = blocked.path.as_ref().map(|path| path.as_path().display().to_string());
    differs("rule", Some(&by.rule), Some(&blocked.rule))?;
    differs("operation", by.operation.as_ref(), blocked.operation.as_ref())?;
    differs("path", by.path.as_ref(), path.as_ref())?;
    let texts = [Some(&blocked.reason), blocked.suggested_action.as_ref(), path.as_ref()];
    let shown = |text: &String| texts.into_iter().flatten().any(|shown| shown.contains(text));
    match by.lacks.iter().find(|text| shown(text)) {
        Some(text) => Err(rule_finding(format!("the explanation has {text:?}"))),
        None => Ok(()),
    }
}

fn rule_finding(message: String) -> Finding {
    Finding::contract(Reason::Rule, message)
}

/// Checks that `found` equals `wanted`, where something is wanted.
fn differs<T: PartialEq + std::fmt::Debug>(
    what: &str,
    wanted: Option<&T>,
    found: Option<&T>,
) -> Result<(), Finding> {
    match wanted {
        Some(wanted) if found != Some(wanted) => {
            let found = found.map_or_else(|| "none".to_owned(), |found| format!("{found:?}"));
            Err(rule_finding(format!("the {what} is {found} instead of {wanted:?}")))
        }
        _ => Ok(()),
    }
}

fn same_fault(wanted: &Fault, found: &PolicyFault) -> Result<(), Finding> {
    differs("message", wanted.message.as_ref(), Some(&found.message))?;
    if let Some(text) = wanted.contains.iter().find(|text| !found.message.contains(*text)) {
        let message = format!("the message {:?} lacks {text:?}", found.message);
        return Err(rule_finding(message));
    }
    differs("document", wanted.file.as_ref(), found.file.as_ref())?;
    differs("line", wanted.line.as_ref(), found.line.as_ref())?;
    differs("column", wanted.column.as_ref(), found.column.as_ref())
}

fn in_force(wanted: &Rules, profile: &EffectiveProfile) -> Result<(), Finding> {
    same_rules("read", &wanted.read, &profile.read)?;
    same_rules("modify", &wanted.modify, &profile.modify)
}

/// Compares a start with the expected one. A command that runs unconfined against the expectation
/// is an under-block, regardless of the other members.
fn starts(wanted: &StartExpect, found: &ExecutorStart) -> Result<(), Finding> {
    let Some((member, is, due)) = wanted.differs(found) else { return Ok(()) };
    let message = format!("{member} is {is} instead of {due}");
    Err(match (member, found.enforced) {
        // An agent that was to be confined is not.
        ("enforced", false) => Finding::new(Verdict::UnderBlock, Reason::Decision, message),
        ("enforced", true) => Finding::over_block(Reason::Decision, message),
        _ => rule_finding(message),
    })
}

fn comes_to(wanted: &StatusExpect, found: &Status) -> Result<(), Finding> {
    let Some((member, is, due)) = wanted.differs(found) else { return Ok(()) };
    let message = format!("{member} is {is} instead of {due}");
    Err(match (member, wanted.runs, found.runs) {
        ("runs", Some(Runs::Unconfined | Runs::Confined), Runs::Refused) => {
            Finding::over_block(Reason::Decision, message)
        }
        ("runs", _, Runs::Unconfined) | ("runs", Some(Runs::Refused), _) => {
            Finding::new(Verdict::UnderBlock, Reason::Decision, message)
        }
        _ => rule_finding(message),
    })
}

/// Compares the granted lines with the wanted ones. A grant too many is an under-block; a missing
/// one keeps work from being done.
fn granted_as(
    wanted: &GrantsExpect,
    granted: &[String],
    subcommand: Option<&String>,
) -> Result<(), Finding> {
    let message = |grant: &String, what: &str| format!("the line {what} itself {grant}");
    if let Some(grant) = granted.iter().find(|grant| !wanted.granted.contains(grant)) {
        let message = message(grant, "grants");
        return Err(Finding::new(Verdict::UnderBlock, Reason::Decision, message));
    }
    if let Some(grant) = wanted.granted.iter().find(|grant| !granted.contains(grant)) {
        return Err(Finding::over_block(Reason::Decision, message(grant, "does not grant")));
    }
    differs("subcommand", wanted.subcommand.as_ref(), subcommand)
}

fn same_rules(op: &str, wanted: &[RuleExpect], found: &[RuleInForce]) -> Result<(), Finding> {
    let found: Vec<RuleExpect> = found
        .iter()
        .map(|rule| RuleExpect {
            rule: rule.rule.clone(),
            effect: rule.effect,
            origin: rule.origin,
        })
        .collect();
    let at = (0..wanted.len().max(found.len())).find(|at| wanted.get(*at) != found.get(*at));
    let Some(at) = at else { return Ok(()) };
    let shown = |rule: Option<&RuleExpect>| rule.map_or("none".to_owned(), |r| format!("{r:?}"));
    let (is, due) = (shown(found.get(at)), shown(wanted.get(at)));
    Err(rule_finding(format!("rule {} of {op} is {is} instead of {due}", at + 1)))
}

/// A script goes by the exit code alone.
fn exit(answered: &Answered) -> Result<(), Finding> {
    let Answered { exit, due, .. } = answered;
    if *exit == Some(*due) {
        return Ok(());
    }
    let exit = exit.map_or("a signal".to_owned(), |code| code.to_string());
    let message = format!("the call ended with {exit} instead of {due}");
    Err(Finding::contract(Reason::Exit, message))
}
