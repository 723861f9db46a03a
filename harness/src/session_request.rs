//! What a run is asked for: [`SessionRequest`].

use std::path::PathBuf;

use boxproof_cases::{FrozenSet, Suite};

use crate::backend::Backend;
use crate::blind::SampleShare;
use crate::plan::{PairScope, PlainCases};
use crate::selection::CaseSelection;

/// The request for a run.
#[derive(Debug, Clone)]
pub struct SessionRequest {
    /// The corpus.
    pub suite: Suite,
    /// The selected cases of it.
    pub selection: CaseSelection,
    /// Against which backends.
    pub backends: Vec<Backend>,
    /// True if cases are run even where the backend does not claim what they need.
    pub all: bool,
    /// The cases that are run where a backend does not claim what they are about; none by default.
    pub plain: PlainCases,
    /// The pairs of case and backend that are run.
    pub scope: PairScope,
    /// True if failures below `must` count; recorded in the header.
    pub strict: bool,
    /// The number of CPU-bound arms in flight; by default twice the cores.
    pub jobs: Option<usize>,
    /// The directory in which the scratch directory is made; by default the user's cache directory.
    pub scratch: Option<PathBuf>,
    /// The frozen set by which cases are held.
    pub set: Option<FrozenSet>,
    /// The commit that is judged; told in the header.
    pub commit: Option<String>,
    /// The URL of the corpus's files; by default that of the built-in corpus.
    pub base_url: Option<String>,
    /// The share of the cases that get a second look with ordinary names and programs.
    pub blind: Option<SampleShare>,
    /// The number of times that everything is run, to see how often it fails; then no try is made
    /// again.
    pub stress: Option<u32>,
    /// The flags of a reproduce line besides case and backend, such as `--cases DIR`.
    pub reproduce: String,
}
