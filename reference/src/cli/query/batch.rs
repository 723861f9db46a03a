//! The questions over the protocol: many paths in one call, request and answer in files.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use boxproof_cases::protocol::{
    AskDecision, CheckRequest, Dialect, Document as Sent, DocumentAnswer, EffectiveProfile,
    EffectiveRequest, Operation, PROTOCOL, PathAnswer, PathDecision, PathQuestion, Permission,
    PolicyAnswer, PolicyFault, RuleEffect, RuleInForce, RuleOrigin, StatusRequest, ValidateRequest,
    WirePath, from_json,
};
use serde::de::DeserializeOwned;

use super::decided_path::QueriedPath;
use super::{BatchFiles, INVALID, NO, YES};
use crate::policy::inferoa;
use crate::policy::orbit::{
    DecidingRule, MatchEffect, OUTSIDE, PathResolver, PatternOrigin, PolicyDocument, PolicyError,
    PolicyOperation, PolicySet, ProfileRule, ResolvedPath, ResolvedProfile, WorkspacePath,
};
use crate::request::inferoa as inferoa_request;
use crate::result::destination::FileDestination;

/// Decides every path; the exit code.
pub(super) fn check(batch: &BatchFiles) -> Result<i32, String> {
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
pub(super) fn effective(batch: &BatchFiles) -> Result<i32, String> {
    let request: EffectiveRequest = read(batch)?;
    speaks(request.protocol)?;
    orbit(request.dialect)?;
    let profile = set(&request.documents).and_then(|set| {
        let profile = set.profile(&request.profile)?;
        Ok(DocumentAnswer::Effective(in_force(&set.name, &profile)))
    });
    write(batch, profile.map_err(fault))
}

/// Validates the documents; returns the exit code.
pub(super) fn validate(batch: &BatchFiles) -> Result<i32, String> {
    let request: ValidateRequest = read(batch)?;
    speaks(request.protocol)?;
    let valid = match request.dialect {
        Dialect::Orbit => set(&request.documents).map(drop).map_err(fault),
        Dialect::Inferoa => {
            inferoa_request::parsed(&request.documents).map(drop).map_err(block_fault)
        }
    };
    write(batch, valid.map(|()| DocumentAnswer::Valid {}))
}

/// Answers with the status of a sandbox block; returns the exit code.
pub(super) fn status(prefix: &[&str], batch: &BatchFiles) -> Result<i32, String> {
    let request: StatusRequest = read(batch)?;
    speaks(request.protocol)?;
    if request.dialect != Dialect::Inferoa {
        return Err("dialect: status is about a sandbox block; ask with inferoa".to_owned());
    }
    let workspace = request.workspace.as_path();
    let settled = inferoa_request::settled(&request.documents, workspace).map_err(block_fault);
    let told = settled.map(|settled| super::status::report(prefix, settled, workspace));
    write(batch, told.map(|status| DocumentAnswer::Status(Box::new(status))))
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

fn block_fault(fault: inferoa::ConfigError) -> PolicyFault {
    PolicyFault {
        message: fault.message,
        file: Some(fault.file),
        line: fault.place.map(|(line, _)| line),
        column: fault.place.map(|(_, column)| column),
    }
}

pub(super) fn read<T: DeserializeOwned>(batch: &BatchFiles) -> Result<T, String> {
    FileDestination::open(&batch.result)
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

pub(super) fn write(
    batch: &BatchFiles,
    told: Result<DocumentAnswer, PolicyFault>,
) -> Result<i32, String> {
    let told = told.unwrap_or_else(DocumentAnswer::Invalid);
    let code = exit_of(&told);
    FileDestination::open(&batch.result)
        .and_then(|place| place.write(&PolicyAnswer { protocol: PROTOCOL, answer: told }))
        .map_err(|error| format!("cannot write to {}: {error}", batch.result.display()))?;
    Ok(code)
}

fn exit_of(told: &DocumentAnswer) -> i32 {
    let answers = match told {
        DocumentAnswer::Decisions(answers) => answers,
        DocumentAnswer::Asks(asked) => {
            let allowed = |asked: &AskDecision| asked.decision == Permission::Allow;
            return if asked.iter().all(allowed) { YES } else { NO };
        }
        DocumentAnswer::Status(status) => return super::status::exit(status),
        DocumentAnswer::Grants(told) => return super::grants::exit(told),
        DocumentAnswer::Explained(why) => return if why.blocked.is_none() { YES } else { NO },
        DocumentAnswer::Invalid(_) => return INVALID,
        DocumentAnswer::Effective(_)
        | DocumentAnswer::Valid {}
        | DocumentAnswer::Settings(_)
        | DocumentAnswer::Compiled(_)
        | DocumentAnswer::Starts(_) => return YES,
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
    let parse = |sent: &Sent| PolicyDocument::parse(&sent.name, &sent.name, &sent.text);
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

fn decisions(
    request: &CheckRequest,
    profile: &ResolvedProfile,
) -> Result<DocumentAnswer, PolicyFault> {
    let workspace: &Path = request.workspace.as_ref();
    let resolver = PathResolver::new(workspace).map_err(|error| PolicyFault {
        message: format!("workspace {}: {error}", workspace.display()),
        file: None,
        line: None,
        column: None,
    })?;
    let answers = request.paths.iter().map(|asked| path(&resolver, profile, asked));
    Ok(DocumentAnswer::Decisions(answers.collect()))
}

fn path(resolver: &PathResolver, profile: &ResolvedProfile, asked: &PathQuestion) -> PathAnswer {
    let path: &Path = asked.path.as_ref();
    let shown = path.display().to_string();
    let subject = WorkspacePath::from_bytes(path.as_os_str().as_bytes())
        .map_err(|error| error.message)
        .and_then(|names| QueriedPath::look_up_path(resolver, &shown, names));
    match subject {
        Ok(subject) => PathAnswer::Decided(decision(&subject, profile, asked.op)),
        Err(why) => PathAnswer::Invalid(why),
    }
}

fn decision(subject: &QueriedPath, profile: &ResolvedProfile, op: Operation) -> PathDecision {
    let op = match op {
        Operation::Read => PolicyOperation::Read,
        Operation::Modify => PolicyOperation::Modify,
    };
    let decided = subject.decide(profile, op);
    let allowed = decided.is_some_and(|decision| decision.allowed);
    let winner = decided.map(|decision| decision.winner);
    let decided_by = match winner {
        Some(DecidingRule::Rule(rule)) => Some(self::rule(rule)),
        _ => None,
    };
    PathDecision {
        allowed,
        matched_rule: winner.as_ref().map_or(OUTSIDE, DecidingRule::matched_rule).to_owned(),
        means: means(subject.means()),
        decided_by,
        warning: subject.warning(profile, op, allowed).map(str::to_owned),
    }
}

fn means(resolved: &ResolvedPath) -> WirePath {
    match resolved {
        ResolvedPath::Inside(names) if names.is_empty() => ".".into(),
        ResolvedPath::Inside(names) => OsString::from_vec(names.join(&b'/')).into(),
        ResolvedPath::Outside(place) => place.clone().into(),
    }
}

fn in_force(policy: &str, profile: &ResolvedProfile) -> EffectiveProfile {
    let rules = |op| profile.rules(op).iter().map(rule).collect();
    EffectiveProfile {
        policy: policy.to_owned(),
        profile: profile.name.clone(),
        read: rules(PolicyOperation::Read),
        modify: rules(PolicyOperation::Modify),
    }
}

fn rule(rule: &ProfileRule) -> RuleInForce {
    let place = rule.rule.place.as_ref();
    RuleInForce {
        rule: rule.rule.written.clone(),
        effect: match rule.effect {
            MatchEffect::Grant => RuleEffect::Allows,
            MatchEffect::Refuse => RuleEffect::Denies,
            MatchEffect::Except => RuleEffect::LiftsADeny,
        },
        origin: match rule.origin {
            PatternOrigin::Profile => RuleOrigin::Profile,
            PatternOrigin::GlobalDeny => RuleOrigin::GlobalDeny,
            PatternOrigin::WorkspaceDeny => RuleOrigin::WorkspaceDeny,
            PatternOrigin::Fallback => RuleOrigin::Fallback,
        },
        file: place.map(|place| place.file.to_string()),
        line: place.and_then(|place| u32::try_from(place.line).ok()),
    }
}
