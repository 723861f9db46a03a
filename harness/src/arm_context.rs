//! The context of an arm: [`ArmContext`].

use std::os::fd::BorrowedFd;
use std::path::Path;

/// The context that every arm of a run shares.
#[derive(Debug, Clone, Copy)]
pub struct ArmContext<'a> {
    /// The worker's own directory.
    pub directory: &'a Path,
    /// The probe program.
    pub probe: &'a Path,
    /// The run's word, which tells how its directories are called.
    pub run_id: &'a str,
    /// The socket of the process that asked for the arm; when it hangs up, the arm is abandoned.
    pub boss: Option<BorrowedFd<'a>>,
    /// True if no other program changes the mount table that the worker sees.
    pub own_mounts: bool,
}
