//! Explanation of a case ([`text`]): its question, its arms, passes, failures and the reason why
//! they matter. Pure.

mod channel;
mod query;

use boxproof_cases::case::{Control, Denial, ExpectedDecision, Level, Oracle, Twin};
use boxproof_cases::{Capability, Case, Suite};

use crate::case_summary;

/// The explanation of `case`, which is of `suite`.
pub fn text(case: &Case, suite: &Suite) -> String {
    let parts = [
        head(case, suite),
        section("asked", &asked(case)),
        match case.question() {
            Some(_) => section("asking", &query::asking(case)),
            None => section("arms", &arms(case)),
        },
        section("passes", &[passes(case)]),
        section("fails", &fails(case)),
        section("why it matters", &matters(case)),
        section("look yourself", &repeat_commands(case)),
    ];
    // Blank lines of a script stay blank.
    parts.concat().lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn section(title: &str, lines: &[String]) -> String {
    let lines: String = lines.iter().map(|line| format!("  {line}\n")).collect();
    format!("\n{title}\n{lines}")
}

/// Formats `name` and `text`, with further lines of the text below the first.
fn entry(name: &str, text: &str) -> String {
    format!("{name:12} {}", text.trim_end().replace('\n', &format!("\n  {:12} ", "")))
}

fn head(case: &Case, suite: &Suite) -> String {
    let binding = match case.level {
        Level::Must => "binding",
        Level::Should => "binding unless there is a reason",
        Level::May => "free, and welcome",
    };
    let mut lines = vec![case.id.to_string(), case.purpose.clone(), String::new()];
    lines.push(format!("  {}", entry("level", &format!("{}: {binding}", case.level.keyword()))));
    for id in &case.requirements {
        let text = suite.requirements.get(id).map(|r| format!("{id}: {} ({})", r.text, r.source));
        lines.push(format!("  {}", entry("requirement", &text.unwrap_or_else(|| id.to_string()))));
    }
    let subjects = case.subjects();
    for about in subjects {
        lines.push(format!("  {}", entry("about", &format!("{about}: {}", about.meaning()))));
    }
    let rest = case.needs.iter().filter(|needed| !subjects.contains(needed));
    let rest: Vec<&str> = rest.map(Capability::name).collect();
    if !rest.is_empty() {
        let word = if subjects.is_empty() { "needs" } else { "needs, too" };
        lines.push(format!("  {}", entry(word, &rest.join(", "))));
    }
    let facts: Vec<&str> = case.host.iter().map(|fact| fact.keyword()).collect();
    if !facts.is_empty() {
        lines.push(format!("  {}", entry("host", &format!("with {}", facts.join(", ")))));
    }
    lines.join("\n") + "\n"
}

fn asked(case: &Case) -> Vec<String> {
    let asked = case_summary::summarize_case(case);
    // Control and twin are told with the arms.
    let parts = asked.parts().filter(|(name, _)| !["control", "twin"].contains(name));
    parts.map(|(name, text)| entry(name, text)).collect()
}

fn arms(case: &Case) -> Vec<String> {
    let control = match &case.control {
        Control::Host => {
            "the act without a sandbox; it must succeed, else nothing is learnt".into()
        }
        Control::PrivateNs => "the act in a throw-away namespace, on an object like the one a \
                               sandbox would make; it must succeed, else nothing is learnt"
            .into(),
        Control::None(reason) => format!("none: {reason}"),
    };
    let twin = match &case.twin {
        Some(Twin::Overlay(_)) => format!(
            "the act in the same sandbox, one grant wider: {}; it must succeed, else it is not \
             this policy that stands in its way",
            case_summary::summarize_case(case).twin
        ),
        Some(Twin::None(reason)) => format!("none: {reason}"),
        None => "none: nothing is denied here".to_owned(),
    };
    let confined = match case.during.is_empty() {
        true => "the act under the policy above".to_owned(),
        false => "the act under the policy above; meanwhile a signal is sent".to_owned(),
    };
    [("control", control), ("twin", twin), ("confined", confined)]
        .map(|(name, text)| entry(name, &text))
        .into()
}

/// Returns the result that the confined arm must have.
fn passes(case: &Case) -> String {
    let act = match &case.expect.decision {
        ExpectedDecision::Allowed => "the act ends as it does without a sandbox".to_owned(),
        ExpectedDecision::AllowedOrRefused(refusal) => format!(
            "the act ends as it does without a sandbox, or the backend declines the policy and \
             says {}",
            refusal.says.join(" and ")
        ),
        ExpectedDecision::Denied(denial) => {
            format!("the act itself is refused with {}", reasons(denial))
        }
        ExpectedDecision::Contained(_) => "the act may report what it likes".to_owned(),
        ExpectedDecision::Withheld(_) => {
            "the backend says that it cannot start the act, or confines it".to_owned()
        }
        ExpectedDecision::Refused => {
            "the backend declines the policy and starts nothing".to_owned()
        }
        ExpectedDecision::Answer(answer) => return query::passes(answer),
        ExpectedDecision::Receipts(_) => return channel::passes(case),
    };
    let seen: Vec<String> = case.expect.oracle.iter().map(ToString::to_string).collect();
    let mut parts = vec![act];
    if !seen.is_empty() {
        parts.push(format!("seen from outside: {}", seen.join(", ")));
    }
    parts.extend(case.expect.exit.as_ref().map(|exit| format!("the run ends with {exit}")));
    for (name, stream) in [("stdout", &case.expect.stdout), ("stderr", &case.expect.stderr)] {
        if let Some(stream) = stream {
            let holds = stream.contains.iter().map(|text| format!("{name} has {text:?}"));
            let lacks = stream.lacks.iter().map(|text| format!("{name} lacks {text:?}"));
            parts.extend(holds.chain(lacks));
        }
    }
    parts.join("; ")
}

fn reasons(denial: &Denial) -> String {
    let signals = denial.signal.iter().map(|signal| format!("signal {signal}"));
    denial.errno.iter().cloned().chain(signals).collect::<Vec<_>>().join(" or ")
}

fn fails(case: &Case) -> Vec<String> {
    if let ExpectedDecision::Answer(answer) = &case.expect.decision {
        return query::fails(answer);
    }
    if case.channel().is_some() {
        return channel::fails();
    }
    let mut lines = Vec::new();
    let mut fail = |verdict: &str, text: &str| lines.push(entry(verdict, text));
    if case.expect.decision.is_negative() {
        let effects = case.expect.oracle.iter().filter(|oracle| !oracle.is_positive());
        let effects: Vec<String> = effects.map(|oracle| format!("`{oracle}`")).collect();
        fail("under-block", &format!("the effect happens: {} does not hold", effects.join(" or ")));
    }
    match &case.expect.decision {
        ExpectedDecision::Allowed => {
            fail("over-block", "the act is refused, or does not do what it does without a sandbox");
        }
        ExpectedDecision::AllowedOrRefused(_) => fail(
            "over-block",
            "the act is refused, or the policy is declined without the words that tell why",
        ),
        ExpectedDecision::Denied(_) => {
            fail("contract", "nothing happens, and the act is told that it succeeded");
        }
        ExpectedDecision::Contained(_) | ExpectedDecision::Withheld(_) => {}
        ExpectedDecision::Refused => {
            fail("contract", "the policy is taken although it cannot be kept");
        }
        ExpectedDecision::Answer(_) | ExpectedDecision::Receipts(_) => {}
    }
    if let Some(Twin::Overlay(_)) = case.twin {
        fail("over-block", "the twin is refused: the grant does not help");
    }
    let promises =
        case.expect.exit.is_some() || case.expect.stdout.is_some() || case.expect.stderr.is_some();
    if promises || case.expect.decision.may_work() {
        fail("contract", "the decision is right, and exit code or streams are not");
    }
    if !case.expect.oracle.iter().any(|oracle| matches!(oracle, Oracle::NoSurvivors(_))) {
        fail("leak", "a process, mount or file outlives the run");
    }
    fail("inconclusive", "none of this was seen: no record of the act, a time-out, another errno");
    lines
}

fn matters(case: &Case) -> Vec<String> {
    let why = match &case.expect.decision {
        ExpectedDecision::Allowed => {
            "Work that the policy allows must go on: a sandbox that is in the way is switched off, \
             and then it protects nothing."
        }
        ExpectedDecision::AllowedOrRefused(_) => {
            "A policy of this kind contradicts itself, or asks for what not every sandbox has. It \
             may work or be declined by name; taken without a word and not kept, it misleads."
        }
        ExpectedDecision::Denied(_) => {
            "A command that runs under this policy is not trusted. If the act works, it does what \
             the policy says it cannot; and a command that is told of a refusal does not go on as \
             if it had succeeded."
        }
        ExpectedDecision::Contained(_) => {
            "A command that runs under this policy is not trusted. If the effect is seen outside, \
             it has reached what the policy keeps from it, whatever it was told."
        }
        ExpectedDecision::Withheld(_) => {
            "A user who asks for a sandbox and gets a command without one believes to be protected. A \
             host that cannot give it is a reason not to start, not a reason to go without."
        }
        ExpectedDecision::Refused => {
            "A policy that cannot be kept must not be taken: its author believes to be protected."
        }
        ExpectedDecision::Answer(answer) => query::matters(answer),
        ExpectedDecision::Receipts(_) => channel::MATTERS,
    };
    let mut lines = vec![why.to_owned()];
    if !case.sources.is_empty() {
        lines.push(format!("It has happened: {}.", case.sources.join(", ")));
    }
    lines
}

fn repeat_commands(case: &Case) -> Vec<String> {
    let id = crate::shell_quoting::shell_word(case.id.as_str());
    vec![
        format!("boxproof run {id} --backend BACKEND --verbose"),
        format!("boxproof repro {id} --backend BACKEND --export DIR"),
        format!("the case: {}", case.file.display()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::suite;

    const DENIED: &str = "sources: [owner/repo#1]\nneeds: [exec.argv, fs.write]
fixture: {$OUT/f: kept}\nact: {probe: write, path: $OUT/f, text: evil}
expect: {denied: {errno: [EROFS, EACCES]}, oracle: [{unchanged: $OUT/f}]}
twin: {writable: [$OUT]}\n";

    fn explained(case: &str) -> String {
        let suite = suite(case);
        text(&suite.cases[0], &suite)
    }

    #[test]
    fn a_denial_tells_what_each_arm_must_show() {
        let text = explained(DENIED);
        for part in [
            "area/case\nIt is tested.\n",
            "requirement  R-x: It works. (a test)",
            "about        fs.write: ",
            "needs, too   exec.argv",
            "act          probe write --path=$OUT/f --text=evil",
            "one grant wider: {\"writable\":[\"$OUT\"]}",
            "refused with EROFS or EACCES; seen from outside: unchanged $OUT/f",
            "under-block  the effect happens: `unchanged $OUT/f` does not hold",
            "over-block   the twin is refused",
            "It has happened: owner/repo#1.",
            "boxproof repro area/case --backend BACKEND --export DIR",
        ] {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
    }

    #[test]
    fn what_must_work_has_no_under_block() {
        let text = explained("act: {sh: exit 7}\nexpect: {allowed: {}, exit: 7}\n");
        assert!(!text.contains("under-block"), "{text}");
        assert!(text.contains("the run ends with exit 7"), "{text}");
        assert!(text.contains("Work that the policy allows must go on"), "{text}");
    }

    #[test]
    fn every_case_of_the_corpus_can_be_explained() {
        let suite = Suite::embedded().unwrap();
        for case in &suite.cases {
            let text = text(case, &suite);
            assert!(text.contains(&case.purpose), "{text}");
            assert!(text.lines().all(|line| line.trim_end() == line), "{text}");
        }
    }
}
