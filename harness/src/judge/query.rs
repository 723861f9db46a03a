//! Judging the answer to a question: the decision first, then its reasons. A missing answer is
//! never a denial.

use boxproof_cases::Case;
use boxproof_cases::case::{
    Answer, BlockedExpect, ByDenial, ByRule, GrantsExpect, PolicyQuery, QuestionFault, RuleExpect,
    Rules, StartExpect, StatusExpect,
};
use boxproof_cases::protocol::{
    Blocked, CommandFate, Compiled, DocumentAnswer, EffectiveProfile, ExecutorStart, PathAnswer,
    PathDecision, Permission, PolicyFault, RuleInForce, Status,
};
use boxproof_reports::Verdict;

use super::compiled;
use super::reason::{Reason, VerdictFinding};
use crate::execution::{ModelAttempt, QueryAnswer, QueryReply};
use crate::models::ModelError;

/// Checks that the answer is the one that the case asks for.
pub(super) fn conclude(
    case: &Case,
    wanted: &Answer,
    reply: &QueryReply,
) -> Result<(), VerdictFinding> {
    let answered = match reply {
        QueryReply::Answered(answered) => answered,
        QueryReply::Silent(why) => {
            return Err(VerdictFinding::inconclusive(Reason::NoRecord, why.clone()));
        }
        QueryReply::Inexpressible(why) => {
            return Err(VerdictFinding::new(
                Verdict::Unsupported,
                Reason::Inexpressible,
                why.clone(),
            ));
        }
        QueryReply::Fault(why) => {
            return Err(VerdictFinding::error(Reason::Harness, why.clone()));
        }
    };
    if let Answer::Settings(_) | Answer::Ask(_) = wanted
        && let DocumentAnswer::Settings(_) | DocumentAnswer::Asks(_) = &answered.told
    {
        super::settings::fits(wanted, &answered.told)?;
        return exit(answered);
    }
    let verb = case.question().map(PolicyQuery::verb).unwrap_or_default();
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
fn kind(told: &DocumentAnswer) -> &'static str {
    match told {
        DocumentAnswer::Decisions(_) => "check",
        DocumentAnswer::Effective(_) => "effective",
        DocumentAnswer::Valid {} => "validate",
        DocumentAnswer::Settings(_) => "settings",
        DocumentAnswer::Asks(_) => "decide-ask",
        DocumentAnswer::Explained(_) => "explain",
        DocumentAnswer::Status(_) => "status",
        DocumentAnswer::Starts(_) => "executor",
        DocumentAnswer::Grants(_) => "grants",
        DocumentAnswer::Compiled(_) => "compile",
        DocumentAnswer::Invalid(_) => INVALID,
    }
}

/// An answer in the terms of the case.
enum AnswerReading<'a> {
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

fn said(answered: &QueryAnswer) -> Result<AnswerReading<'_>, VerdictFinding> {
    let invalid = |message: &String| PolicyFault {
        message: message.clone(),
        file: None,
        line: None,
        column: None,
    };
    match &answered.told {
        DocumentAnswer::Compiled(compiled) => means(compiled, answered.tried.as_ref()),
        DocumentAnswer::Decisions(answers) => match answers.as_slice() {
            [PathAnswer::Decided(decision)] => Ok(AnswerReading::Decided(decision)),
            [PathAnswer::Invalid(message)] => Ok(AnswerReading::Invalid(invalid(message))),
            _ => Err(astray(&format!("one path has {} answers", answers.len()))),
        },
        DocumentAnswer::Effective(profile) => Ok(AnswerReading::Effective(profile)),
        DocumentAnswer::Valid {} => Ok(AnswerReading::Valid),
        DocumentAnswer::Settings(_) => Ok(AnswerReading::Settings),
        DocumentAnswer::Asks(asked) => match asked.as_slice() {
            [asked] => Ok(AnswerReading::Asked(asked.decision)),
            _ => Err(astray(&format!("one command has {} answers", asked.len()))),
        },
        DocumentAnswer::Explained(why) => Ok(AnswerReading::Explained(why.blocked.as_ref())),
        DocumentAnswer::Status(status) => Ok(AnswerReading::Status(status)),
        DocumentAnswer::Starts(start) => Ok(AnswerReading::Starts(start)),
        DocumentAnswer::Grants(lines) => match lines.as_slice() {
            [line] => Ok(AnswerReading::Grants(&line.granted, line.subcommand.as_ref())),
            _ => Err(astray(&format!("one line has {} answers", lines.len()))),
        },
        DocumentAnswer::Invalid(fault) => Ok(AnswerReading::Invalid(fault.clone())),
    }
}

fn means<'a>(
    compiled: &Compiled,
    tried: Option<&ModelAttempt>,
) -> Result<AnswerReading<'a>, VerdictFinding> {
    let tried = tried.ok_or_else(|| VerdictFinding::error(Reason::Harness, "nothing was tried"))?;
    match compiled::permits(compiled, tried) {
        Ok(permits) => Ok(AnswerReading::Compiled(permits)),
        Err(ModelError::Void(why)) => Ok(AnswerReading::Void(why)),
        Err(flaw) => Err(astray(&flaw.to_string())),
    }
}

