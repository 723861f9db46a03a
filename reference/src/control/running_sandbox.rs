//! The process that a mechanism starts, as the supervisor takes it over: [`RunningSandbox`].

use std::fs::File;

use crate::sys::{ProcessHandle, SharedStack};

/// A process that holds a command, or is about to.
pub(crate) struct RunningSandbox {
    /// The process, a child of ours.
    pub(crate) process: ProcessHandle,
    /// The file that receives its own messages.
    pub(crate) said: Option<File>,
    /// The death of its inner stage ends all processes of the run.
    pub(crate) namespaced: bool,
    /// The stack of a process that runs in our memory.
    pub(crate) stack: Option<SharedStack>,
}
