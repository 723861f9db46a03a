//! The commands of a line that can have made its exit code ([`deciders`]), and the commands whose
//! output these depend on. Pure.

mod feeders;

pub(super) use feeders::fetched_file;

use super::script::{CASE, CommandConnector, NEGATION, ScriptCommand, ScriptNode, ShellScript};

/// Commands that can be why a line ended as it did.
#[derive(Debug, Default)]
pub(super) struct DecidingCommands<'a> {
    /// The exit code is theirs.
    pub(super) own: Vec<&'a ScriptCommand>,
    /// Commands that write, set or make the input of those in `own`.
    pub(super) feeders: Vec<&'a ScriptCommand>,
}

/// The exit status with which a script is ended explicitly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExitAction {
    /// The given status.
    With(i32),
    /// A failure of a function, of which its caller may make another.
    Failure,
    /// The status of the command before, or an unknown one.
    Unknown,
}

struct DeciderSearch<'a> {
    code: i32,
    functions: Vec<(&'a str, &'a ShellScript)>,
    found: DecidingCommands<'a>,
    /// The number of functions that are being expanded.
    depth: usize,
}

/// Programs that change files, and give nothing to the next command of a pipeline.
const MUTE: [&str; 9] = ["cp", "mv", "rm", "ln", "touch", "mkdir", "rmdir", "chmod", "install"];

/// The maximum depth of nested functions that are expanded.
const DEEPEST: usize = 8;

/// Returns the commands of `script` that can have made its exit code `code`.
pub(super) fn deciders(script: &ShellScript, code: i32) -> DecidingCommands<'_> {
    let mut course = DeciderSearch::new(script, code);
    course.script(script);
    with_feeders(script, course.found)
}

/// Returns the commands of `list`, a part of `script`, whose status it has.
fn own_of<'a>(
    list: &'a [(ScriptNode, CommandConnector)],
    script: &'a ShellScript,
) -> Vec<&'a ScriptCommand> {
    let mut course = DeciderSearch::new(script, 0);
    course.list(list, script.pipefail);
    course.found.own
}

/// Returns `found` without commands that are in it twice, and with those of `script` that made their input.
pub(super) fn with_feeders<'a>(
    script: &'a ShellScript,
    mut found: DecidingCommands<'a>,
) -> DecidingCommands<'a> {
    let mut all = Vec::new();
    collect(script, &mut all);
    let mut seen: Vec<*const ScriptCommand> = Vec::new();
    let mut is_new = |step: &&ScriptCommand| {
        let step: *const ScriptCommand = *step;
        let new = !seen.contains(&step);
        seen.push(step);
        new
    };
    found.own.retain(&mut is_new);
    found.feeders.retain(&mut is_new);
    feeders::feed(&mut found, script, &all);
    found.feeders.retain(|step| step.program() != CASE);
    found
}

/// Commands that end a shell with a status of their own, test something, or run what is not seen.
const OTHERWISE: [&str; 18] = [
    "exit", "return", "trap", "wait", "eval", "source", ".", "test", "[", "[[", "((", "false", "!",
    "sh", "bash", "dash", "zsh", "ksh",
];

/// Returns whether the exit status of `script` is that of a command as it was started: nothing in it makes
/// another of it.
pub(super) fn passes_status(script: &ShellScript) -> bool {
    let mut all = Vec::new();
    collect(script, &mut all);
    let is_plain = |step: &&ScriptCommand| {
        !OTHERWISE.contains(&step.program()) && !step.words.is_empty() && step.inner.is_empty()
    };
    !all.is_empty() && all.iter().all(is_plain) && !has_pipe(script)
}

/// Returns whether one command of `script` feeds another, which then fails for it with a status of its own.
fn has_pipe(script: &ShellScript) -> bool {
    script.parts.iter().any(|(node, joint)| {
        *joint == CommandConnector::Pipe
            || match node {
                ScriptNode::Group(script) | ScriptNode::Function(_, script) => has_pipe(script),
                ScriptNode::Choice { asked, done } => asked.iter().chain(done).any(has_pipe),
                ScriptNode::Step(_) => false,
            }
    })
}

