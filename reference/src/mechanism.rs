//! The mechanisms: each turns a plan into a process that holds the command ([`RunningSandbox`]).
//!
//! A mechanism is a module that implements [`Mechanism`], a name in [`MechanismName`], and the line
//! of [`mechanism`] that joins them.

mod bounded_run;
pub(crate) mod bubblewrap;
mod failure;
mod helper_program;
#[cfg(target_os = "linux")]
pub(crate) mod landlock;
#[cfg(target_os = "linux")]
pub(crate) mod namespaces;
mod path_text;
pub(crate) mod seatbelt;
mod temp_directory;
pub(crate) mod unconfined;
#[cfg(not(target_os = "linux"))]
#[path = "unsupported/mechanism.rs"]
mod unsupported;
mod userns;

pub(crate) use failure::MechanismFailure;
pub(crate) use path_text::path_text;

use std::borrow::Cow;
use std::os::fd::OwnedFd;

use boxproof_cases::protocol::ClaimLevel;

use crate::control::{CommandContainment, LaunchSpec, RunningSandbox};
use crate::egress::ListenerHandoff;
use crate::error::Refusal;
use crate::init::SandboxInit;
use crate::plan::{Plan, View};
use crate::policy::MechanismName;
use crate::request::RunJob;

/// The claim that names one mechanism.
pub(crate) const BY_BUBBLEWRAP: &str = "dialect.inferoa_bubblewrap";
/// The claim that requires asking a profile about names.
pub(crate) const PROFILES: &str = "dialect.orbit";

/// One way to carry out a plan.
pub(crate) trait Mechanism: Sync {
    /// Prepares the resources of one run, before anything is started; refuses a plan that it
    /// cannot carry out.
    fn prepare<'a>(
        &self,
        job: &'a RunJob,
        plan: &'a Plan,
    ) -> Result<Box<dyn PreparedRun + 'a>, Refusal>;

    /// Returns the level of `claim` where it is not that of the table of claims; `boxed` if
    /// confinement alone makes the claim.
    fn own_level(&self, claim: &str, boxed: bool) -> Option<ClaimLevel>;

    /// Returns its limits besides those of every mechanism.
    fn limits(&self) -> &'static [&'static str];

    /// Returns whether it has the step `mediate`.
    fn mediates(&self) -> bool;
}

/// A run that can be started. Its resources are removed when it is dropped.
pub(crate) trait PreparedRun {
    /// Returns the plan, with the places that were made for the command.
    fn plan(&self) -> Cow<'_, Plan>;

    /// Returns the arguments of the command under `plan`, with a wrapper's before them.
    fn argv(&self, plan: &Plan) -> Result<Vec<String>, Refusal>;

    /// Returns what keeps the command's processes together.
    fn containment(&self) -> CommandContainment;

    /// Starts the inner stage. `prefix` leads to it where it is a program.
    fn start(&self, prefix: &[&str], inputs: InitInputs<'_>) -> Result<RunningSandbox, Refusal>;

    /// Explains a failure that it alone understands.
    fn explain(&self, failure: MechanismFailure<'_>) -> Refusal {
        failure.refusal()
    }
}

/// Returns the mechanism called `name`.
pub(crate) fn mechanism(name: MechanismName) -> &'static dyn Mechanism {
    match name {
        #[cfg(not(target_os = "linux"))]
        MechanismName::Namespaces | MechanismName::Landlock => &unsupported::UnsupportedMechanism,
        #[cfg(target_os = "linux")]
        MechanismName::Namespaces => &namespaces::NamespacesMechanism,
        MechanismName::Bubblewrap => &bubblewrap::BubblewrapMechanism,
        #[cfg(target_os = "linux")]
        MechanismName::Landlock => &landlock::LandlockMechanism,
        MechanismName::Seatbelt => &seatbelt::SeatbeltMechanism,
        MechanismName::Unconfined => &unconfined::UnconfinedMechanism,
    }
}

/// The launch and the descriptors that an inner stage is started with.
pub(crate) struct InitInputs<'a> {
    pub(crate) launch: &'a LaunchSpec,
    /// The inner stage's end of the control socket.
    pub(crate) control: OwnedFd,
    /// The command's stdin, stdout and stderr.
    pub(crate) streams: [OwnedFd; 3],
    /// The way out of its network.
    pub(crate) door: Option<ListenerHandoff>,
    /// The log of refusals, if names are held.
    pub(crate) ledger: Option<OwnedFd>,
}

impl<'a> InitInputs<'a> {
    /// Makes the inner stage of a process beside this one, which has the host's network and decides
    /// on no names.
    fn into_init(self) -> Result<SandboxInit<'a>, Refusal> {
        SandboxInit::new(self.launch, self.control, self.streams).map_err(unprepared)
    }
}

fn unprepared(error: std::io::Error) -> Refusal {
    Refusal::os("preparing the command", error)
}

/// Returns the view of a plan that confines.
fn view(plan: &Plan) -> Result<&View, Refusal> {
    plan.view.as_ref().ok_or_else(|| Refusal::setup("the plan confines nothing"))
}
