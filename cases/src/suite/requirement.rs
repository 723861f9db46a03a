//! The requirements of a suite: the built-in ones and those of another corpus.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::{CorpusTexts, FieldFault};
use crate::case::Case;
use crate::load::{LoadError, line_of, parse};
use crate::requirement::{Requirement, RequirementId, RequirementRegistry};

/// The most ids that an error names.
const NEAREST: usize = 3;

/// Adds the requirements of `files` to `registry`, and the faults of the files to `errors`; returns
/// the ids, each with its file and line.
pub(super) fn read(
    files: &CorpusTexts,
    registry: &mut RequirementRegistry,
    errors: &mut Vec<LoadError>,
) -> BTreeMap<RequirementId, (PathBuf, usize)> {
    let mut ids = BTreeMap::new();
    for (path, text) in files {
        let parsed = parse::<BTreeMap<RequirementId, Requirement>>(path, text);
        let added = parsed.and_then(|file| {
            ids.extend(file.keys().map(|id| {
                let line = line_of(text, id.as_str());
                (id.clone(), (path.clone(), line))
            }));
            registry.add(file).map_err(|id| {
                let why = "there is another requirement of this id: choose another id, or leave it \
                           out where boxproof's own is meant";
                LoadError::at(path, text, id.as_str(), why)
            })
        });
        errors.extend(added.err().map(|error| error.pointed(text)));
    }
    ids
}

/// Returns a fault for every requirement that `case` cites and that does not exist.
pub(super) fn faults(case: &Case, registry: &RequirementRegistry) -> Vec<FieldFault> {
    let unknown = case.requirements.iter().filter(|id| registry.get(id).is_none());
    let fault = |id: &RequirementId| {
        let nearest = nearest(id, registry).join(" ");
        let define = "one of your own is defined in requirements/*.yaml below the directory of the \
                      cases, with its text and source";
        ("requirement", format!("unknown requirement {id}: near it are {nearest}; {define}"))
    };
    unknown.map(fault).collect()
}

/// The ids that share most words with `id`, then most letters at the start.
fn nearest<'a>(id: &RequirementId, registry: &'a RequirementRegistry) -> Vec<&'a str> {
    let words = |id: &str| id.split('-').map(str::to_owned).collect::<BTreeSet<_>>();
    let wanted = words(id.as_str());
    let likeness = |other: &str| {
        let shared = words(other).intersection(&wanted).count();
        let start = other.bytes().zip(id.as_str().bytes()).take_while(|(a, b)| a == b).count();
        (shared, start)
    };
    let mut all: Vec<&str> = registry.iter().map(|(id, _)| id.as_str()).collect();
    all.sort_by_key(|other| core::cmp::Reverse(likeness(other)));
    all.truncate(NEAREST);
    all
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::suite::Suite;

    const CASE: &str =
        "purpose: Works.\nrequirement: ID\nact: {sh: 'true'}\nexpect: {allowed: {}}\n";

    /// The errors of a corpus of one's own with one case and one requirement.
    fn errors(id: &str, requirement: &str) -> Vec<String> {
        let corpus = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = corpus.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("fs/case.yaml", &CASE.replace("ID", id));
        write("requirements/own.yaml", requirement);
        let found = Suite::load(corpus.path()).err().unwrap_or_default();
        found.iter().map(|error| error.to_string().replace(&text(corpus.path()), "DIR")).collect()
    }

    fn text(path: &Path) -> String {
        path.display().to_string()
    }

    #[test]
    fn an_unknown_id_is_told_with_those_near_it_and_where_ones_own_lie() {
        let errors = errors("R-fs-read-only-x", "R-own: {text: It works., source: a test}\n");
        assert_eq!(errors.len(), 1, "{errors:#?}");
        let message = "DIR/fs/case.yaml:2:14: requirement: unknown requirement R-fs-read-only-x: near it \
                       are R-fs-read-only ";
        assert!(errors[0].starts_with(message), "{}", errors[0]);
        assert!(errors[0].contains("requirements/*.yaml below the directory"), "{}", errors[0]);
    }

    #[test]
    fn a_copy_of_what_is_built_in_is_the_same_and_another_text_is_an_error() {
        let built_in = include_str!("../../requirements/fs.yaml");
        assert_eq!(errors("R-fs-read-only", built_in), [""; 0]);
        let other = "R-own: {text: a, source: b}\nR-fs-read-only: {text: Other., source: a test}\n";
        let errors = errors("R-fs-workspace", other);
        let message = "DIR/requirements/own.yaml:2:1: R-fs-read-only: there is another requirement";
        assert!(errors.len() == 1 && errors[0].starts_with(message), "{errors:#?}");
    }
}