/// Every command of `script`, in order, those in words of others first.
pub(super) fn collect<'a>(script: &'a ShellScript, found: &mut Vec<&'a ScriptCommand>) {
    collect_parts(&script.parts, found);
}

fn collect_parts<'a>(
    parts: &'a [(ScriptNode, CommandConnector)],
    found: &mut Vec<&'a ScriptCommand>,
) {
    for (node, _) in parts {
        match node {
            ScriptNode::Step(step) => {
                step.inner.iter().for_each(|line| collect(line, found));
                found.push(step);
            }
            ScriptNode::Group(script) | ScriptNode::Function(_, script) => collect(script, found),
            ScriptNode::Choice { asked, done } => {
                asked.iter().chain(done).for_each(|script| collect(script, found));
            }
        }
    }
}

fn collect_functions<'a>(script: &'a ShellScript, found: &mut Vec<(&'a str, &'a ShellScript)>) {
    for (node, _) in &script.parts {
        match node {
            ScriptNode::Function(name, body) => found.push((name, body)),
            ScriptNode::Group(script) => collect_functions(script, found),
            _ => {}
        }
    }
}

impl<'a> DeciderSearch<'a> {
    fn new(script: &'a ShellScript, code: i32) -> Self {
        let mut functions = Vec::new();
        collect_functions(script, &mut functions);
        Self { code, functions, found: DecidingCommands::default(), depth: 0 }
    }

    fn script(&mut self, script: &'a ShellScript) {
        let mut lists: Vec<&[(ScriptNode, CommandConnector)]> = Vec::new();
        let mut begin = 0;
        for (at, (node, joint)) in script.parts.iter().enumerate() {
            if matches!(node, ScriptNode::Function(..)) {
                begin = at + 1;
            } else if matches!(joint, CommandConnector::Then | CommandConnector::Background) {
                lists.push(&script.parts[begin..=at]);
                begin = at + 1;
            }
        }
        if begin < script.parts.len() {
            lists.push(&script.parts[begin..]);
        }
        let in_background = |list: &[(ScriptNode, CommandConnector)]| {
            list.last().is_some_and(|(_, joint)| *joint == CommandConnector::Background)
        };
        if !lists.iter().any(|list| waits(list)) {
            lists.retain(|list| !in_background(list));
        }
        let Some((last, before)) = lists.split_last() else { return };
        let all = before;
        let before = match last {
            [(node, _)] => kept_for(alone_in(node), before),
            _ => before.to_vec(),
        };
        if let [(node, _)] = last
            && let ScriptNode::Step(exit) = alone_in(node)
            && is_counted(exit, script)
        {
            self.found.own.push(exit);
            return;
        }
        let is_exit = matches!(last, [(node, _)] if exit_of(node).is_some());
        if waits(last) || is_exit && before.iter().any(|list| waits(list)) {
            all.iter().filter(|list| in_background(list)).for_each(|list| self.list(list, false));
        }
        // One that ends it with this very code is why.
        let ending: Vec<_> = before.iter().filter(|list| self.ends_in(list)).copied().collect();
        let plain = |list: &[(ScriptNode, CommandConnector)]| matches!(list, [(node, _)] if exit_of(alone_in(node)).is_some());
        if script.errexit {
            lists.iter().for_each(|list| self.list(list, script.pipefail));
        } else if succeeds_regardless(last) {
            // What it ends is not why.
        } else if plain(last) {
            before.iter().for_each(|list| self.list(list, script.pipefail));
        } else {
            ending.iter().for_each(|list| self.list(list, script.pipefail));
            self.list(last, script.pipefail);
        }
    }

    /// Returns whether a part of `list` ends the script with the exit code of the run.
    fn ends_in(&self, list: &[(ScriptNode, CommandConnector)]) -> bool {
        list.iter().any(|(node, _)| self.ends(node))
    }

    fn ends(&self, node: &ScriptNode) -> bool {
        match node {
            ScriptNode::Step(_) => exit_of(node).is_some_and(|exit| {
                exit == ExitAction::With(self.code)
                    || matches!(exit, ExitAction::Unknown | ExitAction::Failure)
            }),
            ScriptNode::Group(script) => script.parts.iter().any(|(node, _)| self.ends(node)),
            ScriptNode::Choice { done, .. } => {
                done.iter().any(|script| script.parts.iter().any(|(node, _)| self.ends(node)))
            }
            ScriptNode::Function(..) => false,
        }
    }

