//! Ratchets for words and module loops: [`CrateFigures`] of each crate, and the most that each may
//! have. A figure that falls is written down here, so that it cannot rise again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::rust;
use super::tree::{File, Tree};

/// Words that open a question, as in "What the caller asked for.".
const QUESTION_WORDS: [&str; 11] =
    ["what", "who", "whose", "whom", "whether", "where", "when", "which", "how", "why", "that"];

/// Words that STYLE.md replaces by others, in code, comments and texts.
const UNUSED_WORDS: [&str; 5] = ["folder", "whoever", "nobody", "somebody", "whom"];

/// The most that a crate may have of what STYLE.md asks it to avoid.
const CEILINGS: [(&str, Ceiling); 6] = [
    ("cases", Ceiling { one_word: 22, shared: 0, questions: 1, loops: 0, unused_words: 0 }),
    ("probes", Ceiling { one_word: 0, shared: 0, questions: 0, loops: 0, unused_words: 0 }),
    ("reports", Ceiling { one_word: 19, shared: 0, questions: 1, loops: 0, unused_words: 0 }),
    ("reference", Ceiling { one_word: 3, shared: 0, questions: 1, loops: 0, unused_words: 4 }),
    (
        "reference/receipts",
        Ceiling { one_word: 1, shared: 0, questions: 0, loops: 0, unused_words: 0 },
    ),
    ("harness", Ceiling { one_word: 7, shared: 3, questions: 1, loops: 0, unused_words: 2 }),
];

/// The ceilings of one crate: percentages of its types and of its doc openings, and counts.
struct Ceiling {
    /// Percent of the types whose name is one word.
    one_word: usize,
    /// Percent of the types that share their name with another type of the crate.
    shared: usize,
    /// Percent of the doc comments that open with a word of [`QUESTION_WORDS`].
    questions: usize,
    /// Groups of top-level modules that use one another.
    loops: usize,
    /// Occurrences of [`UNUSED_WORDS`].
    unused_words: usize,
}

/// What is counted of one crate, its tests apart.
pub(crate) struct CrateFigures {
    name: &'static str,
    types: usize,
    one_word: usize,
    shared: usize,
    openings: usize,
    questions: usize,
    loops: Vec<Vec<String>>,
    unused_words: usize,
}

impl CrateFigures {
    /// Counts the sources of the crate in the directory `name`.
    pub(crate) fn count(tree: &Tree, name: &'static str) -> Self {
        let source = format!("{name}/src/");
        let files: Vec<&File> =
            tree.below(&source).filter(|f| f.path.ends_with(".rs") && !f.is_test()).collect();
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        for file in &files {
            for name in declared_types(&rust::without_tests(&file.code())) {
                *names.entry(name).or_default() += 1;
            }
        }
        let openings: Vec<&str> = files.iter().flat_map(|file| doc_openings(&file.text)).collect();
        let asks = |text: &&&str| QUESTION_WORDS.contains(&first_word(text).as_str());
        let words = |file: &&File| UNUSED_WORDS.map(|word| occurrences(&file.text, word));
        Self {
            name,
            types: names.values().sum(),
            one_word: names.iter().filter(|(name, _)| is_one_word(name)).map(|(_, n)| n).sum(),
            shared: names.values().filter(|count| **count > 1).sum(),
            questions: openings.iter().filter(asks).count(),
            openings: openings.len(),
            loops: loops(&module_uses(&files, &source)),
            unused_words: files.iter().flat_map(words).sum(),
        }
    }
}

impl fmt::Display for CrateFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:<9} {:>4} types: {:>2} % one word, {:>2} % shared; {:>4} doc openings: {:>2} % \
             questions; {} module loops; {} unused words",
            self.name,
            self.types,
            percent(self.one_word, self.types),
            percent(self.shared, self.types),
            self.openings,
            percent(self.questions, self.openings),
            self.loops.len(),
            self.unused_words,
        )
    }
}

/// Complains of each crate whose figures are above its ceilings.
pub(crate) fn ratchets(tree: &Tree) -> Vec<String> {
    CEILINGS.iter().flat_map(|(name, most)| above(&CrateFigures::count(tree, name), most)).collect()
}

fn above(figures: &CrateFigures, most: &Ceiling) -> Vec<String> {
    let counts = [
        ("percent one-word type names", percent(figures.one_word, figures.types), most.one_word),
        ("percent shared type names", percent(figures.shared, figures.types), most.shared),
        ("percent question openings", percent(figures.questions, figures.openings), most.questions),
        ("module loops", figures.loops.len(), most.loops),
        ("words of STYLE.md's list", figures.unused_words, most.unused_words),
    ];
    let above = counts.into_iter().filter(|(_, found, most)| found > most);
    above
        .map(|(what, found, most)| {
            let loops = if what == "module loops" {
                format!(": {:?}", figures.loops)
            } else {
                String::new()
            };
            format!("{}: {found} {what} (most {most}){loops}", figures.name)
        })
        .collect()
}

/// `part` of `whole` in percent, rounded up: one is above none.
fn percent(part: usize, whole: usize) -> usize {
    (part * 100).div_ceil(whole.max(1))
}

