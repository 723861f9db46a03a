//! The commands that make the input of others: what these read, and the variables and statuses that they look
//! at. Pure.

use super::super::script::{CommandConnector, ScriptCommand, ScriptNode, ShellScript};
use super::{DecidingCommands, collect};

/// An assignment, and a command whose status decides whether it is made.
type GuardedAssignment<'a> = (&'a ScriptCommand, &'a ScriptCommand);

/// Collects the assignments behind `&&`, and those in the bodies of `if`.
fn collect_guards<'a>(script: &'a ShellScript, found: &mut Vec<GuardedAssignment<'a>>) {
    let mut before: Vec<&ScriptCommand> = Vec::new();
    for (node, joint) in &script.parts {
        match node {
            ScriptNode::Step(step) if step.words.is_empty() => {
                found.extend(before.iter().map(|guard| (step, *guard)));
                // What a variable is given decides by its status, too.
                step.inner.iter().for_each(|script| collect(script, &mut before));
            }
            ScriptNode::Step(step) => before.push(step),
            ScriptNode::Group(script) | ScriptNode::Function(_, script) => {
                collect_guards(script, found);
                collect(script, &mut before);
            }
            ScriptNode::Choice { asked, done } => {
                let (mut asks, mut does) = (Vec::new(), Vec::new());
                asked.iter().for_each(|script| collect(script, &mut asks));
                done.iter().for_each(|script| collect(script, &mut does));
                let sets = does.into_iter().filter(|step| step.words.is_empty());
                found.extend(sets.flat_map(|step| asks.iter().map(move |guard| (step, *guard))));
                asked.iter().chain(done).for_each(|script| collect_guards(script, found));
            }
        }
        if matches!(joint, CommandConnector::Then | CommandConnector::Background) {
            before.clear();
        }
    }
}

/// Collects the pipelines of `script`: the commands in each of their places.
fn collect_pipelines<'a>(script: &'a ShellScript, found: &mut Vec<Vec<Vec<&'a ScriptCommand>>>) {
    let mut places = Vec::new();
    for (node, joint) in &script.parts {
        let mut steps = Vec::new();
        match node {
            ScriptNode::Step(step) => {
                step.inner.iter().for_each(|script| collect_pipelines(script, found));
                steps.push(step);
            }
            ScriptNode::Group(script) | ScriptNode::Function(_, script) => {
                collect_pipelines(script, found);
                collect(script, &mut steps);
            }
            ScriptNode::Choice { asked, done } => {
                asked.iter().chain(done).for_each(|script| {
                    collect_pipelines(script, found);
                    collect(script, &mut steps);
                });
            }
        }
        places.push(steps);
        if *joint != CommandConnector::Pipe {
            found.push(std::mem::take(&mut places));
        }
    }
}

/// Adds the commands of `script`, which are `all`, that made the input of `found`: variables, by themselves or as
/// guards, files of the same name, and the status that one of them looks at.
pub(super) fn feed<'a>(
    found: &mut DecidingCommands<'a>,
    script: &'a ShellScript,
    all: &[&'a ScriptCommand],
) {
    let mut guards = Vec::new();
    collect_guards(script, &mut guards);
    let mut pipelines = Vec::new();
    collect_pipelines(script, &mut pipelines);
    let mut at = 0;
    loop {
        let known: Vec<&ScriptCommand> = found.own.iter().chain(&found.feeders).copied().collect();
        let Some(one) = known.get(at) else { return };
        at += 1;
        for other in all {
            let new = !known.iter().chain(&found.feeders).any(|step| std::ptr::eq(*step, *other));
            let guards_one = || {
                guards
                    .iter()
                    .any(|(set, guard)| std::ptr::eq(*set, *one) && std::ptr::eq(*guard, *other))
            };
            if new && (works_with(one, other) || guards_one()) {
                found.feeders.push(other);
            }
        }
        let mut pairs = all.windows(2).filter(|_| one.takes_status);
        let before = pairs.find(|pair| std::ptr::eq(pair[1], *one)).map(|pair| pair[0]);
        let is = |step: &&ScriptCommand| before.is_some_and(|before| std::ptr::eq(*step, before));
        let ends = |pipeline: &&Vec<Vec<&ScriptCommand>>| {
            pipeline.last().is_some_and(|steps| steps.iter().any(is))
        };
        // The status of one place of the pipeline before it.
        let placed = one.place.and_then(|place| pipelines.iter().find(ends)?.get(place));
        let before = placed.cloned().unwrap_or(before.into_iter().collect());
        for step in before {
            if !found.own.iter().chain(&found.feeders).any(|known| std::ptr::eq(*known, step)) {
                found.feeders.push(step);
            }
        }
    }
}

fn works_with(one: &ScriptCommand, other: &ScriptCommand) -> bool {
    let words = || one.words.iter().skip(1).chain(&one.files);
    let used = || words().chain(&one.values);
    let mut inner = Vec::new();
    one.inner.iter().for_each(|line| collect(line, &mut inner));
    if inner.iter().any(|step| std::ptr::eq(*step, other)) {
        return true;
    }
    let named = |name: &String| {
        let forms = [format!("${name}"), format!("${{{name}"), format!("${{#{name}")];
        used().any(|word| forms.iter().any(|form| word.contains(form)))
    };
    let is_name = |word: &&String| {
        let plain = !word.starts_with(['-', '$', '+']) && *word != "/dev/null";
        plain && word.len() > 1 && word.parse::<f64>().is_err()
    };
    // A search in the messages of a command finds no more if it succeeds.
    let searches = other.hushed && ["grep", "egrep", "fgrep", "rg"].contains(&one.program());
    let shares =
        |word: &String| words().any(|own| own == word) && !(searches && other.files.contains(word));
    let makes = other.words.iter().skip(1).chain(&other.files);
    // `exec 3> file` is for those that use the descriptor.
    let opens = other.words.len() == 1
        && other.program() == "exec"
        && other
            .opens
            .iter()
            .any(|number| one.copies.iter().chain(&one.words).any(|w| w == number));
    opens
        || other.sets.iter().chain(read_into(other)).any(named)
        || makes.filter(is_name).any(shares)
}

/// The variables that `step` gives what it reads, if it is the shell's own command for that.
fn read_into(step: &ScriptCommand) -> &[String] {
    match step.program() {
        "read" | "mapfile" | "readarray" => &step.words[1..],
        _ => &[],
    }
}