pub(super) fn astray(message: &str) -> VerdictFinding {
    VerdictFinding::inconclusive(Reason::UntrustedRecord, message)
}

fn fits(wanted: &Answer, answered: &QueryAnswer) -> Result<(), VerdictFinding> {
    match (wanted, said(answered)?) {
        (Answer::Allowed(by), AnswerReading::Decided(decision)) if decision.allowed => {
            rests(by, decision)
        }
        (Answer::Denied(by), AnswerReading::Decided(decision)) if !decision.allowed => {
            rests(by, decision)
        }
        (Answer::Invalid(fault), AnswerReading::Invalid(found)) => same_fault(fault, &found),
        (Answer::Valid {}, AnswerReading::Valid) => Ok(()),
        (Answer::Permits(_), AnswerReading::Compiled(true))
        | (Answer::Forbids(_), AnswerReading::Compiled(false)) => compiled::says(answered),
        (Answer::Effective(rules), AnswerReading::Effective(profile)) => in_force(rules, profile),
        (Answer::Blocked(BlockedExpect::Not(_)), AnswerReading::Explained(None)) => Ok(()),
        (Answer::Blocked(BlockedExpect::By(by)), AnswerReading::Explained(Some(blocked))) => {
            denied(by, blocked)
        }
        (Answer::Status(wanted), AnswerReading::Status(status)) => comes_to(wanted, status),
        (Answer::Starts(wanted), AnswerReading::Starts(start)) => starts(wanted, start),
        (Answer::Grants(wanted), AnswerReading::Grants(granted, subcommand)) => {
            granted_as(wanted, granted, subcommand)
        }
        (wanted, said) => Err(otherwise(wanted, &said)),
    }
}

/// Returns the finding for another answer than the one asked for.
fn otherwise(wanted: &Answer, said: &AnswerReading<'_>) -> VerdictFinding {
    let message =
        format!("{} is expected, and the answer is: {}", wanted.keyword(), describe_answer(said));
    let granted = match said {
        AnswerReading::Decided(decision) => decision.allowed,
        AnswerReading::Compiled(permits) => *permits,
        AnswerReading::Valid
        | AnswerReading::Effective(_)
        | AnswerReading::Settings
        | AnswerReading::Starts(_) => true,
        AnswerReading::Asked(decision) => *decision != Permission::Deny,
        AnswerReading::Explained(blocked) => blocked.is_none(),
        AnswerReading::Status(status) => status.runs != CommandFate::Refused,
        AnswerReading::Grants(granted, _) => !granted.is_empty(),
        AnswerReading::Invalid(_) | AnswerReading::Void(_) => false,
    };
    match (wanted.is_negative(), granted) {
        (true, true) => VerdictFinding::new(Verdict::UnderBlock, Reason::Decision, message),
        (false, false) => VerdictFinding::over_block(Reason::Decision, message),
        // A denial is no error and an error no denial: the caller goes on from it differently.
        (true, false) => VerdictFinding::contract(Reason::Decision, message),
        (false, true) => astray(&message),
    }
}

fn describe_answer(said: &AnswerReading<'_>) -> String {
    match said {
        AnswerReading::Decided(decision) => {
            let word = if decision.allowed { "allowed" } else { "denied" };
            format!("{word} by `{}`", decision.matched_rule)
        }
        AnswerReading::Invalid(fault) => format!("invalid: {}", fault.message),
        AnswerReading::Valid => "valid".to_owned(),
        AnswerReading::Settings => "settings in force".to_owned(),
        AnswerReading::Asked(decision) => decision.keyword().to_owned(),
        AnswerReading::Effective(profile) => format!("the rules of {}", profile.profile),
        AnswerReading::Explained(None) => "the sandbox is not why it failed".to_owned(),
        AnswerReading::Explained(Some(blocked)) => format!("{}: {}", blocked.rule, blocked.reason),
        AnswerReading::Status(status) => format!("status {:?}", status.runs),
        AnswerReading::Starts(start) => format!("{:?} is started", start.argv),
        AnswerReading::Grants(granted, _) => format!("grants {granted:?}"),
        AnswerReading::Compiled(true) => "a text that permits it".to_owned(),
        AnswerReading::Compiled(false) => "a text that forbids it".to_owned(),
        AnswerReading::Void(why) => format!("a text under which nothing runs: {why}"),
    }
}

