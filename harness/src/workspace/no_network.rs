//! Networks of one's own where there are none: the host fact `netns` never holds.

use std::ffi::OsString;
use std::path::Path;

use super::listeners::ArmListeners;
use crate::sys::network::NetworkNamespaces;

/// The hidden verb under which the program would make one.
pub const VERB: &str = "__network";

/// The values of the listeners' variables.
type ListenerValues = Vec<(&'static str, String)>;

/// Fails: there are no networks of one's own here.
///
/// # Errors
/// Always.
pub(super) fn make(
    _: (&Path, &Path, &str),
    _: &str,
    _: &[&'static str],
    _: &mut ArmListeners,
) -> Result<(NetworkNamespaces, ListenerValues), String> {
    Err("there are no networks of one's own here".to_owned())
}

/// Makes nothing.
pub fn serve(_: impl Iterator<Item = OsString>) -> i32 {
    1
}
