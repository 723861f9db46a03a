//! Where coding agents keep their state: by their variables, else below the home. Pure.

use std::collections::BTreeMap;

use super::pattern::of_path;
use super::sbpl::{literal, regex, subpath};

/// An agent's variable, and its folder below the home where the variable is not set.
const AGENTS: [(Option<&str>, &str); 4] = [
    (Some("CODEX_HOME"), ".codex"),
    (Some("CLAUDE_CONFIG_DIR"), ".claude"),
    (None, ".gemini"),
    (Some("GROK_HOME"), ".grok"),
];
/// Folders below the home that every agent writes to.
const SHARED: [&str; 2] = ["Library/Caches", ".orbit/state/logs"];

/// The filters of what an agent may write under `env`. An empty value counts as none; a relative one
/// names no folder, so that it grants nothing.
pub(super) fn writable(env: &BTreeMap<String, String>) -> Vec<String> {
    let value = |name: &str| env.get(name).map(String::as_str).filter(|text| !text.is_empty());
    let home = value("HOME").filter(|home| is_folder(home));
    let below = |name: &str| home.map(|home| format!("{}/{name}", home.trim_end_matches('/')));
    let mut filters: Vec<String> =
        SHARED.iter().filter_map(|name| below(name)).map(|path| subpath(&path)).collect();
    for (variable, folder) in AGENTS {
        let set = variable.and_then(value);
        let place = match set {
            Some(place) => is_folder(place).then(|| place.trim_end_matches('/').to_owned()),
            None => below(folder),
        };
        filters.extend(place.map(|place| subpath(&place)));
    }
    if value("CLAUDE_CONFIG_DIR").is_none()
        && let Some(file) = below(".claude.json")
    {
        let beside = of_path(&file, false).replace("(/.*)?$", "\\.tmp\\.[0-9]+\\.[0-9]+$");
        filters.extend([literal(&file), literal(&format!("{file}.lock")), regex(&beside)]);
    }
    filters
}

/// An absolute path without dots, and not the root: that would grant everything.
fn is_folder(path: &str) -> bool {
    let names = path.strip_prefix('/').map(|rest| rest.trim_end_matches('/'));
    names.is_some_and(|names| names.split('/').all(|name| !matches!(name, "" | "." | "..")))
}
