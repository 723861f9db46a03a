//! The permissions of a profile below its workspace ([`PathRules`]): the judge of a path, and the
//! statements that hold in advance for all present and future entries of a directory. Pure.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use crate::policy::path_glob::{GlobState, PathGlob};

/// An operation on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathAccess {
    /// Its content is read, or its names are listed.
    Read,
    /// It is made, changed, moved or removed.
    Modify,
}

/// Decides on paths below the workspace; the workspace itself is the empty path.
pub(crate) trait PathDecider: Send + Sync {
    /// Says which change would allow `op` at `path`, by a rule for the name `called`.
    fn remedy(&self, _op: PathAccess, _path: &Path, called: &str) -> String {
        format!("add a rule for `{called}`")
    }
    /// Returns whether `op` is allowed on `path`.
    fn allows(&self, op: PathAccess, path: &Path) -> bool;
}

/// One rule, with its matches as far as they are known in advance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathRule {
    grants: bool,
    /// The text without the sign.
    text: String,
    /// Its components; `None` if it could match anything.
    shape: Option<PathGlob>,
}

/// A profile: its rules in order, the last that matches decides.
#[derive(Clone)]
pub(crate) struct PathRules {
    judge: Arc<dyn PathDecider>,
    read: Vec<PathRule>,
    modify: Vec<PathRule>,
}

impl fmt::Debug for PathRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { read, modify, .. } = self;
        f.debug_struct("Law").field("read", read).field("modify", modify).finish_non_exhaustive()
    }
}

impl PartialEq for PathRules {
    fn eq(&self, other: &Self) -> bool {
        self.read == other.read && self.modify == other.modify
    }
}

impl Eq for PathRules {}

impl PathRule {
    /// A rule over paths below the workspace: `*` and `?` stop at a slash, `**` does not, nothing
    /// else is special, and a rule that ends in `/**` is about its directory, too.
    pub(crate) fn new(grants: bool, text: &str) -> Self {
        let literal = |c: char| match c {
            '[' | ']' | '{' | '}' | '\\' => format!("[{c}]"),
            other => other.to_string(),
        };
        let escaped: String = text.chars().map(literal).collect();
        let below = if escaped == "." { "" } else { &escaped };
        let shape = PathGlob::parse(&format!("/{below}")).ok();
        Self { grants, text: text.to_owned(), shape }
    }

    fn at(&self, directory: &Path) -> Option<GlobState> {
        let glob = self.shape.as_ref()?;
        // There `?` is one byte, and one character to the judge.
        if self.text.contains('?') && !directory.as_os_str().as_bytes().is_ascii() {
            return None;
        }
        let start = glob.base().strip_prefix("/").unwrap_or(glob.base());
        let mut names = directory.iter();
        for part in start.iter() {
            match names.next() {
                Some(name) if name == part => {}
                Some(_) => return Some(GlobState::NOWHERE),
                None => return Some(GlobState::BEFORE),
            }
        }
        Some(glob.exactly(glob.match_names(glob.start(), names, false).1))
    }

    /// Returns whether it may match an entry of `directory`.
    fn may_match_in(&self, directory: &Path) -> bool {
        match (&self.shape, self.at(directory)) {
            (Some(glob), Some(GlobState::BEFORE)) => glob.may_begin_at(directory),
            (Some(glob), Some(state)) => glob.may_end_below(state),
            _ => true,
        }
    }

    /// Returns whether it matches everything below `directory`.
    fn matches_all_below(&self, directory: &Path) -> bool {
        match (&self.shape, self.at(directory)) {
            (Some(glob), Some(state)) => {
                state != GlobState::BEFORE && glob.ends_everywhere_below(state)
            }
            _ => false,
        }
    }

    /// Returns whether it matches nothing below `directory`.
    fn matches_none_below(&self, directory: &Path) -> bool {
        self.at(directory) == Some(GlobState::NOWHERE)
    }
}

impl PathRules {
    /// A profile whose rules are `read` and `modify`, decided by `judge`.
    pub(crate) fn new(
        judge: Arc<dyn PathDecider>,
        read: Vec<PathRule>,
        modify: Vec<PathRule>,
    ) -> Self {
        Self { judge, read, modify }
    }

    /// Returns whether `op` is allowed on `path`.
    pub(crate) fn allows(&self, op: PathAccess, path: &Path) -> bool {
        self.judge.allows(op, path)
    }

