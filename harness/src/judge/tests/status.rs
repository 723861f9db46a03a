//! Status of a sandbox block, and the conclusion of each answer.

use boxproof_cases::protocol::{
    BlockBackend, BlockMode, BlockNetwork, CommandFate, DocumentAnswer, PolicyFault, RootKind,
    Status, WirePath, WritableRoot,
};
use rstest::rstest;

use super::super::judge;
use crate::execution::{CaseExecution, QueryAnswer, QueryReply};
use crate::testing::case;

/// A block that confines, for a workspace with one extra root.
fn confined() -> Status {
    let root = |kind, path: &str| WritableRoot { kind, written: path.into(), path: path.into() };
    Status {
        runs: CommandFate::Confined,
        reason: None,
        mode: BlockMode::WorkspaceWrite,
        configured_backend: BlockBackend::Auto,
        effective_backend: "any".to_owned(),
        network: BlockNetwork::Restricted,
        fail_closed: true,
        workspace: "/w".into(),
        writable_roots: vec![
            root(RootKind::Workspace, "/w"),
            root(RootKind::Tmp, "/tmp"),
            root(RootKind::Extra, "/x"),
        ],
        protected: ["/w/.git", "/w/.codex"].map(WirePath::from).into(),
        artifacts: vec!["/w/.inferoa/tmp".into()],
        env_passthrough: vec!["A".to_owned()],
        limits: Vec::new(),
    }
}

fn status_answer(change: fn(&mut Status)) -> DocumentAnswer {
    let mut status = confined();
    change(&mut status);
    DocumentAnswer::Status(Box::new(status))
}

fn refused() -> DocumentAnswer {
    status_answer(|status| {
        status.runs = CommandFate::Refused;
        status.reason = Some("no user namespaces".to_owned());
        status.effective_backend = "none".to_owned();
    })
}

fn open() -> DocumentAnswer {
    status_answer(|status| {
        status.runs = CommandFate::Unconfined;
        status.effective_backend = "none".to_owned();
    })
}

fn fault() -> DocumentAnswer {
    let message = "unknown".to_owned();
    DocumentAnswer::Invalid(PolicyFault { message, file: None, line: None, column: None })
}

const ALL: &str = "{runs: confined, mode: workspace_write, configured_backend: auto, \
    effective_none: false, network: restricted, fail_closed: true, workspace: /w, \
    roots: [/w, /x], tmp: true, protected: [/w/.codex], artifacts: [/w/.inferoa/tmp], \
    env_passthrough: [A]}";

#[rstest]
#[case::all(ALL, status_answer(|_| {}), "pass")]
#[case::refused("{runs: refused, reason: [namespaces]}", refused(), "pass")]
#[case::open_instead_of_refused("{runs: refused}", open(), "under-block decision")]
#[case::confined_instead_of_refused("{runs: refused}", status_answer(|_| {}), "under-block decision")]
#[case::open_instead_of_confined("{runs: confined}", open(), "under-block decision")]
#[case::refused_instead_of_confined("{runs: confined}", refused(), "over-block decision")]
#[case::refused_instead_of_open("{runs: unconfined}", refused(), "over-block decision")]
#[case::confined_instead_of_open("{runs: unconfined}", status_answer(|_| {}), "contract rule")]
#[case::other_reason("{runs: refused, reason: [bwrap]}", refused(), "contract rule")]
#[case::no_backend("{effective_none: false}", open(), "contract rule")]
#[case::a_backend("{effective_none: true}", status_answer(|_| {}), "contract rule")]
#[case::mode(ALL, status_answer(|s| s.mode = BlockMode::ReadOnly), "contract rule")]
#[case::configured(ALL, status_answer(|s| s.configured_backend = BlockBackend::None), "contract rule")]
#[case::network(ALL, status_answer(|s| s.network = BlockNetwork::Enabled), "contract rule")]
#[case::fails_open(ALL, status_answer(|s| s.fail_closed = false), "contract rule")]
#[case::workspace(ALL, status_answer(|s| s.workspace = "/v".into()), "contract rule")]
#[case::fewer_roots(ALL, status_answer(|s| drop(s.writable_roots.pop())), "contract rule")]
#[case::no_temp(ALL, status_answer(|s| drop(s.writable_roots.remove(1))), "contract rule")]
#[case::order(ALL, status_answer(|s| s.writable_roots.reverse()), "contract rule")]
#[case::unprotected(ALL, status_answer(|s| drop(s.protected.pop())), "contract rule")]
#[case::more_protected(ALL, status_answer(|s| s.protected.push("/w/.vscode".into())), "pass")]
#[case::no_artifacts(ALL, status_answer(|s| s.artifacts.clear()), "contract rule")]
#[case::more_artifacts(ALL, status_answer(|s| s.artifacts.push("/w/x".into())), "contract rule")]
#[case::kept(ALL, status_answer(|s| s.env_passthrough.clear()), "contract rule")]
#[case::error("{runs: confined}", fault(), "over-block decision")]
#[case::error_for_a_refusal("{runs: refused}", fault(), "contract decision")]
#[case::no_status(
    "{runs: confined}",
    DocumentAnswer::Asks(Vec::new()),
    "inconclusive untrusted-record"
)]
fn a_block_comes_to_what_it_should(
    #[case] wanted: &str,
    #[case] told: DocumentAnswer,
    #[case] verdict: &str,
) {
    assert_eq!(concluded(&format!("{{status: {wanted}}}"), told), verdict);
}

/// A block that has to be refused and is not has opened every command that runs under it.
#[rstest]
#[case::runs(status_answer(|_| {}), "under-block decision")]
#[case::runs_open(open(), "under-block decision")]
#[case::keeps_it_from_running(refused(), "contract decision")]
fn a_status_is_no_error(#[case] told: DocumentAnswer, #[case] verdict: &str) {
    assert_eq!(concluded("{invalid: {contains: [unknown]}}", told), verdict);
}

fn concluded(answer: &str, told: DocumentAnswer) -> String {
    let case = case(&format!(
        "needs: [policy.status]\npolicy: {{inferoa: {{config: ''}}}}\nact: {{decide: status}}\n\
         expect: {{answer: {answer}}}\n"
    ));
    let (stderr, duration_ms) = (String::new(), 1.0);
    let answered = QueryAnswer { told, tried: None, exit: Some(1), due: 1, stderr, duration_ms };
    let reply = QueryReply::Answered(Box::new(answered));
    let judgement = judge(&case, &CaseExecution::Answer(reply));
    format!("{} {}", judgement.verdict.keyword(), judgement.reason).trim().to_owned()
}
