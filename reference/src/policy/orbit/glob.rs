//! The language of patterns: a whole pattern against a whole path.
//!
//! `.` is the root. `P/**` matches `P` and everything below. `**/` matches any number of
//! directories, and `**` elsewhere any run, slashes included. `*` matches any run and `?` one
//! character of a name; all other characters are literal, brackets, braces and backslashes too. No
//! name is special: neither one that begins with a dot, nor one with a line feed in it, nor one
//! that is not UTF-8.

use regex::bytes::Regex;

/// Runs over slashes inside names that one pattern may have before it is left to a regular
/// expression: each doubles the chains.
const MOST_RUNS: usize = 6;

/// A pattern, ready to be matched.
#[derive(Debug, Clone)]
pub struct OrbitGlob(GlobForm);

#[derive(Debug, Clone)]
enum GlobForm {
    /// Alternatives, several only where a run inside a name crosses slashes.
    Chains(Vec<ComponentChain>),
    /// One with a great many of such runs.
    Loose(Box<Regex>),
}

/// The parts between the slashes, from the root down.
pub(super) type ComponentChain = Vec<PatternComponent>;

/// The pattern between two slashes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum PatternComponent {
    /// Exactly this name.
    Name(Vec<u8>),
    /// Any name.
    Any,
    /// A name that ends with this, which begins with a dot and has no other: `*.rs`.
    Ending(Vec<u8>),
    /// A name of this shape.
    Shape(WildcardName),
    /// Any number of names.
    Deep,
}

/// A name with wildcards in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct WildcardName(pub(super) Vec<WildcardToken>);

/// A piece of a name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum WildcardToken {
    /// This text.
    Text(Vec<u8>),
    /// One character.
    One,
    /// Any run.
    Run,
}

impl OrbitGlob {
    /// Any text is a pattern.
    pub fn new(text: &str) -> Self {
        if text == "." {
            return Self(GlobForm::Chains(vec![Vec::new()]));
        }
        let names: Vec<&str> = text.split('/').collect();
        match runs_inside(text) {
            0 => {
                return Self(GlobForm::Chains(vec![
                    names.into_iter().map(PatternComponent::parse_component).collect(),
                ]));
            }
            1..=MOST_RUNS => return Self(GlobForm::Chains(chains(&names))),
            _ => {}
        }
        // A pattern too large for the regex crate matches nothing, and validation rejects it.
        let regex = Regex::new(&loose(&names));
        regex.map_or(Self(GlobForm::Chains(Vec::new())), |regex| {
            Self(GlobForm::Loose(Box::new(regex)))
        })
    }

    /// Returns whether the path `names`, from the root down, matches.
    pub fn matches<N: AsRef<[u8]>>(&self, names: &[N]) -> bool {
        match &self.0 {
            GlobForm::Chains(chains) => chains.iter().any(|chain| follows(chain, names)),
            GlobForm::Loose(regex) => regex.is_match(&join(names)),
        }
    }

    /// Returns the alternative chains; `None` for a pattern that is matched as a whole only.
    pub(super) fn chains(&self) -> Option<&[ComponentChain]> {
        match &self.0 {
            GlobForm::Chains(chains) => Some(chains),
            GlobForm::Loose(_) => None,
        }
    }
}

/// Returns the number of runs in the names of a pattern that cross slashes.
pub(super) fn runs_inside(pattern: &str) -> usize {
    let names = pattern.split('/').filter(|name| name.len() > 2 && name.contains('*'));
    names.map(|name| name.split("**").count() - 1).sum()
}

/// Every way to read `names`: a run inside a name stays in it, or begins in one name and ends in
/// another.
fn chains(names: &[&str]) -> Vec<ComponentChain> {
    let mut all = vec![ComponentChain::new()];
    for name in names {
        let readings = match *name {
            "**" => vec![vec![PatternComponent::Deep]],
            name => readings(name),
        };
        let longer = all.iter().flat_map(|chain| {
            readings.iter().map(|reading| [chain.as_slice(), reading.as_slice()].concat())
        });
        all = longer.collect();
    }
    all
}

