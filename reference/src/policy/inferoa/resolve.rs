//! The compilation of a block to the neutral policy, and whether a mechanism can enforce it here.
//! Pure but for [`SandboxBlock::roots`].

use boxproof_cases::protocol::{
    BlockBackend, BlockMode, BlockNetwork, CommandFate, EnvPolicy, Mode, Network, OnUnavailable,
    Policy, Protect, TmpPolicy,
};

use super::block::SandboxBlock;
use super::document::ConfigError;
use super::expand::ExpansionContext;
use super::roots::WritableRoots;
use crate::policy::{AUTO, MechanismName};

/// Directories below `.inferoa` that stay writable.
const ARTIFACTS: [&str; 6] = ["tmp", "exports", "artifacts", "evidence", "cache", "sandbox"];
/// The directory that holds them.
const CONTROL: &str = ".inferoa";

/// The result of a block.
#[derive(Debug, Clone)]
pub(crate) struct ResolvedBlock {
    /// The block.
    pub(crate) block: SandboxBlock,
    /// Its roots.
    pub(crate) roots: WritableRoots,
    /// The policy.
    pub(crate) policy: Policy,
    /// The requested mechanism; `auto` leaves the choice.
    pub(crate) mechanism: &'static str,
    /// The reason why no mechanism of this system confines, where the mode asks for one.
    pub(crate) unavailable: Option<String>,
}

impl ResolvedBlock {
    /// Returns the fate of a command, before the host's kernel is probed.
    pub(crate) fn runs(&self) -> CommandFate {
        match (&self.unavailable, self.block.mode, self.block.fail_closed) {
            (_, BlockMode::Off, _) => CommandFate::Unconfined,
            (None, ..) => CommandFate::Confined,
            (Some(_), _, true) if fault!("dialects.block-fails-open") => CommandFate::Unconfined,
            (Some(_), _, true) => CommandFate::Refused,
            (Some(_), _, false) => CommandFate::Unconfined,
        }
    }
}

/// Settles `block` on the system `os`.
///
/// # Errors
/// See [`SandboxBlock::roots`].
pub(crate) fn resolve_block(
    block: SandboxBlock,
    around: &ExpansionContext,
    os: &str,
) -> Result<ResolvedBlock, ConfigError> {
    let roots = block.roots(around, block.mode == BlockMode::WorkspaceWrite)?;
    let policy = policy(&block, &roots);
    let (mechanism, unavailable) = match block.mode {
        BlockMode::Off => (AUTO, None),
        _ => means(block.backend, os),
    };
    Ok(ResolvedBlock { block, roots, policy, mechanism, unavailable })
}

/// Returns the mechanism of `backend`, or the reason for none.
fn means(backend: BlockBackend, os: &str) -> (&'static str, Option<String>) {
    let elsewhere = |name: &str, home: &str| {
        format!("sandbox.backend: {name} is there on {home} only, and this is {os}; use auto")
    };
    match (backend, os) {
        (BlockBackend::Auto, "linux") => (AUTO, None),
        (BlockBackend::LinuxBubblewrap, "linux") => (MechanismName::Bubblewrap.name(), None),
        (BlockBackend::Auto | BlockBackend::MacosSeatbelt, "macos") => {
            (MechanismName::Seatbelt.name(), None)
        }
        (BlockBackend::None, _) => {
            (AUTO, Some("sandbox.backend: none enforces nothing; use auto, or mode off".to_owned()))
        }
        (BlockBackend::MacosSeatbelt, _) => (AUTO, Some(elsewhere("macos_seatbelt", "macOS"))),
        (BlockBackend::LinuxBubblewrap, _) => (AUTO, Some(elsewhere("linux_bubblewrap", "Linux"))),
        _ => (AUTO, Some(format!("no mechanism exists on {os} yet; use Linux, or mode off"))),
    }
}

fn policy(block: &SandboxBlock, roots: &WritableRoots) -> Policy {
    let workspace = &roots.workspace;
    let mut policy = Policy::new(workspace.clone());
    policy.on_unavailable = match block.fail_closed {
        true => OnUnavailable::Refuse,
        false => OnUnavailable::RunUnconfined,
    };
    policy.env = EnvPolicy { pass: block.env.clone(), ..EnvPolicy::default() };
    policy.network = match block.network {
        BlockNetwork::Restricted if fault!("dialects.block-network") => Network::Host {},
        BlockNetwork::Restricted => Network::None {},
        BlockNetwork::Enabled => Network::Host {},
    };
    match block.mode {
        BlockMode::Off => {
            policy.mode = Mode::Unconfined;
            policy.network = Network::Host {};
            policy.tmp = TmpPolicy::Host;
            policy.env.scrub = false;
        }
        BlockMode::ReadOnly => {
            policy.mode = Mode::ReadOnly;
            policy.tmp = TmpPolicy::None;
        }
        BlockMode::WorkspaceWrite => {
            policy.writable = roots.extra.iter().map(|(_, path)| path.clone().into()).collect();
            policy.protect = Protect::Metadata;
            let control = workspace.join(CONTROL);
            if fault!("dialects.control-open") {
                policy.protect = Protect::None;
            }
            policy.reopen = ARTIFACTS.iter().map(|name| control.join(name).into()).collect();
        }
    }
    policy
}
