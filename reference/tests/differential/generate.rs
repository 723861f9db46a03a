//! Profiles and trees from a seed: small, and full of what is decided in different ways.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use crate::actor::Deed;

/// Names in trees; some mean something in patterns and must not.
const NAMES: [&str; 12] =
    ["a", "b", "src", "docs", "gen", "x.env", "y.md", ".env", "k ey", "é.md", "[ab].rs", "a*"];
/// Names that nothing has at the start.
const NEW: [&str; 5] = ["new", "new.env", "new.md", ".env.new", "gen.new"];
/// Levels of directories.
const DEPTH: usize = 3;

/// A generator of numbers (splitmix64).
pub(crate) struct Dice(u64);

impl Dice {
    /// From a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn number(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) % below as u64) as usize
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.number(of.len())]
    }

    fn happens(&mut self, percent: usize) -> bool {
        self.number(100) < percent
    }
}

/// The object at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Thing {
    /// A directory.
    Directory,
    /// A file.
    File,
    /// A link to something.
    Link,
}

/// A tree below a workspace; the empty path is the workspace.
pub(crate) struct Forest {
    /// Every path and what is there.
    pub(crate) things: Vec<(String, Thing)>,
}

impl Forest {
    /// Grows one in the empty directory `root`.
    pub(crate) fn grow(dice: &mut Dice, root: &Path, links: bool) -> Self {
        let mut forest = Self { things: vec![(String::new(), Thing::Directory)] };
        forest.fill(dice, root, "", DEPTH);
        if links {
            forest.link(dice, root);
        }
        forest
    }

    fn fill(&mut self, dice: &mut Dice, root: &Path, directory: &str, levels: usize) {
        let count = 2 + dice.number(4);
        let names: BTreeSet<&str> = (0..count).map(|_| *dice.one(&NAMES)).collect();
        for name in names {
            let path = below(directory, name);
            if levels > 0 && dice.happens(45) {
                fs::create_dir(root.join(&path)).unwrap();
                self.things.push((path.clone(), Thing::Directory));
                self.fill(dice, root, &path, levels - 1);
            } else {
                fs::write(root.join(&path), "text").unwrap();
                self.things.push((path, Thing::File));
            }
        }
    }

    /// A link at the top to some file.
    fn link(&mut self, dice: &mut Dice, root: &Path) {
        let files: Vec<&String> = self.paths_of_kind(Thing::File).collect();
        if files.is_empty() {
            return;
        }
        let target = (*dice.one(&files)).clone();
        symlink(target, root.join("link")).unwrap();
        self.things.push(("link".to_owned(), Thing::Link));
    }

    fn paths_of_kind(&self, thing: Thing) -> impl Iterator<Item = &String> {
        self.things.iter().filter(move |(_, one)| *one == thing).map(|(path, _)| path)
    }

    /// Returns the deeds to try on it.
    pub(crate) fn deeds(&self) -> Vec<(Deed, String)> {
        let mut deeds = Vec::new();
        for (path, thing) in &self.things {
            deeds.push((Deed::Read, path.clone()));
            if *thing != Thing::Directory {
                deeds.push((Deed::Write, path.clone()));
            }
        }
        let taken: BTreeSet<&String> = self.things.iter().map(|(path, _)| path).collect();
        for directory in self.paths_of_kind(Thing::Directory) {
            for name in NEW.iter().chain(&NAMES[..4]) {
                let path = below(directory, name);
                if !taken.contains(&path) {
                    deeds
                        .extend([Deed::Make, Deed::MakeDirectory].map(|deed| (deed, path.clone())));
                }
            }
            deeds.push((Deed::Link, below(directory, "new.link")));
        }
        deeds
    }

    fn some_path(&self, dice: &mut Dice) -> String {
        let (path, _) = dice.one(&self.things);
        if path.is_empty() { "src".to_owned() } else { path.clone() }
    }

    fn rule(&self, dice: &mut Dice) -> String {
        let path = self.some_path(dice);
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        match dice.number(12) {
            0 | 1 => format!("{path}/**"),
            2 => path,
            3 => below(directory, "*"),
            4 => "**/*.env".to_owned(),
            5 => below(directory, "**/*.md"),
            6 => format!("*/{name}"),
            7 => format!("**/{name}/**"),
            8 => below(directory, "?"),
            9 => format!("**/{name}"),
            10 => below(directory, "*.new"),
            _ => "**/.env*".to_owned(),
        }
    }

    /// A document with one profile, `p`.
    pub(crate) fn policy(&self, dice: &mut Dice) -> Value {
        let mut rules = |most: usize| -> Vec<String> {
            (0..dice.number(most + 1)).map(|_| self.rule(dice)).collect()
        };
        let (deny_read, deny_modify) = (distinct(rules(2)), distinct(rules(2)));
        let (reads, modifies) = (rules(3), rules(3));
        let denied = |rule: &String| deny_read.contains(rule) || deny_modify.contains(rule);
        let signed = |dice: &mut Dice, list: Vec<String>| -> Vec<String> {
            let free = list.into_iter().filter(|rule| !denied(rule));
            free.map(|rule| if dice.happens(50) { format!("!{rule}") } else { rule }).collect()
        };
        let (mut read, mut modify) = (signed(dice, reads), signed(dice, modifies));
        if dice.happens(75) {
            read.insert(0, "**".to_owned());
            modify.splice(0..0, dice.happens(70).then(|| "**".to_owned()));
        } else {
            // A modify rule is covered where the same rule lets read.
            modify = read.iter().filter(|_| dice.happens(60)).cloned().collect();
        }
        json!({
            "schemaVersion": 2,
            "kind": "Policy",
            "metadata": {"name": "default"},
            "spec": {
                "denyRead": deny_read,
                "denyModify": deny_modify,
                "fsProfiles": {"p": {"read": read, "modify": modify}},
            },
        })
    }
}

fn distinct(mut rules: Vec<String>) -> Vec<String> {
    rules.sort();
    rules.dedup();
    rules
}

/// A path one name further.
pub(crate) fn below(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}
