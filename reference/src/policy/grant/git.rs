//! One command of git: its options before the subcommand, the subcommand, and its arguments.

use super::classify::{CommandClass, LineContext};
use super::git_config;
use super::git_paths;
use super::options::{OptionError, OptionTable, ParsedArguments};
use super::subcommands::{DESTROYS, SETS, STRATEGIES, SUBCOMMANDS, SubcommandKind};
use super::word::ShellWord;

/// Options before the subcommand that affect nothing but the output.
const SHOWN: [&str; 7] = [
    "--no-pager",
    "-P",
    "--no-optional-locks",
    "--no-replace-objects",
    "--literal-pathspecs",
    "--no-advice",
    "--icase-pathspecs",
];
/// Options with which git does nothing else.
const ALONE: [&str; 4] = ["--version", "-v", "--help", "-h"];

/// Judges the command `git words`.
pub(super) fn judge(context: &LineContext<'_>, words: &[ShellWord]) -> CommandClass {
    let refused = |why: String| CommandClass::Refused(why, suspected(words));
    let (name, rest) = match before(context, words) {
        Ok(Some(found)) => found,
        Ok(None) => return CommandClass::Harmless,
        Err(why) => return refused(why),
    };
    let Some((name, kind)) = SUBCOMMANDS.iter().find(|(known, _)| *known == name) else {
        if fault!("grants.unknown-subcommands") {
            return CommandClass::Harmless;
        }
        return refused(policy_alone(name));
    };
    match subcommand(name, *kind, rest) {
        Ok(part) => part,
        Err(why) => refused(why),
    }
}

/// Returns the subcommand and its arguments; none where git only prints information about itself.
fn before<'a>(
    context: &LineContext<'_>,
    words: &'a [ShellWord],
) -> Result<Option<(&'a str, &'a [ShellWord])>, String> {
    let mut rest = words;
    while let Some((word, after)) = rest.split_first() {
        let Some(text) = word.known() else {
            return Err("which subcommand of git is run is not known".to_owned());
        };
        rest = match text {
            text if SHOWN.contains(&text) => after,
            text if ALONE.contains(&text) => return Ok(None),
            "-C" => directory(context, after)?,
            "-c" => setting(after)?,
            text if text.starts_with('-') => {
                let name = text.split('=').next().unwrap_or(text);
                return Err(format!("git {name} can lead to another repository or program"));
            }
            name => return Ok(Some((name, after))),
        };
    }
    Ok(None)
}

fn directory<'a>(
    context: &LineContext<'_>,
    after: &'a [ShellWord],
) -> Result<&'a [ShellWord], String> {
    match after.split_first() {
        Some((directory, rest))
            if directory.top
                || fault!("grants.directories")
                || directory.known().is_some_and(|one| git_paths::enter(context, one)) =>
        {
            Ok(rest)
        }
        _ => Err("git -C leads out of the workspace, or to an unknown place".to_owned()),
    }
}

fn setting(after: &[ShellWord]) -> Result<&[ShellWord], String> {
    match after.split_first() {
        Some((setting, rest)) => match setting.known() {
            Some(text) if git_config::is_kind(text) => Ok(rest),
            _ => Err(format!("git -c {} is not known to be harmless", setting.text)),
        },
        None => Err("git -c has no setting".to_owned()),
    }
}

fn subcommand(
    name: &'static str,
    kind: SubcommandKind,
    words: &[ShellWord],
) -> Result<CommandClass, String> {
    named(name, words)?;
    match kind {
        SubcommandKind::Granted => Ok(CommandClass::Changes(name)),
        SubcommandKind::GrantedWith(options) => {
            let given = read(name, options, words)?;
            if matches!(name, "merge" | "pull" | "rebase" | "cherry-pick" | "revert") {
                strategies(&given)?;
            }
            if matches!(name, "fetch" | "pull") {
                fetches(name, &given)?;
            }
            Ok(CommandClass::Changes(name))
        }
        SubcommandKind::GrantedAs { verbs, options, looks: looking } => {
            let verb =
                words.iter().find(|word| word.is_operand()).map_or(Some(""), ShellWord::known);
            match verb {
                Some(verb) if looking.contains(&verb) => return looks(name, words),
                Some(verb) if verbs.contains(&verb) => {}
                Some(verb) => return Err(format!("git {name} {verb} is not known to be harmless")),
                None => return Err(format!("what git {name} is given is not known")),
            }
            read(name, options, words)?;
            Ok(CommandClass::Changes(name))
        }
        SubcommandKind::Looks => looks(name, words),
        SubcommandKind::Beside(options) => {
            let given = read(name, options, words)?;
            match name {
                "push" => pushes(&given).map(|()| CommandClass::Harmless),
                "clean" => cleans(words).map(|()| CommandClass::Harmless),
                _ => Ok(CommandClass::Harmless),
            }
        }
        SubcommandKind::BesideAs(verbs) => {
            let verb = words.iter().find(|word| !is_verbose(word));
            match verb.map_or(Some(""), ShellWord::known) {
                Some(verb) if verbs.contains(&verb) => looks(name, words),
                _ => Err(policy_alone(name)),
            }
        }
        SubcommandKind::Never(why) => Err(format!("git {name}: {why}")),
    }
}

fn policy_alone(name: &str) -> String {
    format!("git {name} takes git_metadata_write, which it gets from the policy alone")
}

fn read(name: &str, options: OptionTable, words: &[ShellWord]) -> Result<ParsedArguments, String> {
    options.read(words).map_err(|odd: OptionError| odd.because(&format!("git {name}")))
}

