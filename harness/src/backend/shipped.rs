//! The manifests built into the program.

use std::path::PathBuf;

use include_dir::{Dir, include_dir};

static BACKENDS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/backends");

/// The suffix of a file of known failures.
const KNOWN: &str = ".known";

/// A shipped manifest: path and text, and those of its known failures.
pub(super) struct Shipped {
    pub(super) file: PathBuf,
    pub(super) text: &'static str,
    pub(super) known: Option<(PathBuf, &'static str)>,
}

/// The name of every shipped manifest, sorted.
pub fn names() -> Vec<&'static str> {
    let stems = BACKENDS
        .files()
        .filter_map(|file| file.path().file_name()?.to_str()?.strip_suffix(".yaml"));
    let mut names: Vec<_> = stems.filter(|stem| !stem.ends_with(KNOWN)).collect();
    names.sort_unstable();
    names
}

/// The shipped manifest called `name`.
pub(super) fn find(name: &str) -> Option<Shipped> {
    let text = |file: &str| BACKENDS.get_file(file)?.contents_utf8();
    let at = |file: &str| PathBuf::from("backends").join(file);
    let (file, known) = (format!("{name}.yaml"), format!("{name}{KNOWN}.yaml"));
    if name.ends_with(KNOWN) {
        return None;
    }
    Some(Shipped {
        text: text(&file)?,
        known: text(&known).map(|text| (at(&known), text)),
        file: at(&file),
    })
}
