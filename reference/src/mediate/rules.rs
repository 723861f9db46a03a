//! Places in file systems at which no object may be created: [`AbsenceRules`], pure.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::policy::case_fold::folded;
use crate::policy::path_glob::{GlobMatch, GlobState, PathGlob};
use crate::policy::path_rules::PathRules;

/// A place by the file system that holds it, independent of mounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DevicePath {
    /// The file system.
    pub(super) device: u64,
    /// The path from that file system's own root.
    pub(super) path: PathBuf,
}

/// One rule: no object may be created at this place or below.
#[derive(Debug, Clone)]
pub(super) struct AbsenceRule {
    /// The place.
    pub(super) place: DevicePath,
    /// Its volume ignores case.
    pub(super) folds: bool,
}

/// The judgement of the rules about one place, the strictest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RuleMatch {
    /// No rule is about it.
    Free,
    /// A pattern may match something below it, as it may below any directory beside it.
    Within,
    /// A pattern may match something below it because of its name.
    Towards,
    /// It lies above a forbidden place: the object there must not be replaced.
    Above,
    /// No object may be created there.
    Forbidden,
}

/// A pattern, from one place of a file system on.
#[derive(Debug, Clone)]
pub(super) struct PatternAnchor {
    /// The place.
    pub(super) root: DevicePath,
    /// The pattern.
    pub(super) glob: PathGlob,
    /// The state of the pattern at the place.
    pub(super) start: GlobState,
    /// Its volume ignores case.
    pub(super) folds: bool,
}

/// A profile, from one place of a file system on.
#[derive(Debug, Clone)]
pub(super) struct ProfiledSubtree {
    /// The place.
    pub(super) root: DevicePath,
    /// The way there from the workspace.
    pub(super) way: PathBuf,
    /// The profile.
    pub(super) law: Arc<PathRules>,
}

/// All rules of a run.
#[derive(Debug, Default)]
pub(super) struct AbsenceRules {
    rules: Vec<AbsenceRule>,
    anchors: Vec<PatternAnchor>,
    estates: Vec<ProfiledSubtree>,
    /// Places below those of the rules that are exempt.
    free: Vec<DevicePath>,
    /// Every name on the way to a rule's place, and folded where its volume folds.
    names: HashSet<Vec<u8>>,
    folds: bool,
}

impl AbsenceRules {
    /// Builds the rules, with an index of their names.
    pub(super) fn new(
        rules: Vec<AbsenceRule>,
        anchors: Vec<PatternAnchor>,
        estates: Vec<ProfiledSubtree>,
    ) -> Self {
        let mut names = HashSet::new();
        let mut any_folds = false;
        for AbsenceRule { place, folds } in &rules {
            any_folds |= folds;
            let parts = place.path.iter().map(OsStr::as_bytes);
            names.extend(parts.map(|part| if *folds { folded(part) } else { part.to_vec() }));
        }
        Self { rules, anchors, estates, free: Vec::new(), names, folds: any_folds }
    }

    /// Returns the rules with these places exempt.
    pub(super) fn with_free(self, free: Vec<DevicePath>) -> Self {
        Self { free, ..self }
    }

    /// Returns whether some rule may apply to an object of this name in a directory whose place is unknown.
    pub(super) fn concern(&self, name: &[u8]) -> bool {
        !self.anchors.is_empty()
            || !self.estates.is_empty()
            || !self.free.is_empty()
            || self.names.contains(name)
            || self.folds && self.names.contains(&folded(name))
    }

    /// Returns the judgement of the rules about `place`.
    pub(super) fn judge(&self, place: &DevicePath) -> RuleMatch {
        let named = self.rules.iter().map(|rule| rule.judge(place)).max();
        let rules = named.map(|judged| self.unless_free(judged, place)).into_iter();
        let anchors = self.anchors.iter().map(|anchor| anchor.judge(place));
        let estates = self.estates.iter().map(|estate| estate.judge(place));
        rules.chain(anchors).chain(estates).max().unwrap_or(RuleMatch::Free)
    }

    /// Exempts free places from the judgement of a rule: there, and above them, directories may be
    /// created, and no link may take the place of one.
    fn unless_free(&self, judged: RuleMatch, asked: &DevicePath) -> RuleMatch {
        let near =
            |free: &&DevicePath| judged == RuleMatch::Forbidden && free.device == asked.device;
        let judge = |free: &DevicePath| match () {
            () if free.path == asked.path => RuleMatch::Above,
            () if free.path.starts_with(&asked.path) => RuleMatch::Above,
            () if asked.path.starts_with(&free.path) => RuleMatch::Free,
            () => judged,
        };
        self.free.iter().filter(near).map(judge).min().unwrap_or(judged)
    }