    /// Pipelines that `&&` and `||` join.
    fn list(&mut self, list: &'a [(ScriptNode, CommandConnector)], pipefail: bool) {
        let mut pipelines: Vec<&'a [(ScriptNode, CommandConnector)]> = Vec::new();
        let mut begin = 0;
        for (at, (_, joint)) in list.iter().enumerate() {
            if *joint != CommandConnector::Pipe || at + 1 == list.len() {
                pipelines.push(&list[begin..=at]);
                begin = at + 1;
            }
        }
        for (at, pipeline) in pipelines.iter().enumerate() {
            let joint = pipeline.last().map_or(CommandConnector::Then, |(_, joint)| *joint);
            let after = pipelines.get(at + 1..).unwrap_or_default();
            let before = at.checked_sub(1).and_then(|at| pipelines[at].last());
            let is_handler = before.is_some_and(|(_, joint)| *joint == CommandConnector::Or)
                && matches!(pipeline, [(node, _)] if self.ends_itself(node));
            if joint == CommandConnector::Or && !self.is_answered_for(after) || is_handler {
                continue;
            }
            self.pipeline(pipeline, pipefail);
        }
    }

    /// Returns whether `node`, which is run for what another did, ends with a status of its own that is the exit
    /// code, also where it is refused something.
    fn ends_itself(&self, node: &ScriptNode) -> bool {
        match node {
            ScriptNode::Group(script) => self.ends_so(script),
            ScriptNode::Step(step) => {
                let mut made = self.functions.iter().rev();
                made.find(|(name, _)| *name == step.program())
                    .is_some_and(|(_, body)| self.ends_so(body))
            }
            _ => false,
        }
    }

    fn ends_so(&self, script: &ShellScript) -> bool {
        let last = script.parts.last().map(|(node, _)| node);
        let code = match last {
            Some(ScriptNode::Group(inner)) => {
                return script.parts.len() == 1 && self.ends_so(inner);
            }
            Some(node) => exit_of(node),
            None => None,
        };
        let is_it = code == Some(ExitAction::With(self.code)) || code == Some(ExitAction::Failure);
        ends_regardless(script) && is_it
    }

    /// Returns whether `body`, which a condition chose, ends with a status of its own that is the exit code.
    fn is_chosen_end(&self, body: &ShellScript) -> bool {
        let does = |(node, _): &(ScriptNode, CommandConnector)| match node {
            ScriptNode::Step(step) => {
                !step.files.is_empty() || !succeeds(step) && exit_of(node).is_none()
            }
            _ => true,
        };
        let calls = || {
            let [before @ .., (last, _)] = &body.parts[..] else { return false };
            let joint = before.last().map_or(CommandConnector::Then, |(_, joint)| *joint);
            joint == CommandConnector::Then && !body.errexit && self.ends_itself(last)
        };
        self.ends_so(body) && body.parts.iter().any(does) || calls()
    }

    /// Returns whether the commands that run after a failure pass the failure on.
    fn is_answered_for(&self, after: &[&[(ScriptNode, CommandConnector)]]) -> bool {
        let Some([(node, _), ..]) = after.first() else { return true };
        let ends = |node: &ScriptNode| match exit_of(node) {
            Some(ExitAction::With(code)) => Some(code == self.code),
            Some(ExitAction::Unknown | ExitAction::Failure) => Some(true),
            None => None,
        };
        match node {
            // `! a && b`: the failure of the first is passed on by an exit alone.
            ScriptNode::Step(step) if step.program() == NEGATION => match after {
                [[(_, CommandConnector::And)], [(ScriptNode::Group(script), _), ..], ..] => {
                    script.parts.iter().rev().find_map(|(node, _)| ends(node)) == Some(true)
                }
                [[(_, CommandConnector::And)], [(node, _), ..], ..] => ends(node) == Some(true),
                _ => false,
            },
            ScriptNode::Step(step) if succeeds(step) => false,
            ScriptNode::Group(script) => {
                let told = script.parts.iter().rev().find_map(|(node, _)| ends(node));
                let last = script.parts.last().is_some_and(
                    |(node, _)| matches!(node, ScriptNode::Step(step) if succeeds(step)),
                );
                told.unwrap_or(!last)
            }
            node => ends(node).unwrap_or(true),
        }
    }

