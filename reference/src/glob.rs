//! Patterns of names ([`Glob`]): globset's syntax component by component, so that a directory can
//! be tested for possible matches below it. Pure.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use crate::fold::folded;

/// Components after the literal beginning at most: a state has a bit for each, and one for the end.
const MOST: usize = 63;

/// A pattern that was read.
#[derive(Debug, Clone)]
pub(crate) struct Glob {
    /// The text as written.
    text: String,
    /// The directories that it begins with, up to the first component that is a pattern; the last
    /// component is never among them.
    base: PathBuf,
    parts: Vec<Part>,
}

#[derive(Debug, Clone)]
enum Part {
    /// Any number of directories.
    Folders,
    /// One name.
    Name { plain: GlobMatcher, folding: GlobMatcher },
}

/// The parts of a pattern that a path has matched: bit n is set if the first n are behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct State(u64);

/// The answer of a pattern about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Said {
    /// Nothing, neither of it nor of anything below.
    Nothing,
    /// Nothing of it, but something below may match.
    Below,
    /// Something below it may match, and its own name is part of why.
    Towards,
    /// It matches, or lies below something that does.
    Matches,
}

impl PartialEq for Glob {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.base == other.base
    }
}

impl Eq for Glob {}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Glob {
    /// Parses `text`, an absolute pattern.
    ///
    /// # Errors
    /// The error in it, and the remedy.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let Some(below) = text.strip_prefix('/') else {
            return Err(format!("{text:?} is not absolute; begin it with a slash"));
        };
        let words = words(below).map_err(|why| format!("{text:?} {why}"))?;
        let literal = |word: &&String| !word.contains(['*', '?', '[', '{', '\\', ']', '}']);
        let known = words.iter().take_while(literal).count().min(words.len() - 1);
        let base = words[..known].iter().fold(PathBuf::from("/"), |base, word| base.join(word));
        let parts = words[known..].iter().map(|word| part(word)).collect::<Result<Vec<_>, _>>()?;
        if parts.len() > MOST {
            return Err(format!(
                "{text:?} has more than {MOST} components after its first pattern"
            ));
        }
        Ok(Self { text: text.to_owned(), base, parts })
    }

    /// Its components after the directories that it begins with.
    pub(crate) fn words(&self) -> Vec<String> {
        let all: Vec<&str> = self.text.split('/').collect();
        all[all.len() - self.parts.len()..].iter().map(|word| (*word).to_owned()).collect()
    }

    /// The directories that it begins with.
    pub(crate) fn base(&self) -> &Path {
        &self.base
    }

    /// Returns the pattern with its beginning at `base`, a path without links.
    pub(crate) fn based(&self, base: PathBuf) -> Self {
        Self { base, ..self.clone() }
    }

    /// Returns the state at the pattern's beginning.
    pub(crate) fn start(&self) -> State {
        self.closed(State(1))
    }

    /// One name further; `folds` where the volume ignores case.
    pub(crate) fn step(&self, state: State, name: &OsStr, folds: bool) -> State {
        let mut next = state.0 & self.end();
        let name = if folds { folded(name.as_bytes()) } else { name.as_bytes().to_vec() };
        let name = Path::new(OsStr::from_bytes(&name));
        for (number, part) in self.parts.iter().enumerate().filter(|(n, _)| state.0 >> n & 1 == 1) {
            next |= match part {
                Part::Folders if number + 1 == self.parts.len() => self.end(),
                Part::Folders => 1 << number,
                Part::Name { plain, folding } => {
                    let hit = if folds { folding.is_match(name) } else { plain.is_match(name) };
                    u64::from(hit) << (number + 1)
                }
            };
        }
        self.closed(State(next))
    }

    /// Returns the answer about the path whose last name led from `before` to `after`.
    pub(crate) fn said(&self, before: State, after: State) -> Said {
        match () {
            () if after.0 & self.end() != 0 => Said::Matches,
            () if after.0 == 0 => Said::Nothing,
            () if after.0 & !before.0 != 0 => Said::Towards,
            () => Said::Below,
        }
    }

    /// Returns the answer about the path along `names` from `state`.
    pub(crate) fn ask<'a>(
        &self,
        state: State,
        names: impl Iterator<Item = &'a OsStr>,
        folds: bool,
    ) -> (Said, State) {
        let (mut before, mut at) = (state, state);
        for name in names {
            (before, at) = (at, self.step(at, name, folds));
        }
        (self.said(before, at), at)
    }

    /// Returns whether a child could match, or be a directory of which all below matches.
    pub(crate) fn may_end_below(&self, state: State) -> bool {
        self.ends_everywhere_below(state)
            || (0..self.parts.len()).filter(|number| state.0 >> number & 1 == 1).any(|number| {
                let rest = &self.parts[number + 1..];
                matches!(rest, [] | [Part::Folders])
            })
    }

    /// Answers as [`Self::may_end_below`] for a directory above the beginning.
    pub(crate) fn may_begin_at(&self, folder: &Path) -> bool {
        let below =
            self.base.strip_prefix("/").ok().and_then(|base| base.strip_prefix(folder).ok());
        let names = below.map_or(0, |below| below.iter().count());
        names == 1 && matches!(self.parts[..], [Part::Folders])
    }

    /// Returns whether everything below matches.
    pub(crate) fn ends_everywhere_below(&self, state: State) -> bool {
        let last = self.parts.len() - 1;
        let reached = state.0 >> last & 1 == 1 || state.0 & self.end() != 0;
        self.ends_in_folders() && reached
    }

    /// Returns `state` for a pattern whose matches do not extend to the paths below them.
    pub(crate) fn exactly(&self, state: State) -> State {
        if self.ends_in_folders() { state } else { State(state.0 & !self.end()) }
    }

    fn ends_in_folders(&self) -> bool {
        matches!(self.parts.last(), Some(Part::Folders))
    }

    fn end(&self) -> u64 {
        1 << self.parts.len()
    }

    /// Closes `state` over `**` parts that match no directory, except at the end of a pattern:
    /// `a/**` matches the entries of `a`.
    fn closed(&self, state: State) -> State {
        let mut bits = state.0;
        for (number, part) in self.parts.iter().enumerate() {
            let skipped = matches!(part, Part::Folders) && number + 1 < self.parts.len();
            if skipped && bits >> number & 1 == 1 {
                bits |= 1 << (number + 1);
            }
        }
        State(bits)
    }
}

