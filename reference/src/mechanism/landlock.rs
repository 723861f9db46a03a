//! The plan carried out by Landlock and a seccomp filter, for hosts that refuse namespaces. Both
//! only restrict one process and its descendants: nothing is hidden, replaced or moved. A step that
//! they cannot express is refused by name.

mod rules;
mod ruleset;

use boxproof_cases::protocol::ErrorKind;

use super::temp_directory::TempDirectory;
use super::unconfined;
use crate::control::RunningSandbox;
use crate::error::Refusal;
use crate::init::SandboxInit;
use crate::plan::View;
use crate::sys;

use rules::LandlockGrants;

/// The first ABI that keeps files outside the grants from being emptied (Linux 6.2).
const OLDEST: i64 = 3;

/// The resources of one run: its rules, and a temporary directory of its own where the policy gives
/// one.
pub(crate) struct PreparedLandlock {
    rules: LandlockGrants,
    temp: Option<TempDirectory>,
    abi: i64,
}

/// Prepares the resources for `view`, before anything is started; refuses a view that Landlock
/// cannot express.
pub(crate) fn prepare(view: &View) -> Result<PreparedLandlock, Refusal> {
    let abi = available(sys::landlock_abi())?;
    let mut rules = LandlockGrants::from_view(view)?;
    let temp = rules.temp.then(TempDirectory::make).transpose();
    let temp = temp.map_err(|error| Refusal::os("a temp directory for the command", error))?;
    rules.write.extend(temp.as_ref().map(|temp| temp.path().to_owned()));
    Ok(PreparedLandlock { rules, temp, abi })
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

impl PreparedLandlock {
    /// The command's temp directory.
    pub(super) fn temp(&self) -> Option<&TempDirectory> {
        self.temp.as_ref()
    }

    /// Starts the inner stage beside this process; the command puts itself under the rules.
    pub(crate) fn start(&self, inner: SandboxInit<'_>) -> Result<RunningSandbox, Refusal> {
        let os = |error| Refusal::os("starting the command", error);
        let ruleset = ruleset::build(&self.rules, self.abi)?;
        let lifeline = self.temp.as_ref().and_then(TempDirectory::lifeline);
        let inner = inner.ruled(ruleset, self.rules.offline, lifeline).map_err(os)?;
        unconfined::start(&inner).map_err(os)
    }
}

#[cfg(test)]
mod tests;
