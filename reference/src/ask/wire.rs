//! The questions over the protocol: many paths in one call, request and answer in files.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use boxproof_cases::protocol::{
    AskDecision, CheckRequest, Dialect, Document as Sent, EffectiveProfile, EffectiveRequest,
    Operation, PROTOCOL, PathAnswer, PathDecision, PathQuestion, Permission, PolicyAnswer,
    PolicyFault, RuleEffect, RuleInForce, RuleOrigin, StatusRequest, Told, ValidateRequest,
    WirePath, from_json,
};
use serde::de::DeserializeOwned;

use super::answer::Subject;
use super::{Batch, INVALID, NO, YES};
use crate::dialect::inferoa;
use crate::dialect::orbit::{
    Asked, Document, Effect, OUTSIDE, Op, Origin, PolicyError, PolicySet, Profile, ProfileRule,
    Resolved, Resolver, Winner,
};
use crate::{block, destination::Destination};

/// Decides every path; the exit code.
pub(super) fn check(batch: &Batch) -> Result<i32, String> {
    let request: CheckRequest = read(batch)?;
    speaks(request.protocol)?;
    orbit(request.dialect)?;
    let decided = set(&request.documents)
        .and_then(|set| set.profile(&request.profile))
        .map_err(fault)
        .and_then(|profile| decisions(&request, &profile));
    write(batch, decided)
}

/// The profile as it is in force; the exit code.
pub(super) fn effective(batch: &Batch) -> Result<i32, String> {
    let request: EffectiveRequest = read(batch)?;
    speaks(request.protocol)?;
    orbit(request.dialect)?;
    let profile = set(&request.documents).and_then(|set| {
        let profile = set.profile(&request.profile)?;
        Ok(Told::Effective(in_force(&set.name, &profile)))
    });
    write(batch, profile.map_err(fault))
}

/// Validates the documents; returns the exit code.
pub(super) fn validate(batch: &Batch) -> Result<i32, String> {
    let request: ValidateRequest = read(batch)?;
    speaks(request.protocol)?;
    let valid = match request.dialect {
        Dialect::Orbit => set(&request.documents).map(drop).map_err(fault),
        Dialect::Inferoa => block::parsed(&request.documents).map(drop).map_err(block_fault),
    };
    write(batch, valid.map(|()| Told::Valid {}))
}

/// Answers with the status of a sandbox block; returns the exit code.
pub(super) fn status(prefix: &[&str], batch: &Batch) -> Result<i32, String> {
    let request: StatusRequest = read(batch)?;
    speaks(request.protocol)?;
    if request.dialect != Dialect::Inferoa {
        return Err("dialect: status is about a sandbox block; ask with inferoa".to_owned());
    }
    let workspace = request.workspace.as_path();
    let settled = block::settled(&request.documents, workspace).map_err(block_fault);
    let told = settled.map(|settled| block::report(prefix, settled, workspace));
    write(batch, told.map(|status| Told::Status(Box::new(status))))
}

/// Profiles are a matter of one dialect.
fn orbit(dialect: Dialect) -> Result<(), String> {
    match dialect {
        Dialect::Orbit => Ok(()),
        Dialect::Inferoa => {
            Err("dialect: a sandbox block has no profiles; ask for status".to_owned())
        }
    }
}

fn block_fault(fault: inferoa::Fault) -> PolicyFault {
    PolicyFault {
        message: fault.message,
        file: Some(fault.file),
        line: fault.place.map(|(line, _)| line),
        column: fault.place.map(|(_, column)| column),
    }
}

pub(super) fn read<T: DeserializeOwned>(batch: &Batch) -> Result<T, String> {
    Destination::open(&batch.result)
        .map_err(|error| format!("cannot write to {}: {error}", batch.result.display()))?;
    let shown = batch.request.display();
    let text = std::fs::read(&batch.request).map_err(|error| format!("{shown}: {error}"))?;
    from_json(&text).map_err(|error| format!("{shown}: {error}"))
}

pub(super) fn speaks(protocol: u32) -> Result<(), String> {
    match protocol {
        PROTOCOL => Ok(()),
        other => Err(format!("protocol: {other} is not spoken here; ask with {PROTOCOL}")),
    }
}

pub(super) fn write(batch: &Batch, told: Result<Told, PolicyFault>) -> Result<i32, String> {
    let told = told.unwrap_or_else(Told::Invalid);
    let code = exit_of(&told);
    Destination::open(&batch.result)
        .and_then(|place| place.write(&PolicyAnswer { protocol: PROTOCOL, answer: told }))
        .map_err(|error| format!("cannot write to {}: {error}", batch.result.display()))?;
    Ok(code)
}