/// Refuses forms that are recognized by their option, with the reason.
fn named(name: &str, words: &[ShellWord]) -> Result<(), String> {
    let before = words.iter().take_while(|word| word.known() != Some("--"));
    let options: Vec<&str> = before.map(|word| word.text.as_str()).collect();
    let given = |option: &str| options.iter().any(|one| one.split('=').next() == Some(option));
    let find = |forms: &'static [(&str, &'static str)]| {
        forms.iter().find(|(sub, option)| *sub == name && given(option)).map(|(_, option)| *option)
    };
    if let Some(option) = find(DESTROYS).filter(|_| !fault!("grants.destroying-options")) {
        return Err(format!("git {name} {option} throws work away"));
    }
    match find(SETS).filter(|_| !fault!("grants.configuring-options")) {
        Some(option) => {
            Err(format!("git {name} {option} writes configuration, which takes git_config_write"))
        }
        None => Ok(()),
    }
}

/// Judges a read-only subcommand: its options can still name a file to write or a program to run.
fn looks(name: &str, words: &[ShellWord]) -> Result<CommandClass, String> {
    let odd = |word: &&ShellWord| {
        let text = word.text.as_str();
        let pager = name == "grep" && (text.starts_with("--op") || is_cluster_with(text, 'O'));
        let runs = text == "--ext" || text.starts_with("--ext-");
        text.starts_with("--ou") || runs || pager
    };
    // An option of which only the value is unknown is still that option.
    let known = |word: &&ShellWord| {
        word.known().is_some() || word.is_operand() || word.is_one() && word.text.contains('=')
    };
    let before: Vec<&ShellWord> =
        words.iter().take_while(|word| word.known() != Some("--")).collect();
    let looks_alone = fault!("grants.looking-options");
    if let Some(word) = before.iter().find(|word| odd(word) && !looks_alone) {
        return Err(format!("git {name} {} can write or run something", word.text));
    }
    match before.iter().all(known) {
        true => Ok(CommandClass::Harmless),
        false => Err(format!("what git {name} is given is not known")),
    }
}

fn is_cluster_with(text: &str, letter: char) -> bool {
    text.starts_with('-') && !text.starts_with("--") && text.contains(letter)
}

fn is_verbose(word: &ShellWord) -> bool {
    matches!(word.known(), Some("-v" | "--verbose" | "-q" | "--quiet"))
}

/// A strategy that git does not have itself is a program.
fn strategies(given: &ParsedArguments) -> Result<(), String> {
    let named = given.values.iter().filter(|(name, _)| matches!(name.as_str(), "s" | "strategy"));
    let known = |value: &Option<String>| value.as_deref().is_some_and(|v| STRATEGIES.contains(&v));
    let known = |value: &Option<String>| known(value) || fault!("grants.strategies");
    match named.into_iter().find(|(_, value)| !known(value)) {
        Some(_) => Err("a strategy of merging that git does not have is a program".to_owned()),
        None => Ok(()),
    }
}

/// Remotes that are seldom directories. Another name may be one of the workspace: git runs what is
/// set up in that repository, with the grant.
const REMOTES: [&str; 2] = ["origin", "upstream"];

fn is_remote(word: &ShellWord) -> bool {
    word.known().is_some_and(|text| REMOTES.contains(&text))
}

/// Checks that plain refs of a remote are given: one with a colon changes a branch of that name.
fn fetches(name: &str, given: &ParsedArguments) -> Result<(), String> {
    let plain = |word: &ShellWord| {
        let word_like = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
        word.known().is_some_and(|text| text.chars().all(word_like))
    };
    let all = given.operands.iter().all(plain) && given.operands.first().is_none_or(is_remote);
    match all || fault!("grants.fetches") {
        true => Ok(()),
        false => {
            Err(format!("git {name} changes a branch by name, or comes from somewhere unknown"))
        }
    }
}

/// Checks that only a plain name of a remote and plain refs are given; `+` forces, `:ref` removes.
fn pushes(given: &ParsedArguments) -> Result<(), String> {
    let plain = |word: &ShellWord| {
        let word_like = |c: char| c.is_ascii_alphanumeric() || "-_./:@^~".contains(c);
        word.known().is_some_and(|text| !text.starts_with(':') && text.chars().all(word_like))
    };
    let all = given.operands.iter().all(plain) && given.operands.first().is_none_or(is_remote);
    if all || fault!("grants.pushes") {
        Ok(())
    } else {
        Err("git push forces, removes or goes somewhere unknown".to_owned())
    }
}

/// Checks that the command only lists what it would remove.
fn cleans(words: &[ShellWord]) -> Result<(), String> {
    let dry = |word: &ShellWord| {
        word.known() == Some("--dry-run") || is_cluster_with(&word.text, 'n') && word.is_one()
    };
    match words.iter().any(dry) || fault!("grants.cleaning") {
        true => Ok(()),
        false => Err("git clean throws work away".to_owned()),
    }
}

/// The subcommand that the words seem to have, where they are not understood.
fn suspected(words: &[ShellWord]) -> Option<&'static str> {
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match word.text.as_str() {
            "-C" | "-c" => _ = rest.next(),
            text if text.starts_with('-') => {}
            text => {
                let found = SUBCOMMANDS.iter().find(|(name, _)| *name == text)?;
                let changes =
                    matches!(found.1, SubcommandKind::Granted | SubcommandKind::GrantedWith(_));
                return changes.then_some(found.0);
            }
        }
    }
    None
}
