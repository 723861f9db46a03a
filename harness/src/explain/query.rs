//! Explanation of a question: its call, passes, failures and the reason why they matter.

use boxproof_cases::Case;
use boxproof_cases::case::{
    Answer, BlockedExpect, ByRule, GrantsExpect, OperationAttempt, PolicyQuery, QuestionFault,
    StatusExpect, TextExpect,
};
use boxproof_cases::protocol::CompileTarget;

use super::entry;

/// Lists the way of asking, in place of arms.
pub(super) fn asking(case: &Case) -> Vec<String> {
    if let Some(PolicyQuery::Compile(target, attempt)) = case.question() {
        return compiling(*target, attempt);
    }
    let verb = case.question().map(PolicyQuery::verb).unwrap_or_default();
    vec![
        entry("question", &format!("by `{verb} --request FILE --result FILE`; nothing is run")),
        entry("batch", "all questions of the corpus about these documents go into one call"),
        entry("audit", "who allows all and who denies all must get it wrong, one of them each"),
    ]
}

fn compiling(target: CompileTarget, attempt: &OperationAttempt) -> Vec<String> {
    let target = target.keyword();
    let call = format!("by `compile --target {target} --request FILE --result FILE`");
    let tried = format!("would the text let a command {attempt}?");
    vec![
        entry("question", &format!("{call}; nothing is run")),
        entry(
            "meaning",
            &format!("a model of {target} reads the text, whatever program wrote it: {tried}"),
        ),
        entry(
            "audit",
            "a text that permits all and one that permits nothing must get it wrong, one of them each",
        ),
    ]
}

/// Returns the answer that must be given.
pub(super) fn passes(answer: &Answer) -> String {
    match answer {
        Answer::Allowed(by) => format!("the path is allowed; {}", rests(by)),
        Answer::Denied(by) => format!("the path is denied; {}", rests(by)),
        Answer::Invalid(fault) => format!("nothing is decided; {}", describe_fault(fault)),
        Answer::Blocked(BlockedExpect::Not(_)) => {
            "the sandbox is not why the run failed".to_owned()
        }
        Answer::Blocked(BlockedExpect::By(by)) => {
            let path = by.path.as_ref().map(|path| format!(" on {path}")).unwrap_or_default();
            format!("the run failed by the rule {}{path}", by.rule)
        }
        Answer::Valid {} => "the documents are in order".to_owned(),
        Answer::Settings(settings) => format!(
            "the settings come to {}",
            serde_json::to_string(&settings.values).unwrap_or_default()
        ),
        Answer::Ask(ask) => format!(
            "the command is {}, and the sandbox {} it",
            ask.decision.keyword(),
            if ask.sandboxed { "holds" } else { "does not hold" }
        ),
        Answer::Status(status) => comes_to(status),
        Answer::Grants(GrantsExpect { granted, .. }) if granted.is_empty() => {
            "the line grants itself nothing".to_owned()
        }
        Answer::Grants(grants) => format!("the line grants itself {}", grants.granted.join(", ")),
        Answer::Starts(start) => format!(
            "{} is started, {} an outer sandbox",
            start.argv.join(" "),
            if start.enforced { "inside" } else { "without" }
        ),
        Answer::Permits(text) => pieces("the compiled text permits it", text),
        Answer::Forbids(text) => {
            pieces("the compiled text forbids it, and is no text under which nothing runs", text)
        }
        Answer::Effective(rules) => format!(
            "the profile in force has these rules and no others: {} of reading, {} of modifying",
            rules.read.len(),
            rules.modify.len()
        ),
    }
}

fn pieces(means: &str, text: &TextExpect) -> String {
    let list = |said: &str, pieces: &[String]| match pieces {
        [] => String::new(),
        pieces => format!("; {said} `{}`", pieces.join("`, `")),
    };
    let (has, lacks) =
        (list("it has, in this order,", &text.in_order), list("it lacks", &text.lacks));
    format!("{means}{has}{lacks}")
}

fn comes_to(status: &StatusExpect) -> String {
    let members = serde_json::to_string(status).unwrap_or_default();
    format!("the block comes to {members}")
}

fn rests(by: &ByRule) -> String {
    let mut parts = vec![format!("the matched rule is `{}`", by.rule)];
    parts.extend(by.means.as_ref().map(|means| format!("the path means {means}")));
    let origin = by.origin.and_then(|origin| serde_json::to_value(origin).ok());
    parts.extend(origin.map(|origin| format!("the rule is from the {origin}").replace('"', "")));
    parts.extend(by.file.as_ref().map(|file| format!("the rule stands in {file}")));
    parts.extend(by.line.map(|line| format!("in line {line}")));
    match by.warning.as_deref() {
        Some("") => parts.push("there is no warning".to_owned()),
        Some(text) => parts.push(format!("a warning has {text:?}")),
        None => {}
    }
    parts.join(", ")
}

fn describe_fault(fault: &QuestionFault) -> String {
    let mut parts: Vec<String> =
        fault.message.iter().map(|text| format!("the message is {text:?}")).collect();
    parts.extend(fault.contains.iter().map(|text| format!("the message has {text:?}")));
    parts.extend(fault.file.as_ref().map(|file| format!("the fault is in {file}")));
    parts.extend(fault.line.map(|line| format!("line {line}")));
    parts.extend(fault.column.map(|column| format!("column {column}")));
    parts.join(", ")
}

/// The verdicts of other answers.
pub(super) fn fails(answer: &Answer) -> Vec<String> {
    let mut lines = Vec::new();
    if answer.is_negative() {
        lines.push(entry("under-block", "the path is allowed, or the documents are taken"));
        let other = "it is denied where it should be invalid, or the other way round";
        lines.push(entry("contract", other));
    } else {
        lines.push(entry("over-block", "the path is denied, or there is no decision"));
    }
    let rest = "rule, message, place or exit code are not as promised";
    lines.push(entry("contract", &format!("the answer is right, and its {rest}")));
    lines.push(entry("inconclusive", "there is no answer, or none that can be read"));
    lines
}

/// Returns the reason why the answer matters.
pub(super) fn matters(answer: &Answer) -> &'static str {
    match answer {
        Answer::Blocked(_) => {
            "The reader of an explanation acts on it: one that is missing hides the sandbox, one \
             that is wrong blames it for what would have failed anyway."
        }
        Answer::Denied(_) => {
            "The author of a rule relies on it. A path that is allowed all the same is open to \
             every tool that asks first."
        }
        Answer::Invalid(_) => {
            "What cannot be meant must not be guessed: a mistake that is taken for a policy \
             protects nothing, and one that has no place is not found."
        }
        Answer::Ask(_) | Answer::Settings(_) => {
            "A setting that means something else than it says is found when it is relied on: a \
             command runs outside, or no person is asked."
        }
        Answer::Status(_) => {
            "People and programs go by what the status says: a sandbox that is said to hold and does \
             not is worse than none that is known to be off."
        }
        Answer::Starts(_) => {
            "An agent that loses its own sandbox for one that does not run has none, and the user who \
             reads the record believes it has."
        }
        Answer::Grants(_) => {
            "A line that is taken for less than it does gets what only the policy should give; one \
             that is taken for more cannot commit its work."
        }
        Answer::Forbids(_) => {
            "A rule that is lost on the way into another language protects nothing, and no error shows \
             it: the text looks as if it had it."
        }
        Answer::Allowed(_) | Answer::Valid {} | Answer::Permits(_) | Answer::Effective(_) => {
            "What is granted must be usable, and be said to be granted by the rule that grants it: \
             else people widen rules until it works."
        }
    }
}
