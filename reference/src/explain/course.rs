//! The commands of a line that can have made its exit code ([`deciders`]), and the commands whose
//! output these depend on. Pure.

use super::script::{Joint, Node, Script, Step};

/// Commands that can be why a line ended as it did.
#[derive(Debug, Default)]
pub(super) struct Deciders<'a> {
    /// The exit code is theirs.
    pub(super) own: Vec<&'a Step>,
    /// Commands that write, set or make the input of those in `own`.
    pub(super) feeders: Vec<&'a Step>,
}

/// The exit status with which a script is ended explicitly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exit {
    /// The given status.
    With(i32),
    /// The status of the command before, or an unknown one.
    Unknown,
}

struct Course<'a> {
    code: i32,
    functions: Vec<(&'a str, &'a Script)>,
    found: Deciders<'a>,
    /// The number of functions that are being expanded.
    depth: usize,
}

/// The maximum depth of nested functions that are expanded.
const DEEPEST: usize = 8;

/// Returns the commands of `script` that can have made its exit code `code`.
pub(super) fn deciders(script: &Script, code: i32) -> Deciders<'_> {
    let mut functions = Vec::new();
    collect_functions(script, &mut functions);
    let mut course = Course { code, functions, found: Deciders::default(), depth: 0 };
    course.script(script);
    let mut all = Vec::new();
    collect(script, &mut all);
    let Course { mut found, .. } = course;
    let mut seen: Vec<*const Step> = Vec::new();
    let mut is_new = |step: &&Step| {
        let step: *const Step = *step;
        let new = !seen.contains(&step);
        seen.push(step);
        new
    };
    found.own.retain(&mut is_new);
    found.feeders.retain(&mut is_new);
    feed(&mut found, &all);
    found
}

/// Every command of `script`, in order, those in words of others first.
pub(super) fn collect<'a>(script: &'a Script, found: &mut Vec<&'a Step>) {
    for (node, _) in &script.parts {
        match node {
            Node::Step(step) => {
                step.inner.iter().for_each(|line| collect(line, found));
                found.push(step);
            }
            Node::Group(script) | Node::Function(_, script) => collect(script, found),
            Node::Choice { asked, done } => {
                asked.iter().chain(done).for_each(|script| collect(script, found));
            }
        }
    }
}

fn collect_functions<'a>(script: &'a Script, found: &mut Vec<(&'a str, &'a Script)>) {
    for (node, _) in &script.parts {
        match node {
            Node::Function(name, body) => found.push((name, body)),
            Node::Group(script) => collect_functions(script, found),
            _ => {}
        }
    }
}

/// Adds the commands that made the input of `found`: variables, and files of the same name.
fn feed<'a>(found: &mut Deciders<'a>, all: &[&'a Step]) {
    let mut at = 0;
    loop {
        let known: Vec<&Step> = found.own.iter().chain(&found.feeders).copied().collect();
        let Some(one) = known.get(at) else { return };
        at += 1;
        for other in all {
            let new = !known.iter().chain(&found.feeders).any(|step| std::ptr::eq(*step, *other));
            if new && works_with(one, other) {
                found.feeders.push(other);
            }
        }
    }
}

fn works_with(one: &Step, other: &Step) -> bool {
    let words = || one.words.iter().skip(1).chain(&one.files);
    let mut inner = Vec::new();
    one.inner.iter().for_each(|line| collect(line, &mut inner));
    if inner.iter().any(|step| std::ptr::eq(*step, other)) {
        return true;
    }
    let named = |name: &String| {
        let forms = [format!("${name}"), format!("${{{name}")];
        words().any(|word| forms.iter().any(|form| word.contains(form)))
    };
    let is_name = |word: &&String| {
        !word.starts_with(['-', '$', '+']) && word.len() > 1 && word.parse::<f64>().is_err()
    };
    let shares = |word: &String| words().any(|own| own == word);
    let makes = other.words.iter().skip(1).chain(&other.files);
    other.sets.iter().any(named) || makes.filter(is_name).any(shares)
}

