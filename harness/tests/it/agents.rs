//! Agents judged in place: a fake agent speaks the protocols of the real ones to the mock model, and
//! executes what that asks for. No package is needed.

use serde_json::Value;

use crate::support::fakes::{self, verdict};
use crate::support::{DENIED, Place, has};
use rstest::rstest;

/// The fake: it is told the model's address, the protocol, and how it is to behave.
const AGENT: &str = include_str!("../fakes/agent.py");

/// The manifest of the fake; `PROGRAM`, `PROTOCOL` and `HOW` are filled in.
const MANIFEST: &str = r#"name: fake-agent
summary: An agent.
kind: agent
program: PROGRAM
run_as: any
claims: {fs.write: enforced, exec.exit_code: enforced}
env: {MODEL: '{{ endpoint }}'}
residue: [$WS/.agent, $WS/.agent/**]
argv: |
  {{ endpoint }}
  PROTOCOL
  HOW
agent:
  protocol: PROTOCOL
  tool: run
  arguments: '{"line": {{ command | map("sh") | join(" ") | json }}}'
  asks_within_ms: 5000
  report:
    exit: '(?m)\Acode (-?\d+)$'
    output: '(?s)\nOutput:\n(.*)\z'
    declined: '\Anot approved'
files: [{path: '{{ state }}/policy', content: '{{ policy | json }} {{ timeout_ms | json }}'}]
"#;

/// A case about an exit code and output with what a shell would take for its own.
const ENDS: &str = r#"purpose: A command that fails with 7 is reported as that.
requirement: R-test
act: {sh: "printf '%s\\n' 'a  \"b\"' \"it's $HOME\"; exit 7"}
expect: {allowed: {}, exit: 7, compare: [exit, stdout, tree]}
"#;

/// A case whose act a probe does and records.
const MAKES: &str = "purpose: A file is made.
requirement: R-test
act: {probe: create, path: f, text: made}
expect: {allowed: {}}
";

/// A case that tells the streams apart.
const STREAMS: &str = "purpose: A complaint goes to stderr.
requirement: R-test
act: {sh: echo no >&2}
expect: {allowed: {}, exit: 0, stderr: {contains: [no]}}
";

/// Judges `case` by an agent that speaks `protocol` and behaves as `how` says.
fn judged(case: &str, protocol: &str, how: &str) -> Value {
    let place = Place::with(&[("a/case", case)]);
    let program = place.program("agent", AGENT);
    let manifest = MANIFEST.replace("PROGRAM", program.to_str().unwrap());
    place.write("agent.yaml", &manifest.replace("PROTOCOL", protocol).replace("HOW", how));
    let (spec, corpus) = (place.arg("agent.yaml"), place.arg("corpus"));
    let (ran, mut rows) = fakes::run(&place, &spec, &corpus, &[]);
    assert_eq!(rows.len(), 1, "{}", ran.stderr);
    rows.remove(0)
}

const RESPONSES: &str = "openai-responses";

#[rstest]
#[case::responses(RESPONSES, "runs")]
#[case::chat("openai-chat", "runs")]
#[case::chat_in_one_piece("openai-chat", "whole")]
#[case::anthropic("anthropic", "runs")]
#[case::anthropic_in_one_piece("anthropic", "whole")]
#[case::gemini("gemini", "runs")]
#[case::gemini_in_one_piece("gemini", "whole")]
#[case::asked_once(RESPONSES, "asks-again")]
#[case::small_talk_first(RESPONSES, "talks-first")]
fn what_an_agent_reports_is_judged(#[case] protocol: &str, #[case] how: &str) {
    for (case, wanted) in [(ENDS, "pass"), (MAKES, "pass"), (DENIED, "under-block oracle")] {
        let row = judged(case, protocol, how);
        assert_eq!(verdict(&row), wanted, "{row:#}");
    }
    let row = judged(STREAMS, protocol, how);
    assert_eq!(verdict(&row), "unsupported inexpressible", "{row:#}");
}

#[rstest]
#[case::never_asks("ends", "it never asked its model; it ended by itself (exit status: 0)")]
#[case::says_why("complains", "and its last line is: no account")]
#[case::no_tool("toolless", "it offered no tool `run`, but other")]
#[case::no_report("keeps-quiet", "it reported nothing of the command that `run` was to run")]
#[case::dies(
    "dies",
    "it reported nothing of the command that `run` was to run; it ended by itself (signal: 9"
)]
#[case::hangs("hangs", "it never asked its model; it was killed after 5000 ms")]
fn without_a_report_nothing_was_set_up(#[case] how: &str, #[case] why: &str) {
    for case in [ENDS, DENIED] {
        let row = judged(case, RESPONSES, how);
        assert_eq!(verdict(&row), "error setup-failed", "{row:#}");
        has(row["message"].as_str().unwrap(), why);
    }
}

/// An effect counts in spite of that.
#[test]
fn a_report_without_an_exit_code_is_no_end() {
    let row = judged(ENDS, RESPONSES, "codeless");
    assert_eq!(verdict(&row), "error setup-failed", "{row:#}");
    has(row["message"].as_str().unwrap(), "its report tells no exit code");
    let row = judged(DENIED, RESPONSES, "codeless");
    assert_eq!(verdict(&row), "under-block oracle", "{row:#}");
}

/// The directories that it makes are no part of what the command leaves.
#[rstest]
#[case::as_its_manifest_says("litters", "pass")]
#[case::elsewhere("litters-elsewhere", "leak residue")]
fn what_an_agent_itself_leaves_is_residue(#[case] how: &str, #[case] wanted: &str) {
    let row = judged(ENDS, RESPONSES, how);
    assert_eq!(verdict(&row), wanted, "{row:#}");
}

#[test]
fn an_agent_that_asks_for_approval_has_refused() {
    let row = judged(ENDS, RESPONSES, "declines");
    assert_eq!(verdict(&row), "over-block policy-refused", "{row:#}");
    let row = judged(DENIED, RESPONSES, "declines");
    assert_eq!(verdict(&row), "contract policy-refused", "{row:#}");
}

#[rstest]
#[case("kind: agent", "kind: argv", "kind agent has its conversation here")]
#[case("claims: {", "claims: {exec.streams: partial, ", "no agent hands streams on")]
#[case("  tool: run", "  tool: ''", "name the tool")]
#[case(r"code (-?\d+)", r"code (-?(\d+))", "exactly one group")]
#[case(r"code (-?\d+)", r"code -?\d+", "exactly one group")]
#[case("'{\"line\": ", "'{\"line\" ", "no JSON object")]
#[case("openai-responses", "telepathy", "telepathy")]
fn a_conversation_without_sense_is_an_error(
    #[case] from: &str,
    #[case] to: &str,
    #[case] why: &str,
) {
    let manifest = MANIFEST.replace("PROTOCOL", RESPONSES).replace("PROGRAM", "/bin/true");
    assert!(manifest.contains(from));
    let read =
        boxproof::backend::Manifest::parse("agent.yaml".as_ref(), &manifest.replace(from, to));
    has(&read.unwrap_err().to_string(), why);
}