    /// Says which change would allow `op` at `path`, by a rule for the name `called`.
    pub(crate) fn remedy(&self, op: PathAccess, path: &Path, called: &str) -> String {
        self.judge.remedy(op, path, called)
    }

    /// Returns whether a name may be created at `path`: an unreadable path is not created either.
    pub(crate) fn lets_come(&self, path: &Path) -> bool {
        self.allows(PathAccess::Modify, path) && self.allows(PathAccess::Read, path)
    }

    /// Returns whether some name may be created directly in `directory`. In doubt, returns true, as
    /// each name is judged then.
    pub(crate) fn is_open(&self, directory: &Path) -> bool {
        is_odd(directory) || self.is_open_by_rules(directory)
    }

    fn is_open_by_rules(&self, directory: &Path) -> bool {
        self.modify.iter().fold(false, |open, line| match line.grants {
            true => open || line.may_match_in(directory),
            false => open && !line.matches_all_below(directory),
        })
    }

    /// Returns whether one decision holds for `directory` and all present and future entries below it.
    pub(crate) fn is_uniform(&self, directory: &Path) -> bool {
        let constant = |line: &PathRule| {
            line.matches_none_below(directory) || line.matches_all_below(directory)
        };
        let child = directory.join(OsStr::new("name"));
        let same = |op| self.allows(op, &child) == self.allows(op, directory);
        !is_odd(directory)
            && self.read.iter().chain(&self.modify).all(constant)
            && same(PathAccess::Read)
            && same(PathAccess::Modify)
    }

    /// Returns whether the decisions below `new` are those below `old`.
    pub(crate) fn is_alike(&self, new: &Path, old: &Path) -> bool {
        let mut lines = self.read.iter().chain(&self.modify);
        !is_odd(new)
            && !is_odd(old)
            && lines.all(|line| {
                line.at(new)
                    .is_some_and(|new| Some(new) == line.at(old) && new != GlobState::BEFORE)
            })
    }
}

