//! A shell line as a tree: lists of pipelines, with nested commands ([`parse`]). Parses only as
//! much of the shell grammar as finding the command behind the exit code requires. Pure.

use super::tokens::{self, ShellToken};

/// The maximum depth of nested commands that are parsed.
const DEEPEST: usize = 6;
/// The number of bytes of a line or script that are parsed.
pub(super) const LONGEST: usize = 64 * 1024;

/// The operator that follows a command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum CommandConnector {
    /// The next one is run however it ended.
    #[default]
    Then,
    /// So is it, while this one runs.
    Background,
    And,
    Or,
    Pipe,
}

/// One program with its arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ScriptCommand {
    /// The words without quotes; expansions stay as written.
    pub(super) words: Vec<String>,
    /// Names that are assigned before it.
    pub(super) sets: Vec<String>,
    /// The values that these are given.
    pub(super) values: Vec<String>,
    /// Files that it is redirected to or from.
    pub(super) files: Vec<String>,
    /// Descriptors that its redirections open.
    pub(super) opens: Vec<String>,
    /// Descriptors that its redirections copy.
    pub(super) copies: Vec<String>,
    /// The text of a here-document.
    pub(super) document: Option<String>,
    /// A word, or the value of an assignment, has the status of the command before it.
    pub(super) takes_status: bool,
    /// The place in a pipeline of the command whose status it has: that of `PIPESTATUS[0]` is 0.
    pub(super) place: Option<usize>,
    /// Its stdout is redirected to stderr.
    pub(super) to_stderr: bool,
    /// Its own complaints are not seen.
    pub(super) hushed: bool,
    /// Lines of command substitutions in its words.
    pub(super) inner: Vec<ShellScript>,
}

impl ScriptCommand {
    /// The script that it has a shell run: its first operand, or itself.
    fn file_of_script(&self) -> Option<&str> {
        let [program, words @ ..] = &self.words[..] else { return None };
        match ["sh", "dash", "bash"].contains(&self.program()) {
            true => words.first().map(String::as_str).filter(|word| !word.starts_with('-')),
            false => Some(program.as_str()).filter(|program| program.ends_with(".sh")),
        }
    }

    /// The program's name.
    pub(super) fn program(&self) -> &str {
        self.words.first().map_or("", |word| word.rsplit('/').next().unwrap_or(word))
    }
}

/// One part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ScriptNode {
    Step(ScriptCommand),
    /// Brackets, or the script of another shell.
    Group(ShellScript),
    /// `if`, `case` and loops: the conditions, and the bodies.
    Choice {
        asked: Vec<ShellScript>,
        done: Vec<ShellScript>,
    },
    /// A function is made, and nothing run.
    Function(String, ShellScript),
}

/// Commands and the operator behind each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ShellScript {
    pub(super) parts: Vec<(ScriptNode, CommandConnector)>,
    /// The first failure ends it.
    pub(super) errexit: bool,
    /// A pipeline fails if any of its commands does.
    pub(super) pipefail: bool,
}

/// Returns the script of `argv`, which is parsed as a line if it gives one to a shell.
pub(super) fn of_argv(argv: &[String]) -> ShellScript {
    let step = ScriptCommand { words: argv.to_vec(), ..ScriptCommand::default() };
    ShellScript {
        parts: vec![(unfolded(step, 0), CommandConnector::Then)],
        ..ShellScript::default()
    }
}

/// Puts the text of each script that a shell is given as a file in the place of the shell; `text` reads it.
/// Returns whether `script` ends with such a file.
pub(super) fn read_files(script: &mut ShellScript, text: &dyn Fn(&str) -> Option<String>) -> bool {
    let mut is_file = false;
    for (node, _) in &mut script.parts {
        is_file = match node {
            ScriptNode::Step(step) => match step.file_of_script().and_then(text) {
                Some(found) => {
                    *node = ScriptNode::Group(parse(&found));
                    true
                }
                None => false,
            },
            ScriptNode::Group(script) => read_files(script, text),
            ScriptNode::Choice { asked, done } => {
                for script in asked.iter_mut().chain(done) {
                    read_files(script, text);
                }
                false
            }
            ScriptNode::Function(_, body) => {
                read_files(body, text);
                false
            }
        };
    }
    is_file
}

