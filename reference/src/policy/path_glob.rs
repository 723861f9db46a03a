//! Patterns of names ([`PathGlob`]): globset's syntax component by component, so that a directory can
//! be tested for possible matches below it. Pure.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use crate::policy::case_fold::folded;

/// Components after the literal beginning at most: a state has a bit for each, and one for the end.
const MOST: usize = 63;

/// A pattern that was read.
#[derive(Debug, Clone)]
pub(crate) struct PathGlob {
    /// The text as written.
    text: String,
    /// The directories that it begins with, up to the first component that is a pattern; the last
    /// component is never among them.
    base: PathBuf,
    parts: Vec<GlobComponent>,
}

#[derive(Debug, Clone)]
enum GlobComponent {
    /// Any number of directories.
    Directories,
    /// One name.
    Name { plain: GlobMatcher, folding: GlobMatcher },
}

/// The parts of a pattern that a path has matched: bit n is set if the first n are behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GlobState(u64);

/// The answer of a pattern about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum GlobMatch {
    /// Nothing, neither of it nor of anything below.
    Nothing,
    /// Nothing of it, but something below may match.
    Below,
    /// Something below it may match, and its own name is part of why.
    Towards,
    /// It matches, or lies below something that does.
    Matches,
}

impl PartialEq for PathGlob {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.base == other.base
    }
}

impl Eq for PathGlob {}

impl fmt::Display for PathGlob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PathGlob {
    /// Parses `text`, an absolute pattern.
    ///
    /// # Errors
    /// The error in it, and the remedy.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let Some(below) = text.strip_prefix('/') else {
            return Err(format!("{text:?} is not absolute; begin it with a slash"));
        };
        let words = split_components(below).map_err(|why| format!("{text:?} {why}"))?;
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
    pub(crate) fn component_texts(&self) -> Vec<String> {
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
    pub(crate) fn start(&self) -> GlobState {
        self.closed(GlobState(1))
    }

    /// One name further; `folds` where the volume ignores case.
    pub(crate) fn step(&self, state: GlobState, name: &OsStr, folds: bool) -> GlobState {
        let mut next = state.0 & self.end();
        let name = if folds { folded(name.as_bytes()) } else { name.as_bytes().to_vec() };
        let name = Path::new(OsStr::from_bytes(&name));
        for (number, part) in self.parts.iter().enumerate().filter(|(n, _)| state.0 >> n & 1 == 1) {
            next |= match part {
                GlobComponent::Directories if number + 1 == self.parts.len() => self.end(),
                GlobComponent::Directories => 1 << number,
                GlobComponent::Name { plain, folding } => {
                    let hit = if folds { folding.is_match(name) } else { plain.is_match(name) };
                    u64::from(hit) << (number + 1)
                }
            };
        }
        self.closed(GlobState(next))
    }

    /// Returns the answer about the path whose last name led from `before` to `after`.
    pub(crate) fn said(&self, before: GlobState, after: GlobState) -> GlobMatch {
        match () {
            () if after.0 & self.end() != 0 => GlobMatch::Matches,
            () if after.0 == 0 => GlobMatch::Nothing,
            () if after.0 & !before.0 != 0 => GlobMatch::Towards,
            () => GlobMatch::Below,
        }
    }

    /// Returns the answer about the path along `names` from `state`.
    pub(crate) fn match_names<'a>(
        &self,
        state: GlobState,
        names: impl Iterator<Item = &'a OsStr>,
        folds: bool,
    ) -> (GlobMatch, GlobState) {
        let (mut before, mut at) = (state, state);
        for name in names {
            (before, at) = (at, self.step(at, name, folds));
        }
        (self.said(before, at), at)
    }

    /// Returns whether a child could match, or be a directory of which all below matches.
    pub(crate) fn may_end_below(&self, state: GlobState) -> bool {
        self.ends_everywhere_below(state)
            || (0..self.parts.len()).filter(|number| state.0 >> number & 1 == 1).any(|number| {
                let rest = &self.parts[number + 1..];
                matches!(rest, [] | [GlobComponent::Directories])
            })
    }

    /// Answers as [`Self::may_end_below`] for a directory above the beginning.
    pub(crate) fn may_begin_at(&self, directory: &Path) -> bool {
        let below =
            self.base.strip_prefix("/").ok().and_then(|base| base.strip_prefix(directory).ok());
        let names = below.map_or(0, |below| below.iter().count());
        names == 1 && matches!(self.parts[..], [GlobComponent::Directories])
    }

    /// Returns whether everything below matches.
    pub(crate) fn ends_everywhere_below(&self, state: GlobState) -> bool {
        let last = self.parts.len() - 1;
        let reached = state.0 >> last & 1 == 1 || state.0 & self.end() != 0;
        self.ends_in_directories() && reached
    }

    /// Returns `state` for a pattern whose matches do not extend to the paths below them.
    pub(crate) fn exactly(&self, state: GlobState) -> GlobState {
        if self.ends_in_directories() { state } else { GlobState(state.0 & !self.end()) }
    }

    fn ends_in_directories(&self) -> bool {
        matches!(self.parts.last(), Some(GlobComponent::Directories))
    }

    fn end(&self) -> u64 {
        1 << self.parts.len()
    }

    /// Closes `state` over `**` parts that match no directory, except at the end of a pattern:
    /// `a/**` matches the entries of `a`.
    fn closed(&self, state: GlobState) -> GlobState {
        let mut bits = state.0;
        for (number, part) in self.parts.iter().enumerate() {
            let skipped =
                matches!(part, GlobComponent::Directories) && number + 1 < self.parts.len();
            if skipped && bits >> number & 1 == 1 {
                bits |= 1 << (number + 1);
            }
        }
        GlobState(bits)
    }
}

