//! The subject of a request in any language, as a run on the system of the target: [`asked`].

use std::path::PathBuf;

use boxproof_cases::protocol::{
    Command, CompileProfile, CompileRequest, CompileRules, CompileTarget, Dialect, Network,
    ProfileRequest, Run, RunRequest,
};

use crate::error::Refusal;
use crate::policy::agent_state::AgentState;
use crate::policy::caliban::ExtraOpenings;
use crate::request::RunJob;
use crate::request::{
    caliban as caliban_request, inferoa as inferoa_request, orbit as orbit_request,
};

/// A run, and the permissions in it besides its policy.
pub(super) struct CompileInput {
    pub(super) order: RunJob,
    pub(super) opens: ExtraOpenings,
    /// Directories that are opened behind every deny.
    pub(super) sides: Vec<PathBuf>,
}

/// The run that `request` is about, as it would be on the system of `target`.
pub(super) fn asked(
    target: CompileTarget,
    request: &CompileRequest,
) -> Result<CompileInput, Refusal> {
    let run = Run::new(Command::Argv(vec!["/bin/sh".to_owned()]), request.cwd.clone());
    let (protocol, env) = (request.protocol, &request.env);
    let plain =
        |order| Ok(CompileInput { order, opens: ExtraOpenings::default(), sides: Vec::new() });
    match &request.rules {
        CompileRules::Policy(policy) => {
            plain(RunRequest { protocol, policy: (**policy).clone(), run }.into())
        }
        CompileRules::Profile(rules) => {
            let asked = profile_request(rules, protocol, run);
            let sides = &rules.side_roots;
            match asked.dialect {
                Dialect::Inferoa if !sides.is_empty() => {
                    Err(Refusal::invalid("side_roots: a sandbox block has none; leave them out"))
                }
                Dialect::Inferoa => plain(inferoa_request::order_on(target.system(), env, asked)?),
                Dialect::Orbit => {
                    let state = AgentState::from_variables(|name| env.get(name).cloned());
                    let mut order = RunJob::try_from(asked)?;
                    let workspace = order.policy.workspace.as_path().to_owned();
                    order.policy.writable = orbit_request::state(&state, &workspace);
                    let sides = sides.iter().map(|side| workspace.join(side.as_path())).collect();
                    Ok(CompileInput { order, opens: ExtraOpenings::default(), sides })
                }
            }
        }
        CompileRules::Settings(asked) => {
            let (mut order, opens) =
                caliban_request::order_on(target.platform(), env, asked, &run)?;
            // A profile can express one port of the host's loopback, and no namespace can.
            if target == CompileTarget::Seatbelt && opens.proxy.is_some() {
                order.policy.network = Network::None {};
            }
            Ok(CompileInput { order, opens, sides: Vec::new() })
        }
    }
}

fn profile_request(asked: &CompileProfile, protocol: u32, run: Run) -> ProfileRequest {
    let CompileProfile { dialect, documents, profile, workspace, side_roots: _ } = asked.clone();
    ProfileRequest { protocol, dialect, documents, profile, workspace, run }
}
