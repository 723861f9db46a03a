//! Process titles where a process cannot be given another name.

/// A stand-in for a title; nothing changes.
#[derive(Debug)]
pub(crate) struct ProcessTitle;

impl ProcessTitle {
    /// Changes nothing.
    pub(crate) fn take() -> Self {
        Self
    }
}