fn readings(name: &str) -> Vec<ComponentChain> {
    let mut pieces = name.split("**");
    let first = pieces.next().unwrap_or_default().to_owned();
    // Each reading, and the text of the name that it has come to.
    let mut all = vec![(ComponentChain::new(), first)];
    for piece in pieces {
        let both = all.into_iter().flat_map(|(chain, open)| {
            let crossing = [
                chain.as_slice(),
                &[PatternComponent::new(&format!("{open}*")), PatternComponent::Deep],
            ]
            .concat();
            [(chain, format!("{open}*{piece}")), (crossing, format!("*{piece}"))]
        });
        all = both.collect();
    }
    let close = |(chain, open): (ComponentChain, String)| {
        [chain, vec![PatternComponent::new(&open)]].concat()
    };
    all.into_iter().map(close).collect()
}

/// The whole as a regular expression.
fn loose(names: &[&str]) -> String {
    let mut pattern = String::from("(?s-u)^");
    for (at, name) in names.iter().enumerate() {
        let (is_last, below) = (at + 1 == names.len(), &names[at + 1..]);
        pattern.push_str(&match *name {
            "**" if is_last => ".*".to_owned(),
            "**" => "(?:[^/]*/)*".to_owned(),
            // A directory matches its own `**`.
            name if below == ["**"] => spelled(name) + "(?:$|/)",
            name => spelled(name) + if is_last { "" } else { "/" },
        });
    }
    pattern + "$"
}

fn spelled(name: &str) -> String {
    let whole = regex::escape(name).replace(r"\*\*", ".*").replace(r"\*", "[^/]*");
    whole.replace(r"\?", r"(?:(?u:[^/])|[^/])")
}

impl PatternComponent {
    /// Parses the pattern of a whole name.
    fn parse_component(name: &str) -> Self {
        if name == "**" { Self::Deep } else { Self::new(name) }
    }

    fn new(text: &str) -> Self {
        if !text.contains(['*', '?']) {
            return Self::Name(text.as_bytes().to_vec());
        }
        let tokens = tokens(text);
        match &tokens[..] {
            [WildcardToken::Run] => Self::Any,
            [WildcardToken::Run, WildcardToken::Text(end)] if is_ending(end) => {
                Self::Ending(end.clone())
            }
            _ => Self::Shape(WildcardName(tokens)),
        }
    }

    /// Returns whether it matches exactly the one name `name`.
    fn takes(&self, name: &[u8]) -> bool {
        match self {
            Self::Name(own) => own == name,
            Self::Any => true,
            Self::Ending(end) => name.ends_with(end),
            Self::Shape(shape) => shape.takes(name),
            Self::Deep => false,
        }
    }
}

/// Returns whether the ending of a name from its last dot on suffices to match it.
fn is_ending(end: &[u8]) -> bool {
    end.first() == Some(&b'.') && !end[1..].contains(&b'.')
}

fn tokens(text: &str) -> Vec<WildcardToken> {
    let mut tokens: Vec<WildcardToken> = Vec::new();
    for byte in text.bytes() {
        match (byte, tokens.last_mut()) {
            (b'*', Some(WildcardToken::Run)) => {}
            (b'*', _) => tokens.push(WildcardToken::Run),
            (b'?', _) => tokens.push(WildcardToken::One),
            (_, Some(WildcardToken::Text(text))) => text.push(byte),
            _ => tokens.push(WildcardToken::Text(vec![byte])),
        }
    }
    tokens
}

impl WildcardName {
    /// The byte that every such name begins with.
    pub(super) fn first(&self) -> Option<u8> {
        match self.0.first() {
            Some(WildcardToken::Text(text)) => text.first().copied(),
            _ => None,
        }
    }

    /// Returns whether it matches `name`. One retry point is enough: a later run can match all that
    /// an earlier one could.
    pub(super) fn takes(&self, name: &[u8]) -> bool {
        let (mut token, mut at) = (0, 0);
        let mut retry = None;
        loop {
            let step = match self.0.get(token) {
                Some(WildcardToken::Run) => {
                    retry = Some((token + 1, at));
                    Some(0)
                }
                Some(WildcardToken::One) => (at < name.len()).then(|| character(&name[at..])),
                Some(WildcardToken::Text(text)) => {
                    name[at..].starts_with(text).then_some(text.len())
                }
                None if at == name.len() => return true,
                None => None,
            };
            match (step, retry) {
                (Some(length), _) => (token, at) = (token + 1, at + length),
                (None, Some((after, from))) if from < name.len() => {
                    let next = from + character(&name[from..]);
                    retry = Some((after, next));
                    (token, at) = (after, next);
                }
                _ => return false,
            }
        }
    }
}

