//! Places in file systems at which no object may be created: [`Rules`], pure.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::fold::folded;
use crate::glob::{Glob, Said, State};
use crate::law::Law;

/// A place by the file system that holds it, independent of mounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The file system.
    pub(super) device: u64,
    /// The path from that file system's own root.
    pub(super) path: PathBuf,
}

/// One rule: no object may be created at this place or below.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    /// The place.
    pub(super) place: Place,
    /// Its volume ignores case.
    pub(super) folds: bool,
}

/// The judgement of the rules about one place, the strictest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Judgement {
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
pub(super) struct Anchor {
    /// The place.
    pub(super) root: Place,
    /// The pattern.
    pub(super) glob: Glob,
    /// The state of the pattern at the place.
    pub(super) start: State,
    /// Its volume ignores case.
    pub(super) folds: bool,
}

/// A profile, from one place of a file system on.
#[derive(Debug, Clone)]
pub(super) struct Estate {
    /// The place.
    pub(super) root: Place,
    /// The way there from the workspace.
    pub(super) way: PathBuf,
    /// The profile.
    pub(super) law: Arc<Law>,
}

/// All rules of a run.
#[derive(Debug, Default)]
pub(super) struct Rules {
    rules: Vec<Rule>,
    anchors: Vec<Anchor>,
    estates: Vec<Estate>,
    /// Places below those of the rules that are exempt.
    free: Vec<Place>,
    /// Every name on the way to a rule's place, and folded where its volume folds.
    names: HashSet<Vec<u8>>,
    folds: bool,
}

impl Rules {
    /// Builds the rules, with an index of their names.
    pub(super) fn new(rules: Vec<Rule>, anchors: Vec<Anchor>, estates: Vec<Estate>) -> Self {
        let mut names = HashSet::new();
        let mut any_folds = false;
        for Rule { place, folds } in &rules {
            any_folds |= folds;
            let parts = place.path.iter().map(OsStr::as_bytes);
            names.extend(parts.map(|part| if *folds { folded(part) } else { part.to_vec() }));
        }
        Self { rules, anchors, estates, free: Vec::new(), names, folds: any_folds }
    }

    /// Returns the rules with these places exempt.
    pub(super) fn with_free(self, free: Vec<Place>) -> Self {
        Self { free, ..self }
    }

    /// Returns whether some rule may apply to an object of this name, wherever it is. Without
    /// patterns most names concern no rule, and their places need not be resolved.
    pub(super) fn concern(&self, name: &[u8]) -> bool {
        !self.anchors.is_empty()
            || !self.estates.is_empty()
            || !self.free.is_empty()
            || self.names.contains(name)
            || self.folds && self.names.contains(&folded(name))
    }

    /// Returns the judgement of the rules about `place`.
    pub(super) fn judge(&self, place: &Place) -> Judgement {
        let named = self.rules.iter().map(|rule| rule.judge(place)).max();
        let rules = named.map(|judged| self.unless_free(judged, place)).into_iter();
        let anchors = self.anchors.iter().map(|anchor| anchor.judge(place));
        let estates = self.estates.iter().map(|estate| estate.judge(place));
        rules.chain(anchors).chain(estates).max().unwrap_or(Judgement::Free)
    }

    /// Exempts free places from the judgement of a rule: there, and above them, directories may be
    /// created, and no link may take the place of one.
    fn unless_free(&self, judged: Judgement, asked: &Place) -> Judgement {
        let near = |free: &&Place| judged == Judgement::Forbidden && free.device == asked.device;
        let judge = |free: &Place| match () {
            () if free.path == asked.path => Judgement::Above,
            () if free.path.starts_with(&asked.path) => Judgement::Above,
            () if asked.path.starts_with(&free.path) => Judgement::Free,
            () => judged,
        };
        self.free.iter().filter(near).map(judge).min().unwrap_or(judged)
    }

