//! Acts of family `sys`: ends, streams, waiting for signals, leaving something behind.

mod background;
mod exits;
mod signals;
mod streams;
mod waits;

pub(crate) use background::background;
pub(crate) use exits::{die, exit};
pub(crate) use signals::signals;
pub(crate) use streams::{argv, echo_stdin, flood, streams};
pub(crate) use waits::{hold, ignore, mark, ready, trap};