/// Parses `line`.
pub(super) fn parse(line: &str) -> ShellScript {
    nested(line, 0)
}

fn nested(line: &str, depth: usize) -> ShellScript {
    let mut end = line.len().min(LONGEST);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    let tokens = tokens::tokenize(&line[..end]);
    let mut reader = ScriptReader { tokens: &tokens, at: 0, depth };
    let mut script = reader.list(&[]);
    while reader.at < tokens.len() {
        // An end without a beginning.
        reader.at += 1;
        script.parts.extend(reader.list(&[]).parts);
    }
    let sets = |option: &str, letter: char| {
        script.parts.iter().any(|(node, _)| match node {
            ScriptNode::Step(step) if step.program() == "set" => step.words.iter().any(|word| {
                word == option
                    || word.starts_with('-') && !word.starts_with("--") && word.contains(letter)
            }),
            _ => false,
        })
    };
    // `trap 'exit 7' ERR` ends it as `set -e` does.
    let traps = script.parts.iter().any(|(node, _)| match node {
        ScriptNode::Step(step) if step.program() == "trap" => match &step.words[1..] {
            [orders, signals @ ..] => {
                orders.contains("exit") && signals.iter().any(|it| it == "ERR")
            }
            [] => false,
        },
        _ => false,
    });
    let (errexit, pipefail) = (traps || sets("errexit", 'e'), sets("pipefail", '\0'));
    ShellScript { errexit, pipefail, ..script }
}

struct ScriptReader<'a> {
    tokens: &'a [ShellToken],
    at: usize,
    depth: usize,
}

