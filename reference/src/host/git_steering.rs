//! Files in the working tree that a repository's own configuration has a later git run or obey:
//! hooks, included files, programs of filters, drivers, helpers and aliases. Git itself is not run.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::paths::{self, ExistingPath, MissingPath};

/// Files that include each other are followed so far, as git does.
const DEEPEST: usize = 10;

/// The maximum size of a configuration; a larger file, or one that is not regular, is not read.
const LARGEST: u64 = 1 << 20;

/// The names of hooks, for where they lie in a root itself.
const HOOKS: [&str; 16] = [
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-rebase",
    "post-checkout",
    "post-merge",
    "pre-push",
    "pre-auto-gc",
    "post-rewrite",
    "reference-transaction",
    "post-index-change",
];

/// Settings whose values are command lines, as section and key; `*` is any.
const COMMANDS: [(&str, &str); 30] = [
    ("core", "fsmonitor"),
    ("core", "sshcommand"),
    ("core", "editor"),
    ("core", "pager"),
    ("core", "askpass"),
    ("core", "gitproxy"),
    ("core", "alternaterefscommand"),
    ("sequence", "editor"),
    ("pager", "*"),
    ("credential", "helper"),
    ("gpg", "program"),
    ("gpg", "defaultkeycommand"),
    ("filter", "clean"),
    ("filter", "smudge"),
    ("filter", "process"),
    ("diff", "external"),
    ("diff", "command"),
    ("diff", "textconv"),
    ("merge", "driver"),
    ("mergetool", "cmd"),
    ("mergetool", "path"),
    ("difftool", "cmd"),
    ("difftool", "path"),
    ("interactive", "difffilter"),
    ("trailer", "command"),
    ("trailer", "cmd"),
    ("hook", "command"),
    ("uploadpack", "packobjectshook"),
    ("remote", "uploadpack"),
    ("remote", "receivepack"),
];

/// One setting of a file of git's configuration.
#[derive(Debug, PartialEq, Eq)]
struct GitSetting {
    /// The section's name, in lower case.
    section: String,
    /// The key, in lower case.
    key: String,
    value: String,
}

/// The files that the configuration names below the roots.
#[derive(Debug, Default)]
pub(super) struct SteeringPaths {
    pub(super) there: Vec<ExistingPath>,
    pub(super) missing: Vec<MissingPath>,
}

/// Collects the files below `roots` that the configuration in the git directories `found` names;
/// `tree` is the working tree.
pub(super) fn steering_paths(
    found: &[ExistingPath],
    tree: &Path,
    roots: &[PathBuf],
) -> SteeringPaths {
    let mut steered = SteeringPaths::default();
    let directories = found.iter().filter(|found| found.directory);
    for file in directories.flat_map(|git| ["config", "config.worktree"].map(|n| git.real.join(n)))
    {
        steered.file(&file, tree, roots, 0);
    }
    steered
}

impl SteeringPaths {
    fn file(&mut self, file: &Path, tree: &Path, roots: &[PathBuf], depth: usize) {
        let is_plain = |found: fs::Metadata| found.is_file() && found.len() <= LARGEST;
        if !fs::metadata(file).is_ok_and(is_plain) {
            return;
        }
        let Ok(bytes) = fs::read(file) else { return };
        for setting in settings(&String::from_utf8_lossy(&bytes)) {
            let GitSetting { section, key, value } = &setting;
            match (section.as_str(), key.as_str()) {
                ("core", "hookspath") => self.hooks(&at(tree, value), roots),
                ("core", "attributesfile") => self.hold(&at(tree, value), roots),
                ("include" | "includeif", "path") => {
                    let included = at(file.parent().unwrap_or(tree), value);
                    self.hold(&included, roots);
                    if depth < DEEPEST {
                        self.file(&included, tree, roots, depth + 1);
                    }
                }
                _ if setting.is_command() => {
                    for path in command_words(value).iter().filter_map(|word| program(tree, word)) {
                        self.hold(&path, roots);
                    }
                }
                _ => {}
            }
        }
    }

    /// A directory of hooks; where it is a root, or above one, the hooks by their names.
    fn hooks(&mut self, directory: &Path, roots: &[PathBuf]) {
        let real = paths::find(directory).map(|found| found.real);
        if directory.ends_with("_") {
            // Husky's own hooks, which run those beside them.
            directory.parent().into_iter().for_each(|parent| self.hold(parent, roots));
        }
        let covers = |real: &PathBuf| roots.iter().any(|root| root.starts_with(real));
        match real.filter(covers) {
            Some(_) => HOOKS.iter().for_each(|name| self.hold(&directory.join(name), roots)),
            None => self.hold(directory, roots),
        }
    }

    fn hold(&mut self, path: &Path, roots: &[PathBuf]) {
        let below = |real: &Path| roots.iter().any(|root| real.starts_with(root) && real != root);
        let linked = |links: &[PathBuf]| links.iter().any(|link| below(link));
        match paths::find(path) {
            Some(found) if below(&found.real) || linked(&found.links) => self.there.push(found),
            Some(_) => {}
            None => {
                let missing = paths::missing(path);
                self.missing.extend(missing.filter(|m| below(&m.real) || linked(&m.links)));
            }
        }
    }
}

