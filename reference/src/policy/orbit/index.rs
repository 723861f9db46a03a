//! An index of many patterns: it finds the last one that matches, at a cost that depends on the
//! path's depth and not on the number of patterns.
//!
//! The chains of all patterns form one trie over whole names. Matching a path keeps every state of
//! the trie that its names can have reached; each state knows the last pattern that ends there, or
//! that matches everything below.

use rustc_hash::FxHashMap;

use super::glob::{ComponentChain, OrbitGlob, PatternComponent, WildcardName, is_of_root};

/// A place in the trie.
type TrieNodeId = u32;

/// The root of the trie.
const ROOT: TrieNodeId = 0;

/// An index of patterns by number.
#[derive(Debug, Default)]
pub struct PatternIndex {
    /// Numbers of the patterns' parts, so that one lookup of a name serves every state.
    names: FxHashMap<Vec<u8>, u32>,
    endings: FxHashMap<Vec<u8>, u32>,
    shapes: FxHashMap<WildcardName, u32>,
    by_name: FxHashMap<(TrieNodeId, u32), TrieNodeId>,
    by_ending: FxHashMap<(TrieNodeId, u32), TrieNodeId>,
    by_shape: FxHashMap<(TrieNodeId, u32), TrieNodeId>,
    /// The shapes at a state, by the first byte of their names, if that is known.
    shaped: FxHashMap<(TrieNodeId, Option<u8>), WildcardEdges>,
    places: Vec<TrieNode>,
    /// Patterns that are no chains.
    loose: Vec<(usize, OrbitGlob)>,
}

/// Shapes, and the places below them.
type WildcardEdges = Vec<(WildcardName, TrieNodeId)>;

/// The transitions and matches of one state.
#[derive(Debug, Default)]
struct TrieNode {
    /// The state behind any name.
    any: Option<TrieNodeId>,
    /// The state behind any number of names; it leads to itself.
    deep: Option<TrieNodeId>,
    is_deep: bool,
    has_names: bool,
    has_endings: bool,
    has_shapes: bool,
    /// The last pattern that ends here.
    last: Option<usize>,
}

