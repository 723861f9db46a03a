//! The end of a shell at a variable that is not set: `${NAME:?text}`, or any use of one under `set -u`. The
//! commands that were to set it are why. Pure.

use super::deciding_commands::{self, DecidingCommands};
use super::message;
use super::script::{ScriptCommand, ShellScript};

/// Ends of the messages of shells about a variable that they were told to miss.
const UNBOUND: [&str; 2] = [": unbound variable", ": parameter not set"];
/// The exit statuses of a shell that ends so.
const STATUSES: [i32; 3] = [1, 2, 127];
/// Commands that set variables which their line does not name.
const SOURCING: [&str; 3] = [".", "source", "eval"];

/// Returns the last line of `stderr`, if a command of `script` that ended with `code` ended so by it.
pub(super) fn ending<'a>(script: &ShellScript, code: i32, stderr: &'a str) -> Option<&'a str> {
    let last = stderr.lines().rfind(|line| !line.trim().is_empty())?;
    let ends = STATUSES.contains(&code) && !enders(script, last).is_empty();
    ends.then_some(last)
}

/// Returns the commands of `script` that can have decided, where it ended at the variable of which `line` tells.
pub(super) fn deciders<'a>(script: &'a ShellScript, line: &str) -> DecidingCommands<'a> {
    let own = enders(script, line);
    let mut all = Vec::new();
    deciding_commands::collect(script, &mut all);
    let name = variable(line).unwrap_or_default();
    let is_set = |step: &&ScriptCommand| step.sets.iter().any(|set| set == name);
    let sources = |step: &&ScriptCommand| SOURCING.contains(&step.program());
    let end = own.first().and_then(|own| all.iter().position(|step| std::ptr::eq(*step, *own)));
    let before = &all[..end.unwrap_or_default()];
    let feeders = match before.iter().any(is_set) {
        true => Vec::new(),
        false => before.iter().copied().filter(sources).collect(),
    };
    deciding_commands::with_feeders(script, DecidingCommands { own, feeders })
}

/// Returns the commands that use the variable of which `line` tells in the way that it tells of.
fn enders<'a>(script: &'a ShellScript, line: &str) -> Vec<&'a ScriptCommand> {
    let Some(name) = variable(line) else { return Vec::new() };
    let forms = match UNBOUND.iter().any(|end| line.ends_with(end)) {
        true => [format!("${name}"), format!("${{{name}")],
        false => [format!("${{{name}:?"), format!("${{{name}?")],
    };
    let uses = |step: &&ScriptCommand| {
        let mut words = step.words.iter().chain(&step.values).chain(&step.files);
        words.any(|word| forms.iter().any(|form| word.contains(form)))
    };
    let mut found = Vec::new();
    deciding_commands::collect(script, &mut found);
    found.retain(uses);
    found
}

/// Returns the name of a variable that a shell speaks of in `line`.
fn variable(line: &str) -> Option<&str> {
    let said = line.get(message::shell_prefix(line)..).filter(|said| said.len() < line.len())?;
    let name = said.split(": ").next().filter(|name| name.len() < said.len())?;
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!name.is_empty() && name.chars().all(fits)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::super::script::parse;
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("x=$(a); : ${x:?no}", "bash: line 1: x: no", ": a|")]
    #[case("x=$(a); b \"${x:?}\"", "bash: line 1: x: parameter null or not set", "b a|")]
    #[case("x=$(a); y=$(b); : ${y:?no}", "sh: 1: y: no", ": b|")]
    #[case("a && x=1; : ${x:?no}", "bash: line 1: x: no", ": a|")]
    #[case("read -r x < a; : ${x:?no}", "bash: line 1: x: no", ": read|")]
    #[case(". a; b; : ${x:?no}", "bash: line 1: x: no", ": .|")]
    #[case(". a; x=; : ${x:?no}", "bash: line 1: x: no", ":|")]
    #[case("set -u; . a; b $x", "bash: line 1: x: unbound variable", "b .|")]
    #[case("x=$(a); b $x", "bash: line 1: x: no", "|")]
    #[case("x=$(a); : ${x:?no}", "ls: x: no", "|")]
    fn who_was_to_set_it(#[case] line: &str, #[case] said: &str, #[case] due: &str) {
        let script = parse(line);
        let found = deciders(&script, said);
        let steps = found.own.iter().chain(&found.feeders);
        let names: Vec<&str> =
            steps.map(|step| step.program()).filter(|name| !name.is_empty()).collect();
        assert_eq!(format!("{}|", names.join(" ")), due);
    }
}
