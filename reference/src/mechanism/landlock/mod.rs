//! The plan carried out by Landlock and a seccomp filter, for hosts that refuse namespaces. Both
//! only restrict one process and its descendants: nothing is hidden, replaced or moved. A step that
//! they cannot express is refused by name.

mod rules;
mod ruleset;

use boxproof_cases::protocol::ErrorKind;

use super::temp::Temp;
use super::{Running, unconfined};
use crate::error::Refusal;
use crate::inner::Inner;
use crate::plan::View;
use crate::sys;

use rules::Rules;

/// The first ABI that keeps files outside the grants from being emptied (Linux 6.2).
const OLDEST: i64 = 3;

/// The resources of one run: its rules, and a temporary directory of its own where the policy gives
/// one.
pub(crate) struct Prepared {
    rules: Rules,
    temp: Option<Temp>,
    abi: i64,
}

/// Prepares the resources for `view`, before anything is started; refuses a view that Landlock
/// cannot express.
pub(crate) fn prepare(view: &View) -> Result<Prepared, Refusal> {
    let abi = available(sys::landlock_abi())?;
    let mut rules = Rules::of(view)?;
    let temp = rules.temp.then(Temp::make).transpose();
    let temp = temp.map_err(|error| Refusal::os("a temp folder for the command", error))?;
    rules.write.extend(temp.as_ref().map(|temp| temp.path().to_owned()));
    Ok(Prepared { rules, temp, abi })
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

impl Prepared {
    /// The command's temp directory.
    pub(super) fn temp(&self) -> Option<&Temp> {
        self.temp.as_ref()
    }

    /// Starts the inner stage beside this process; the command puts itself under the rules.
    pub(crate) fn start(&self, inner: Inner<'_>) -> Result<Running, Refusal> {
        let os = |error| Refusal::os("starting the command", error);
        let ruleset = ruleset::build(&self.rules, self.abi)?;
        let lifeline = self.temp.as_ref().and_then(Temp::lifeline);
        let inner = inner.ruled(ruleset, self.rules.offline, lifeline).map_err(os)?;
        unconfined::start(&inner).map_err(os)
    }
}

#[cfg(test)]
mod tests;