    /// Returns whether no pattern matches more below `new` than below `old`.
    pub(super) fn are_no_stricter_at(&self, new: &DevicePath, old: &DevicePath) -> bool {
        self.anchors.iter().all(|anchor| match (anchor.match_place(new), anchor.match_place(old)) {
            (None, _) => true,
            (Some((_, new)), Some((_, old))) => new.is_within(old),
            (Some(_), None) => false,
        }) && self.estates.iter().all(|estate| match (estate.below(new), estate.below(old)) {
            (None, _) => true,
            (Some(new), Some(old)) => estate.law.is_alike(&new, &old),
            (Some(_), None) => false,
        })
    }
}

impl AbsenceRule {
    fn judge(&self, asked: &DevicePath) -> RuleMatch {
        match self.place.device == asked.device {
            true => compare(&asked.path, &self.place.path, self.folds),
            false => RuleMatch::Free,
        }
    }
}

impl PatternAnchor {
    fn judge(&self, asked: &DevicePath) -> RuleMatch {
        if asked.device == self.root.device && self.root.path.starts_with(&asked.path) {
            return RuleMatch::Above;
        }
        match self.match_place(asked) {
            None | Some((GlobMatch::Nothing, _)) => RuleMatch::Free,
            Some((GlobMatch::Below, _)) => RuleMatch::Within,
            Some((GlobMatch::Towards, _)) => RuleMatch::Towards,
            Some((GlobMatch::Matches, _)) => RuleMatch::Forbidden,
        }
    }

    fn match_place(&self, asked: &DevicePath) -> Option<(GlobMatch, GlobState)> {
        let below = self.below(asked)?;
        Some(self.glob.match_names(self.start, below.iter(), self.folds))
    }

    /// Returns the relative path from the root to `asked`, if it lies there.
    fn below<'a>(&self, asked: &'a DevicePath) -> Option<&'a Path> {
        if asked.device != self.root.device {
            return None;
        }
        if !self.folds {
            return asked.path.strip_prefix(&self.root.path).ok();
        }
        let mut rest = asked.path.iter();
        let same = |a: &OsStr, b: &OsStr| folded(a.as_bytes()) == folded(b.as_bytes());
        let mut root = self.root.path.iter();
        let lies = root.all(|part| rest.next().is_some_and(|name| same(part, name)));
        if lies { Some(rest.as_path()) } else { None }
    }
}

impl ProfiledSubtree {
    fn judge(&self, asked: &DevicePath) -> RuleMatch {
        match self.below(asked) {
            None => RuleMatch::Free,
            Some(path) if self.law.lets_come(&path) => RuleMatch::Within,
            Some(_) => RuleMatch::Forbidden,
        }
    }

    /// Returns the path of `asked` in the workspace, if it lies there.
    fn below(&self, asked: &DevicePath) -> Option<PathBuf> {
        let same = asked.device == self.root.device;
        let below = asked.path.strip_prefix(&self.root.path).ok().filter(|_| same)?;
        Some(self.way.join(below))
    }
}