impl State {
    /// No pattern can match from here on.
    pub(crate) const NOWHERE: Self = Self(0);
    /// The state above the pattern's beginning.
    pub(crate) const BEFORE: Self = Self(u64::MAX);

    /// Returns whether everything that can match below `self` can match below `other`.
    pub(crate) fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }
}

/// The components of a pattern, which has none that a path could not have.
fn words(below: &str) -> Result<Vec<String>, String> {
    let words: Vec<String> = below.split('/').map(str::to_owned).collect();
    let odd = words.iter().find(|word| matches!(word.as_str(), "" | "." | ".."));
    if let Some(word) = odd {
        return Err(format!(
            "has the component {word:?}; name folders only, without a slash at the end"
        ));
    }
    match words.iter().find(|word| word.contains("**") && *word != "**") {
        Some(word) => Err(format!("has ** in {word:?}; it stands alone between slashes")),
        None => Ok(words),
    }
}

fn part(word: &str) -> Result<Part, String> {
    if word == "**" {
        return Ok(Part::Folders);
    }
    let matcher = |word: &str| {
        let glob = GlobBuilder::new(word).literal_separator(true).backslash_escape(true).build();
        let why =
            |error: globset::Error| format!("{word:?} is no pattern of one name: {}", error.kind());
        glob.map(|glob| glob.compile_matcher()).map_err(why)
    };
    let lower = folded(word.as_bytes());
    Ok(Part::Name { plain: matcher(word)?, folding: matcher(&String::from_utf8_lossy(&lower))? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::name("/w/*.env", "/w", "a.env", Said::Matches)]
    #[case::dot("/w/*.env", "/w", ".env", Said::Matches)]
    #[case::below_a_match("/w/*.env", "/w", "a.env/x", Said::Matches)]
    #[case::deeper("/w/*.env", "/w", "d/a.env", Said::Nothing)]
    #[case::anywhere("/w/**/*.env", "/w", "d/e/a.env", Said::Matches)]
    #[case::directly("/w/**/*.env", "/w", "a.env", Said::Matches)]
    #[case::folder("/w/**/*.env", "/w", "d", Said::Below)]
    #[case::everything_in("/w/d*/**", "/w", "d1", Said::Towards)]
    #[case::in_it("/w/d*/**", "/w", "d1/x", Said::Matches)]
    #[case::middle("/w/*/key", "/w", "a", Said::Towards)]
    #[case::middle_hit("/w/*/key", "/w", "a/key", Said::Matches)]
    #[case::middle_miss("/w/*/key", "/w", "a/b/key", Said::Nothing)]
    #[case::towards("/w/**/conf/*.key", "/w", "x/conf", Said::Towards)]
    #[case::beside("/w/**/conf/*.key", "/w", "x/cont", Said::Below)]
    #[case::literal("/w/a/b", "/w/a", "b", Said::Matches)]
    #[case::one_letter("/w/?", "/w", "ab", Said::Nothing)]
    #[case::class("/w/[a-c]x", "/w", "bx", Said::Matches)]
    #[case::alternatives("/w/{a,b}", "/w", "b", Said::Matches)]
    #[case::newline("/w/*x", "/w", "a\nx", Said::Matches)]
    #[case::escaped("/w/\\*", "/w", "a", Said::Nothing)]
    #[case::escaped_hit("/w/\\*", "/w", "*", Said::Matches)]
    fn patterns_say(
        #[case] text: &str,
        #[case] base: &str,
        #[case] path: &str,
        #[case] expected: Said,
    ) {
        let glob = Glob::parse(text).unwrap();
        assert_eq!(glob.base(), Path::new(base));
        assert_eq!(glob.ask(glob.start(), Path::new(path).iter(), false).0, expected);
    }

    #[test]
    fn what_matches_is_what_globset_matches() {
        let texts = ["/*.env", "/**/*.env", "/d*/**", "/*/k", "/**/c/*.k", "/a/b", "/**/a/**/b"];
        let names =
            ["a", "b", "c", "d1", "k", "x.env", "y.k", "a/b", "c/y.k", "a/c/b", "d1/a/x.env"];
        let mut compared = 0;
        let pairs = || names.iter().flat_map(|a| names.iter().map(move |b| (a, b)));
        for (text, (first, second)) in texts.iter().flat_map(|t| pairs().map(move |p| (t, p))) {
            let path = PathBuf::from("/").join(first).join(second);
            let whole = GlobBuilder::new(text).literal_separator(true).build().unwrap();
            let whole = whole.compile_matcher();
            let expected =
                path.ancestors().any(|path| path != Path::new("/") && whole.is_match(path));
            let glob = Glob::parse(text).unwrap();
            let below = path.strip_prefix(glob.base()).map(Path::to_owned).unwrap_or_default();
            let said = glob.ask(glob.start(), below.iter(), false).0;
            assert_eq!(said == Said::Matches, expected, "{text} {path:?}");
            compared += 1;
        }
        assert_eq!(compared, 7 * 11 * 11);
    }

    #[test]
    fn a_volume_that_folds_matches_in_any_letters() {
        let glob = Glob::parse("/w/**/.Git*").unwrap();
        let ask = |name: &str, folds| glob.ask(glob.start(), Path::new(name).iter(), folds).0;
        assert_eq!(ask(".gIThub", true), Said::Matches);
        assert_eq!(ask(".gIThub", false), Said::Below);
    }

    #[rstest]
    #[case("w/*", "not absolute")]
    #[case("/w//x*", "component")]
    #[case("/w/../*", "component")]
    #[case("/w/*/", "component")]
    #[case("/w/a**", "stands alone")]
    #[case("/w/[a", "no pattern")]
    #[case("/w/{a/b,c}", "no pattern")]
    fn what_is_no_pattern_is_refused(#[case] text: &str, #[case] why: &str) {
        let error = Glob::parse(text).unwrap_err();
        assert!(error.contains(why), "{error}");
    }

    #[test]
    fn states_tell_where_less_can_match() {
        let glob = Glob::parse("/w/a*/**/k").unwrap();
        let state = |path: &str| glob.ask(glob.start(), Path::new(path).iter(), false).1;
        assert!(state("a1/x").is_within(state("a2")));
        assert!(state("b").is_within(state("a1")));
        assert!(!state("a1").is_within(state("b")));
    }
}
