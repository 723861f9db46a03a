//! The commands that make the input of others: what these read, and the variables and statuses that they look
//! at. Pure.

use super::super::script::{CommandConnector, ScriptCommand, ScriptNode, ShellScript};
use super::{DecidingCommands, collect, collect_parts, own_of};

/// Programs that show their arguments.
const PRINTING: [&str; 2] = ["echo", "printf"];

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

/// Collects the lists that `script` runs in the background, in its bodies and brackets, too.
fn collect_background<'a>(
    script: &'a ShellScript,
    found: &mut Vec<&'a [(ScriptNode, CommandConnector)]>,
) {
    let mut begin = 0;
    for (at, (node, joint)) in script.parts.iter().enumerate() {
        match node {
            ScriptNode::Step(_) => {}
            ScriptNode::Group(script) | ScriptNode::Function(_, script) => {
                collect_background(script, found);
            }
            ScriptNode::Choice { asked, done } => {
                asked.iter().chain(done).for_each(|script| collect_background(script, found));
            }
        }
        if *joint == CommandConnector::Background {
            found.push(&script.parts[begin..=at]);
        }
        if matches!(joint, CommandConnector::Then | CommandConnector::Background) {
            begin = at + 1;
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
    let mut background = Vec::new();
    collect_background(script, &mut background);
    let background: Vec<_> = background.into_iter().flat_map(|list| own_of(list, script)).collect();
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
            // One that waits for a job has its status.
            let is_awaited = || {
                let waits = one.program() == "wait" && one.words.len() > 1;
                waits && background.iter().any(|job| std::ptr::eq(*job, *other))
            };
            let is_replaced = || has_default(one, other, all) || is_printed_anew(one, other, all);
            let is_new_input =
                || works_with(one, other) && !is_replaced() || is_sourced(one, other, all);
            if new && (is_new_input() || guards_one() || is_awaited()) {
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

/// Collects the commands of `script` whose output it has, in every case: not those behind which another prints
/// something in their place.
fn collect_printing<'a>(script: &'a ShellScript, found: &mut Vec<&'a ScriptCommand>) {
    let prints = |node: &ScriptNode| {
        matches!(node, ScriptNode::Step(step)
            if PRINTING.contains(&step.program()) && step.words.len() > 1 && !step.to_stderr)
    };
    let mut begin = 0;
    for (at, (_, joint)) in script.parts.iter().enumerate() {
        if *joint == CommandConnector::Pipe {
            continue;
        }
        let next = script.parts.get(at + 1);
        let has_other =
            *joint == CommandConnector::Or && next.is_some_and(|(node, _)| prints(node));
        if !has_other {
            collect_parts(&script.parts[begin..=at], found);
        }
        begin = at + 1;
    }
}

/// Returns the commands of `all` that run behind `other` and before `one`; none if `one` is the first of both.
fn between<'a, 'b>(
    one: &ScriptCommand,
    other: &ScriptCommand,
    all: &'b [&'a ScriptCommand],
) -> Option<&'b [&'a ScriptCommand]> {
    let at = |step: &ScriptCommand| all.iter().position(|it| std::ptr::eq(*it, step));
    all.get(at(other)? + 1..at(one)?)
}

/// Returns whether `other` sets a variable that `one` uses, and the variable has a default where that gives it no
/// value.
fn has_default(one: &ScriptCommand, other: &ScriptCommand, all: &[&ScriptCommand]) -> bool {
    let Some(between) = between(one, other, all) else { return false };
    let uses_default = |name: &String, word: &String| {
        let form = format!("${{{name}:-");
        word.split_once(&form).is_some_and(|(_, rest)| !rest.starts_with('}'))
    };
    other.sets.iter().any(|name| {
        let given = format!("${{{name}:=");
        let sets_default = |step: &&ScriptCommand| {
            step.words.iter().any(|word| word.contains(&given))
                || step.sets.contains(name)
                    && step.values.iter().any(|value| uses_default(name, value))
        };
        between.iter().any(sets_default)
            || one.words.iter().chain(&one.values).any(|word| uses_default(name, word))
    })
}

/// Returns whether `other` makes a file that `one` reads, and something is printed into the file since.
fn is_printed_anew(one: &ScriptCommand, other: &ScriptCommand, all: &[&ScriptCommand]) -> bool {
    let Some(between) = between(one, other, all) else { return false };
    let is_read = |file: &&String| one.words.iter().skip(1).chain(&one.files).any(|it| it == *file);
    let is_printed = |file: &String| {
        between.iter().any(|step| PRINTING.contains(&step.program()) && step.files.contains(file))
    };
    other.words.iter().skip(1).chain(&other.files).filter(is_read).any(is_printed)
}

/// Returns whether `one` uses what `other` makes: its output, a file, a descriptor or a variable.
fn works_with(one: &ScriptCommand, other: &ScriptCommand) -> bool {
    // What is printed needs no file.
    let prints = PRINTING.contains(&one.program());
    let words = || one.words.iter().skip(1).chain(one.files.iter().filter(|_| !prints));
    let used = || words().chain(&one.values);
    let mut inner = Vec::new();
    one.inner.iter().for_each(|line| collect_printing(line, &mut inner));
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
    let plain = |word: &str| word.strip_prefix("./").unwrap_or(word).to_owned();
    let run = one.words.iter().take(1).filter(|word| word.contains('/'));
    let shares = |word: &String| {
        words().chain(run.clone()).any(|own| is_at(&plain(own), &plain(word)))
            && !(searches && other.files.contains(word))
    };
    let fetched: Vec<String> = fetched_file(other).into_iter().collect();
    let makes = other.words.iter().skip(1).chain(&other.files).chain(&fetched);
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

/// Returns whether `path` is `place`, or below it.
fn is_at(path: &str, place: &str) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns whether `other` is a script that the shell itself reads, and `one` uses a variable that no command of
/// `all` sets.
fn is_sourced(one: &ScriptCommand, other: &ScriptCommand, all: &[&ScriptCommand]) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let name = |rest: &str| {
        let rest = rest.trim_start_matches('{');
        rest.split(|c| !is_name(c)).next().unwrap_or_default().to_owned()
    };
    let is_set = |name: &String| {
        all.iter().any(|step| step.sets.iter().chain(read_into(step)).any(|set| set == name))
    };
    let words = one.words.iter().chain(&one.values);
    let mut used = words.flat_map(|word| word.split('$').skip(1)).map(name);
    [".", "source"].contains(&other.program())
        && used.any(|name| name.starts_with(|c: char| c.is_alphabetic()) && !is_set(&name))
}

/// Returns the name of the file that `step` makes of what it fetches, if it takes the name of the URL.
pub(in super::super) fn fetched_file(step: &ScriptCommand) -> Option<String> {
    let is_short = |word: &&String| word.starts_with('-') && !word.starts_with("--");
    let takes = |letter: char| step.words.iter().filter(is_short).any(|word| word.contains(letter));
    let named = match step.program() {
        "curl" => takes('O') || step.words.iter().any(|word| word == "--remote-name"),
        "wget" => !takes('O'),
        _ => false,
    };
    let url = step.words.iter().skip(1).find(|word| word.contains("://")).filter(|_| named)?;
    let name = url.split(['?', '#']).next()?.rsplit('/').next()?;
    (!name.is_empty()).then(|| name.to_owned())
}

/// The variables that `step` gives what it reads, if it is the shell's own command for that.
fn read_into(step: &ScriptCommand) -> &[String] {
    match step.program() {
        "read" | "mapfile" | "readarray" => &step.words[1..],
        _ => &[],
    }
}