fn compare(asked: &Path, rule: &Path, folds: bool) -> RuleMatch {
    let (mut asked, mut rule) = (asked.iter(), rule.iter());
    loop {
        match (asked.next(), rule.next()) {
            (_, None) => return RuleMatch::Forbidden,
            (None, Some(_)) => return RuleMatch::Above,
            (Some(a), Some(b)) if a == b => {}
            (Some(a), Some(b)) if folds && folded(a.as_bytes()) == folded(b.as_bytes()) => {}
            _ => return RuleMatch::Free,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn at(device: u64, path: &str) -> DevicePath {
        DevicePath { device, path: path.into() }
    }

    fn rules() -> AbsenceRules {
        let rule = |device, path, folds| AbsenceRule { place: at(device, path), folds };
        let rules = [(1, "/w/.git", false), (1, "/w/a/b/c", false), (2, "/v/.Git", true)];
        let globs = [(1, "/g/s", "/g/s/**/*.env", false), (2, "/g", "/g/A*/key", true)];
        let anchor = |(device, path, glob, folds): (_, &str, &str, _)| {
            let glob = PathGlob::parse(glob).unwrap();
            PatternAnchor { root: at(device, path), start: glob.start(), glob, folds }
        };
        let rules = rules.map(|(device, path, folds)| rule(device, path, folds));
        AbsenceRules::new(rules.into(), globs.map(anchor).into(), Vec::new())
    }

    #[rstest]
    #[case::itself(1, "/w/.git", RuleMatch::Forbidden)]
    #[case::below(1, "/w/.git/config", RuleMatch::Forbidden)]
    #[case::other_device(3, "/w/.git", RuleMatch::Free)]
    #[case::longer(1, "/w/.github", RuleMatch::Free)]
    #[case::other_case(1, "/w/.GIT", RuleMatch::Free)]
    #[case::elsewhere(1, "/w/x/.git", RuleMatch::Free)]
    #[case::above(1, "/w/a/b", RuleMatch::Above)]
    #[case::far_above(1, "/w", RuleMatch::Above)]
    #[case::folded(2, "/v/.GIT", RuleMatch::Forbidden)]
    #[case::folded_above(2, "/V", RuleMatch::Above)]
    #[case::matching(1, "/g/s/d/a.env", RuleMatch::Forbidden)]
    #[case::below_a_match(1, "/g/s/a.env/x", RuleMatch::Forbidden)]
    #[case::beside(1, "/g/s/d/env", RuleMatch::Within)]
    #[case::beginning(1, "/g/s", RuleMatch::Above)]
    #[case::above_the_beginning(1, "/g", RuleMatch::Above)]
    #[case::before_the_beginning(1, "/g/a.env", RuleMatch::Free)]
    #[case::pattern_elsewhere(3, "/g/s/a.env", RuleMatch::Free)]
    #[case::towards(2, "/G/ab", RuleMatch::Towards)]
    #[case::folded_match(2, "/G/aB/KEY", RuleMatch::Forbidden)]
    #[case::too_deep(2, "/g/ab/c/key", RuleMatch::Free)]
    fn places_are_judged(#[case] device: u64, #[case] path: &str, #[case] expected: RuleMatch) {
        let place = at(device, path);
        assert_eq!(rules().judge(&place), expected);
        // Nothing that a rule is about is passed over because of its name.
        let AbsenceRules { rules, .. } = rules();
        let single = AbsenceRules::new(rules, Vec::new(), Vec::new());
        let name = place.path.file_name().unwrap().as_bytes();
        assert!(
            single.judge(&place) == RuleMatch::Free
                || single.concern(name)
                || path.ends_with("config")
        );
    }

    #[rstest]
    #[case("main.c", false)]
    #[case(".git", true)]
    #[case(".gIT", true)]
    #[case("b", true)]
    fn most_names_concern_nobody(#[case] name: &str, #[case] expected: bool) {
        let AbsenceRules { rules, .. } = rules();
        assert_eq!(
            AbsenceRules::new(rules, Vec::new(), Vec::new()).concern(name.as_bytes()),
            expected
        );
    }

    #[rstest]
    #[case::held("/w/.c/x", RuleMatch::Forbidden)]
    #[case::way("/w/.c", RuleMatch::Above)]
    #[case::free_itself("/w/.c/free", RuleMatch::Above)]
    #[case::in_it("/w/.c/free/x", RuleMatch::Free)]
    #[case::longer_name("/w/.c/freed", RuleMatch::Forbidden)]
    #[case::shorter_name("/w/.c/fre", RuleMatch::Forbidden)]
    #[case::beside("/w/.d/x", RuleMatch::Forbidden)]
    fn what_is_free_is_so_by_whole_names(#[case] path: &str, #[case] expected: RuleMatch) {
        let held = ["/w/.c", "/w/.d"].map(|path| AbsenceRule { place: at(1, path), folds: false });
        let rules = AbsenceRules::new(held.into(), Vec::new(), Vec::new());
        let rules = rules.with_free(vec![at(1, "/w/.c/free"), at(2, "/w/.d")]);
        assert_eq!(rules.judge(&at(1, path)), expected);
        assert!(rules.concern(b"x"));
    }

    #[rstest]
    #[case::same_directory("/g/s/a", "/g/s/b", true)]
    #[case::deeper("/g/s/a/b", "/g/s/b", true)]
    #[case::from_without("/g/s/a", "/g/a", false)]
    #[case::out("/g/a", "/g/s/a", true)]
    fn a_move_within_a_pattern_needs_no_look(
        #[case] new: &str,
        #[case] old: &str,
        #[case] expected: bool,
    ) {
        assert_eq!(rules().are_no_stricter_at(&at(1, new), &at(1, old)), expected);
    }
}