/// Checks the reasons of a decision that is right.
fn rests(by: &ByRule, decision: &PathDecision) -> Result<(), VerdictFinding> {
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
fn denied(by: &ByDenial, blocked: &Blocked) -> Result<(), VerdictFinding> {
    let path = blocked.path.as_ref().map(|path| path.as_path().display().to_string());
    differs("rule", Some(&by.rule), Some(&blocked.rule))?;
    differs("operation", by.operation.as_ref(), blocked.operation.as_ref())?;
    differs("path", by.path.as_ref(), path.as_ref())?;
    let texts = [Some(&blocked.reason), blocked.suggested_action.as_ref(), path.as_ref()];
    let shown = |text: &String| texts.into_iter().flatten().any(|shown| shown.contains(text));
    if let Some(text) = by.contains.iter().find(|text| !shown(text)) {
        return Err(rule_finding(format!("the explanation lacks {text:?}")));
    }
    match by.lacks.iter().find(|text| shown(text)) {
        Some(text) => Err(rule_finding(format!("the explanation has {text:?}"))),
        None => Ok(()),
    }
}

fn rule_finding(message: String) -> VerdictFinding {
    VerdictFinding::contract(Reason::Rule, message)
}

/// Checks that `found` equals `wanted`, where something is wanted.
fn differs<T: PartialEq + std::fmt::Debug>(
    what: &str,
    wanted: Option<&T>,
    found: Option<&T>,
) -> Result<(), VerdictFinding> {
    match wanted {
        Some(wanted) if found != Some(wanted) => {
            let found = found.map_or_else(|| "none".to_owned(), |found| format!("{found:?}"));
            Err(rule_finding(format!("the {what} is {found} instead of {wanted:?}")))
        }
        _ => Ok(()),
    }
}

fn same_fault(wanted: &QuestionFault, found: &PolicyFault) -> Result<(), VerdictFinding> {
    differs("message", wanted.message.as_ref(), Some(&found.message))?;
    if let Some(text) = wanted.contains.iter().find(|text| !found.message.contains(*text)) {
        let message = format!("the message {:?} lacks {text:?}", found.message);
        return Err(rule_finding(message));
    }
    differs("document", wanted.file.as_ref(), found.file.as_ref())?;
    differs("line", wanted.line.as_ref(), found.line.as_ref())?;
    differs("column", wanted.column.as_ref(), found.column.as_ref())
}

fn in_force(wanted: &Rules, profile: &EffectiveProfile) -> Result<(), VerdictFinding> {
    same_rules("read", &wanted.read, &profile.read)?;
    same_rules("modify", &wanted.modify, &profile.modify)
}

/// Compares a start with the expected one. A command that runs unconfined against the expectation
/// is an under-block, regardless of the other members.
fn starts(wanted: &StartExpect, found: &ExecutorStart) -> Result<(), VerdictFinding> {
    let Some((member, is, due)) = wanted.differs(found) else { return Ok(()) };
    let message = format!("{member} is {is} instead of {due}");
    Err(match (member, found.enforced) {
        // An agent that was to be confined is not.
        ("enforced", false) => VerdictFinding::new(Verdict::UnderBlock, Reason::Decision, message),
        ("enforced", true) => VerdictFinding::over_block(Reason::Decision, message),
        _ => rule_finding(message),
    })
}

fn comes_to(wanted: &StatusExpect, found: &Status) -> Result<(), VerdictFinding> {
    let Some((member, is, due)) = wanted.differs(found) else { return Ok(()) };
    let message = format!("{member} is {is} instead of {due}");
    Err(match (member, wanted.runs, found.runs) {
        ("runs", Some(CommandFate::Unconfined | CommandFate::Confined), CommandFate::Refused) => {
            VerdictFinding::over_block(Reason::Decision, message)
        }
        ("runs", _, CommandFate::Unconfined) | ("runs", Some(CommandFate::Refused), _) => {
            VerdictFinding::new(Verdict::UnderBlock, Reason::Decision, message)
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
) -> Result<(), VerdictFinding> {
    let message = |grant: &String, what: &str| format!("the line {what} itself {grant}");
    if let Some(grant) = granted.iter().find(|grant| !wanted.granted.contains(grant)) {
        let message = message(grant, "grants");
        return Err(VerdictFinding::new(Verdict::UnderBlock, Reason::Decision, message));
    }
    if let Some(grant) = wanted.granted.iter().find(|grant| !granted.contains(grant)) {
        return Err(VerdictFinding::over_block(Reason::Decision, message(grant, "does not grant")));
    }
    differs("subcommand", wanted.subcommand.as_ref(), subcommand)
}

fn same_rules(
    op: &str,
    wanted: &[RuleExpect],
    found: &[RuleInForce],
) -> Result<(), VerdictFinding> {
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
fn exit(answered: &QueryAnswer) -> Result<(), VerdictFinding> {
    let QueryAnswer { exit, due, .. } = answered;
    if *exit == Some(*due) {
        return Ok(());
    }
    let exit = exit.map_or("a signal".to_owned(), |code| code.to_string());
    let message = format!("the call ended with {exit} instead of {due}");
    Err(VerdictFinding::contract(Reason::Exit, message))
}
