//! What a request is about, in whatever language, as a run on the system of the target: [`asked`].

use boxproof_cases::protocol::{
    Command, CompileProfile, CompileRequest, CompileRules, CompileTarget, Dialect, Network,
    ProfileRequest, Run, RunRequest,
};

use crate::dialect::caliban::Opens;
use crate::error::Refusal;
use crate::request::Order;
use crate::{block, settings};

/// A run, and what is open in it besides what its policy says.
pub(super) struct Asked {
    pub(super) order: Order,
    pub(super) opens: Opens,
}

/// The run that `request` is about, as it would be on the system of `target`.
pub(super) fn asked(target: CompileTarget, request: &CompileRequest) -> Result<Asked, Refusal> {
    let run = Run::new(Command::Argv(vec!["/bin/sh".to_owned()]), request.cwd.clone());
    let (protocol, env) = (request.protocol, &request.env);
    let plain = |order| Ok(Asked { order, opens: Opens::default() });
    match &request.rules {
        CompileRules::Policy(policy) => {
            plain(RunRequest { protocol, policy: (**policy).clone(), run }.into())
        }
        CompileRules::Profile(asked) => {
            let asked = profile_request(asked, protocol, run);
            match asked.dialect {
                Dialect::Inferoa => plain(block::order_on(target.system(), env, asked)?),
                Dialect::Orbit => plain(Order::try_from(asked)?),
            }
        }
        CompileRules::Settings(asked) => {
            let (mut order, opens) = settings::order_on(target.platform(), env, asked, &run)?;
            // A profile can say what no namespace can: one port of the host's loopback.
            if target == CompileTarget::Seatbelt && opens.proxy.is_some() {
                order.policy.network = Network::None {};
            }
            Ok(Asked { order, opens })
        }
    }
}

fn profile_request(asked: &CompileProfile, protocol: u32, run: Run) -> ProfileRequest {
    let CompileProfile { dialect, documents, profile, workspace } = asked.clone();
    ProfileRequest { protocol, dialect, documents, profile, workspace, run }
}
