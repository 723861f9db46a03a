//! Starting points of unit tests in several modules: a case from a few lines, a backend.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use boxproof_cases::{Case, Suite};

use crate::backend::{Backend, BackendKind};

/// The suite of one file, `area/case.yaml`, purpose and requirement given.
pub(crate) fn suite(text: &str) -> Suite {
    let text = format!("purpose: It is tested.\nrequirement: R-x\n{text}");
    let requirement = "R-x: {text: It works., source: a test}\n".to_owned();
    let suite = Suite::from_files(
        "test",
        BTreeMap::from([(PathBuf::from("area/case.yaml"), text)]),
        &BTreeMap::from([(PathBuf::from("r.yaml"), requirement)]),
    );
    suite.unwrap()
}

/// Its one case.
pub(crate) fn case(text: &str) -> Case {
    suite(text).cases.remove(0)
}

/// A backend that confines nothing.
pub(crate) fn bare(name: &str) -> Backend {
    Backend {
        name: name.to_owned(),
        spec: name.to_owned(),
        version: None,
        sha256: None,
        program: None,
        mechanism: None,
        claims: BTreeMap::new(),
        evidence: Default::default(),
        asked: BTreeSet::new(),
        limits: Vec::new(),
        kind: BackendKind::Bare,
        known: Default::default(),
        missing: None,
    }
}
