//! One case against one backend, by their places in a run: [`CasePair`].

/// One case against one backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CasePair {
    /// The place of the case in the suite.
    pub case: usize,
    /// The place of the backend among those of the run.
    pub backend: usize,
}
