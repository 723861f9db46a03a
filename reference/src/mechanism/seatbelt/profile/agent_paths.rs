//! The rules that open the state of coding agents in a profile. Pure.

use std::collections::BTreeMap;

use super::pattern::of_path;
use super::sbpl::{literal, regex, subpath};
use crate::policy::agent_state::AgentState;

/// The directory below the home that macOS caches in.
const CACHES: &str = "Library/Caches";

/// Returns the filters of the paths that an agent may write under `env`.
pub(super) fn writable(env: &BTreeMap<String, String>) -> Vec<String> {
    let state = AgentState::from_variables(|name| env.get(name).cloned());
    let caches = state.home.iter().map(|home| format!("{}/{CACHES}", home.trim_end_matches('/')));
    let directories = caches.chain(state.directories.iter().cloned());
    let mut filters: Vec<String> = directories.map(|path| subpath(&path)).collect();
    if let Some(file) = &state.file {
        let beside = of_path(file, false).replace("(/.*)?$", "\\.tmp\\.[0-9]+\\.[0-9]+$");
        filters.extend([literal(file), literal(&format!("{file}.lock")), regex(&beside)]);
    }
    filters
}
