//! Input of the rules: the files of the repository ([`Tree`]), read once for each rule.

use std::path::Path;

use walkdir::WalkDir;

use super::rust;

/// Directories that hold nothing of ours.
const NOT_OURS: [&str; 2] = [".git", "target"];

/// The repository, or one invented file.
pub(crate) struct Tree {
    pub(crate) files: Vec<File>,
}

/// One file: its path from the root, with `/`, and its text.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Tree {
    pub(crate) fn real() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let ours = |name: &std::ffi::OsStr| !NOT_OURS.iter().any(|other| name == *other);
        let walk = WalkDir::new(root).sort_by_file_name().into_iter();
        let files = walk
            .filter_entry(|entry| ours(entry.file_name()))
            .map(Result::unwrap)
            .filter(|entry| entry.file_type().is_file())
            .map(|entry| File {
                path: entry.path().strip_prefix(root).unwrap().to_str().unwrap().to_owned(),
                text: String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap()).into_owned(),
            });
        Self { files: files.collect() }
    }

    pub(crate) fn single_file(path: &str, text: &str) -> Self {
        Self { files: vec![File { path: path.to_owned(), text: text.to_owned() }] }
    }

    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    pub(crate) fn below(&self, directory: &str) -> impl Iterator<Item = &File> {
        self.files.iter().filter(move |file| file.path.starts_with(directory))
    }

    pub(crate) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }

    /// Pages that people write; golden ones and the published matrix are written by us.
    pub(crate) fn pages(&self) -> impl Iterator<Item = &File> {
        let written =
            |path: &str| ["reports/golden/", "reports/matrix/"].iter().any(|f| path.starts_with(f));
        self.files.iter().filter(move |file| file.path.ends_with(".md") && !written(&file.path))
    }
}

impl File {
    /// Returns whether the whole file is tests.
    pub(crate) fn is_test(&self) -> bool {
        let stem = self.path.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs");
        self.path.contains("/tests/") || stem == "tests" || stem.ends_with("_tests")
    }

    /// The text without comments and literals, line for line.
    pub(crate) fn code(&self) -> String {
        rust::code(&self.text)
    }

    /// Lists the places in this file's code: `path:line`, once for each line.
    pub(crate) fn places(&self, found: impl Fn(&str) -> bool) -> Vec<String> {
        let code = self.code();
        let lines = code.lines().enumerate().filter(|(_, line)| found(line));
        lines.map(|(at, _)| format!("{}:{}", self.path, at + 1)).collect()
    }
}
