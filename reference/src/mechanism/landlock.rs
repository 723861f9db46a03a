//! The plan carried out by Landlock and a seccomp filter, for hosts that refuse namespaces. Both
//! only restrict one process and its descendants: nothing is hidden, replaced or moved. A step that
//! they cannot express is refused by name.

mod rules;
mod ruleset;

use std::borrow::Cow;

use boxproof_cases::protocol::{ClaimLevel, ErrorKind};

use super::temp_directory::TempDirectory;
use super::{InitInputs, Mechanism, PreparedRun, unconfined};
use crate::control::{CommandContainment, RunningSandbox};
use crate::error::Refusal;
use crate::plan::Plan;
use crate::request::RunJob;
use crate::sys;

use rules::LandlockGrants;

/// The first ABI that keeps files outside the grants from being emptied (Linux 6.2).
const OLDEST: i64 = 3;

/// Claims that require namespaces: Landlock grants only, and knows no rights for the rest.
const NAMESPACED: [&str; 21] = [
    "host.covered_proc",
    "net.proxy",
    "net.domains",
    "dialect.caliban",
    "protect.nested",
    "protect.git_config_paths",
    "host.refuses",
    "host.fallback",
    "net.loopback",
    "tty.own",
    "shm.own",
    "fs.root_listed",
    "fs.deny_write",
    "fs.read_deny",
    "fs.read_deny_in_writable",
    "fs.metadata",
    "fs.mask_holds",
    "tmp.private",
    "protect.present",
    "unix_socket.filter",
    "proc.isolated",
];

/// Landlock alone, where namespaces are refused.
pub(crate) struct LandlockMechanism;

impl Mechanism for LandlockMechanism {
    fn prepare<'a>(
        &self,
        job: &'a RunJob,
        plan: &'a Plan,
    ) -> Result<Box<dyn PreparedRun + 'a>, Refusal> {
        let abi = available(sys::landlock_abi())?;
        let mut rules = LandlockGrants::from_view(super::view(plan)?)?;
        let temp = rules.temp.then(TempDirectory::make).transpose();
        let temp = temp.map_err(|error| Refusal::os("a temp directory for the command", error))?;
        rules.write.extend(temp.as_ref().map(|temp| temp.path().to_owned()));
        Ok(Box::new(LandlockRun { job, plan, rules, temp, abi }))
    }

    fn own_level(&self, claim: &str, _boxed: bool) -> Option<ClaimLevel> {
        NAMESPACED.contains(&claim).then_some(ClaimLevel::None)
    }

    fn limits(&self) -> &'static [&'static str] {
        &[
            "Landlock only grants: a deny, a protected name or a profile in what is granted is refused, by name.",
            "Mode, times, owner and extended attributes can be changed wherever the user may; names and metadata outside the grants can be seen.",
            "Host processes can be seen in /proc, not signalled, traced or given other limits; nice value, affinity and I/O priority of the user's own can be changed. Host unix sockets bound to paths can be reached.",
            "Limits are set for the calling process only, not by the number of one (prlimit of a process).",
            "In place of a private /tmp the command has a directory of its own by TMPDIR; /tmp, /dev/shm and pseudo-terminals are closed.",
            "Without a network there is no loopback either: only unix sockets can be made.",
        ]
    }

    fn mediates(&self) -> bool {
        false
    }
}

/// The resources of one run: its rules, and a temporary directory of its own where the policy gives
/// one.
struct LandlockRun<'a> {
    job: &'a RunJob,
    plan: &'a Plan,
    rules: LandlockGrants,
    temp: Option<TempDirectory>,
    abi: i64,
}

/// `abi`, if it is enough.
fn available(abi: i64) -> Result<i64, Refusal> {
    let refuse = |message: String| Err(Refusal::new(ErrorKind::Unavailable, message));
    match abi {
        OLDEST.. => Ok(abi),
        1.. => refuse(format!(
            "Landlock has ABI {abi} here, under which files outside the grants could be emptied; ABI {OLDEST} is needed: use Linux 6.2 or later"
        )),
        _ => refuse(
            "Landlock is not there: use Linux 6.2 or later, built with it, with `landlock` in the boot option `lsm=`, and outside of filters that hide its calls"
                .to_owned(),
        ),
    }
}

impl PreparedRun for LandlockRun<'_> {
    fn plan(&self) -> Cow<'_, Plan> {
        TempDirectory::planned(self.temp.as_ref(), self.plan, self.job)
    }

    fn argv(&self, _plan: &Plan) -> Result<Vec<String>, Refusal> {
        Ok(self.job.run.command.to_argv())
    }

    fn containment(&self) -> CommandContainment {
        CommandContainment::Subreaper
    }

    /// Starts the inner stage beside this process; the command puts itself under the rules.
    fn start(&self, _prefix: &[&str], inputs: InitInputs<'_>) -> Result<RunningSandbox, Refusal> {
        let os = |error| Refusal::os("starting the command", error);
        let ruleset = ruleset::build(&self.rules, self.abi)?;
        let lifeline = self.temp.as_ref().and_then(TempDirectory::lifeline);
        let inner = inputs.into_init()?.ruled(ruleset, self.rules.offline, lifeline).map_err(os)?;
        unconfined::start(&inner).map_err(os)
    }
}

#[cfg(test)]
mod tests;