    /// Returns whether no pattern matches more below `new` than below `old`.
    pub(super) fn are_no_stricter_at(&self, new: &Place, old: &Place) -> bool {
        self.anchors.iter().all(|anchor| match (anchor.ask(new), anchor.ask(old)) {
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

impl Rule {
    fn judge(&self, asked: &Place) -> Judgement {
        match self.place.device == asked.device {
            true => compare(&asked.path, &self.place.path, self.folds),
            false => Judgement::Free,
        }
    }
}

impl Anchor {
    fn judge(&self, asked: &Place) -> Judgement {
        if asked.device == self.root.device && self.root.path.starts_with(&asked.path) {
            return Judgement::Above;
        }
        match self.ask(asked) {
            None | Some((Said::Nothing, _)) => Judgement::Free,
            Some((Said::Below, _)) => Judgement::Within,
            Some((Said::Towards, _)) => Judgement::Towards,
            Some((Said::Matches, _)) => Judgement::Forbidden,
        }
    }

    fn ask(&self, asked: &Place) -> Option<(Said, State)> {
        let below = self.below(asked)?;
        Some(self.glob.ask(self.start, below.iter(), self.folds))
    }

    /// Returns the relative path from the root to `asked`, if it lies there.
    fn below<'a>(&self, asked: &'a Place) -> Option<&'a Path> {
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

impl Estate {
    fn judge(&self, asked: &Place) -> Judgement {
        match self.below(asked) {
            None => Judgement::Free,
            Some(path) if self.law.lets_come(&path) => Judgement::Within,
            Some(_) => Judgement::Forbidden,
        }
    }

    /// Returns the path of `asked` in the workspace, if it lies there.
    fn below(&self, asked: &Place) -> Option<PathBuf> {
        let same = asked.device == self.root.device;
        let below = asked.path.strip_prefix(&self.root.path).ok().filter(|_| same)?;
        Some(self.way.join(below))
    }
}

fn compare(asked: &Path, rule: &Path, folds: bool) -> Judgement {
    let (mut asked, mut rule) = (asked.iter(), rule.iter());
    loop {
        match (asked.next(), rule.next()) {
            (_, None) => return Judgement::Forbidden,
            (None, Some(_)) => return Judgement::Above,
            (Some(a), Some(b)) if a == b => {}
            (Some(a), Some(b)) if folds && folded(a.as_bytes()) == folded(b.as_bytes()) => {}
            _ => return Judgement::Free,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn at(device: u64, path: &str) -> Place {
        Place { device, path: path.into() }
    }

    fn rules() -> Rules {
        let rule = |device, path, folds| Rule { place: at(device, path), folds };
        let rules = [(1, "/w/.git", false), (1, "/w/a/b/c", false), (2, "/v/.Git", true)];
        let globs = [(1, "/g/s", "/g/s/**/*.env", false), (2, "/g", "/g/A*/key", true)];
        let anchor = |(device, path, glob, folds): (_, &str, &str, _)| {
            let glob = Glob::parse(glob).unwrap();
            Anchor { root: at(device, path), start: glob.start(), glob, folds }
        };
        let rules = rules.map(|(device, path, folds)| rule(device, path, folds));
        Rules::new(rules.into(), globs.map(anchor).into(), Vec::new())
    }

    #[rstest]
    #[case::itself(1, "/w/.git", Judgement::Forbidden)]
    #[case::below(1, "/w/.git/config", Judgement::Forbidden)]
    #[case::other_device(3, "/w/.git", Judgement::Free)]
    #[case::longer(1, "/w/.github", Judgement::Free)]
    #[case::other_case(1, "/w/.GIT", Judgement::Free)]
    #[case::elsewhere(1, "/w/x/.git", Judgement::Free)]
    #[case::above(1, "/w/a/b", Judgement::Above)]
    #[case::far_above(1, "/w", Judgement::Above)]
    #[case::folded(2, "/v/.GIT", Judgement::Forbidden)]
    #[case::folded_above(2, "/V", Judgement::Above)]
    #[case::matching(1, "/g/s/d/a.env", Judgement::Forbidden)]
    #[case::below_a_match(1, "/g/s/a.env/x", Judgement::Forbidden)]
    #[case::beside(1, "/g/s/d/env", Judgement::Within)]
    #[case::beginning(1, "/g/s", Judgement::Above)]
    #[case::above_the_beginning(1, "/g", Judgement::Above)]
    #[case::before_the_beginning(1, "/g/a.env", Judgement::Free)]
    #[case::pattern_elsewhere(3, "/g/s/a.env", Judgement::Free)]
    #[case::towards(2, "/G/ab", Judgement::Towards)]
    #[case::folded_match(2, "/G/aB/KEY", Judgement::Forbidden)]
    #[case::too_deep(2, "/g/ab/c/key", Judgement::Free)]
    fn places_are_judged(#[case] device: u64, #[case] path: &str, #[case] expected: Judgement) {
        let place = at(device, path);
        assert_eq!(rules().judge(&place), expected);
        // Nothing that a rule is about is passed over because of its name.
        let Rules { rules, .. } = rules();
        let single = Rules::new(rules, Vec::new(), Vec::new());
        let name = place.path.file_name().unwrap().as_bytes();
        assert!(
            single.judge(&place) == Judgement::Free
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
        let Rules { rules, .. } = rules();
        assert_eq!(Rules::new(rules, Vec::new(), Vec::new()).concern(name.as_bytes()), expected);
    }

    #[rstest]
    #[case::held("/w/.c/x", Judgement::Forbidden)]
    #[case::way("/w/.c", Judgement::Above)]
    #[case::free_itself("/w/.c/free", Judgement::Above)]
    #[case::in_it("/w/.c/free/x", Judgement::Free)]
    #[case::longer_name("/w/.c/freed", Judgement::Forbidden)]
    #[case::shorter_name("/w/.c/fre", Judgement::Forbidden)]
    #[case::beside("/w/.d/x", Judgement::Forbidden)]
    fn what_is_free_is_so_by_whole_names(#[case] path: &str, #[case] expected: Judgement) {
        let held = ["/w/.c", "/w/.d"].map(|path| Rule { place: at(1, path), folds: false });
        let rules = Rules::new(held.into(), Vec::new(), Vec::new());
        let rules = rules.with_free(vec![at(1, "/w/.c/free"), at(2, "/w/.d")]);
        assert_eq!(rules.judge(&at(1, path)), expected);
        assert!(rules.concern(b"x"));
    }

    #[rstest]
    #[case::same_folder("/g/s/a", "/g/s/b", true)]
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