impl<'a> Course<'a> {
    fn script(&mut self, script: &'a Script) {
        let mut lists: Vec<&[(Node, Joint)]> = Vec::new();
        let mut begin = 0;
        for (at, (node, joint)) in script.parts.iter().enumerate() {
            if matches!(node, Node::Function(..)) {
                begin = at + 1;
            } else if *joint == Joint::Then {
                lists.push(&script.parts[begin..=at]);
                begin = at + 1;
            }
        }
        if begin < script.parts.len() {
            lists.push(&script.parts[begin..]);
        }
        let Some((last, before)) = lists.split_last() else { return };
        // One that ends it with this very code is why.
        let ending: Vec<_> = before.iter().filter(|list| self.ends_in(list)).copied().collect();
        let plain = |list: &[(Node, Joint)]| matches!(list, [(node, _)] if exit_of(node).is_some());
        if script.errexit {
            lists.iter().for_each(|list| self.list(list, script.pipefail));
        } else if plain(last) {
            before.iter().for_each(|list| self.list(list, script.pipefail));
        } else {
            ending.iter().for_each(|list| self.list(list, script.pipefail));
            self.list(last, script.pipefail);
        }
    }

    /// Returns whether a part of `list` ends the script with the exit code of the run.
    fn ends_in(&self, list: &[(Node, Joint)]) -> bool {
        list.iter().any(|(node, _)| self.ends(node))
    }

    fn ends(&self, node: &Node) -> bool {
        match node {
            Node::Step(_) => exit_of(node)
                .is_some_and(|exit| matches!(exit, Exit::Unknown) || exit == Exit::With(self.code)),
            Node::Group(script) => script.parts.iter().any(|(node, _)| self.ends(node)),
            Node::Choice { done, .. } => {
                done.iter().any(|script| script.parts.iter().any(|(node, _)| self.ends(node)))
            }
            Node::Function(..) => false,
        }
    }

    /// Pipelines that `&&` and `||` join.
    fn list(&mut self, list: &'a [(Node, Joint)], pipefail: bool) {
        let mut pipelines: Vec<&'a [(Node, Joint)]> = Vec::new();
        let mut begin = 0;
        for (at, (_, joint)) in list.iter().enumerate() {
            if *joint != Joint::Pipe || at + 1 == list.len() {
                pipelines.push(&list[begin..=at]);
                begin = at + 1;
            }
        }
        for (at, pipeline) in pipelines.iter().enumerate() {
            let joint = pipeline.last().map_or(Joint::Then, |(_, joint)| *joint);
            let after = pipelines.get(at + 1..).unwrap_or_default();
            if joint == Joint::Or && !self.is_answered_for(after) {
                continue;
            }
            self.pipeline(pipeline, pipefail);
        }
    }

    /// Returns whether the commands that run after a failure pass the failure on.
    fn is_answered_for(&self, after: &[&[(Node, Joint)]]) -> bool {
        let Some([(node, _), ..]) = after.first() else { return true };
        let ends = |node: &Node| match exit_of(node) {
            Some(Exit::With(code)) => Some(code == self.code),
            Some(Exit::Unknown) => Some(true),
            None => None,
        };
        match node {
            Node::Step(step) if succeeds(step) => false,
            Node::Group(script) => {
                let told = script.parts.iter().rev().find_map(|(node, _)| ends(node));
                let last = script
                    .parts
                    .last()
                    .is_some_and(|(node, _)| matches!(node, Node::Step(step) if succeeds(step)));
                told.unwrap_or(!last)
            }
            node => ends(node).unwrap_or(true),
        }
    }

    fn pipeline(&mut self, pipeline: &'a [(Node, Joint)], pipefail: bool) {
        let Some(((last, _), before)) = pipeline.split_last() else { return };
        for (node, _) in before {
            let mut course =
                Course { functions: self.functions.clone(), found: Deciders::default(), ..*self };
            course.node(node);
            let Deciders { own, feeders } = course.found;
            let to = if pipefail { &mut self.found.own } else { &mut self.found.feeders };
            to.extend(own);
            self.found.feeders.extend(feeders);
        }
        self.node(last);
    }

