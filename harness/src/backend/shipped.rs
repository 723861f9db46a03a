//! The manifests built into the program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use boxproof_cases::load::{LoadError, parse};
use boxproof_cases::{Capability, EmbeddedFiles};
use serde::de::DeserializeOwned;

use super::{DoubleReply, Manifest, ManifestKind};

static BACKENDS: LazyLock<EmbeddedFiles> = LazyLock::new(|| {
    EmbeddedFiles::unpack(include_bytes!(concat!(env!("OUT_DIR"), "/backends.deflate")))
});

/// The directory of the manifests.
const DIRECTORY: &str = "backends";

/// The suffix of a file of known failures.
const KNOWN: &str = ".known";

/// Files beside the manifests that are none: lists that verbs go by.
const LISTS: [&str; 2] = ["plain", "versions"];

/// A shipped manifest: path and text, and those of its known failures.
pub(super) struct ShippedManifest {
    pub(super) file: PathBuf,
    pub(super) text: &'static str,
    pub(super) known: Option<(PathBuf, &'static str)>,
}

/// The name of every shipped manifest, sorted.
pub fn names() -> Vec<&'static str> {
    let stems = BACKENDS.below(DIRECTORY).filter_map(|(file, _)| file.strip_suffix(".yaml"));
    let mut names: Vec<_> =
        stems.filter(|stem| !stem.ends_with(KNOWN) && !LISTS.contains(stem)).collect();
    names.sort_unstable();
    names
}

/// The names of those that are receipts channels: they confine nothing.
pub fn channels() -> Vec<&'static str> {
    let is_channel = |name: &&str| {
        find(name).is_some_and(|shipped| {
            Manifest::parse(&shipped.file, shipped.text)
                .is_ok_and(|manifest| manifest.kind == ManifestKind::Receipts)
        })
    };
    names().into_iter().filter(is_channel).collect()
}

/// The names of those that run nothing and say something else instead: they are for the audit.
pub fn doubles() -> Vec<&'static str> {
    names().into_iter().filter(|name| DoubleReply::named(name).is_some()).collect()
}

/// The shipped manifest called `name`.
pub(super) fn find(name: &str) -> Option<ShippedManifest> {
    let text = |file: &str| BACKENDS.text(&format!("{DIRECTORY}/{file}"));
    let at = |file: &str| Path::new(DIRECTORY).join(file);
    let (file, known) = (format!("{name}.yaml"), format!("{name}{KNOWN}.yaml"));
    if name.ends_with(KNOWN) || LISTS.contains(&name) {
        return None;
    }
    Some(ShippedManifest {
        text: text(&file)?,
        known: text(&known).map(|text| (at(&known), text)),
        file: at(&file),
    })
}

/// The text of the shipped manifest called `name`.
pub fn text(name: &str) -> Option<&'static str> {
    find(name).map(|shipped| shipped.text)
}

/// The cases that `backend check` asks about each capability.
///
/// # Errors
/// The built-in list is no such list.
pub fn plain_cases() -> Result<BTreeMap<Capability, Vec<String>>, LoadError> {
    list("plain.yaml")
}

/// Returns package manager → package → the version to install.
///
/// # Errors
/// A built-in list that cannot be parsed.
pub fn pinned_versions() -> Result<BTreeMap<String, BTreeMap<String, String>>, LoadError> {
    list("versions.yaml")
}

fn list<T: DeserializeOwned>(name: &str) -> Result<T, LoadError> {
    let file = format!("{DIRECTORY}/{name}");
    parse(Path::new(&file), BACKENDS.text(&file).unwrap_or_default())
}
