//! From policy and host to [`Plan`]: the work of a mechanism, in order. Pure.

mod contradictions;
mod credential_values;
mod denies;
mod encoding;
pub(crate) mod environment;
mod forbidden_names;
mod git_autosetup;
mod network;
mod notes;
mod patterns;
mod profile;
mod roots;
mod skeleton;
mod view;
mod without_mediation;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use boxproof_cases::protocol::{
    EventScope, Mode, Network, Policy, Protect, Readable, Run, TmpPolicy, WirePath,
};

use crate::egress::EgressRoute;
use crate::error::Refusal;
use crate::host::HostSnapshot;

pub(crate) use contradictions::refuse_contradictions;
pub(crate) use forbidden_names::{
    AbsenceReason, AbsentName, ForbiddenNames, FuturePattern, ObservedCalls, ProfileBound,
};
pub(crate) use without_mediation::narrowed;

/// One step of building the file system view. Later steps lie on top of earlier ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ViewStep {
    /// The host's path, writable.
    Bind(PathBuf),
    /// The host's path, read-only with everything below it.
    BindReadOnly(PathBuf),
    /// An object that can be neither opened nor changed, over a file.
    MaskFile(PathBuf),
    /// The object of [`ViewStep::MaskFile`] over a socket of the host that the policy does not list.
    MaskSocket(PathBuf),
    /// A directory that can be neither entered, listed nor changed.
    MaskDirectory(PathBuf),
    /// A fresh, empty, writable directory with this mode.
    Tmpfs(PathBuf, u32),
    /// Makes the mount at this path read-only (not the mounts below it).
    Seal(PathBuf),
    /// A directory in a fresh one that only holds something, with the mode and owner that it has on
    /// the host.
    Directory(PathBuf),
    /// A symbolic link in a fresh directory, and its target.
    Link(PathBuf, PathBuf),
    /// A fresh `/dev` with harmless devices.
    Dev,
    /// A fresh `/proc` of the box's own processes.
    Proc,
    /// The host's `/proc`, read-only, where it refuses a fresh one.
    HostProc,
}

/// The confinement of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct View {
    /// The steps, in order.
    pub(crate) steps: Vec<ViewStep>,
    /// Names that must not be created: the step `mediate`, last and only if there are any.
    pub(crate) mediate: ForbiddenNames,
    /// The host's network is shared; otherwise the network is private and empty.
    pub(crate) host_network: bool,
    /// The way out of a private network, if there is one.
    pub(crate) egress: Option<EgressRoute>,
}

/// Everything a mechanism has to do for one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The confinement; `None` for mode unconfined.
    pub(crate) view: Option<View>,
    /// The whole environment.
    pub(crate) env: Vec<(OsString, OsString)>,
    /// Working directory (real path).
    pub(crate) cwd: PathBuf,
    /// Notes for the user about grants that give less than they say.
    pub(crate) notes: Vec<String>,
}

impl Plan {
    /// Plans the run without any confinement.
    pub(crate) fn unconfined(
        policy: &Policy,
        run: &Run,
        host: &HostSnapshot,
    ) -> Result<Self, Refusal> {
        let env = environment::environment(&policy.env, policy.mode, &host.env, None);
        Ok(Self { view: None, env, cwd: real_cwd(run, host)?, notes: Vec::new() })
    }
}

/// Plans `run` under `policy` on `host`; refuses requirements that no step can express.
pub(crate) fn resolve(policy: &Policy, run: &Run, host: &HostSnapshot) -> Result<Plan, Refusal> {
    if policy.mode == Mode::Unconfined {
        return nothing_to_enforce(policy).and_then(|()| Plan::unconfined(policy, run, host));
    }
    let egress = network::way(&policy.network)?;
    let host_network = policy.network == Network::Host {};
    let tmp = (policy.tmp == TmpPolicy::Private).then_some("/tmp");
    let cwd = real_cwd(run, host)?;
    patterns::none_in_lists(policy, host)?;
    let policy = &whole(policy, host);
    let mut view = view::view(policy, host, &cwd, host_network)?;
    view.mediate.observed = match run.events {
        EventScope::Mediated => ObservedCalls::Nothing,
        EventScope::Light => ObservedCalls::Seldom,
        EventScope::All => ObservedCalls::All,
    };
    let env = environment::environment(&policy.env, policy.mode, &host.env, tmp);
    let env = git_autosetup::without_tracking(policy, env);
    let env = network::with_proxy(egress.as_ref(), &policy.env, env);
    view.egress = egress;
    Ok(Plan { view: Some(view), env, cwd, notes: notes::notes(policy, host) })
}

/// `policy`, where a list that has the root is the list of everything.
fn whole(policy: &Policy, host: &HostSnapshot) -> Policy {
    let is_root =
        |path: &WirePath| host.at(path.as_path()).is_some_and(|found| found.real == Path::new("/"));
    let mut policy = policy.clone();
    if matches!(&policy.readable, Readable::Only(roots) if roots.iter().any(is_root)) {
        policy.readable = Readable::All;
    }
    policy
}

/// Mode unconfined takes no rules: one that would not be enforced must not look as if it were.
fn nothing_to_enforce(policy: &Policy) -> Result<(), Refusal> {
    let rules = [
        ("readable", policy.readable != Readable::All),
        ("deny_read", !policy.deny_read.is_empty()),
        ("deny_write", !policy.deny_write.is_empty()),
        ("deny_read_globs", !policy.deny_read_globs.is_empty()),
        ("deny_write_globs", !policy.deny_write_globs.is_empty()),
        ("protect", policy.protect != Protect::None),
    ];
    match rules.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((rule, _)) => Err(Refusal::unsupported(format!(
            "policy.{rule}: mode unconfined enforces nothing; remove the rule or choose another mode"
        ))),
    }
}

fn real_cwd(run: &Run, host: &HostSnapshot) -> Result<PathBuf, Refusal> {
    let cwd = run.cwd.as_path();
    let found = host.at(cwd).filter(|found| found.directory).map(|found| found.real.clone());
    found.ok_or_else(|| {
        Refusal::invalid(format!("run.cwd: {} is not an existing directory", cwd.display()))
    })
}

#[cfg(test)]
mod tests;
