//! Networks of one's own where there are none: the host fact `netns` never holds.

use std::ffi::OsString;
use std::path::Path;

use super::listen::Listeners;
use crate::sys::network::Namespaces;

/// The hidden verb under which the program would make one.
pub const VERB: &str = "__network";

/// The values of the listeners' variables.
type Values = Vec<(&'static str, String)>;

/// Fails: there are no networks of one's own here.
///
/// # Errors
/// Always.
pub(super) fn make(
    _: (&Path, &Path, &str),
    _: &str,
    _: &[&'static str],
    _: &mut Listeners,
) -> Result<(Namespaces, Values), String> {
    Err("there are no networks of one's own here".to_owned())
}

/// Makes nothing.
pub fn serve(_: impl Iterator<Item = OsString>) -> i32 {
    1
}