impl PatternIndex {
    /// An index of `patterns`, which are known by their place in the order.
    pub fn new<'a>(patterns: impl IntoIterator<Item = &'a OrbitGlob>) -> Self {
        let patterns = patterns.into_iter();
        let mut index = Self { places: vec![TrieNode::default()], ..Self::default() };
        index.reserve(patterns.size_hint().0);
        for (number, glob) in patterns.enumerate() {
            match glob.chains() {
                Some(chains) => chains.iter().for_each(|chain| index.lay(chain, number)),
                None => index.loose.push((number, glob.clone())),
            }
        }
        index
    }

    /// Makes room for `count` patterns of a usual kind: growing costs more than laying.
    fn reserve(&mut self, count: usize) {
        self.names.reserve(count);
        self.by_name.reserve(2 * count);
        self.places.reserve(3 * count);
    }

    /// The last pattern that matches `names`, from the root down.
    pub fn last_match<N: AsRef<[u8]>>(&self, names: &[N]) -> Option<usize> {
        let (mut here, mut next) = (Vec::with_capacity(8), Vec::with_capacity(8));
        self.arrive(ROOT, &mut here);
        for name in names {
            next.clear();
            self.go(&here, name.as_ref(), &mut next);
            std::mem::swap(&mut here, &mut next);
        }
        let found = here.iter().filter_map(|node| self.places[*node as usize].last).max();
        let loose = self.loose.iter().rev().take_while(|(number, _)| Some(*number) > found);
        let later = loose.filter(|(_, glob)| glob.matches(names)).map(|(number, _)| *number);
        later.max().or(found)
    }

    /// Collects the states that `name` leads to from all states in `here`.
    fn go(&self, here: &[TrieNodeId], name: &[u8], next: &mut Vec<TrieNodeId>) {
        let known = self.names.get(name);
        let dot = name.iter().rposition(|byte| *byte == b'.');
        let ending = dot.and_then(|dot| self.endings.get(&name[dot..]));
        for node in here {
            let place = &self.places[*node as usize];
            if place.is_deep {
                self.arrive(*node, next);
            }
            let by_name = known.filter(|_| place.has_names);
            let by_name = by_name.and_then(|name| self.by_name.get(&(*node, *name)));
            let by_ending = ending.filter(|_| place.has_endings);
            let by_ending = by_ending.and_then(|end| self.by_ending.get(&(*node, *end)));
            let any = place.any.filter(|_| !hides(name));
            for below in by_name.into_iter().chain(by_ending).chain(&any) {
                self.arrive(*below, next);
            }
            if place.has_shapes {
                self.go_by_shape(*node, name, next);
            }
        }
    }

    fn go_by_shape(&self, node: TrieNodeId, name: &[u8], next: &mut Vec<TrieNodeId>) {
        for first in [name.first().copied(), None] {
            let shaped = self.shaped.get(&(node, first)).into_iter().flatten();
            for (_, below) in shaped.filter(|(shape, _)| shape.takes(name)) {
                self.arrive(*below, next);
            }
        }
    }

    /// Adds `node`, and the states that it reaches without a name.
    fn arrive(&self, node: TrieNodeId, at: &mut Vec<TrieNodeId>) {
        let place = &self.places[node as usize];
        // Only a state that leads to itself can be reached twice.
        for node in std::iter::once(node).chain(place.deep) {
            if !self.places[node as usize].is_deep || !at.contains(&node) {
                at.push(node);
            }
        }
    }

    fn lay(&mut self, chain: &ComponentChain, number: usize) {
        let end = chain.iter().fold(ROOT, |node, part| self.below(node, part));
        self.places[end as usize].last = Some(number);
        if is_of_root(chain) {
            self.places[ROOT as usize].last = Some(number);
        }
    }

    /// The place below `node` for `part`, made where it is not there yet.
    fn below(&mut self, node: TrieNodeId, part: &PatternComponent) -> TrieNodeId {
        let new = self.places.len() as TrieNodeId;
        let place = &mut self.places[node as usize];
        let below = match part {
            // Any number of names, and again any number, is any number.
            PatternComponent::Deep if place.is_deep => node,
            PatternComponent::Deep => *place.deep.get_or_insert(new),
            PatternComponent::Any => *place.any.get_or_insert(new),
            PatternComponent::Name(name) => {
                place.has_names = true;
                let name = number(&mut self.names, name);
                *self.by_name.entry((node, name)).or_insert(new)
            }
            PatternComponent::Ending(end) => {
                place.has_endings = true;
                let end = number(&mut self.endings, end);
                *self.by_ending.entry((node, end)).or_insert(new)
            }
            PatternComponent::Shape(shape) => {
                place.has_shapes = true;
                let id = number(&mut self.shapes, shape);
                let below = *self.by_shape.entry((node, id)).or_insert(new);
                if below == new {
                    let shaped = self.shaped.entry((node, shape.first())).or_default();
                    shaped.push((shape.clone(), new));
                }
                below
            }
        };
        if below == new {
            self.places
                .push(TrieNode { is_deep: *part == PatternComponent::Deep, ..TrieNode::default() });
        }
        below
    }
}

/// The number of `key`, a new one if it has none.
fn number<K: Clone + Eq + std::hash::Hash>(numbers: &mut FxHashMap<K, u32>, key: &K) -> u32 {
    if let Some(known) = numbers.get(key) {
        return *known;
    }
    let new = numbers.len() as u32;
    numbers.insert(key.clone(), new);
    new
}

/// Returns whether a fault hides `name` from a star.
fn hides(name: &[u8]) -> bool {
    fault!("dialects.star-hidden-names") && name.starts_with(b".")
}