    fn pipeline(&mut self, pipeline: &'a [(ScriptNode, CommandConnector)], pipefail: bool) {
        let Some(((last, _), before)) = pipeline.split_last() else { return };
        for (node, _) in before {
            let mut course = DeciderSearch {
                functions: self.functions.clone(),
                found: DecidingCommands::default(),
                ..*self
            };
            course.node(node);
            let DecidingCommands { mut own, feeders } = course.found;
            // What says nothing gives the next command the same, whether it can write or not.
            own.retain(|step| pipefail || !MUTE.contains(&step.program()));
            let to = if pipefail { &mut self.found.own } else { &mut self.found.feeders };
            to.extend(own);
            self.found.feeders.extend(feeders);
        }
        self.node(last);
    }

    fn node(&mut self, node: &'a ScriptNode) {
        match node {
            ScriptNode::Step(step) => self.step(step),
            ScriptNode::Group(script) => self.script(script),
            ScriptNode::Choice { asked, done } => {
                let mut steps = Vec::new();
                asked.iter().for_each(|script| collect(script, &mut steps));
                steps.retain(|step| step.program() != NEGATION);
                let asks = steps.iter().any(|step| step.program() != CASE);
                let (chosen, others): (Vec<_>, Vec<_>) =
                    done.iter().partition(|script| asks && self.is_chosen_end(script));
                let to =
                    if chosen.is_empty() { &mut self.found.feeders } else { &mut self.found.own };
                to.extend(steps);
                others.into_iter().for_each(|script| self.script(script));
            }
            ScriptNode::Function(..) => {}
        }
    }

    fn step(&mut self, step: &'a ScriptCommand) {
        let body = self.functions.iter().rev().find(|(name, _)| *name == step.program());
        if let Some((_, body)) = body.filter(|_| self.depth < DEEPEST) {
            let body = *body;
            self.depth += 1;
            self.script(body);
            self.depth -= 1;
            return;
        }
        let is_assignment = step.words.is_empty();
        step.inner.iter().filter(|_| is_assignment).for_each(|script| self.script(script));
        let uses_own = step.copies.iter().any(|number| number.parse().is_ok_and(|it: u32| it > 2));
        if !is_assignment && (!succeeds(step) || !step.files.is_empty() || uses_own) {
            self.found.own.push(step);
        }
    }
}

/// Returns whether `script` ends with an `exit` that has a status of its own, in every case.
pub(super) fn ends_regardless(script: &ShellScript) -> bool {
    match &script.parts[..] {
        [before @ .., (ScriptNode::Group(script), _)] => {
            let joint = before.last().map_or(CommandConnector::Then, |(_, joint)| *joint);
            joint == CommandConnector::Then && ends_regardless(script)
        }
        [.., (_, CommandConnector::Then), (last, _)] => {
            let exit = exit_of(last);
            !script.errexit && matches!(exit, Some(ExitAction::With(_) | ExitAction::Failure))
        }
        _ => false,
    }
}

/// Returns whether `exit` ends `script` with a variable that no list of its own gives the status of a command:
/// other commands decide whether it is set.
fn is_counted(exit: &ScriptCommand, script: &ShellScript) -> bool {
    let [program, word] = &exit.words[..] else { return false };
    let name = word.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    let Some(name) = name.or_else(|| word.strip_prefix('$')) else { return false };
    let mut all = Vec::new();
    collect(script, &mut all);
    let sets = |step: &ScriptCommand| step.sets.iter().any(|set| set == name);
    let mut alone = script.parts.windows(2).filter(|two| two[0].1 == CommandConnector::Then);
    let is_kept = |two: &[(ScriptNode, CommandConnector)]| match &two[1] {
        (ScriptNode::Step(step), CommandConnector::Then) => sets(step) && step.takes_status,
        _ => false,
    };
    ["exit", "return"].contains(&program.as_str())
        && all.into_iter().any(sets)
        && !alone.any(is_kept)
}