/// Bytes of the first character: of a UTF-8 sequence, else one.
fn character(text: &[u8]) -> usize {
    let length = match text[0] {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    };
    let whole = text.get(..length).is_some_and(|bytes| str::from_utf8(bytes).is_ok());
    if whole { length } else { 1 }
}

/// Returns whether `chain` matches the root, whose only name is an empty one.
pub(super) fn is_of_root(chain: &[PatternComponent]) -> bool {
    match chain {
        [part] => *part == PatternComponent::Deep || part.takes(b""),
        _ => chain.is_empty(),
    }
}

/// Returns whether `chain` matches the path `names`.
fn follows<N: AsRef<[u8]>>(chain: &[PatternComponent], names: &[N]) -> bool {
    if names.is_empty() {
        return is_of_root(chain) || chain.iter().all(|part| *part == PatternComponent::Deep);
    }
    let Some(deep) = chain.iter().position(|part| *part == PatternComponent::Deep) else {
        return chain.len() == names.len() && takes_all(chain, names);
    };
    if names.len() < deep || !takes_all(&chain[..deep], &names[..deep]) {
        return false;
    }
    deep + 1 == chain.len() || wanders(&chain[deep..], &names[deep..])
}

fn takes_all<N: AsRef<[u8]>>(chain: &[PatternComponent], names: &[N]) -> bool {
    chain.iter().zip(names).all(|(part, name)| part.takes(name.as_ref()))
}

/// Matches by tracking the set of all positions in the chain that the names can have reached.
fn wanders<N: AsRef<[u8]>>(chain: &[PatternComponent], names: &[N]) -> bool {
    let mut places = vec![false; chain.len() + 1];
    places[0] = true;
    let skip = |places: &mut [bool]| {
        for (at, part) in chain.iter().enumerate() {
            places[at + 1] |= places[at] && *part == PatternComponent::Deep;
        }
    };
    skip(&mut places);
    for name in names {
        let mut next = vec![false; chain.len() + 1];
        for (at, part) in chain.iter().enumerate().filter(|(at, _)| places[*at]) {
            match part {
                PatternComponent::Deep => next[at] = true,
                part => next[at + 1] |= part.takes(name.as_ref()),
            }
        }
        skip(&mut next);
        places = next;
    }
    places[chain.len()]
}

