//! Truth of the pages: relative links have targets, modules and packages exist, commands parse.

use boxproof::cli::Cli;
use clap::{CommandFactory, Parser};

use super::crates;
use super::tree::{File, Tree};

/// Checks that every relative link leads to a file, a directory or a heading that exists.
pub(crate) fn links(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for page in tree.pages() {
        for link in targets(&page.text).filter(|link| !link.contains("://")) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let path = if path.is_empty() { page.path.clone() } else { join(&page.path, path) };
            let inside = format!("{path}/");
            let exists = tree.files.iter().any(|f| f.path == path || f.path.starts_with(&inside));
            let lands =
                anchor.is_empty() || tree.file(&path).is_some_and(|f| has_heading(f, anchor));
            if !exists || !lands {
                found.push(format!("{}: `{link}` leads nowhere ({path})", page.path));
            }
        }
    }
    found
}

/// Checks that every module that the code map of a member's README names is in its sources.
pub(crate) fn code_map(tree: &Tree) -> Vec<String> {
    let pages = tree.pages().filter_map(|page| Some((page, page.path.strip_suffix("/README.md")?)));
    pages.flat_map(|(page, member)| unknown_modules(tree, page, member)).collect()
}

fn unknown_modules(tree: &Tree, page: &File, member: &str) -> Vec<String> {
    let source = format!("{member}/src/");
    let is_there = |name: &str| {
        let (file, directory) = (format!("/{name}.rs"), format!("/{name}/"));
        tree.below(&source).any(|f| f.path.ends_with(&file) || f.path.contains(&directory))
    };
    let map = page.text.split("\n## Code map\n").nth(1).unwrap_or_default();
    let map = map.split("\n## ").next().unwrap_or_default();
    let rows = map.lines().filter(|line| line.starts_with("| `"));
    let names = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
    let modules = names.flat_map(|name| name.split("::")).filter(|name| !is_there(name));
    modules.map(|name| format!("{}: no module `{name}` in {source}", page.path)).collect()
}

fn targets(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}

/// Resolves `link` from the directory of `page`.
fn join(page: &str, link: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Returns whether a heading of `page` has the anchor that GitHub makes of it.
fn has_heading(page: &File, anchor: &str) -> bool {
    let headings = page.text.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| slug(line.trim_start_matches('#').trim())).any(|slug| slug == anchor)
}

fn slug(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Checks that the program understands every `boxproof …` and `cargo run … -- …` of every page.
pub(crate) fn commands(tree: &Tree) -> Vec<String> {
    let parse = |(page, line): (String, String)| {
        let why = parse(&line).err()?;
        Some(format!("{page}: `{line}` does not parse: {why}"))
    };
    all_commands(tree).into_iter().filter_map(parse).collect()
}

/// Checks that each verb's help has an example, and that the program understands it.
pub(crate) fn help_examples(_: &Tree) -> Vec<String> {
    let program = Cli::command();
    let of_verb = |verb: &clap::Command| -> Vec<String> {
        let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
        // A remark stands apart.
        let bare = |line| str::trim(line).split("   ").next().unwrap_or_default();
        let lines = help.lines().map(bare).filter(|line| line.starts_with("boxproof "));
        let own = format!("boxproof {}", verb.get_name());
        let about = |line: &str| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
        let faults =
            lines.clone().filter_map(|line| Some(format!("`{line}`: {}", parse(line).err()?)));
        let none = !lines.clone().any(|line| about(line) == own);
        faults.chain(none.then(|| format!("the help of `{own}` has no example"))).collect()
    };
    program.get_subcommands().flat_map(of_verb).collect()
}

/// Lists every command of every page, with its page.
pub(crate) fn all_commands(tree: &Tree) -> Vec<(String, String)> {
    let ours = |line: &str| line.starts_with("boxproof ") || line.starts_with("cargo run ");
    let of_page = |page: &File| -> Vec<(String, String)> {
        let lines = code_lines(&page.text).into_iter().filter(|line| ours(line));
        lines.map(|line| (page.path.clone(), line.to_owned())).collect()
    };
    tree.pages().flat_map(of_page).collect()
}

/// Lines of code blocks, prompts taken off, and code in running text.
fn code_lines(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if fenced {
            found.push(line.trim().trim_start_matches("$ "));
        } else {
            found.extend(line.split('`').skip(1).step_by(2));
        }
    }
    found
}

fn parse(line: &str) -> Result<(), String> {
    // Where something is left out, there is nothing to parse.
    if line.contains('…') {
        return Ok(());
    }
    let words = shell_words(line)?;
    let args: Vec<&str> = match words[0].as_str() {
        "cargo" => {
            words.iter().skip_while(|word| *word != "--").skip(1).map(String::as_str).collect()
        }
        _ => words[1..].iter().map(String::as_str).collect(),
    };
    // The other programs of the multi-call binary have command lines of their own.
    if matches!(args.first(), Some(&("reference" | "probe"))) {
        return Ok(());
    }
    match Cli::try_parse_from(std::iter::once("boxproof").chain(args)) {
        Err(error) if error.use_stderr() => Err(error.to_string()),
        _ => Ok(()),
    }
}

/// The words of a simple command, up to a comment, a pipe or a redirection.
fn shell_words(line: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for c in line.chars().chain([' ']) {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (Some(_), c) => word.push(c),
            (None, '\'' | '"') => quote = Some(c),
            (None, ' ') if ["|", ">", ">>", "&&", "||", ";", "#", "2>"].contains(&&*word) => {
                return Ok(words);
            }
            (None, ' ') if word.is_empty() => {}
            (None, ' ') => words.push(std::mem::take(&mut word)),
            (None, c) => word.push(c),
        }
    }
    if quote.is_some() { Err("a quote is not closed".to_owned()) } else { Ok(words) }
}

/// Checks that every `-p NAME` of a cargo command names a package of ours.
pub(crate) fn packages(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for page in tree.pages() {
        for line in code_lines(&page.text).into_iter().filter(|line| line.contains("cargo ")) {
            let named = line.split(" -p ").skip(1).filter_map(|rest| rest.split(' ').next());
            let unknown =
                named.filter(|name| *name != "CRATE" && !crates::packages().any(|p| p == *name));
            found.extend(unknown.map(|name| format!("{}: no package {name}: {line}", page.path)));
        }
    }
    found
}
