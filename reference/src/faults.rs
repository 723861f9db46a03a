//! The registry of fault points: `reference/faults.yaml`, one entry a fault.

#[cfg(feature = "faults")]
mod selection;

use std::collections::BTreeMap;

#[cfg(feature = "faults")]
pub(crate) use selection::main;
use serde::{Deserialize, Serialize};

/// The registry: area → name without the area → fault.
const REGISTRY: &str = include_str!("../faults.yaml");
/// An entry of the registry.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RegistryEntry {
    /// What the program does wrong.
    breaks: String,
    /// The filters of the cases that can show it.
    #[serde(default)]
    cases: Vec<String>,
    /// The verdict that is right for such a case; that of the area by default.
    dies: Option<String>,
    /// The mechanism that it is about.
    mechanism: Option<String>,
    /// The reason why no case shows it.
    survives: Option<String>,
    /// Of a table: entry → what shows that it is dropped.
    #[serde(default)]
    entries: BTreeMap<String, EntryCases>,
}

/// What shows that one entry of a table is dropped.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum EntryCases {
    /// These cases.
    Cases(Vec<String>),
    /// These cases, and what is not as for the table.
    Told {
        #[serde(default)]
        cases: Vec<String>,
        dies: Option<String>,
        survives: Option<String>,
    },
}

/// One fault, as it is printed.
#[derive(Debug, Serialize)]
struct RegisteredFault {
    name: String,
    area: String,
    breaks: String,
    cases: Vec<String>,
    dies: String,
    mechanism: Option<String>,
    survives: Option<String>,
}

/// The verdict that is right in each area, where an entry says nothing else.
fn usual_verdict(area: &str) -> &'static str {
    match area {
        "supervise" | "explain" | "executor" | "receipts" => "contract",
        _ => "under-block",
    }
}

/// Returns every fault; an entry of a table is one of its own.
fn registry() -> Result<Vec<RegisteredFault>, String> {
    let areas: BTreeMap<String, BTreeMap<String, RegistryEntry>> =
        serde_saphyr::from_str(REGISTRY).map_err(|error| format!("faults.yaml: {error}"))?;
    let of_area = |(area, entries): (String, BTreeMap<String, RegistryEntry>)| {
        entries.into_iter().flat_map(move |(key, entry)| faults(&area, &key, entry))
    };
    Ok(areas.into_iter().flat_map(of_area).collect())
}

fn faults(area: &str, key: &str, entry: RegistryEntry) -> Vec<RegisteredFault> {
    let RegistryEntry { breaks, cases, dies, mechanism, survives, entries } = entry;
    let dies = dies.unwrap_or_else(|| usual_verdict(area).to_owned());
    let whole = |name: String, breaks: String| RegisteredFault {
        name,
        area: area.to_owned(),
        breaks,
        cases: cases.clone(),
        dies: dies.clone(),
        mechanism: mechanism.clone(),
        survives: survives.clone(),
    };
    if !key.starts_with("table:") {
        return vec![whole(format!("{area}.{key}"), breaks)];
    }
    let one = |(dropped, shown): (String, EntryCases)| {
        let fault = whole(format!("{key}:{dropped}"), format!("{breaks}: {dropped}"));
        match shown {
            EntryCases::Cases(own) if own.is_empty() => fault,
            EntryCases::Cases(own) => RegisteredFault { cases: own, ..fault },
            EntryCases::Told { cases: own, dies, survives } => {
                let cases = if own.is_empty() { fault.cases } else { own };
                let dies = dies.unwrap_or(fault.dies);
                RegisteredFault { cases, dies, survives: survives.or(fault.survives), ..fault }
            }
        }
    };
    entries.into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// Adds the names that stand in `macro!("…"` of the sources below `directory`.
    fn collect(directory: &Path, mark: &str, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, mark, found);
            } else if path.extension().is_some_and(|end| end == "rs")
                && !path.ends_with("src/faults.rs")
            {
                let text = std::fs::read_to_string(&path).unwrap();
                let names = text.split(mark).skip(1).filter_map(|rest| rest.split('"').next());
                found.extend(names.map(str::to_owned));
            }
        }
    }

    fn in_sources(mark: &str) -> BTreeSet<String> {
        let crate_root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut found = BTreeSet::new();
        for sources in ["src", "receipts/src"] {
            collect(&crate_root.join(sources), mark, &mut found);
        }
        found
    }

    #[test]
    fn the_registry_has_every_fault_point_and_no_other() {
        let faults = registry().unwrap();
        let (tables, single): (Vec<_>, Vec<_>) =
            faults.iter().partition(|fault| fault.name.starts_with("table:"));
        let single: BTreeSet<String> = single.iter().map(|fault| fault.name.clone()).collect();
        assert_eq!(single, in_sources("fault!(\""));
        let table = |fault: &&RegisteredFault| fault.name.split(':').nth(1).unwrap().to_owned();
        let tables: BTreeSet<String> = tables.iter().map(table).collect();
        assert_eq!(tables, in_sources("dropped!(\""));
    }

    #[test]
    fn an_entry_says_what_shows_it_or_why_nothing_does() {
        for fault in registry().unwrap() {
            let RegisteredFault { name, cases, survives, breaks, .. } = &fault;
            assert!(!cases.is_empty() || survives.is_some(), "{name}");
            assert!(!breaks.is_empty(), "{name}");
        }
    }

    #[cfg(not(feature = "faults"))]
    #[test]
    fn a_program_without_the_feature_has_no_fault_points() {
        assert!(!fault!("plan.mask-readable") && !dropped!("protected-names", ".git"));
    }
}