fn exit_of(told: &Told) -> i32 {
    let answers = match told {
        Told::Decisions(answers) => answers,
        Told::Asks(asked) => {
            let allowed = |asked: &AskDecision| asked.decision == Permission::Allow;
            return if asked.iter().all(allowed) { YES } else { NO };
        }
        Told::Status(status) => return super::status::exit(status),
        Told::Grants(told) => return super::grants::exit(told),
        Told::Explained(why) => return if why.blocked.is_none() { YES } else { NO },
        Told::Invalid(_) => return INVALID,
        Told::Effective(_)
        | Told::Valid {}
        | Told::Settings(_)
        | Told::Compiled(_)
        | Told::Starts(_) => return YES,
    };
    let code = |answer: &PathAnswer| match answer {
        PathAnswer::Decided(decision) => {
            if decision.allowed {
                YES
            } else {
                NO
            }
        }
        PathAnswer::Invalid(_) => INVALID,
    };
    answers.iter().map(code).max().unwrap_or(YES)
}

fn set(documents: &[Sent]) -> Result<PolicySet, PolicyError> {
    let parse = |sent: &Sent| Document::parse(&sent.name, &sent.name, &sent.text);
    match documents {
        [host] => PolicySet::new(&parse(host)?, None),
        [host, workspace] => PolicySet::new(&parse(host)?, Some(&parse(workspace)?)),
        _ => Err(PolicyError {
            message: "documents: name one, the host's, or two, the host's and the workspace's"
                .to_owned(),
            place: None,
        }),
    }
}

fn fault(error: PolicyError) -> PolicyFault {
    let place = error.place.as_ref();
    PolicyFault {
        file: place.map(|place| place.file.to_string()),
        line: place.and_then(|place| u32::try_from(place.line).ok()),
        column: place.and_then(|place| u32::try_from(place.column).ok()),
        message: error.message,
    }
}

fn decisions(request: &CheckRequest, profile: &Profile) -> Result<Told, PolicyFault> {
    let workspace: &Path = request.workspace.as_ref();
    let resolver = Resolver::new(workspace).map_err(|error| PolicyFault {
        message: format!("workspace {}: {error}", workspace.display()),
        file: None,
        line: None,
        column: None,
    })?;
    let answers = request.paths.iter().map(|asked| path(&resolver, profile, asked));
    Ok(Told::Decisions(answers.collect()))
}

fn path(resolver: &Resolver, profile: &Profile, asked: &PathQuestion) -> PathAnswer {
    let path: &Path = asked.path.as_ref();
    let shown = path.display().to_string();
    let subject = Asked::from_bytes(path.as_os_str().as_bytes())
        .map_err(|error| error.message)
        .and_then(|names| Subject::of(resolver, &shown, names));
    match subject {
        Ok(subject) => PathAnswer::Decided(decision(&subject, profile, asked.op)),
        Err(why) => PathAnswer::Invalid(why),
    }
}

fn decision(subject: &Subject, profile: &Profile, op: Operation) -> PathDecision {
    let op = match op {
        Operation::Read => Op::Read,
        Operation::Modify => Op::Modify,
    };
    let decided = subject.decide(profile, op);
    let allowed = decided.is_some_and(|decision| decision.allowed);
    let winner = decided.map(|decision| decision.winner);
    let decided_by = match winner {
        Some(Winner::Rule(rule)) => Some(self::rule(rule)),
        _ => None,
    };
    PathDecision {
        allowed,
        matched_rule: winner.as_ref().map_or(OUTSIDE, Winner::matched_rule).to_owned(),
        means: means(subject.means()),
        decided_by,
        warning: subject.warning(profile, op, allowed).map(str::to_owned),
    }
}

fn means(resolved: &Resolved) -> WirePath {
    match resolved {
        Resolved::Inside(names) if names.is_empty() => ".".into(),
        Resolved::Inside(names) => OsString::from_vec(names.join(&b'/')).into(),
        Resolved::Outside(place) => place.clone().into(),
    }
}

fn in_force(policy: &str, profile: &Profile) -> EffectiveProfile {
    let rules = |op| profile.rules(op).iter().map(rule).collect();
    EffectiveProfile {
        policy: policy.to_owned(),
        profile: profile.name.clone(),
        read: rules(Op::Read),
        modify: rules(Op::Modify),
    }
}

fn rule(rule: &ProfileRule) -> RuleInForce {
    let place = rule.rule.place.as_ref();
    RuleInForce {
        rule: rule.rule.written.clone(),
        effect: match rule.effect {
            Effect::Grant => RuleEffect::Allows,
            Effect::Refuse => RuleEffect::Denies,
            Effect::Except => RuleEffect::LiftsADeny,
        },
        origin: match rule.origin {
            Origin::Profile => RuleOrigin::Profile,
            Origin::GlobalDeny => RuleOrigin::GlobalDeny,
            Origin::WorkspaceDeny => RuleOrigin::WorkspaceDeny,
            Origin::Fallback => RuleOrigin::Fallback,
        },
        file: place.map(|place| place.file.to_string()),
        line: place.and_then(|place| u32::try_from(place.line).ok()),
    }
}
