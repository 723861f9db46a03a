//! Files in the working tree that a repository's own configuration has a later git run or obey:
//! hooks, included files, programs of filters, drivers, helpers and aliases. Git itself is not run.

use std::fs;
use std::path::{Path, PathBuf};

use super::git;
use super::git_commands::{self, path_at};
use super::git_settings::{GitSetting, git_settings};
use super::paths::{self, ExistingPath, MissingPath};

/// Files that include each other are followed so far, as git does.
const DEEPEST: usize = 10;

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

/// The files that the configuration names below the roots.
#[derive(Debug, Default)]
pub(super) struct SteeringPaths {
    pub(super) there: Vec<ExistingPath>,
    pub(super) missing: Vec<MissingPath>,
    /// A file below the roots that cannot be looked at.
    pub(super) closed: Option<PathBuf>,
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
        let Some(text) = git::small_file(file) else {
            if !paths::is_absent(file) && fs::metadata(file).is_err() {
                self.shut(file, roots);
            }
            return;
        };
        for setting in git_settings(&text) {
            let GitSetting { section, key, value } = &setting;
            match (section.as_str(), key.as_str()) {
                ("core", "hookspath") => self.hooks(&path_at(tree, value), roots),
                ("core", "attributesfile") | ("init", "templatedir") => {
                    self.hold(&path_at(tree, value), roots);
                }
                ("include" | "includeif", "path") => {
                    let included = path_at(file.parent().unwrap_or(tree), value);
                    self.hold(&included, roots);
                    if depth < DEEPEST {
                        self.file(&included, tree, roots, depth + 1);
                    }
                }
                _ => {
                    let line = git_commands::command_line(&setting).unwrap_or_default();
                    let paths = git_commands::command_paths(line, tree);
                    paths.iter().for_each(|path| self.hold(path, roots));
                }
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
            None => match paths::missing(path) {
                Some(missing) if below(&missing.real) || linked(&missing.links) => {
                    self.missing.push(missing);
                }
                Some(_) => {}
                None => self.shut(path, roots),
            },
        }
    }

    fn shut(&mut self, path: &Path, roots: &[PathBuf]) {
        if roots.iter().any(|root| path.starts_with(root)) {
            self.closed.get_or_insert_with(|| path.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::PermissionsExt;

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
    fn a_named_file_in_a_directory_that_cannot_be_searched_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::create_dir_all(root.join("tools/d")).unwrap();
        fs::write(root.join("tools/d/a.sh"), "").unwrap();
        fs::write(root.join(".git/config"), "[core]\n\tfsmonitor = sh tools/d/a.sh\n").unwrap();
        let set = |mode| {
            fs::set_permissions(root.join("tools"), fs::Permissions::from_mode(mode)).unwrap();
        };
        let steered = || {
            let git = paths::find(&root.join(".git")).unwrap();
            steering_paths(&[git], &root, std::slice::from_ref(&root))
        };
        set(0o400);
        let told = crate::sys::without_capabilities(steered).unwrap();
        set(0o700);
        assert_eq!(told.closed, Some(root.join("tools/d/a.sh")));
        assert_eq!(steered().closed, None);
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
    #[case::bracket("[filter \"x]\"] clean = tools/run.sh\n", "tools/run.sh")]
    #[case::comment("# kept \\\n[core]\nhooksPath = hooks\n", "hooks")]
    #[case::directory("[filter \"x\"]\nclean = python3 tools/fmt\n", "tools/fmt")]
    #[case::make("[core]\nfsmonitor = make -s -C tools/fmt\n", "tools/fmt")]
    #[case::absent("[filter \"x\"]\nclean = python3 conv.py\n", "conv.py")]
    #[case::entered("[alias]\nx = !cd tools && ./run.sh\n", "tools/run.sh")]
    #[case::blank("[core]\nsshCommand = \"'tools/my ssh' -x\"\n", "tools/my ssh")]
    #[case::submodule("[submodule \"s\"]\nupdate = !tools/up\n", "tools/up")]
    #[case::archive("[tar \"x\"]\ncommand = tools/pack\n", "tools/pack")]
    #[case::browser("[browser \"x\"]\ncmd = tools/show\n", "tools/show")]
    #[case::manual("[man \"x\"]\ncmd = tools/show\n", "tools/show")]
    #[case::gui("[guitool \"x\"]\ncmd = tools/gui\n", "tools/gui")]
    #[case::mail("[sendemail]\nsendmailCmd = tools/send\n", "tools/send")]
    #[case::transport("[remote \"o\"]\nurl = ext::tools/far %S\n", "tools/far")]
    #[case::template("[init]\ntemplateDir = template\n", "template")]
    fn a_setting_holds_its_file(#[case] config: &str, #[case] expected: &str) {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::create_dir_all(root.join("tools/fmt")).unwrap();
        fs::write(root.join(".git/config"), config).unwrap();
        let git = paths::find(&root.join(".git")).unwrap();
        let SteeringPaths { there, missing, .. } =
            steering_paths(&[git], &root, std::slice::from_ref(&root));
        let there = there.into_iter().map(|one| one.real);
        let held: Vec<_> = there.chain(missing.into_iter().map(|one| one.real)).collect();
        assert_eq!(held, [root.join(expected)]);
    }

    #[test]
    fn names_that_are_no_utf8_are_held_as_they_are() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join(".git")).unwrap();
        let config = b"\xEF\xBB\xBF[core]\nhooksPath = h\xff\nattributesFile = a\xff\n\
            [include]\npath = ../i\xff\n[diff]\nexternal = ./d\xff x\n";
        fs::write(root.join(".git/config"), config).unwrap();
        let git = paths::find(&root.join(".git")).unwrap();
        let steered = steering_paths(&[git], &root, std::slice::from_ref(&root));
        let missing: Vec<_> = steered.missing.into_iter().map(|one| one.real).collect();
        let names = [b"h\xff", b"a\xff", b"i\xff", b"d\xff"].map(|name| OsStr::from_bytes(name));
        assert_eq!(missing, names.map(|name| root.join(name)));
    }
}
