//! Status of a sandbox block, and the conclusion of each answer.

use boxproof_cases::protocol::{
    BlockBackend, BlockMode, BlockNetwork, PolicyFault, RootKind, Runs, Status, Told, WirePath,
    WritableRoot,
};
use rstest::rstest;

use super::super::judge;
use crate::execution::{Answered, Execution, Reply};
use crate::testing::case;

/// A block that confines, for a workspace with one extra root.
fn confined() -> Status {
    let root = |kind, path: &str| WritableRoot { kind, written: path.into(), path: path.into() };
    Status {
        runs: Runs::Confined,
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

fn told(change: fn(&mut Status)) -> Told {
    let mut status = confined();
    change(&mut status);
    Told::Status(Box::new(status))
}

fn refused() -> Told {
    told(|status| {
        status.runs = Runs::Refused;
        status.reason = Some("no user namespaces".to_owned());
        status.effective_backend = "none".to_owned();
    })
}

fn open() -> Told {
    told(|status| {
        status.runs = Runs::Unconfined;
        status.effective_backend = "none".to_owned();
    })
}

fn fault() -> Told {
    let message = "unknown".to_owned();
    Told::Invalid(PolicyFault { message, file: None, line: None, column: None })
}

const ALL: &str = "{runs: confined, mode: workspace_write, configured_backend: auto, \
    effective_none: false, network: restricted, fail_closed: true, workspace: /w, \
    roots: [/w, /x], tmp: true, protected: [/w/.codex], artifacts: [/w/.inferoa/tmp], \
    env_passthrough: [A]}";

#[rstest]
#[case::all(ALL, told(|_| {}), "pass")]
#[case::refused("{runs: refused, reason: [namespaces]}", refused(), "pass")]
#[case::open_instead_of_refused("{runs: refused}", open(), "under-block decision")]
#[case::confined_instead_of_refused("{runs: refused}", told(|_| {}), "under-block decision")]
#[case::open_instead_of_confined("{runs: confined}", open(), "under-block decision")]
#[case::refused_instead_of_confined("{runs: confined}", refused(), "over-block decision")]
#[case::refused_instead_of_open("{runs: unconfined}", refused(), "over-block decision")]
#[case::confined_instead_of_open("{runs: unconfined}", told(|_| {}), "contract rule")]
#[case::other_reason("{runs: refused, reason: [bwrap]}", refused(), "contract rule")]
#[case::no_backend("{effective_none: false}", open(), "contract rule")]
#[case::a_backend("{effective_none: true}", told(|_| {}), "contract rule")]
#[case::mode(ALL, told(|s| s.mode = BlockMode::ReadOnly), "contract rule")]
#[case::configured(ALL, told(|s| s.configured_backend = BlockBackend::None), "contract rule")]
#[case::network(ALL, told(|s| s.network = BlockNetwork::Enabled), "contract rule")]
#[case::fails_open(ALL, told(|s| s.fail_closed = false), "contract rule")]
#[case::workspace(ALL, told(|s| s.workspace = "/v".into()), "contract rule")]
#[case::fewer_roots(ALL, told(|s| drop(s.writable_roots.pop())), "contract rule")]
#[case::no_temp(ALL, told(|s| drop(s.writable_roots.remove(1))), "contract rule")]
#[case::order(ALL, told(|s| s.writable_roots.reverse()), "contract rule")]
#[case::unprotected(ALL, told(|s| drop(s.protected.pop())), "contract rule")]
#[case::more_protected(ALL, told(|s| s.protected.push("/w/.vscode".into())), "pass")]
#[case::no_artifacts(ALL, told(|s| s.artifacts.clear()), "contract rule")]
#[case::more_artifacts(ALL, told(|s| s.artifacts.push("/w/x".into())), "contract rule")]
#[case::kept(ALL, told(|s| s.env_passthrough.clear()), "contract rule")]
#[case::error("{runs: confined}", fault(), "over-block decision")]
#[case::error_for_a_refusal("{runs: refused}", fault(), "contract decision")]
#[case::no_status("{runs: confined}", Told::Asks(Vec::new()), "inconclusive untrusted-record")]
fn a_block_comes_to_what_it_should(
    #[case] wanted: &str,
    #[case] told: Told,
    #[case] verdict: &str,
) {
    assert_eq!(concluded(&format!("{{status: {wanted}}}"), told), verdict);
}

/// A block that has to be refused and is not has opened every command that runs under it.
#[rstest]
#[case::runs(told(|_| {}), "under-block decision")]
#[case::runs_open(open(), "under-block decision")]
#[case::keeps_it_from_running(refused(), "contract decision")]
fn a_status_is_no_error(#[case] told: Told, #[case] verdict: &str) {
    assert_eq!(concluded("{invalid: {contains: [unknown]}}", told), verdict);
}

fn concluded(answer: &str, told: Told) -> String {
    let case = case(&format!(
        "needs: [policy.status]\npolicy: {{inferoa: {{config: ''}}}}\nact: {{decide: status}}\n\
         expect: {{answer: {answer}}}\n"
    ));
    let (stderr, duration_ms) = (String::new(), 1.0);
    let answered = Answered { told, tried: None, exit: Some(1), due: 1, stderr, duration_ms };
    let reply = Some(Reply::Answered(Box::new(answered)));
    let judgement = judge(&case, &Execution { reply, ..Execution::default() });
    format!("{} {}", judgement.verdict.word(), judgement.reason).trim().to_owned()
}