impl GitSetting {
    fn is_command(&self) -> bool {
        let Self { section, key, value } = self;
        let listed =
            |(known, name): &(&str, &str)| section == known && (*name == "*" || key == name);
        COMMANDS.iter().any(listed) || (section == "alias" && value.starts_with('!'))
    }
}

/// A path of the configuration, from `directory` on.
fn at(directory: &Path, value: &str) -> PathBuf {
    match (value.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest),
        _ => plain(&directory.join(value)),
    }
}

/// Returns the path without `.` components.
fn plain(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}

/// The file that a word of a command line names: one with a slash, or one that is there.
fn program(tree: &Path, word: &str) -> Option<PathBuf> {
    let path = at(tree, word);
    let is_path = word.contains('/') && !word.contains(['$', '%', '*']) && !word.contains("://");
    let file = match paths::find(&path) {
        Some(found) => !found.directory,
        None => is_path,
    };
    file.then_some(path)
}

/// The words of a command line, without quotes and signs of the shell.
fn command_words(line: &str) -> Vec<String> {
    let line = line.trim_start_matches('!');
    let apart = |c: char| c.is_whitespace() || ";&|()<>`\"'=".contains(c);
    line.split(apart)
        .filter(|word| !word.is_empty() && !word.starts_with('-'))
        .map(str::to_owned)
        .collect()
}

/// The settings of a file of git's configuration, as far as it can be read.
fn settings(text: &str) -> Vec<GitSetting> {
    let joined = text.replace("\\\r\n", "").replace("\\\n", "");
    let mut section = String::new();
    let mut found = Vec::new();
    for line in joined.lines() {
        let mut line = line.trim();
        if let Some(rest) = line.strip_prefix('[') {
            let Some((head, behind)) = rest.split_once(']') else { continue };
            let name = head.split(|c: char| c.is_whitespace() || c == '.' || c == '"').next();
            section = name.unwrap_or_default().to_lowercase();
            line = behind.trim();
        }
        if let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with(['#', ';'])) {
            let (key, value) = (key.trim().to_lowercase(), unquoted(value));
            found.push(GitSetting { section: section.clone(), key, value });
        }
    }
    found
}

/// A value without its quotes, escapes and comment.
fn unquoted(value: &str) -> String {
    let (mut plain, mut quoted) = (String::new(), false);
    let mut letters = value.trim().chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => quoted = !quoted,
            '\\' => plain.extend(letters.next()),
            '#' | ';' if !quoted => break,
            other => plain.push(other),
        }
    }
    plain.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const CONFIG: &str = "[core]\n\thooksPath = .husky ; ours\n\tfsmonitor = true\n\
        \tsshCommand = \"ssh -F tools/ssh\"\n[include]\n\tpath = ../.gitconf\n\
        [filter \"x\"]\n\tclean = sh tools/clean.sh %f\n\tsmudge = cat\n\
        [alias]\n\tst = status\n\tgo = !./go.sh && true\n[diff.word]\ntextconv = python3 conv.py\n\
        [branch \"main\"]\n\tmerge = refs/heads/main\n[remote \"o\"]\n\turl = ../other\n\
        [user] name = \"A # B\"\n[credential \"https://x\"]\n\thelper = !\\\n f() { helper/run; }; f\n";

    #[test]
    fn what_git_would_run_or_obey_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::create_dir_all(root.join("tools")).unwrap();
        fs::create_dir_all(root.join("inner")).unwrap();
        for name in ["tools/clean.sh", "conv.py", "cat.txt", "inner.sh"] {
            fs::write(root.join(name), "").unwrap();
        }
        fs::write(root.join(".git/config"), CONFIG).unwrap();
        fs::write(root.join(".gitconf"), "[merge \"m\"]\ndriver = ./inner.sh %A\n").unwrap();
        let git = paths::find(&root.join(".git")).unwrap();
        let steered = steering_paths(&[git], &root, std::slice::from_ref(&root));
        let own = |path: &PathBuf| path.strip_prefix(&root).unwrap().display().to_string();
        let mut there: Vec<_> = steered.there.iter().map(|found| own(&found.real)).collect();
        let mut missing: Vec<_> = steered.missing.iter().map(|one| own(&one.real)).collect();
        there.sort();
        missing.sort();
        assert_eq!(there, [".gitconf", "conv.py", "inner.sh", "tools/clean.sh"]);
        assert_eq!(missing, [".husky", "go.sh", "helper/run", "tools/ssh"]);
    }

    #[test]
    fn hooks_in_a_root_itself_are_held_by_their_names() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::write(root.join(".git/config"), "[core]\nhookspath=.\n").unwrap();
        fs::write(root.join("pre-commit"), "").unwrap();
        let git = paths::find(&root.join(".git")).unwrap();
        let steered = steering_paths(&[git], &root, std::slice::from_ref(&root));
        assert_eq!(steered.there.len(), 1);
        assert_eq!(steered.missing.len(), HOOKS.len() - 1);
    }

    #[rstest]
    #[case(" a b ", "a b")]
    #[case("\"a ; b\" # c", "a ; b")]
    #[case("a\\\\b", "a\\b")]
    #[case("\"\\\"x\\\" y\"", "\"x\" y")]
    fn values_are_read_as_git_does(#[case] text: &str, #[case] value: &str) {
        assert_eq!(unquoted(text), value);
    }
}