impl GlobState {
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
fn split_components(below: &str) -> Result<Vec<String>, String> {
    let words: Vec<String> = below.split('/').map(str::to_owned).collect();
    let odd = words.iter().find(|word| matches!(word.as_str(), "" | "." | ".."));
    if let Some(word) = odd {
        return Err(format!(
            "has the component {word:?}; name directories only, without a slash at the end"
        ));
    }
    match words.iter().find(|word| word.contains("**") && *word != "**") {
        Some(word) => Err(format!("has ** in {word:?}; it stands alone between slashes")),
        None => Ok(words),
    }
}

fn part(word: &str) -> Result<GlobComponent, String> {
    if word == "**" {
        return Ok(GlobComponent::Directories);
    }
    let matcher = |word: &str| {
        let glob = GlobBuilder::new(word).literal_separator(true).backslash_escape(true).build();
        let why =
            |error: globset::Error| format!("{word:?} is no pattern of one name: {}", error.kind());
        glob.map(|glob| glob.compile_matcher()).map_err(why)
    };
    let lower = folded(word.as_bytes());
    Ok(GlobComponent::Name {
        plain: matcher(word)?,
        folding: matcher(&String::from_utf8_lossy(&lower))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::name("/w/*.env", "/w", "a.env", GlobMatch::Matches)]
    #[case::dot("/w/*.env", "/w", ".env", GlobMatch::Matches)]
    #[case::below_a_match("/w/*.env", "/w", "a.env/x", GlobMatch::Matches)]
    #[case::deeper("/w/*.env", "/w", "d/a.env", GlobMatch::Nothing)]
    #[case::anywhere("/w/**/*.env", "/w", "d/e/a.env", GlobMatch::Matches)]
    #[case::directly("/w/**/*.env", "/w", "a.env", GlobMatch::Matches)]
    #[case::directory("/w/**/*.env", "/w", "d", GlobMatch::Below)]
    #[case::everything_in("/w/d*/**", "/w", "d1", GlobMatch::Towards)]
    #[case::in_it("/w/d*/**", "/w", "d1/x", GlobMatch::Matches)]
    #[case::middle("/w/*/key", "/w", "a", GlobMatch::Towards)]
    #[case::middle_hit("/w/*/key", "/w", "a/key", GlobMatch::Matches)]
    #[case::middle_miss("/w/*/key", "/w", "a/b/key", GlobMatch::Nothing)]
    #[case::towards("/w/**/conf/*.key", "/w", "x/conf", GlobMatch::Towards)]
    #[case::beside("/w/**/conf/*.key", "/w", "x/cont", GlobMatch::Below)]
    #[case::inner_directly("/w/a*/**/k", "/w", "a1/k", GlobMatch::Matches)]
    #[case::inner_deeper("/w/a*/**/k", "/w", "a1/x/y/k", GlobMatch::Matches)]
    #[case::inner_not_reached("/w/a*/**/k", "/w", "k", GlobMatch::Nothing)]
    #[case::literal("/w/a/b", "/w/a", "b", GlobMatch::Matches)]
    #[case::one_letter("/w/?", "/w", "ab", GlobMatch::Nothing)]
    #[case::class("/w/[a-c]x", "/w", "bx", GlobMatch::Matches)]
    #[case::alternatives("/w/{a,b}", "/w", "b", GlobMatch::Matches)]
    #[case::newline("/w/*x", "/w", "a\nx", GlobMatch::Matches)]
    #[case::escaped("/w/\\*", "/w", "a", GlobMatch::Nothing)]
    #[case::escaped_hit("/w/\\*", "/w", "*", GlobMatch::Matches)]
    fn patterns_say(
        #[case] text: &str,
        #[case] base: &str,
        #[case] path: &str,
        #[case] expected: GlobMatch,
    ) {
        let glob = PathGlob::parse(text).unwrap();
        assert_eq!(glob.base(), Path::new(base));
        assert_eq!(glob.match_names(glob.start(), Path::new(path).iter(), false).0, expected);
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
            let glob = PathGlob::parse(text).unwrap();
            let below = path.strip_prefix(glob.base()).map(Path::to_owned).unwrap_or_default();
            let said = glob.match_names(glob.start(), below.iter(), false).0;
            assert_eq!(said == GlobMatch::Matches, expected, "{text} {path:?}");
            compared += 1;
        }
        assert_eq!(compared, 7 * 11 * 11);
    }

    #[test]
    fn a_volume_that_folds_matches_in_any_letters() {
        let glob = PathGlob::parse("/w/**/.Git*").unwrap();
        let ask =
            |name: &str, folds| glob.match_names(glob.start(), Path::new(name).iter(), folds).0;
        assert_eq!(ask(".gIThub", true), GlobMatch::Matches);
        assert_eq!(ask(".gIThub", false), GlobMatch::Below);
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
        let error = PathGlob::parse(text).unwrap_err();
        assert!(error.contains(why), "{error}");
    }

    #[test]
    fn states_tell_where_less_can_match() {
        let glob = PathGlob::parse("/w/a*/**/k").unwrap();
        let state = |path: &str| glob.match_names(glob.start(), Path::new(path).iter(), false).1;
        assert!(state("a1/x").is_within(state("a2")));
        assert!(state("b").is_within(state("a1")));
        assert!(!state("a1").is_within(state("b")));
    }

    #[test]
    fn a_pattern_keeps_its_text_and_takes_another_beginning() {
        let [glob, other] =
            ["/w/l/*/**/k", "/w/l/*/**/j"].map(|text| PathGlob::parse(text).unwrap());
        let moved = glob.based("/real".into());
        assert_eq!((moved.base(), moved.to_string()), (Path::new("/real"), glob.to_string()));
        assert_eq!(glob.to_string(), "/w/l/*/**/k");
        assert_eq!(moved.component_texts(), ["*", "**", "k"]);
        assert!(glob == glob.clone() && glob != other && glob != moved);
    }

    /// A state has a bit for each component.
    #[rstest]
    #[case(MOST, true)]
    #[case(MOST + 1, false)]
    fn components_are_limited(#[case] count: usize, #[case] fits: bool) {
        assert_eq!(PathGlob::parse(&"/*".repeat(count)).is_ok(), fits);
    }

    #[rstest]
    #[case("/w/a*/**", "a1", true)]
    #[case("/w/a*/**", "a1/x", true)]
    #[case("/w/a*/**", "b", false)]
    #[case("/w/a*/**/k", "a1/x", false)]
    fn everything_below_matches(#[case] text: &str, #[case] path: &str, #[case] all: bool) {
        let glob = PathGlob::parse(text).unwrap();
        let (_, state) = glob.match_names(glob.start(), Path::new(path).iter(), false);
        assert_eq!(glob.ends_everywhere_below(state), all);
    }
}