/// The names of the types that `code` declares.
fn declared_types(code: &str) -> Vec<String> {
    let declared = code.lines().filter_map(|line| {
        let item = line.trim_start();
        let item = item.strip_prefix("pub").map_or(item, |rest| {
            let rest = rest.strip_prefix('(').and_then(|r| r.split_once(')')).map_or(rest, |r| r.1);
            rest.trim_start()
        });
        let (keyword, rest) = item.split_once(' ')?;
        let is_alias = keyword == "type" && !line.starts_with(' ');
        (is_alias || ["struct", "enum", "trait", "union"].contains(&keyword)).then(|| {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            rest[..end].to_owned()
        })
    });
    declared.filter(|name| name.starts_with(char::is_uppercase)).collect()
}

fn is_one_word(name: &str) -> bool {
    name.chars().filter(|c| c.is_uppercase()).count() == 1
}

/// The first line of each block of doc comments in `text`.
fn doc_openings(text: &str) -> Vec<&str> {
    let mut openings = Vec::new();
    let mut inside = false;
    for line in text.lines().map(str::trim_start) {
        let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::trim);
        if let Some(text) = doc.filter(|text| !inside && !text.is_empty()) {
            openings.push(text);
        }
        inside = doc.is_some();
    }
    openings
}

fn first_word(text: &str) -> String {
    let end = text.find(|c: char| !c.is_alphabetic()).unwrap_or(text.len());
    text[..end].to_lowercase()
}

/// A directory of macOS, whose name has a word of [`UNUSED_WORDS`].
const MACOS_TEMPORARY: &str = "/var/folders";

/// How often `text` has `word` at the start of a word, in any letter case.
fn occurrences(text: &str, word: &str) -> usize {
    let text = text.to_lowercase().replace(MACOS_TEMPORARY, "");
    let starts = |at: usize| !text[..at].ends_with(char::is_alphabetic);
    text.match_indices(word).filter(|(at, _)| starts(*at)).count()
}

/// Which top-level modules each top-level module of a crate uses.
fn module_uses(files: &[&File], source: &str) -> BTreeMap<String, BTreeSet<String>> {
    let module = |file: &File| {
        let inside = file.path.strip_prefix(source).unwrap_or(&file.path);
        inside.split('/').next().unwrap_or_default().trim_end_matches(".rs").to_owned()
    };
    let modules: BTreeSet<String> = files.iter().map(|file| module(file)).collect();
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files {
        let own = module(file);
        if ["lib", "main", "bin"].contains(&own.as_str()) {
            continue;
        }
        let code = rust::without_tests(&file.code());
        let used = crate_paths(&code).into_iter().filter(|name| modules.contains(name));
        uses.entry(own.clone()).or_default().extend(used.filter(|name| *name != own));
    }
    uses
}

/// The names behind `crate::` in `code`, those in braces included.
fn crate_paths(code: &str) -> Vec<String> {
    let ident = |text: &str| {
        let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
        text[..end].to_owned()
    };
    let mut names = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            Some(list) => {
                let mut depth = 0;
                for part in list.split_inclusive([',', '{', '}']) {
                    if depth == 0 {
                        names.push(ident(part.trim_start()));
                    }
                    depth += i32::from(part.ends_with('{')) - i32::from(part.ends_with('}'));
                    if depth < 0 {
                        break;
                    }
                }
            }
            None => names.push(ident(rest)),
        }
    }
    names
}

/// The groups of modules that reach one another.
fn loops(uses: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let reach: BTreeMap<&String, BTreeSet<&String>> =
        uses.keys().map(|start| (start, reachable(uses, start))).collect();
    let mut groups: BTreeSet<Vec<String>> = BTreeSet::new();
    for (start, reached) in &reach {
        let mutual = |other: &&&String| reach.get(**other).is_some_and(|back| back.contains(start));
        let group: Vec<String> =
            reached.iter().filter(mutual).map(|name| (*name).clone()).collect();
        if group.len() > 1 {
            groups.insert(group);
        }
    }
    groups.into_iter().collect()
}

fn reachable<'a>(
    uses: &'a BTreeMap<String, BTreeSet<String>>,
    start: &str,
) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&String> = uses.get(start).into_iter().flatten().collect();
    while let Some(name) = open.pop() {
        if reached.insert(name) {
            open.extend(uses.get(name).into_iter().flatten());
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_a_crate() {
        let text = "//! What it is.\nuse crate::{b::{C, D}, e};\npub(crate) struct Place;\n\
                    /// A name.\nenum ArmKind { A }\n#[cfg(test)]\nmod tests { struct T; }\n";
        let mut tree = Tree::single_file("cases/src/a.rs", text);
        tree.files.extend(
            Tree::single_file("cases/src/b.rs", "//! Folders.\nuse crate::e;\nstruct Place;").files,
        );
        tree.files
            .extend(Tree::single_file("cases/src/e.rs", "//! E.\nfn f() { crate::b::g() }").files);
        let figures = CrateFigures::count(&tree, "cases");
        assert_eq!((figures.types, figures.one_word, figures.shared), (3, 2, 2));
        assert_eq!((figures.openings, figures.questions, figures.unused_words), (4, 1, 1));
        assert_eq!(figures.loops, [["b", "e"]]);
    }
}
