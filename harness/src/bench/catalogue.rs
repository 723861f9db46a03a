//! What is measured ([`CATALOGUE`]): start-up, the tax inside, supervision, and the harness.

use boxproof_cases::protocol::{Network, Policy};

use super::operations::InsideOperation;

/// One thing that both programs do.
#[derive(Debug, Clone, Copy)]
pub(super) struct CatalogueEntry {
    pub(super) id: &'static str,
    /// What one value stands for.
    pub(super) per: &'static str,
    pub(super) workload: BenchWorkload,
}

/// The work of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BenchWorkload {
    /// A command that does nothing, under a policy.
    Start { masks: usize, network: StartNetwork },
    /// An operation inside, so many times.
    Inside(InsideOperation, u64),
    /// The time from the command's end to the backend's.
    ExitDetection,
    /// The time beyond a time-out of so many milliseconds.
    TimeOut(u64),
    /// A run of the harness over a small corpus.
    HarnessRun,
}

/// The network of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StartNetwork {
    Host,
    Closed,
    Domains,
}

impl StartNetwork {
    fn policy(self) -> Network {
        match self {
            Self::Host => Network::Host {},
            Self::Closed => Network::None {},
            Self::Domains => {
                Network::Domains { allow: vec!["example.org".to_owned()], deny: Vec::new() }
            }
        }
    }
}

/// Everything that is measured, in this order.
pub(super) const CATALOGUE: [CatalogueEntry; 14] = [
    start("startup/trivial", 0, StartNetwork::Host),
    start("startup/masks-10", 10, StartNetwork::Host),
    start("startup/masks-100", 100, StartNetwork::Host),
    start("startup/masks-500", 500, StartNetwork::Host),
    start("startup/net-none", 0, StartNetwork::Closed),
    start("startup/net-domains", 0, StartNetwork::Domains),
    inside("inside/open", InsideOperation::Open, 10_000),
    inside("inside/stat", InsideOperation::Stat, 10_000),
    inside("inside/exec", InsideOperation::Exec, 20),
    inside("inside/connect", InsideOperation::Connect, 500),
    inside("inside/create", InsideOperation::Create, 2000),
    CatalogueEntry {
        id: "supervision/exit-detection",
        per: "a run, from the command's end on",
        workload: BenchWorkload::ExitDetection,
    },
    CatalogueEntry {
        id: "supervision/time-out",
        per: "a run, beyond its time-out of 50 ms",
        workload: BenchWorkload::TimeOut(50),
    },
    CatalogueEntry {
        id: "harness/arm",
        per: "an arm of a run without a sandbox",
        workload: BenchWorkload::HarnessRun,
    },
];

const fn start(id: &'static str, masks: usize, network: StartNetwork) -> CatalogueEntry {
    CatalogueEntry { id, per: "a start", workload: BenchWorkload::Start { masks, network } }
}

const fn inside(id: &'static str, operation: InsideOperation, count: u64) -> CatalogueEntry {
    CatalogueEntry { id, per: "an operation", workload: BenchWorkload::Inside(operation, count) }
}

impl BenchWorkload {
    /// The start that other sandboxes are set beside.
    pub(super) const TRIVIAL: Self = Self::Start { masks: 0, network: StartNetwork::Host };

    /// Adds what the workload is about to `policy`; `masked` are paths that can be denied.
    pub(super) fn shape(self, policy: &mut Policy, masked: &[std::path::PathBuf]) {
        match self {
            Self::Start { network, .. } => {
                policy.network = network.policy();
                policy.deny_read = masked.iter().cloned().map(Into::into).collect();
            }
            Self::Inside(..) | Self::ExitDetection | Self::TimeOut(_) => {
                policy.network = Network::Host {};
            }
            Self::HarnessRun => {}
        }
    }

    /// The number of paths that are denied.
    pub(super) fn masks(self) -> usize {
        if let Self::Start { masks, .. } = self { masks } else { 0 }
    }

    /// Returns whether system calls are counted: operations inside are no business of the backend's
    /// tree, and a tracer changes all times.
    pub(super) fn is_counted(self) -> bool {
        matches!(self, Self::Start { .. })
    }
}