impl ScriptReader<'_> {
    fn keyword(&self) -> Option<&str> {
        match self.tokens.get(self.at) {
            Some(ShellToken::Word { text, bare: true, .. }) => Some(text),
            Some(ShellToken::Open) => Some("("),
            Some(ShellToken::Close) => Some(")"),
            _ => None,
        }
    }

    /// Reads commands up to one of `ends`, which is not consumed, or to an end without a beginning.
    fn list(&mut self, ends: &[&str]) -> ShellScript {
        let mut script = ShellScript::default();
        // The pipeline that is being read is behind a `!`.
        let mut negated = false;
        while let Some(token) = self.tokens.get(self.at) {
            let stops = ["then", "else", "elif", "fi", "do", "done", "esac", "}", ")", ";;"];
            if self.keyword().is_some_and(|word| ends.contains(&word) || stops.contains(&word)) {
                break;
            }
            match token {
                _ if self.keyword() == Some("!") => {
                    negated = !negated;
                    self.at += 1;
                }
                ShellToken::Joint(joint) => {
                    if negated && *joint != CommandConnector::Pipe {
                        negate(&mut script);
                        negated = false;
                    }
                    if let Some(last) =
                        script.parts.last_mut().filter(|last| last.1 == CommandConnector::Then)
                    {
                        last.1 = *joint;
                    }
                    self.at += 1;
                }
                _ => {
                    let node = self.command();
                    script.parts.push((node, CommandConnector::Then));
                }
            }
        }
        if negated {
            negate(&mut script);
        }
        script
    }

    fn command(&mut self) -> ScriptNode {
        let word = self.keyword().unwrap_or_default().to_owned();
        match word.as_str() {
            "{" => self.enclosed("}"),
            "(" => self.enclosed(")"),
            "if" => self.choice("fi"),
            "while" | "until" => self.choice("done"),
            "for" | "select" => {
                self.skip_to("do");
                self.choice("done")
            }
            "case" => {
                let begin = self.at;
                self.skip_to("in");
                let subject = case_of(&self.tokens[begin..self.at]);
                let mut choice = self.choice("esac");
                if let ScriptNode::Choice { asked, .. } = &mut choice {
                    asked.extend(subject);
                }
                choice
            }
            _ => self.step(),
        }
    }

    fn enclosed(&mut self, end: &'static str) -> ScriptNode {
        self.at += 1;
        let script = self.list(&[end]);
        self.at += 1;
        let (mut step, to) = (ScriptCommand::default(), self.at);
        self.redirections(&mut step);
        debug_assert!(self.at >= to);
        ScriptNode::Group(script)
    }

    /// Reads `if …; then …; else …; fi` and similar; the first word is skipped.
    fn choice(&mut self, end: &'static str) -> ScriptNode {
        let (mut asked, mut done) = (Vec::new(), Vec::new());
        let mut asks = !matches!(self.keyword(), Some("do" | "in"));
        self.at += 1;
        loop {
            let script = self.list(&[end]);
            if asks {
                asked.push(script);
            } else {
                done.push(script);
            }
            match self.keyword() {
                Some("then" | "else" | "do" | ";;" | ")") => asks = false,
                Some("elif") => asks = true,
                _ => break,
            }
            self.at += 1;
        }
        self.at += 1;
        let mut step = ScriptCommand::default();
        self.redirections(&mut step);
        ScriptNode::Choice { asked, done }
    }

    fn skip_to(&mut self, word: &str) {
        while self.at < self.tokens.len() && self.keyword() != Some(word) {
            self.at += 1;
        }
    }

    fn redirections(&mut self, step: &mut ScriptCommand) {
        while let Some(ShellToken::Redirect(to)) = self.tokens.get(self.at) {
            step.to_stderr |= to.is_copy_of_stderr();
            if self.depth < DEEPEST {
                step.inner.extend(to.inner.iter().map(|line| nested(line, self.depth + 1)));
            }
            step.hushed |= to.of_stderr && to.file.as_deref() != Some("&1");
            let copied = to.file.as_ref().and_then(|file| file.strip_prefix('&'));
            match copied {
                Some(_) if to.document.is_some() => {}
                Some(copied) => step.copies.push(copied.to_owned()),
                None => {
                    step.files.extend(to.file.clone().filter(|file| !file.is_empty()));
                    step.opens.extend(to.number.clone());
                }
            }
            step.document = to.document.clone().or(step.document.take());
            self.at += 1;
        }
    }

    fn step(&mut self) -> ScriptNode {
        let mut step = ScriptCommand::default();
        loop {
            self.redirections(&mut step);
            match self.tokens.get(self.at) {
                Some(ShellToken::Word { text, inner, .. }) => {
                    if self.depth < DEEPEST {
                        step.inner.extend(inner.iter().map(|line| nested(line, self.depth + 1)));
                    }
                    let place = pipeline_place(text);
                    step.takes_status |= text.contains("$?") || place.is_some();
                    step.place = place.or(step.place);
                    let declares = DECLARING.contains(&step.program());
                    let set = assigned(text).filter(|_| step.words.is_empty() || declares);
                    if let Some((name, value)) = set {
                        step.sets.push(name.to_owned());
                        step.values.push(value.to_owned());
                    }
                    if set.is_none() || declares {
                        step.words.push(text.clone());
                    }
                    self.at += 1;
                }
                Some(ShellToken::Open) if step.words.len() == 1 => {
                    // `name() { …; }`
                    self.at += 2;
                    while self.tokens.get(self.at)
                        == Some(&ShellToken::Joint(CommandConnector::Then))
                    {
                        self.at += 1;
                    }
                    let body = self.command();
                    let body = ShellScript {
                        parts: vec![(body, CommandConnector::Then)],
                        ..ShellScript::default()
                    };
                    return ScriptNode::Function(step.words.remove(0), body);
                }
                // `name=(…)`, an array.
                Some(ShellToken::Open) if step.words.is_empty() && !step.sets.is_empty() => {
                    self.at += 1;
                    while let Some(ShellToken::Word { text, .. }) = self.tokens.get(self.at) {
                        step.values.push(text.clone());
                        self.at += 1;
                    }
                    self.at += usize::from(self.tokens.get(self.at) == Some(&ShellToken::Close));
                }
                Some(ShellToken::Open) => self.at += 1,
                _ => break,
            }
        }
        unfolded(step, self.depth)
    }
}

/// The name of the command that stands for the word which a `case` looks at.
pub(super) const CASE: &str = "case";