/// Returns whether `directory` may be decided by another spelling than its own, so that the shapes of
/// rules do not apply to it.
fn is_odd(directory: &Path) -> bool {
    let text = directory.as_os_str().to_string_lossy();
    text.contains('\\') || text.split('/').any(|name| name.trim() != name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    /// Decides by the shapes alone.
    struct Plain(Vec<(bool, String)>);

    impl PathDecider for Plain {
        fn allows(&self, _: PathAccess, path: &Path) -> bool {
            let hit = |text: &str| match text.strip_suffix("/**").or((text == "**").then_some("")) {
                Some(prefix) => path.starts_with(prefix),
                None => globset::Glob::new(text).unwrap().compile_matcher().is_match(path),
            };
            let last = self.0.iter().rev().find(|(_, text)| hit(text));
            last.is_some_and(|(grants, _)| *grants)
        }
    }

    fn law(rules: &[&str]) -> PathRules {
        let rules: Vec<(bool, String)> = rules
            .iter()
            .map(|rule| (!rule.starts_with('!'), rule.trim_start_matches('!').to_owned()))
            .collect();
        let lines = |rules: &[(bool, String)]| {
            rules.iter().map(|(grants, text)| PathRule::new(*grants, text)).collect::<Vec<_>>()
        };
        let (read, modify) = (lines(&rules), lines(&rules));
        PathRules::new(Arc::new(Plain(rules)), read, modify)
    }

    #[rstest]
    #[case::all(&["**"], "", true)]
    #[case::all_below(&["**"], "a/b", true)]
    #[case::subtree(&["src/**"], "src/a", true)]
    #[case::subtree_itself(&["src/**"], "", true)]
    #[case::deep_subtree_at_the_top(&["a/src/**"], "", false)]
    #[case::deep_subtree_above(&["a/src/**"], "a", true)]
    #[case::beside(&["src/**"], "docs", false)]
    #[case::names(&["*.md"], "", true)]
    #[case::names_deeper(&["*.md"], "d", false)]
    #[case::names_anywhere(&["docs/**/*.md"], "docs/x", true)]
    #[case::names_anywhere_above(&["docs/**/*.md"], "", false)]
    #[case::literal(&["a/b"], "a", true)]
    #[case::literal_top(&["a/b"], "", false)]
    #[case::closed_again(&["**", "!gen/**"], "gen", false)]
    #[case::closed_below(&["**", "!gen/**"], "gen/x", false)]
    #[case::open_again(&["**", "!gen/**", "gen/out/**"], "gen", true)]
    #[case::in_part(&["**", "!**/*.env"], "d", true)]
    #[case::odd(&["a**b"], "x", true)]
    #[case::nothing(&[], "", false)]
    fn directories_are_open_where_a_name_may_come(
        #[case] rules: &[&str],
        #[case] directory: &str,
        #[case] open: bool,
    ) {
        assert_eq!(law(rules).is_open(Path::new(directory)), open);
    }

    #[rstest]
    #[case::all(&["**"], "", true)]
    #[case::subtree(&["src/**"], "src", true)]
    #[case::top(&["src/**"], "", false)]
    #[case::elsewhere(&["src/**"], "docs", true)]
    #[case::pattern(&["**", "!**/*.env"], "docs", false)]
    #[case::below_a_pattern(&["**", "!*.env"], "docs", true)]
    #[case::denied(&["**", "!gen/**"], "gen/x", true)]
    #[case::itself_only(&["**", "!gen"], "gen", false)]
    #[case::one_character_elsewhere(&["**", "!a?"], "b", true)]
    #[case::other_letters(&["**"], "é", true)]
    fn directories_are_uniform_where_nothing_differs(
        #[case] rules: &[&str],
        #[case] directory: &str,
        #[case] uniform: bool,
    ) {
        assert_eq!(law(rules).is_uniform(Path::new(directory)), uniform);
    }

    #[rstest]
    #[case::both(&["a"], &["a"], true)]
    #[case::unreadable(&["b"], &["a"], false)]
    #[case::unchangeable(&["a"], &["b"], false)]
    fn a_name_comes_where_it_is_read_and_changed(
        #[case] read: &[&str],
        #[case] modify: &[&str],
        #[case] comes: bool,
    ) {
        struct Two(PathRules, PathRules);
        impl PathDecider for Two {
            fn allows(&self, op: PathAccess, path: &Path) -> bool {
                match op {
                    PathAccess::Read => self.0.allows(op, path),
                    PathAccess::Modify => self.1.allows(op, path),
                }
            }
        }
        let judge = Arc::new(Two(law(read), law(modify)));
        let rules = PathRules::new(judge, Vec::new(), Vec::new());
        assert_eq!(rules.lets_come(Path::new("a")), comes);
        let remedy = rules.remedy(PathAccess::Read, Path::new("a"), "a");
        assert_eq!(remedy, "add a rule for `a`");
    }

    #[test]
    fn profiles_are_equal_by_their_rules() {
        let line = |text: &str| vec![PathRule::new(true, text)];
        let of = |read: &str, modify: &str| {
            PathRules::new(Arc::new(Plain(Vec::new())), line(read), line(modify))
        };
        assert!(of("a", "b") == of("a", "b"));
        assert!(of("a", "b") != of("a", "c"));
        assert!(of("a", "b") != of("c", "b"));
    }

    #[rstest]
    #[case::blank(&["**"], "a ")]
    #[case::backslash(&["**"], "a\\b")]
    #[case::a_character_or_a_byte(&["**", "!é/?"], "é")]
    fn what_is_spelt_otherwise_is_not_decided_in_advance(
        #[case] rules: &[&str],
        #[case] directory: &str,
    ) {
        let rules = law(rules);
        assert!(rules.is_open(Path::new(directory)));
        assert!(!rules.is_uniform(Path::new(directory)));
        assert!(!rules.is_alike(Path::new(directory), Path::new(directory)));
    }

    #[rstest]
    #[case::everywhere(&["**", "!**/*.env"], "a/b", "c", true)]
    #[case::other_rule(&["a/**", "b/**"], "a/x", "b/x", false)]
    #[case::same_subtree(&["a/**"], "a/x", "a/y/z", true)]
    #[case::out(&["a/**"], "b", "a/x", false)]
    fn places_are_alike_where_rules_are_equally_far(
        #[case] rules: &[&str],
        #[case] new: &str,
        #[case] old: &str,
        #[case] alike: bool,
    ) {
        assert_eq!(law(rules).is_alike(Path::new(new), Path::new(old)), alike);
    }
}
