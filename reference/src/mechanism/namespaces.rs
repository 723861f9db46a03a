//! The plan carried out by this process and the kernel alone: one fork into new namespaces, where
//! the child builds the view, gives up every privilege and becomes the inner stage as pid 1.

mod build;
mod enter;
mod failure_point;
mod layout;

use std::borrow::Cow;

use boxproof_cases::protocol::{ClaimLevel, ErrorKind};
use nix::errno::Errno;
use nix::sched::CloneFlags;
use nix::unistd::{getegid, geteuid};

use super::{InitInputs, Mechanism, MechanismFailure, PreparedRun, unprepared, userns};
use crate::control::{CommandContainment, RunningSandbox};
use crate::error::Refusal;
use crate::init::SandboxInit;
use crate::plan::{Plan, View, ViewStep};
use crate::request::RunJob;
use crate::sys;

use enter::NamespaceEntry;
use failure_point::{BuildCall, FailurePoint};
use layout::ViewLayout;

/// Namespaces that every box has.
const ALWAYS: CloneFlags = CloneFlags::CLONE_NEWNS
    .union(CloneFlags::CLONE_NEWPID)
    .union(CloneFlags::CLONE_NEWIPC)
    .union(CloneFlags::CLONE_NEWUTS)
    .union(CloneFlags::CLONE_NEWCGROUP);

/// Namespaces, made by this process and the kernel alone.
pub(crate) struct NamespacesMechanism;

impl Mechanism for NamespacesMechanism {
    fn prepare<'a>(
        &self,
        job: &'a RunJob,
        plan: &'a Plan,
    ) -> Result<Box<dyn PreparedRun + 'a>, Refusal> {
        Ok(Box::new(NamespacesRun { job, plan, view: super::view(plan)? }))
    }

    fn own_level(&self, claim: &str, _boxed: bool) -> Option<ClaimLevel> {
        (claim == super::BY_BUBBLEWRAP).then_some(ClaimLevel::None)
    }

    fn limits(&self) -> &'static [&'static str] {
        &["A file system that the host unmounts during the run stays in use until the run ends."]
    }

    fn mediates(&self) -> bool {
        true
    }
}

/// A run in namespaces; the kernel removes them.
struct NamespacesRun<'a> {
    job: &'a RunJob,
    plan: &'a Plan,
    view: &'a View,
}

impl PreparedRun for NamespacesRun<'_> {
    fn plan(&self) -> Cow<'_, Plan> {
        Cow::Borrowed(self.plan)
    }

    fn argv(&self, _plan: &Plan) -> Result<Vec<String>, Refusal> {
        Ok(self.job.run.command.to_argv())
    }

    fn containment(&self) -> CommandContainment {
        CommandContainment::namespace()
    }

    fn start(&self, _prefix: &[&str], inputs: InitInputs<'_>) -> Result<RunningSandbox, Refusal> {
        let InitInputs { launch, control, streams, door, ledger } = inputs;
        let init = SandboxInit::new(launch, control, streams).map_err(unprepared)?;
        start(self.view, init.with_door(door).noting(ledger))
    }

    fn explain(&self, failure: MechanismFailure<'_>) -> Refusal {
        match failure {
            MechanismFailure::At(place, errno) => explain(place, errno, self.view),
            MechanismFailure::Ended(..) => failure.refusal(),
        }
    }
}

/// Forks the box for `view`; the child serves `inner`.
///
/// Root needs no user namespace: its files keep their owners, and it gives up its capabilities all
/// the same. Where root lacks some, and for every other user, one maps the own ids; likewise where
/// the host's processes are shown, which are out of reach because they are in another user
/// namespace.
fn start<'a>(view: &'a View, inner: SandboxInit<'a>) -> Result<RunningSandbox, Refusal> {
    let alone = view.steps.iter().any(ViewStep::shows_host_processes);
    let ids = (alone || !sys::is_privileged()).then(|| (geteuid(), getegid()));
    let layout = ViewLayout::from_view(view);
    let mut flags = ALWAYS;
    flags.set(CloneFlags::CLONE_NEWUSER, ids.is_some());
    flags.set(CloneFlags::CLONE_NEWNET, !view.host_network);
    flags.set(CloneFlags::CLONE_NEWIPC, !fault!("mechanism.ipc-namespace"));
    flags.set(CloneFlags::CLONE_NEWUTS, !fault!("mechanism.uts-namespace"));
    flags.set(CloneFlags::CLONE_NEWCGROUP, !fault!("mechanism.cgroup-namespace"));
    if fault!("network.host-network") {
        flags.remove(CloneFlags::CLONE_NEWNET);
    }
    let inner = inner.mediating(&view.mediate);
    let entry = NamespaceEntry { layout, ids, private_network: !view.host_network, inner };
    let forked = sys::fork_into(flags, || enter::run(entry));
    let (_, process) = forked.map_err(|errno| {
        refusal(FailurePoint { work: None, call: BuildCall::Clone }, errno, view)
    })?;
    Ok(RunningSandbox { process, said: None, namespaced: true, stack: None })
}

/// Explains a failure at the place `code`.
fn explain(code: u32, errno: i32, view: &View) -> Refusal {
    match FailurePoint::from_code(code) {
        Some(place) => refusal(place, Errno::from_raw(errno), view),
        None => Refusal::setup(format!("the sandbox failed at an unknown place ({code})")),
    }
}

fn refusal(place: FailurePoint, errno: Errno, view: &View) -> Refusal {
    let layout = ViewLayout::from_view(view);
    let said = place.describe(&layout, errno);
    let refused =
        |missing: &str| format!("namespaces are refused on this host ({said}); {missing}");
    if place.makes_proc(&layout) && is_forbidden(errno) {
        return Refusal::no_proc(refused(userns::MASKED_PROC));
    }
    match missing(place, errno) {
        Some(missing) => Refusal::new(ErrorKind::Unavailable, refused(&missing)),
        None => Refusal::setup(format!("the sandbox could not be set up: {said}")),
    }
}

fn is_forbidden(errno: Errno) -> bool {
    matches!(errno, Errno::EPERM | Errno::EACCES)
}

/// Returns the facility that this host lacks, and the remedy, if that explains the failure;
/// otherwise a step of this view failed.
fn missing(place: FailurePoint, errno: Errno) -> Option<String> {
    match place.call {
        _ if errno == Errno::ENOSYS => Some(OLD_KERNEL.to_owned()),
        // Limits of namespaces, and kernels without one of them.
        BuildCall::Clone if matches!(errno, Errno::ENOSPC | Errno::EUSERS | Errno::EINVAL) => {
            Some(userns::remedy())
        }
        _ if is_forbidden(errno) && place.work.is_none() => Some(userns::remedy()),
        _ => None,
    }
}

const OLD_KERNEL: &str = "the kernel lacks this call (Linux 5.12 has all of them) or a filter hides \
    it; update the kernel, or use the mechanism bubblewrap";

#[cfg(test)]
mod tests;
