//! Valid and invalid blocks, and their results.

use boxproof_cases::protocol::{
    BlockBackend, BlockMode, BlockNetwork, CommandFate, Mode, Network, OnUnavailable, Protect,
    TmpPolicy,
};
use rstest::rstest;

use super::*;

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
#[case("a: b\nsandbox: {network: on}\n", (2, 20), "write `enabled`")]
#[case("sandbox: {fail_if_unavailable: 'true'}\n", (1, 32), "without quotes")]
#[case("sandbox: {env_passthrough: [A, '']}\n", (1, 32), "an empty entry")]
fn what_is_wrong_has_its_place(
    #[case] text: &str,
    #[case] place: (u32, u32),
    #[case] message: &str,
) {
    let fault = parse(text).unwrap_err();
    assert_eq!(fault.place, Some(place), "{fault}");
    assert!(fault.message.contains(message), "{fault}");
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
#[case("mode: off, backend: none", "linux", CommandFate::Unconfined, false)]
#[case("mode: workspace_write", "linux", CommandFate::Confined, false)]
#[case("mode: read_only, backend: linux_bubblewrap", "linux", CommandFate::Confined, false)]
#[case("mode: workspace_write", "haiku", CommandFate::Refused, true)]
#[case("mode: workspace_write, backend: none", "linux", CommandFate::Refused, true)]
#[case("mode: read_only, backend: macos_seatbelt", "linux", CommandFate::Refused, true)]
#[case("mode: workspace_write, backend: linux_bubblewrap", "macos", CommandFate::Refused, true)]
#[case(
    "mode: workspace_write, backend: none, fail_if_unavailable: false",
    "linux",
    CommandFate::Unconfined,
    true
)]
fn what_cannot_be_confined_is_refused_unless_it_may_run(
    #[case] block: &str,
    #[case] os: &str,
    #[case] runs: CommandFate,
    #[case] unavailable: bool,
) {
    let settled = settled(&format!("sandbox: {{{block}}}\n"), os);
    assert_eq!((settled.runs(), settled.unavailable.is_some()), (runs, unavailable));
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
