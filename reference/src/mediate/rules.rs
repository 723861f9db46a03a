//! What must not come to be, as places in file systems: [`Rules`], pure.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::fold::folded;

/// A place by the file system it lies in, whatever mounts lead there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The file system.
    pub(super) device: u64,
    /// The path from that file system's own root.
    pub(super) path: PathBuf,
}

/// One rule: nothing comes to be at this place or below.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    /// The place.
    pub(super) place: Place,
    /// Whether its volume ignores case.
    pub(super) folds: bool,
}

/// What the rules say of one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judgement {
    /// No rule is about it.
    Free,
    /// It lies above a place where nothing must come to be: what is there must not be replaced.
    Above,
    /// Nothing must come to be there.
    Forbidden,
}

/// All rules of a run.
#[derive(Debug, Default)]
pub(super) struct Rules {
    rules: Vec<Rule>,
    /// Every name on the way to a rule's place, and folded where its volume folds.
    names: HashSet<Vec<u8>>,
    folds: bool,
}

impl Rules {
    /// The rules, ready to be asked.
    pub(super) fn new(rules: Vec<Rule>) -> Self {
        let mut names = HashSet::new();
        let mut any_folds = false;
        for Rule { place, folds } in &rules {
            any_folds |= folds;
            let parts = place.path.iter().map(OsStr::as_bytes);
            names.extend(parts.map(|part| if *folds { folded(part) } else { part.to_vec() }));
        }
        Self { rules, names, folds: any_folds }
    }

    /// Whether some rule may be about a thing of this name, wherever it is. Most names concern
    /// nobody, and then nobody has to find out where they are.
    pub(super) fn concern(&self, name: &[u8]) -> bool {
        self.names.contains(name) || self.folds && self.names.contains(&folded(name))
    }

    /// What the rules say of `place`.
    pub(super) fn judge(&self, place: &Place) -> Judgement {
        let judgements = self.rules.iter().map(|rule| rule.judge(place));
        judgements.fold(Judgement::Free, |worst, one| match (worst, one) {
            (Judgement::Forbidden, _) | (_, Judgement::Forbidden) => Judgement::Forbidden,
            (Judgement::Above, _) | (_, Judgement::Above) => Judgement::Above,
            _ => Judgement::Free,
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
        Rules::new(rules.map(|(device, path, folds)| rule(device, path, folds)).into())
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
    fn places_are_judged(#[case] device: u64, #[case] path: &str, #[case] expected: Judgement) {
        let place = at(device, path);
        assert_eq!(rules().judge(&place), expected);
        let name = place.path.file_name().unwrap().as_bytes().to_vec();
        // Nothing that a rule is about is passed over because of its name.
        assert!(expected == Judgement::Free || rules().concern(&name) || path == "/w/.git/config");
    }

    #[rstest]
    #[case("main.c", false)]
    #[case(".git", true)]
    #[case(".gIT", true)]
    #[case("b", true)]
    fn most_names_concern_nobody(#[case] name: &str, #[case] expected: bool) {
        assert_eq!(rules().concern(name.as_bytes()), expected);
    }
}
