//! The return value of a probe function: [`ProbeResult`], and the reasons why it can [`ProbeError`].

use nix::errno::Errno;

use crate::record::{ActOutcome, DetailValue, ProbeRecord, RecordDetail};
use crate::usage_error::UsageError;

/// The most bytes of any one text in a record.
pub(crate) const TEXT_CAP: usize = 4096;
/// The most names of any one list in a record.
const NAMES_CAP: usize = 4096;

/// Success with what was seen, or why it ended earlier.
pub(crate) type ProbeResult = Result<RecordDetail, ProbeError>;

/// The reason why a probe ended without doing all of its act.
#[derive(Debug)]
pub(crate) enum ProbeError {
    /// The kernel said no: an observation.
    Refused {
        /// The call that failed.
        call: &'static str,
        /// The error number of the call.
        errno: Errno,
    },
    /// The call was wrong: nothing was tried.
    Usage(UsageError),
    /// Something happened from which nothing can be learnt.
    Fault(String),
    /// The time limit ran out.
    TimedOut,
}

impl From<UsageError> for ProbeError {
    fn from(error: UsageError) -> Self {
        Self::Usage(error)
    }
}

/// Names the call whose failure ends the probe.
pub(crate) trait CallContext<T> {
    /// Turns an error into a refusal of `call`.
    fn at(self, call: &'static str) -> Result<T, ProbeError>;
}

impl<T> CallContext<T> for nix::Result<T> {
    fn at(self, call: &'static str) -> Result<T, ProbeError> {
        self.map_err(|errno| ProbeError::Refused { call, errno })
    }
}

/// Nothing but the success itself.
pub(crate) fn done() -> ProbeResult {
    Ok(RecordDetail::new())
}

/// A detail of the members given.
pub(crate) fn succeed_with<const N: usize>(members: [(&str, DetailValue); N]) -> ProbeResult {
    Ok(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// Bytes as capped, lossy text.
pub(crate) fn text(bytes: &[u8]) -> DetailValue {
    let capped = &bytes[..bytes.len().min(TEXT_CAP)];
    DetailValue::Text(String::from_utf8_lossy(capped).into_owned())
}

/// A sorted, capped list of names.
pub(crate) fn names(mut names: Vec<String>) -> DetailValue {
    names.sort();
    names.truncate(NAMES_CAP);
    DetailValue::Names(names)
}

/// The record of a probe that succeeded or was refused; any other end has none.
pub(crate) fn record(probe: &str, seen: ProbeResult) -> Result<ProbeRecord, ProbeError> {
    let (outcome, detail) = match seen {
        Ok(detail) => (ActOutcome::Succeeded, detail),
        Err(ProbeError::Refused { call, errno }) => {
            let refused = ActOutcome::Refused { errno: errno_name(errno), call: call.to_owned() };
            (refused, RecordDetail::new())
        }
        Err(other) => return Err(other),
    };
    Ok(ProbeRecord { probe: probe.to_owned(), outcome, detail })
}

/// `EROFS` and the like.
fn errno_name(errno: Errno) -> String {
    match errno {
        Errno::UnknownErrno => "EUNKNOWN".to_owned(),
        known => format!("{known:?}"),
    }
}
