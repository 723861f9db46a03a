//! Questions of a case, in the words of its file ([`summarize_case`]): for records, and for people who read a
//! case here.

use boxproof_cases::Case;
use boxproof_cases::case::{Act, CaseStep, Control, PolicyQuery, Twin};
use boxproof_reports::CaseQuestion;
use boxproof_reports::record::STREAM_LIMIT;

/// Returns the question of `case`.
pub fn summarize_case(case: &Case) -> CaseQuestion {
    let texts = [
        acts(case),
        json(case.policy()),
        json(&case.expect),
        if case.fixture.is_empty() { String::new() } else { json(&case.fixture) },
        control(&case.control),
        twin(case.twin.as_ref()),
    ];
    let [act, policy, expect, fixture, control, twin] = texts.map(bounded);
    CaseQuestion { act, policy, expect, fixture, control, twin }
}

/// Lists every step on a line of its own, with its policy where that is not the judged one's.
fn acts(case: &Case) -> String {
    let several = case.steps.len() > 1;
    let line = |(at, step): (usize, &CaseStep)| {
        let number = if several { format!("{}. ", at + 1) } else { String::new() };
        let policy = match step.policy == *case.policy() {
            true => String::new(),
            false => format!(" under {}", json(&step.policy)),
        };
        format!("{number}{}{policy}", act(&step.act))
    };
    case.steps.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
}

/// Renders one act as a line, or several for a script.
pub fn act(act: &Act) -> String {
    match act {
        Act::Probe { probe, args } => {
            let args =
                args.iter().flat_map(|(k, vs)| vs.iter().map(move |v| format!(" --{k}={v}")));
            format!("probe {probe}{}", args.collect::<String>())
        }
        Act::Sh(line) => format!("sh: {}", line.trim()),
        Act::Receipts(channel) => channel.steps.iter().map(json).collect::<Vec<_>>().join("\n"),
        Act::Argv(argv) => format!("argv: {argv:?}"),
        Act::Decide(PolicyQuery::Compile(target, attempt)) => {
            format!("compile {}: {attempt}", target.keyword())
        }
        Act::Decide(question) => match question.details().as_slice() {
            [] => format!("decide {}", question.keyword()),
            [(_, value), ..] => format!("decide {} {value:?}", question.keyword()),
        },
    }
}

fn control(control: &Control) -> String {
    match control {
        Control::Host => "on the host".to_owned(),
        Control::PrivateNs => "in a throw-away namespace".to_owned(),
        Control::None(reason) => format!("none: {reason}"),
    }
}

fn twin(twin: Option<&Twin>) -> String {
    match twin {
        Some(Twin::Overlay(over)) => json(over),
        Some(Twin::None(reason)) => format!("none: {reason}"),
        None => String::new(),
    }
}

fn json(value: &impl serde::Serialize) -> String {
    // A value read from YAML can be written as JSON.
    serde_json::to_string(value).unwrap_or_default()
}

/// Bounds the text, as a record is no archive: a longer one ends in a mark.
fn bounded(text: String) -> String {
    const MARK: &str = "…";
    if text.len() <= STREAM_LIMIT {
        return text;
    }
    let ends = (0..=STREAM_LIMIT - MARK.len()).rev();
    let end = ends.into_iter().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}{MARK}", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::case;

    #[test]
    fn every_text_says_what_the_case_says() {
        let asked = summarize_case(&case(
            "needs: [fs.write]\nfixture: {f: kept}\npolicy: {mode: read_only}
act: {probe: write, path: f, text: evil}
expect: {denied: {errno: [EROFS]}, oracle: [{unchanged: f}]}\ntwin: {mode: workspace_write}\n",
        ));
        assert_eq!(asked.act, "probe write --path=f --text=evil");
        assert_eq!(asked.policy, r#"{"mode":"read_only"}"#);
        assert_eq!(asked.expect, r#"{"denied":{"errno":["EROFS"]},"oracle":[{"unchanged":"f"}]}"#);
        assert_eq!(asked.fixture, r#"{"f":{"file":"kept"}}"#);
        assert_eq!(asked.control, "on the host");
        assert_eq!(asked.twin, r#"{"mode":"workspace_write"}"#);
    }

    #[test]
    fn steps_have_numbers_and_policies_of_their_own() {
        let asked = summarize_case(&case(
            "steps: [{act: {sh: 'true'}, policy: {mode: read_only}}, {act: {argv: [echo, x]}}]
expect: {allowed: {}}\n",
        ));
        let wanted = "1. sh: true under {\"mode\":\"read_only\"}\n2. argv: [\"echo\", \"x\"]";
        assert_eq!(asked.act, wanted);
        assert_eq!((asked.fixture.as_str(), asked.twin.as_str()), ("", ""));
    }

    #[test]
    fn long_texts_are_cut_between_characters_and_say_so() {
        let text = bounded("é".repeat(STREAM_LIMIT));
        assert!(text.len() <= STREAM_LIMIT && text.ends_with("é…"), "{}", text.len());
        assert_eq!(bounded("short".to_owned()), "short");
    }
}
