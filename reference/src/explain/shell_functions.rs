//! Calls of functions that run what they are given: the arguments of a call are put into the body of the function
//! ([`inline`]). Pure.

use super::script::{ScriptCommand, ScriptNode, ShellScript};

/// The maximum depth of calls that are followed.
const DEEPEST: usize = 3;
/// The words that stand for all arguments.
const ALL: [&str; 2] = ["$@", "$*"];

/// Replaces calls of functions in `script` by the bodies, where these use their arguments.
pub(super) fn inline(script: &mut ShellScript) {
    let mut known = Vec::new();
    collect(script, &mut known);
    known.retain(|(_, body)| takes_arguments(body));
    if !known.is_empty() {
        expand(script, &known, DEEPEST);
    }
}

/// A name, and the body of its function.
type NamedBody = (String, ShellScript);

fn collect(script: &ShellScript, found: &mut Vec<NamedBody>) {
    for (node, _) in &script.parts {
        match node {
            ScriptNode::Function(name, body) => found.push((name.clone(), body.clone())),
            ScriptNode::Group(script) => collect(script, found),
            _ => {}
        }
    }
}

/// Returns whether a command of `body` has an argument of the function in it.
fn takes_arguments(body: &ShellScript) -> bool {
    let mut found = false;
    each_step(&mut body.clone(), &mut |step| {
        let mut words = step.words.iter().chain(&step.files);
        found |= words.any(|word| is_argument(word));
    });
    found
}

fn is_argument(word: &str) -> bool {
    let is_number = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit() && c != '0');
    let mut parts = word.split('$').skip(1);
    parts.any(|rest| {
        rest.starts_with(['@', '*'])
            || is_number(rest)
            || rest.strip_prefix('{').is_some_and(is_number)
    })
}

fn expand(script: &mut ShellScript, known: &[NamedBody], depth: usize) {
    for (node, _) in &mut script.parts {
        match node {
            ScriptNode::Step(step) => {
                let body = known.iter().rev().find(|(name, _)| *name == step.program());
                if let Some((_, body)) = body.filter(|_| depth > 0) {
                    let mut body = body.clone();
                    let arguments = &step.words[1..];
                    each_step(&mut body, &mut |step| give(step, arguments));
                    expand(&mut body, known, depth - 1);
                    *node = ScriptNode::Group(body);
                }
            }
            ScriptNode::Group(script) => expand(script, known, depth),
            ScriptNode::Choice { asked, done } => {
                asked.iter_mut().chain(done).for_each(|script| expand(script, known, depth));
            }
            ScriptNode::Function(..) => {}
        }
    }
}

/// Calls `act` with each command of `script`.
fn each_step(script: &mut ShellScript, act: &mut dyn FnMut(&mut ScriptCommand)) {
    for (node, _) in &mut script.parts {
        match node {
            ScriptNode::Step(step) => {
                step.inner.iter_mut().for_each(|script| each_step(script, act));
                act(step);
            }
            ScriptNode::Group(script) | ScriptNode::Function(_, script) => each_step(script, act),
            ScriptNode::Choice { asked, done } => {
                asked.iter_mut().chain(done).for_each(|script| each_step(script, act));
            }
        }
    }
}

/// Puts `arguments` in the place of the words that stand for them.
fn give(step: &mut ScriptCommand, arguments: &[String]) {
    let words = step.words.iter().flat_map(|word| match is_all(word) {
        true => arguments.to_vec(),
        false => vec![placed(word, arguments)],
    });
    step.words = words.collect();
    step.files = step.files.iter().map(|file| placed(file, arguments)).collect();
}

/// Returns whether `word` stands for all arguments of a function.
pub(super) fn is_all(word: &str) -> bool {
    ALL.contains(&word)
}

/// Returns `word` with `arguments` in the place of the signs for each.
pub(super) fn placed(word: &str, arguments: &[String]) -> String {
    let numbered = arguments.iter().enumerate().take(9);
    numbered.fold(word.replace("$*", &arguments.join(" ")), |word, (at, argument)| {
        let forms = [format!("${}", at + 1), format!("${{{}}}", at + 1)];
        forms.iter().fold(word, |word, form| word.replace(form.as_str(), argument))
    })
}

#[cfg(test)]
mod tests {
    use super::super::script::parse;
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("f() { \"$@\"; }; f a b", "a b")]
    #[case("f() { echo $1; \"$@\"; }; f a b", "echo a;a b")]
    #[case("f() { cp \"$1\" \"/o/$2\"; }; f a b", "cp a /o/b")]
    #[case("g() { \"$@\"; }; f() { g \"$@\"; }; f a b", "a b")]
    #[case("f() { f \"$@\"; }; f a", "f a")]
    #[case("f() { a; }; f b", "f b")]
    fn a_call_has_its_arguments(#[case] line: &str, #[case] due: &str) {
        let mut script = parse(line);
        inline(&mut script);
        script.parts.retain(|(node, _)| !matches!(node, ScriptNode::Function(..)));
        let mut found = Vec::new();
        each_step(&mut script, &mut |step| found.push(step.words.join(" ")));
        assert_eq!(found.join(";"), due);
    }
}
