//! The dialect `inferoa` for requests: from a sandbox block to an order.

use std::collections::BTreeMap;
use std::path::Path;

use boxproof_cases::protocol::{Document, Mode, ProfileRequest};

use crate::error::Refusal;
use crate::policy::AUTO;
use crate::policy::inferoa::{
    ConfigError, ExpansionContext, ResolvedBlock, SandboxBlock, resolve_block,
};
use crate::request::RunJob;

/// The run that `request` asks for.
pub(crate) fn order(request: ProfileRequest) -> Result<RunJob, Refusal> {
    let settled = settled(&request.documents, request.workspace.as_path());
    ordered(request, settled)
}

fn ordered(
    request: ProfileRequest,
    settled: Result<ResolvedBlock, ConfigError>,
) -> Result<RunJob, Refusal> {
    let ProfileRequest { protocol, profile, mut run, .. } = request;
    if profile.is_some() {
        return Err(Refusal::invalid("profile: a sandbox block has none; leave it out"));
    }
    let wrong = |fault: ConfigError| Refusal::invalid(fault.to_string());
    let settled = settled.map_err(wrong)?;
    match (run.mechanism.as_str(), settled.mechanism) {
        // An unconfined mode needs no mechanism, and so takes any.
        (_, AUTO) if settled.policy.mode == Mode::Unconfined => run.mechanism = AUTO.to_owned(),
        (_, AUTO) => {}
        (AUTO, chosen) => run.mechanism = chosen.to_owned(),
        (asked, chosen) if asked == chosen => {}
        (asked, chosen) => {
            let why = format!("run.mechanism: {asked} is not what the block chooses, {chosen}");
            return Err(Refusal::invalid(why));
        }
    }
    let ResolvedBlock { policy, unavailable, .. } = settled;
    Ok(RunJob {
        protocol,
        policy,
        law: None,
        profile: None,
        unavailable,
        run,
        notes: Vec::new(),
        lenient: false,
        profile_file: None,
        caller: None,
        inferred: None,
        dialect: crate::explain::advice::RuleDialect::Inferoa,
        on_failure: None,
    })
}

/// The run that `request` asks for on the system `os`, with `env` for the variables that the block
/// names.
pub(crate) fn order_on(
    os: &str,
    env: &BTreeMap<String, String>,
    request: ProfileRequest,
) -> Result<RunJob, Refusal> {
    let env = env.iter().map(|(name, value)| (name.into(), value.into())).collect();
    let around = ExpansionContext { workspace: request.workspace.as_path().to_owned(), env };
    let settled = parsed(&request.documents).and_then(|block| resolve_block(block, &around, os));
    let order = ordered(request, settled)?;
    match order.unavailable {
        Some(why) => Err(Refusal::unsupported(why)),
        None => Ok(order),
    }
}

/// Settles the one document of `documents`.
pub(crate) fn settled(
    documents: &[Document],
    workspace: &Path,
) -> Result<ResolvedBlock, ConfigError> {
    let around =
        ExpansionContext { workspace: workspace.to_owned(), env: std::env::vars_os().collect() };
    resolve_block(parsed(documents)?, &around, std::env::consts::OS)
}

/// The block of the one document.
pub(crate) fn parsed(documents: &[Document]) -> Result<SandboxBlock, ConfigError> {
    match documents {
        [one] => SandboxBlock::parse(&one.name, &one.text),
        _ => Err(ConfigError {
            file: "documents".to_owned(),
            place: None,
            message: "a sandbox block is in one document; name one".to_owned(),
        }),
    }
}
