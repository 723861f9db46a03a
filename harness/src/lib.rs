//! The verbs: plan, run, judge and collect, and what they act on.

pub mod backend;
pub mod blind;
pub mod case_summary;
pub mod cli;
pub mod collect;
pub mod execution;
pub mod expect;
pub mod explain;
pub mod host;
pub mod judge;
pub mod known;
pub mod models;
pub mod multicall;
pub mod names;
pub mod observability;
mod output;
mod plain_file;
pub mod plan;
pub mod pool;
pub mod probe;
pub mod receipts;
mod removal;
pub mod repro;
pub mod run;
pub mod schedule;
pub mod scratch;
pub mod selection;
pub mod session;
mod shortage;
mod strays;
mod sweep;
mod sys;
pub mod termination;
#[cfg(test)]
mod testing;
pub mod worker;
pub mod workspace;
