//! A question as a script: the fixture, the request, the call, and what the answer must have.

use boxproof_cases::Case;
use boxproof_cases::case::{
    Answer, BlockedExpect, ByDenial, ByRule, ExpectedDecision, PolicyQuery, QuestionFault, Rules,
    StatusExpect,
};
use boxproof_cases::protocol::Permission;

use super::fixture;
use super::shell::{ScriptShell, quoted};
use crate::backend::{Backend, BackendKind};
use crate::case_summary;

/// The lines after the script's head; `request` is what the call is asked.
///
/// # Errors
/// Returns an error when the backend cannot be asked, or the case is no question.
pub(super) fn body(
    case: &Case,
    backend: &Backend,
    shell: &ScriptShell,
    request: &str,
) -> Result<String, String> {
    let BackendKind::Native { program, prefix, .. } = &backend.kind else {
        return Err("this backend does not speak the verbs that ask".to_owned());
    };
    let (Some(question), ExpectedDecision::Answer(answer)) =
        (case.question(), &case.expect.decision)
    else {
        return Err("it is no question".to_owned());
    };
    let words: Vec<String> = prefix.iter().map(|word| shell.quoted_word(word)).collect();
    let verb = match question {
        PolicyQuery::Compile(target, _) => {
            format!("{} --target {}", question.verb(), target.keyword())
        }
        _ => question.verb().to_owned(),
    };
    let limit = case.timeout_ms.div_ceil(1000);
    let backend = quoted(&program.display().to_string());
    let lines = [
        settings(limit, &backend),
        fixture::fixture(case, shell)?,
        format!("ready_to_run\nfresh\nlay\nsay {}", quoted(&format!("case:     {}", case.purpose))),
        format!(
            "say {}",
            quoted(&format!("expected: {}", case_summary::summarize_case(case).expect))
        ),
        format!("printf '%s\\n' {} >\"$work/request.json\"", shell.quoted_word(request)),
        "rm -f \"$work/answer.json\"".to_owned(),
        format!(
            "timeout \"$limit\" \"$backend\" {} {verb} --request \"$work/request.json\" \
             --result \"$work/answer.json\"\ncode=$?",
            words.join(" ")
        ),
        LOOK.to_owned(),
        format!("[ \"$code\" = {0} ] || bad \"it ended with $code instead of {0}\"", exit(answer)),
    ];
    let unjudged = match answer {
        Answer::Permits(_) | Answer::Forbids(_) => Some(format!(
            "has '\"compiled\":'\nopen_question \"what the text means takes a model: boxproof run '{}'\"",
            case.id
        )),
        _ => None,
    };
    let looks = texts(answer);
    let looks = looks.iter().map(|text| format!("has {}", shell.expanded(text)));
    Ok(lines.into_iter().chain(looks).chain(unjudged).collect::<Vec<_>>().join("\n")
        + "\nconclude\n")
}

fn settings(limit: u64, backend: &str) -> String {
    format!(
        "set -u\nhere=$(CDPATH='' cd -- \"$(dirname -- \"$0\")\" && pwd -P) || exit 2\n\
         nonce=none canary=none limit={limit}\nbackend=${{BACKEND:-{backend}}}\n. \"$here/lib.sh\"\n"
    )
}

