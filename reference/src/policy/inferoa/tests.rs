//! Valid and invalid blocks, and their results.

use boxproof_cases::protocol::{
    BlockBackend, BlockMode, BlockNetwork, CommandFate, Mode, Network, OnUnavailable, Protect,
    TmpPolicy,
};
use rstest::rstest;

use super::*;
use crate::policy::AUTO;

fn parse(text: &str) -> Result<SandboxBlock, ConfigError> {
    SandboxBlock::parse("config.yaml", text)
}

fn around(workspace: &std::path::Path) -> ExpansionContext {
    let env = [("HOME", "/home/u"), ("EMPTY", ""), ("D", "/d")];
    ExpansionContext {
        workspace: workspace.to_owned(),
        env: env.map(|(name, value)| (name.into(), value.into())).into(),
    }
}

fn settled(text: &str, os: &str) -> ResolvedBlock {
    let directory = tempfile::tempdir().unwrap();
    resolve_block(parse(text).unwrap(), &around(directory.path()), os).unwrap()
}

#[rstest]
#[case("")]
#[case("# nothing\n")]
#[case("model: x\n")]
#[case("\n \n\t# nothing\n")]
#[case("sandbox:\n")]
#[case("sandbox: {mode: null, env_passthrough: null}\n")]
fn what_is_left_out_has_its_default(#[case] text: &str) {
    let block = parse(text).unwrap();
    assert_eq!((block.mode, block.backend), (BlockMode::Off, BlockBackend::Auto));
    assert_eq!((block.network, block.fail_closed), (BlockNetwork::Restricted, true));
    assert!(block.extra.is_empty() && block.env.is_empty());
}

#[rstest]
#[case("sandbox:\n  mode: bogus\n", (2, 9), "use one of off, read_only, workspace_write")]
#[case("sandbox: {mode: WorkspaceWrite}\n", (1, 17), "write `workspace_write`")]
#[case("sandbox: {backend: bubblewrap}\n", (1, 20), "write `linux_bubblewrap`")]
#[case("a: b\nsandbox: {network: on}\n", (2, 20), "write `enabled`")]
#[case("sandbox: {fail_if_unavailable: 'true'}\n", (1, 32), "without quotes")]
#[case("sandbox: {env_passthrough: [A, '']}\n", (1, 32), "an empty entry; remove it")]
#[case("sandbox: {env_passthrough: [A-B]}\n", (1, 29), "so name each variable")]
#[case("sandbox: {env_passthrough: [1A]}\n", (1, 29), "so name each variable")]
#[case("model: x\nSandbox: {}\n", (2, 1), "`Sandbox` is not read; write `sandbox`")]
#[case("env_passthrough: [A]\n", (1, 1), "stands outside the block; put it below `sandbox`")]
fn what_is_wrong_has_its_place(
    #[case] text: &str,
    #[case] place: (u32, u32),
    #[case] message: &str,
) {
    let fault = parse(text).unwrap_err();
    assert_eq!(fault.place, Some(place), "{fault}");
    assert!(fault.message.ends_with(message), "{fault}");
    assert_eq!(
        fault.to_string(),
        format!("config.yaml:{}:{}: {}", place.0, place.1, fault.message)
    );
}

#[test]
fn variables_are_kept_once_and_truth_has_two_values() {
    let text = "sandbox: {env_passthrough: [A, _b1, A], fail_if_unavailable: true}\n";
    let settled = settled(text, "linux");
    assert_eq!(settled.block.env, ["A", "_b1"]);
    assert!(settled.block.fail_closed);
    assert_eq!(settled.policy.env.pass, settled.block.env);
}

#[rstest]
#[case("~", Ok("/home/u"))]
#[case("~/x", Ok("/home/u/x"))]
#[case("a~", Ok("/w/a~"))]
#[case("${D}/${D}", Ok("/d//d"))]
#[case("x/${HOME}", Ok("/w/x//home/u"))]
#[case("~u", Err("another user"))]
#[case("${NONE}", Err("is not set"))]
#[case("${EMPTY}/x", Err("is not set"))]
#[case("$D", Err("a dollar begins"))]
#[case("${D", Err("a dollar begins"))]
#[case("${D-x}", Err("a dollar begins"))]
fn paths_are_expanded(#[case] written: &str, #[case] expected: Result<&str, &str>) {
    let path = around("/w".as_ref()).path(written);
    match expected {
        Ok(expected) => assert_eq!(path.unwrap().to_str().unwrap(), expected),
        Err(why) => assert!(path.unwrap_err().contains(why)),
    }
}

