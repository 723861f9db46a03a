//! The compilation of a block to the neutral policy, and whether a mechanism can enforce it here.
//! Pure but for [`Block::roots`].

use boxproof_cases::protocol::{
    BlockBackend, BlockMode, BlockNetwork, EnvPolicy, Mode, Network, OnUnavailable, Policy,
    Protect, Runs, TmpPolicy,
};

use super::block::Block;
use super::document::Fault;
use super::expand::Surroundings;
use super::roots::Roots;
use crate::request::{AUTO, Mechanism};

/// Directories below `.inferoa` that stay writable.
const ARTIFACTS: [&str; 6] = ["tmp", "exports", "artifacts", "evidence", "cache", "sandbox"];
/// The directory that holds them.
const CONTROL: &str = ".inferoa";

/// The result of a block.
#[derive(Debug, Clone)]
pub(crate) struct Settled {
    /// The block.
    pub(crate) block: Block,
    /// Its roots.
    pub(crate) roots: Roots,
    /// The policy.
    pub(crate) policy: Policy,
    /// The requested mechanism; `auto` leaves the choice.
    pub(crate) mechanism: &'static str,
    /// The reason why no mechanism of this system confines, where the mode asks for one.
    pub(crate) unavailable: Option<String>,
}

impl Settled {
    /// Returns the fate of a command, before the host's kernel is probed.
    pub(crate) fn runs(&self) -> Runs {
        match (&self.unavailable, self.block.mode, self.block.fail_closed) {
            (_, BlockMode::Off, _) => Runs::Unconfined,
            (None, ..) => Runs::Confined,
            (Some(_), _, true) => Runs::Refused,
            (Some(_), _, false) => Runs::Unconfined,
        }
    }
}

/// Settles `block` on the system `os`.
///
/// # Errors
/// See [`Block::roots`].
pub(crate) fn settle(block: Block, around: &Surroundings, os: &str) -> Result<Settled, Fault> {
    let roots = block.roots(around, block.mode == BlockMode::WorkspaceWrite)?;
    let policy = policy(&block, &roots);
    let (mechanism, unavailable) = match block.mode {
        BlockMode::Off => (AUTO, None),
        _ => means(block.backend, os),
    };
    Ok(Settled { block, roots, policy, mechanism, unavailable })
}

/// Returns the mechanism of `backend`, or the reason for none.
fn means(backend: BlockBackend, os: &str) -> (&'static str, Option<String>) {
    let elsewhere = |name: &str, home: &str| {
        format!("sandbox.backend: {name} is there on {home} only, and this is {os}; use auto")
    };
    match (backend, os) {
        (BlockBackend::Auto, "linux") => (AUTO, None),
        (BlockBackend::LinuxBubblewrap, "linux") => (Mechanism::Bubblewrap.name(), None),
        (BlockBackend::Auto | BlockBackend::MacosSeatbelt, "macos") => {
            (Mechanism::Seatbelt.name(), None)
        }
        (BlockBackend::None, _) => {
            (AUTO, Some("sandbox.backend: none enforces nothing; use auto, or mode off".to_owned()))
        }
        (BlockBackend::MacosSeatbelt, _) => (AUTO, Some(elsewhere("macos_seatbelt", "macOS"))),
        (BlockBackend::LinuxBubblewrap, _) => (AUTO, Some(elsewhere("linux_bubblewrap", "Linux"))),
        _ => (AUTO, Some(format!("no mechanism exists on {os} yet; use Linux, or mode off"))),
    }
}

fn policy(block: &Block, roots: &Roots) -> Policy {
    let workspace = &roots.workspace;
    let mut policy = Policy::new(workspace.clone());
    policy.on_unavailable = match block.fail_closed {
        true => OnUnavailable::Refuse,
        false => OnUnavailable::RunUnconfined,
    };
    policy.env = EnvPolicy { pass: block.env.clone(), ..EnvPolicy::default() };
    policy.network = match block.network {
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
            policy.reopen = ARTIFACTS.iter().map(|name| control.join(name).into()).collect();
        }
    }
    policy
}