/// Blanks say nothing in JSON, so they are left out on both sides.
const LOOK: &str = "\
[ -s \"$work/answer.json\" ] || give_up \"it ended with $code and wrote no answer\"
answer=$(tr -d ' \\n' <\"$work/answer.json\")
say \"answer:   $(cat \"$work/answer.json\")\"
has() {
    text=$(printf '%s' \"$1\" | tr -d ' \\n')
    case $answer in *\"$text\"*) ;; *) bad \"the answer lacks $1\" ;; esac
}";

/// The exit code of a call that asks this alone.
fn exit(answer: &Answer) -> i32 {
    match answer {
        Answer::Allowed(_) | Answer::Valid {} | Answer::Effective(_) | Answer::Permits(_) => 0,
        Answer::Settings(_) | Answer::Starts(_) => 0,
        Answer::Ask(ask) => i32::from(ask.decision != Permission::Allow),
        Answer::Denied(_) | Answer::Forbids(_) => 1,
        Answer::Blocked(why) => i32::from(matches!(why, BlockedExpect::By(_))),
        Answer::Status(status) => i32::from(status.is_negative()),
        Answer::Grants(grants) => i32::from(grants.granted.is_empty()),
        Answer::Invalid(_) => 2,
    }
}

/// Returns the texts that the answer must have in it.
fn texts(answer: &Answer) -> Vec<String> {
    match answer {
        Answer::Allowed(by) => decided(true, by),
        Answer::Denied(by) => decided(false, by),
        Answer::Invalid(fault) => fault_members(fault),
        Answer::Blocked(BlockedExpect::Not(_)) => vec!["\"blocked\":null".to_owned()],
        Answer::Blocked(BlockedExpect::By(by)) => denied(by),
        Answer::Status(status) => comes_to(status),
        Answer::Starts(start) => {
            let mut texts = vec![member("argv", &start.argv), member("enforced", &start.enforced)];
            texts.extend(start.config.iter().map(|config| member("config", config)));
            texts
        }
        Answer::Grants(grants) => vec![member("granted", &grants.granted)],
        Answer::Permits(_) | Answer::Forbids(_) => Vec::new(),
        Answer::Valid {} => vec!["\"valid\":{}".to_owned()],
        Answer::Ask(ask) => {
            let mut texts = vec![member("decision", &ask.decision)];
            texts.push(member("sandboxed", &ask.sandboxed));
            texts.extend(ask.by.iter().map(|by| member("by", by)));
            texts.extend(ask.bypassed_by.iter().map(|by| member("bypassed_by", by)));
            texts
        }
        Answer::Settings(settings) => leaves(&settings.values),
        Answer::Effective(Rules { read, modify }) => {
            let rules = read.iter().chain(modify);
            rules.map(|rule| member("rule", &rule.rule)).collect()
        }
    }
}

/// Lists every named member that is no table itself.
fn leaves(values: &serde_json::Map<String, serde_json::Value>) -> Vec<String> {
    let leaf = |(name, value): (&String, &serde_json::Value)| match value {
        serde_json::Value::Object(inner) => leaves(inner),
        value => vec![member(name, value)],
    };
    values.iter().flat_map(leaf).collect()
}

fn decided(allowed: bool, by: &ByRule) -> Vec<String> {
    let mut texts = vec![member("allowed", &allowed), member("matched_rule", &by.rule)];
    texts.extend(by.means.iter().map(|means| member("means", means)));
    texts.extend(by.origin.iter().map(|origin| member("origin", origin)));
    texts.extend(by.file.iter().map(|file| member("file", file)));
    texts.extend(by.line.iter().map(|line| member("line", line)));
    texts
}

fn denied(by: &ByDenial) -> Vec<String> {
    let mut texts = vec![member("rule", &by.rule)];
    texts.extend(by.operation.iter().map(|operation| member("operation", operation)));
    texts.extend(by.path.iter().map(|path| member("path", path)));
    texts
}

fn fault_members(fault: &QuestionFault) -> Vec<String> {
    let inner = |text: &String| {
        let quoted = json(text);
        quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
    };
    let mut texts: Vec<String> = fault.message.iter().chain(&fault.contains).map(inner).collect();
    texts.extend(fault.file.iter().map(|file| member("file", file)));
    texts.extend(fault.line.iter().map(|line| member("line", line)));
    texts.extend(fault.column.iter().map(|column| member("column", column)));
    texts
}

fn member(name: &str, value: &impl serde::Serialize) -> String {
    format!("\"{name}\":{}", json(value))
}

fn json(value: &impl serde::Serialize) -> String {
    // A value read from YAML can be written as JSON.
    serde_json::to_string(value).unwrap_or_default()
}
/// The members of a status that are compared, as JSON has them.
fn comes_to(status: &StatusExpect) -> Vec<String> {
    let whole = serde_json::to_value(status).unwrap_or_default();
    let same = ["runs", "mode", "configured_backend", "network", "fail_closed", "env_passthrough"];
    same.iter().filter_map(|name| Some(format!("\"{name}\":{}", whole.get(name)?))).collect()
}