    fn node(&mut self, node: &'a Node) {
        match node {
            Node::Step(step) => self.step(step),
            Node::Group(script) => self.script(script),
            Node::Choice { asked, done } => {
                for script in asked {
                    let mut steps = Vec::new();
                    collect(script, &mut steps);
                    self.found.feeders.extend(steps);
                }
                done.iter().for_each(|script| self.script(script));
            }
            Node::Function(..) => {}
        }
    }

    fn step(&mut self, step: &'a Step) {
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
        if !is_assignment && (!succeeds(step) || !step.files.is_empty()) {
            self.found.own.push(step);
        }
    }
}

/// Returns the exit status that `node` ends its list with, if `node` is an `exit` or `return`.
fn exit_of(node: &Node) -> Option<Exit> {
    let Node::Step(step) = node else { return None };
    match (step.program(), step.words.get(1)) {
        ("exit" | "return", None) => Some(Exit::Unknown),
        ("exit" | "return", Some(word)) => {
            Some(word.parse().map_or(Exit::Unknown, |code: i32| Exit::With(code & 0xff)))
        }
        _ => None,
    }
}

/// Returns whether `step` succeeds with any arguments.
fn succeeds(step: &Step) -> bool {
    matches!(step.program(), "true" | ":" | "echo" | "printf")
}

#[cfg(test)]
mod tests {
    use super::super::script::parse;
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("a", 1, "a|")]
    #[case("a; b", 1, "b|")]
    #[case("a && b", 1, "a b|")]
    #[case("a || true; b", 1, "b|")]
    #[case("a || b", 1, "a b|")]
    #[case("a; exit 3", 3, "a|")]
    #[case("a || exit 3; b", 3, "a exit b|")]
    #[case("a || exit 3; b", 2, "b|")]
    #[case("a || { echo no; exit 3; }; b", 3, "a b|")]
    #[case("a || { echo no; }; b", 3, "b|")]
    #[case("a || (echo no; exit 3)", 3, "a|")]
    #[case("a | b", 1, "b|a")]
    #[case("set -o pipefail; a | b", 1, "a b|")]
    #[case("bash -o pipefail -c 'a | b'", 1, "a b|")]
    #[case("sh -ec 'a; b'", 1, "a b|")]
    #[case("sh -c 'a; b'", 1, "b|")]
    #[case("set -e; a; b", 1, "set a b|")]
    #[case("if a; then b; fi", 1, "b|a")]
    #[case("if ! a; then exit 9; fi", 9, "|a")]
    #[case("while ! a; do exit 4; done", 4, "|a")]
    #[case("for x in 1 2; do a $x || exit 3; done", 3, "a exit|")]
    #[case("x=$(a)", 1, "a|")]
    #[case("x=$(a | b); [ -n \"$x\" ]", 1, "[| a b")]
    #[case("x=1; a $x", 1, "a|")]
    #[case("test \"$(a)\" = 200", 1, "test|a")]
    #[case("a -o f1; b f1", 1, "b|a")]
    #[case("a > f1; b f1", 1, "b|a")]
    #[case("f() { a; }; f", 1, "a|")]
    #[case("timeout 5 env X=1 a", 1, "a|")]
    #[case("cat <<E\nb; c\nE\na", 1, "a|")]
    #[case("eval 'a; b'", 1, "b|")]
    #[case("a & b", 1, "b|")]
    #[case("(a; b) && c", 1, "b c|")]
    #[case("case $x in a) b;; *) c;; esac", 1, "a b c|")]
    #[case(") ) fi a", 1, "a|")]
    fn the_commands_that_decide(#[case] line: &str, #[case] code: i32, #[case] due: &str) {
        let script = parse(line);
        let found = deciders(&script, code);
        let names =
            |steps: &[&Step]| steps.iter().map(|step| step.program()).collect::<Vec<_>>().join(" ");
        assert_eq!(format!("{}|{}", names(&found.own), names(&found.feeders)), due);
    }
}