/// Returns those of `before` that an exit at `node` can have its status of: where it is given that of the last
/// command, or of a variable that was, the one before it alone.
fn kept_for<'a>(
    node: &ScriptNode,
    before: &[&'a [(ScriptNode, CommandConnector)]],
) -> Vec<&'a [(ScriptNode, CommandConnector)]> {
    let ScriptNode::Step(step) = node else { return before.to_vec() };
    let word = step.words.get(1).map_or("$?", String::as_str);
    let sets = |list: &&[(ScriptNode, CommandConnector)]| match list {
        [(ScriptNode::Step(set), _)] => {
            set.words.is_empty()
                && set.inner.is_empty()
                && set.takes_status
                && set.sets.iter().any(|name| word == format!("${name}"))
        }
        _ => false,
    };
    let set = || before.iter().rposition(sets);
    let (end, place) = match word {
        _ if exit_of(node).is_none() => return before.to_vec(),
        _ if step.place.is_some() => (before.len(), step.place),
        "$?" => (before.len(), None),
        _ => match set().map(|at| (at, before[at].first())) {
            Some((at, Some((ScriptNode::Step(set), _)))) => (at, set.place),
            _ => return before.to_vec(),
        },
    };
    let kept = &before[end.saturating_sub(1)..end];
    match (kept, place) {
        ([list], Some(place)) => vec![placed(list, place)],
        _ => kept.to_vec(),
    }
}

/// Returns the command at `place` of the last pipeline in `list`.
fn placed(
    list: &[(ScriptNode, CommandConnector)],
    place: usize,
) -> &[(ScriptNode, CommandConnector)] {
    let feeds = |part: &(ScriptNode, CommandConnector)| part.1 == CommandConnector::Pipe;
    let end = list.len().saturating_sub(1);
    let begin = list[..end].iter().rposition(|part| !feeds(part)).map_or(0, |at| at + 1);
    list.get(begin + place..=begin + place).unwrap_or(list)
}

/// Returns the `exit` in the brackets that `node` is, if that has the status of something before; else `node`.
fn alone_in(node: &ScriptNode) -> &ScriptNode {
    let ScriptNode::Group(script) = node else { return node };
    match &script.parts[..] {
        [(inner @ ScriptNode::Step(step), _)]
            if exit_of(inner).is_some() && step.words.iter().any(|word| word.contains('$')) =>
        {
            inner
        }
        _ => node,
    }
}

/// Returns whether `list` is an end with a status of success.
fn succeeds_regardless(list: &[(ScriptNode, CommandConnector)]) -> bool {
    matches!(list, [(node, _)] if exit_of(node) == Some(ExitAction::With(0)))
}

/// Returns whether a part of `list` is the shell's own command that waits for those in the background.
fn waits(list: &[(ScriptNode, CommandConnector)]) -> bool {
    list.iter().any(|(node, _)| matches!(node, ScriptNode::Step(step) if step.program() == "wait"))
}

/// Returns the exit status that `node` ends its list with, if `node` is an `exit` or `return`.
fn exit_of(node: &ScriptNode) -> Option<ExitAction> {
    let ScriptNode::Step(step) = node else { return None };
    match (step.program(), step.words.get(1)) {
        ("exit" | "return", None) => Some(ExitAction::Unknown),
        ("return", Some(word)) if word.parse().is_ok_and(|code: i32| code != 0) => {
            Some(ExitAction::Failure)
        }
        ("exit" | "return", Some(word)) => Some(
            word.parse().map_or(ExitAction::Unknown, |code: i32| ExitAction::With(code & 0xff)),
        ),
        _ => None,
    }
}

/// Returns whether `step` succeeds with any arguments.
fn succeeds(step: &ScriptCommand) -> bool {
    matches!(step.program(), "true" | ":" | "echo" | "printf" | "trap" | "set" | NEGATION)
}

#[cfg(test)]
mod tests;