#[cfg(test)]
mod tests {
    use super::super::profile::may_match;
    use super::*;
    use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
    use proptest::prelude::*;
    use rstest::rstest;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Generates patterns with the same meaning in `globset`: no run inside a name crosses slashes
    /// there, `?` is one byte, and a directory is not part of what is below it.
    fn part() -> impl Strategy<Value = &'static str> {
        prop_oneof![
            4 => prop::sample::select(&["a", "b", "c", ".git", "src"][..]),
            2 => Just("**"),
            2 => prop::sample::select(&["*", "*.rs", "*.a.rs", "a*", "?", "b?", "*b*", "a*.rs"][..]),
        ]
    }

    fn pattern() -> impl Strategy<Value = String> {
        prop::collection::vec(part(), 1..6).prop_map(|parts| parts.join("/"))
    }

    fn path() -> impl Strategy<Value = Vec<&'static str>> {
        let names = ["a", "b", "c", ".git", "src", "x.rs", "x.a.rs", "ab", "bb", ".rs", "abc.rs"];
        prop::collection::vec(prop::sample::select(names.to_vec()), 1..7)
    }

    fn oracle(patterns: &[String]) -> GlobSet {
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            set.add(GlobBuilder::new(pattern).literal_separator(true).build().unwrap());
        }
        set.build().unwrap()
    }

    /// Returns the last match of the oracle; a directory counts as below itself.
    fn last_of(set: &GlobSet, patterns: &[String], path: &str) -> Option<usize> {
        let below = set.matches(path).into_iter();
        let anchors = patterns.iter().enumerate().filter(|(_, text)| {
            text.ends_with("/**")
                && oracle(&[text.trim_end_matches("/**").to_owned()]).is_match(path)
        });
        below.chain(anchors.map(|(number, _)| number)).max()
    }

    static COMPARED: AtomicUsize = AtomicUsize::new(0);

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

        /// Compares the index, each pattern by itself, and `globset` on any patterns and paths.
        #[test]
        fn the_last_match_is_the_oracle_s(
            patterns in prop::collection::vec(pattern(), 1..24),
            paths in prop::collection::vec(path(), 8),
        ) {
            let globs: Vec<OrbitGlob> = patterns.iter().map(|text| OrbitGlob::new(text)).collect();
            let (index, set) = (PatternIndex::new(&globs), oracle(&patterns));
            for path in &paths {
                let found = index.last_match(path);
                for (text, glob) in patterns.iter().zip(&globs) {
                    prop_assert!(may_match(text, path) || !glob.matches(path), "{text} {path:?}");
                }
                prop_assert_eq!(found, globs.iter().rposition(|glob| glob.matches(path)));
                prop_assert_eq!(found, last_of(&set, &patterns, &path.join("/")), "{:?} {:?}", patterns, path);
                COMPARED.fetch_add(2, Ordering::Relaxed);
            }
        }
    }

    #[test]
    fn ten_thousand_shapes_build() {
        let globs: Vec<OrbitGlob> =
            (0..10_000).map(|at| OrbitGlob::new(&format!("**/x{at}*y?z/**"))).collect();
        let index = PatternIndex::new(&globs);
        assert_eq!(index.last_match(&["d", "x7..y.z", "f"]), Some(7));
        assert_eq!(index.last_match(&["d", "x7..y.", "f"]), None);
        // All alike, the last one wins.
        let same: Vec<OrbitGlob> = (0..10_000).map(|_| OrbitGlob::new("**/x*y?z/**")).collect();
        assert_eq!(PatternIndex::new(&same).last_match(&["xy.z"]), Some(9_999));
    }

    #[rstest]
    #[case("*", "a", true)]
    #[case("*", ".a", true)]
    #[case("x*y", "xay", true)]
    #[case("x*y", "xa", false)]
    #[case("*.rs", "x.rs", true)]
    #[case("a/**", "a/b/c", true)]
    #[case("a/*", "a/b/c", false)]
    #[case("**/**", "", true)]
    fn one_pattern_is_found(#[case] pattern: &str, #[case] path: &str, #[case] found: bool) {
        let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
        let index = PatternIndex::new(&[OrbitGlob::new(pattern)]);
        assert_eq!(index.last_match(&names), found.then_some(0));
    }

    /// Patterns that are no chains stand between others.
    #[test]
    fn the_last_match_may_be_no_chain() {
        let loose = |from: &str| format!("{from}**b**c**d**e**f**g**h");
        let patterns =
            [loose("a"), "a/**".to_owned(), loose("**/x")].map(|text| OrbitGlob::new(&text));
        let index = PatternIndex::new(&patterns);
        assert_eq!(index.last_match(&["abcdefgh"]), Some(0));
        assert_eq!(index.last_match(&["a", "bcdefgh"]), Some(1));
        assert_eq!(index.last_match(&["a", "xbcdefgh"]), Some(2));
        assert_eq!(index.last_match(&["bcdefgh"]), None);
    }
}