fn join<N: AsRef<[u8]>>(names: &[N]) -> Vec<u8> {
    let names: Vec<&[u8]> = names.iter().map(AsRef::as_ref).collect();
    names.join(&b'/')
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::root(".", ".", true)]
    #[case::root_alone(".", "a", false)]
    #[case::star("*", ".", true)]
    #[case::star_below("*/*", ".", false)]
    #[case::one("?", ".", false)]
    #[case::all("**", ".", true)]
    #[case::all_below("**", "a/b", true)]
    #[case::anchor("src/**", "src", true)]
    #[case::below("src/**", "src/a/b", true)]
    #[case::sibling("src/**", "srcx/a", false)]
    #[case::one_level("src/*", "src/a", true)]
    #[case::two_levels("src/*", "src/a/b", false)]
    #[case::level_itself("src/*", "src", false)]
    #[case::dot_file("src/*", "src/.h", true)]
    #[case::anywhere("**/foo.rs", "foo.rs", true)]
    #[case::anywhere_deep("**/foo.rs", "a/b/foo.rs", true)]
    #[case::between("a/**/b", "a/b", true)]
    #[case::between_deep("a/**/b", "a/x/y/b", true)]
    #[case::between_other("a/**/b", "a/x/c", false)]
    #[case::wild_anchor("**/secrets/**", "a/secrets/k", true)]
    #[case::wild_anchor_itself("**/secrets/**", "a/secrets", true)]
    #[case::twice("**/a/**/b/**", "x/a/y/b/z", true)]
    #[case::twice_not("**/a/**/b/**", "x/b/y/a/z", false)]
    #[case::one_character("src/?.rs", "src/a.rs", true)]
    #[case::one_accent("src/?.rs", "src/é.rs", true)]
    #[case::one_of_three_bytes("src/?.rs", "src/日.rs", true)]
    #[case::one_of_four_bytes("src/?.rs", "src/😀.rs", true)]
    #[case::two_characters("src/?.rs", "src/ab.rs", false)]
    #[case::brackets("[ab].rs", "[ab].rs", true)]
    #[case::no_class("[ab].rs", "a.rs", false)]
    #[case::ending("*.env", ".env", true)]
    #[case::ending_twice("*.env", "a.b.env", true)]
    #[case::ending_other("*.env", ".env.local", false)]
    #[case::long_ending("*.tar.gz", "a.tar.gz", true)]
    #[case::shape("x*y?z", "x..yaz", true)]
    #[case::shape_again("x*y?z", "xyyaz", true)]
    #[case::shape_not("x*y?z", "xyz", false)]
    #[case::line_feed("secret/**", "secret/a\nb", true)]
    #[case::run_in_name("a**b", "ab", true)]
    #[case::run_over_slash("a**b", "a/x/b", true)]
    #[case::run_to_slash("a**b", "a1/2b", true)]
    #[case::run_not("a**b", "a/x/c", false)]
    #[case::run_at_start("src/**.rs", "src/a/b.rs", true)]
    #[case::run_at_start_flat("src/**.rs", "src/b.rs", true)]
    #[case::runs("a**b**c", "a/1/b2/c", true)]
    #[case::three_stars("a***b", "a/b", true)]
    #[case::case_counts("src/**", "SRC/a", false)]
    fn patterns_match(#[case] pattern: &str, #[case] path: &str, #[case] expected: bool) {
        let names: Vec<&str> = if path == "." { Vec::new() } else { path.split('/').collect() };
        assert_eq!(OrbitGlob::new(pattern).matches(&names), expected);
    }

    /// A pattern with more runs than chains are made for means the same.
    #[rstest]
    #[case("a**b**c**d**e**f**g**h", "a/b/c/d/e/f/g/h", true)]
    #[case("a**b**c**d**e**f**g**h", "abcdefgh", true)]
    #[case("a**b**c**d**e**f**g**h", "a/b/c/d/e/f/h/g", false)]
    #[case("?**b**c**d**e**f**g**h/**", "é/b/c/d/e/f/g/h", true)]
    #[case("**/a**b**c**d**e**f**g**h", "x/y/abcdefgh", true)]
    #[case("**/a**b**c**d**e**f**g**h", "xabcdefgh", false)]
    #[case("a**b**c**d**e**f**g**h/**", "abcdefgh/x", true)]
    #[case("a**b**c**d**e**f**g**h/*", "abcdefgh/x", true)]
    #[case("a**b**c**d**e**f**g**h/*", "abcdefgh", false)]
    fn loose_patterns_match(#[case] pattern: &str, #[case] path: &str, #[case] expected: bool) {
        let glob = OrbitGlob::new(pattern);
        assert!(glob.chains().is_none());
        assert_eq!(glob.matches(&path.split('/').collect::<Vec<_>>()), expected);
    }

    #[test]
    fn names_need_not_be_text() {
        let glob = OrbitGlob::new("s/?");
        assert!(glob.matches(&[b"s".as_slice(), b"\xff"]));
        assert!(!glob.matches(&[b"s".as_slice(), b"\xff\xfe"]));
    }

    #[rstest]
    #[case("**/a/*.rs", 0)]
    #[case("a**b/**", 1)]
    #[case("a**b**/***", 3)]
    fn runs_inside_names_are_counted(#[case] pattern: &str, #[case] runs: usize) {
        assert_eq!(runs_inside(pattern), runs);
    }

    #[test]
    fn a_name_has_its_cheapest_form() {
        let wildcard = |text: &str| WildcardName(tokens(text));
        let text = |text: &str| WildcardToken::Text(text.into());
        assert_eq!(tokens("ab**c"), [text("ab"), WildcardToken::Run, text("c")]);
        assert_eq!(PatternComponent::new("*.rs"), PatternComponent::Ending(b".rs".to_vec()));
        for shape in ["*.a.rs", "*rs", "*.rs*"] {
            assert_eq!(PatternComponent::new(shape), PatternComponent::Shape(wildcard(shape)));
        }
        assert_eq!([wildcard("a*"), wildcard("*a")].map(|name| name.first()), [Some(b'a'), None]);
        assert_eq!(OrbitGlob::new("a/*/b").chains().map(<[ComponentChain]>::len), Some(1));
    }
}