#[rstest]
#[case("mode: off, backend: none", "linux", CommandFate::Unconfined, AUTO, "")]
#[case("mode: workspace_write", "linux", CommandFate::Confined, AUTO, "")]
#[case(
    "mode: read_only, backend: linux_bubblewrap",
    "linux",
    CommandFate::Confined,
    "bubblewrap",
    ""
)]
#[case("mode: read_only", "macos", CommandFate::Confined, "seatbelt", "")]
#[case("mode: read_only, backend: macos_seatbelt", "macos", CommandFate::Confined, "seatbelt", "")]
#[case(
    "mode: workspace_write",
    "haiku",
    CommandFate::Refused,
    AUTO,
    "no mechanism exists on haiku yet"
)]
#[case(
    "mode: workspace_write, backend: none",
    "linux",
    CommandFate::Refused,
    AUTO,
    "sandbox.backend: none enforces nothing"
)]
#[case(
    "mode: read_only, backend: macos_seatbelt",
    "linux",
    CommandFate::Refused,
    AUTO,
    "sandbox.backend: macos_seatbelt is there on macOS only, and this is linux"
)]
#[case(
    "mode: workspace_write, backend: linux_bubblewrap",
    "macos",
    CommandFate::Refused,
    AUTO,
    "sandbox.backend: linux_bubblewrap is there on Linux only, and this is macos"
)]
#[case(
    "mode: workspace_write, backend: none, fail_if_unavailable: false",
    "linux",
    CommandFate::Unconfined,
    AUTO,
    "sandbox.backend: none enforces nothing"
)]
fn what_cannot_be_confined_is_refused_unless_it_may_run(
    #[case] block: &str,
    #[case] os: &str,
    #[case] runs: CommandFate,
    #[case] mechanism: &str,
    #[case] why: &str,
) {
    let settled = settled(&format!("sandbox: {{{block}}}\n"), os);
    let said = settled.unavailable.as_deref().unwrap_or_default();
    assert_eq!((settled.runs(), settled.mechanism), (runs, mechanism));
    assert_eq!(said.split(';').next(), Some(why));
}

/// Roots that only a mode that writes has.
#[test]
fn the_status_lists_what_can_be_written() {
    let told = |mode: &str| {
        let block = format!(
            "sandbox: {{mode: {mode}, extra_writable_roots: [{{}}], env_passthrough: [A, B]}}\n"
        );
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().canonicalize().unwrap();
        std::fs::create_dir(workspace.join("x")).unwrap();
        let block = parse(&block.replace("{}", "./x")).unwrap();
        let settled = resolve_block(block, &around(&workspace), "linux").unwrap();
        let told = text(&status(&settled, ".", "namespaces"));
        told.replace(workspace.to_str().unwrap(), "/w")
    };
    let names = |root: &str| {
        let names = boxproof_cases::protocol::PROTECTED_NAMES.iter();
        names.map(|name| format!("{root}/{name}")).collect::<Vec<_>>().join(", ")
    };
    let artifacts = ["tmp", "exports", "artifacts", "evidence", "cache", "sandbox"]
        .map(|name| format!("/w/.inferoa/{name}"));
    assert_eq!(
        told("workspace_write"),
        format!(
            "Commands:           confined\nMode:               workspace_write\n\
             Configured backend: auto\nEffective backend:  namespaces\n\
             Network:            restricted\nWorkspace:          /w\n\
             Fail closed:        true\n\
             Writable roots:     workspace: /w, tmp: /tmp (private), extra: /w/x\n\
             Protected:          {}, {}\nArtifacts:          {}\nEnv passthrough:    A, B\n",
            names("/w"),
            names("/w/x"),
            artifacts.join(", ")
        )
    );
    for mode in ["read_only", "'off'"] {
        let told = told(mode);
        assert!(told.contains("Writable roots:     none\nProtected:          none\n"), "{told}");
        assert!(told.contains("Artifacts:          none\n"), "{told}");
    }
}

#[test]
fn modes_become_policies() {
    let off = settled("", "linux").policy;
    assert_eq!((off.mode, off.network, off.env.scrub), (Mode::Unconfined, Network::Host {}, false));
    let read = settled("sandbox: {mode: read_only}", "linux").policy;
    assert_eq!((read.mode, read.tmp), (Mode::ReadOnly, TmpPolicy::None));
    let write = settled("sandbox: {mode: workspace_write, fail_if_unavailable: false}", "linux");
    let write = write.policy;
    assert_eq!((write.mode, write.protect), (Mode::WorkspaceWrite, Protect::Metadata));
    assert_eq!((write.reopen.len(), write.network), (6, Network::None {}));
    assert_eq!(write.on_unavailable, OnUnavailable::RunUnconfined);
}

#[test]
fn extra_roots_are_real_and_each_is_one() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = std::fs::canonicalize(directory.path()).unwrap();
    let [one, two] = ["one", "two"].map(|name| workspace.join(name));
    std::fs::create_dir(&one).unwrap();
    std::fs::create_dir(&two).unwrap();
    let around = around(&workspace);
    let text = "sandbox: {extra_writable_roots: ['.', one, two, './one']}\n";
    let roots = parse(text).unwrap().roots(&around, true).unwrap();
    let found: Vec<_> = roots.extra.iter().map(|(_, real)| real.clone()).collect();
    assert_eq!((roots.workspace, found), (workspace.clone(), vec![one, two]));
    assert!(parse(text).unwrap().roots(&around, false).unwrap().extra.is_empty());
}

#[rstest]
#[case::pattern("one*", "is a pattern")]
#[case::missing("none", "does not exist")]
#[case::below_a_file("file/x", "make it reachable")]
#[case::a_file("file", "is no directory")]
#[case::of_the_kernel("/dev", "never made writable")]
fn an_extra_root_that_cannot_be_is_told(#[case] root: &str, #[case] why: &str) {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("file"), "x").unwrap();
    let block = parse(&format!("sandbox: {{extra_writable_roots: ['{root}']}}\n")).unwrap();
    let error = block.roots(&around(directory.path()), true).unwrap_err();
    assert!(error.message.contains(why), "{error}");
}