/// Returns what a `case` with these `tokens` looks at, if that is a variable.
fn case_of(tokens: &[ShellToken]) -> Option<ShellScript> {
    let words = tokens.iter().filter_map(|token| match token {
        ShellToken::Word { text, .. } => Some(text.clone()),
        _ => None,
    });
    let words: Vec<String> = words.collect();
    let takes_status = words.iter().any(|word| word.contains("$?"));
    let step = ScriptCommand { words, takes_status, ..ScriptCommand::default() };
    let is_variable = step.words.iter().any(|word| word.contains('$'));
    is_variable.then(|| ShellScript {
        parts: vec![(ScriptNode::Step(step), CommandConnector::Then)],
        ..ShellScript::default()
    })
}

/// The command that stands for a pipeline behind a `!` which failed: it succeeds in its place.
pub(super) const NEGATION: &str = "!";

/// Notes that the last pipeline of `script` is behind a `!`.
fn negate(script: &mut ShellScript) {
    let Some((_, joint)) = script.parts.last_mut() else { return };
    *joint = CommandConnector::Or;
    let words = vec![NEGATION.to_owned()];
    let step = ScriptNode::Step(ScriptCommand { words, ..ScriptCommand::default() });
    script.parts.push((step, CommandConnector::Then));
}

/// The place that `word` takes of `PIPESTATUS`.
fn pipeline_place(word: &str) -> Option<usize> {
    let (_, rest) = word.split_once("PIPESTATUS")?;
    let index = rest.strip_prefix('[').and_then(|rest| rest.split(']').next());
    index.map_or(Some(0), |index| index.parse().ok())
}

/// The name that `word` assigns, and the value.
fn assigned(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name);
    let fits = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    fits.then_some((name, value))
}

/// Commands of a shell that may give the variables that they declare a value.
const DECLARING: [&str; 5] = ["export", "local", "readonly", "declare", "typeset"];

/// Programs that run the one that is named behind them.
const WRAPPERS: [&str; 15] = [
    "env", "sudo", "time", "nice", "nohup", "command", "exec", "builtin", "timeout", "xargs",
    "stdbuf", "setsid", "doas", "eval", "ionice",
];
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "fish"];

/// Removes wrappers from `step`, and replaces a shell by its script.
fn unfolded(mut step: ScriptCommand, depth: usize) -> ScriptNode {
    while WRAPPERS.contains(&step.program()) && step.words.len() > 1 {
        let wrapper = step.words.remove(0);
        while step.words.len() > 1 && step.words[0].starts_with('-') {
            step.words.remove(0);
        }
        while step.words.len() > 1 && assigned(&step.words[0]).is_some() {
            step.words.remove(0);
        }
        if wrapper == "timeout" && step.words.len() > 1 {
            step.words.remove(0);
        }
        if wrapper == "eval" && depth < DEEPEST {
            return ScriptNode::Group(nested(&step.words.join(" "), depth + 1));
        }
    }
    if step.program() == "trap" && depth < DEEPEST {
        let orders = step.words.get(1).filter(|word| !word.starts_with('-'));
        step.inner.extend(orders.map(|orders| nested(orders, depth + 1)));
    }
    if SHELLS.contains(&step.program()) && depth < DEEPEST {
        let reads = step.words.iter().skip(1).all(|word| word.starts_with('-') && word != "-c");
        if let Some(text) = step.document.take().filter(|_| reads) {
            let mut script = nested(&text, depth + 1);
            script.errexit |= step.words.iter().skip(1).any(|word| word.contains('e'));
            return ScriptNode::Group(script);
        }
        let is_c =
            |word: &String| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
        let at = step.words.iter().position(is_c);
        let script = at.and_then(|at| Some((at, step.words.get(at + 1)?)));
        if let Some((at, text)) = script {
            let mut script = nested(text, depth + 1);
            script.errexit |= step.words[at].contains('e');
            script.errexit |= step.words[..at].iter().any(|word| word == "-e");
            script.pipefail |= step.words[..at].iter().any(|word| word == "pipefail");
            return ScriptNode::Group(script);
        }
    }
    ScriptNode::Step(step)
}
