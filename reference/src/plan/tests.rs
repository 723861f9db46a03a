//! Policies over a made-up host and the steps they must become.

use super::*;
use crate::host::{
    ExistingPath, MissingPath, NodeKind, PatternExpansion, PlatformEntry, WorkspaceNode,
    WorkspaceTree,
};
use crate::policy::path_glob::PathGlob;
use crate::policy::path_rules::{PathAccess, PathDecider, PathRule, PathRules};
use boxproof_cases::protocol::{Command, ErrorKind};
use rstest::rstest;
use std::path::Path;
use std::sync::Arc;

fn found(real: &str, directory: bool, links: &[&str]) -> ExistingPath {
    ExistingPath {
        device: real.ends_with("/device"),
        real: real.into(),
        directory,
        links: links.iter().map(PathBuf::from).collect(),
        reachable: true,
    }
}

/// A host with a workspace /h/w, an outside /h/o, /tmp, /run, and a few links.
fn host() -> HostSnapshot {
    let directories =
        ["/", "/h", "/h/w", "/h/w/a", "/h/w/a/b", "/h/o", "/tmp", "/tmp/w", "/var", "/dev"];
    let files = ["/h/w/f", "/h/w/a/b/f", "/h/o/f", "/h/o/device", "/run/d.sock"];
    let mut host = HostSnapshot {
        tmp: vec!["/tmp".into(), "/var/tmp".into()],
        services: vec!["/run".into()],
        knobs: vec!["/proc/sys".into()],
        resolver: Some("/run/resolve/resolv.conf".into()),
        ..HostSnapshot::default()
    };
    let directories = directories.iter().map(|path| (path, found(path, true, &[])));
    let files = files.iter().map(|path| (path, found(path, false, &[])));
    host.paths.extend(directories.chain(files).map(|(path, found)| (path.into(), found)));
    host.paths.insert("/h/w/in".into(), found("/h/w/a", true, &["/h/w/in"]));
    host.paths.insert("/h/w/out".into(), found("/h/o", true, &["/h/w/out"]));
    host.paths.insert("/h/alias".into(), found("/h/w", true, &["/h/alias"]));
    host
}

fn policy(json: &str) -> Policy {
    let mut whole: serde_json::Value = serde_json::from_str(json).unwrap();
    let members = whole.as_object_mut().unwrap();
    members.entry("workspace").or_insert("/h/w".into());
    serde_json::from_value(whole).unwrap()
}

fn run_in(cwd: &str) -> Run {
    Run::new(Command::Argv(vec!["true".into()]), cwd)
}

fn steps(json: &str, host: &HostSnapshot) -> Vec<String> {
    let policy = policy(json);
    let plan =
        resolve(&policy, &run_in(policy.workspace.as_path().to_str().unwrap()), host).unwrap();
    plan.view.unwrap().steps.iter().map(shown).collect()
}

fn shown(step: &ViewStep) -> String {
    let word = match step {
        ViewStep::Bind(_) => "rw",
        ViewStep::BindReadOnly(_) => "ro",
        ViewStep::MaskFile(_) | ViewStep::MaskSocket(_) => "mask-file",
        ViewStep::MaskDirectory(_) => "mask-directory",
        ViewStep::Tmpfs(_, 0o1777) => "tmp",
        ViewStep::Tmpfs(..) => "empty",
        ViewStep::Seal(_) => "seal",
        ViewStep::Directory(_) => "directory",
        ViewStep::Link(..) => "link",
        ViewStep::Dev | ViewStep::Proc | ViewStep::HostProc => "fresh",
    };
    format!("{word} {}", step.path().display())
}

const SYSTEM: &str =
    "ro /, fresh /dev, fresh /proc, tmp /tmp, empty /run, ro /proc/sys, tmp /var/tmp, tmp /dev/shm";
const SEALS: &str = "seal /dev, seal /run";

#[rstest]
#[case::plain("{}", "rw /h/w")]
#[case::read_only(r#"{"mode":"read_only"}"#, "")]
#[case::read_only_ignores_writable(r#"{"mode":"read_only","writable":["/h/o"]}"#, "")]
#[case::alias(r#"{"workspace":"/h/alias"}"#, "rw /h/w")]
#[case::extra_root(r#"{"writable":["/h/o"]}"#, "rw /h/o, rw /h/w")]
#[case::link_inside(r#"{"writable":["/h/w/in"]}"#, "rw /h/w")]
#[case::root_around(r#"{"workspace":"/h/w/a","writable":["/h/w"]}"#, "rw /h/w")]
#[case::root_around_a_pin(
    r#"{"workspace":"/h/w/a","writable":["/h/w"],"deny_write":["/h/w/a/b/f"]}"#,
    "rw /h/w, rw /h/w/a, rw /h/w/a/b, ro /h/w/a/b/f"
)]
#[case::deny_write(r#"{"deny_write":["/h/w/f"]}"#, "rw /h/w, ro /h/w/f")]
#[case::deny_write_outside_is_read_only_anyway(r#"{"deny_write":["/h/o"]}"#, "rw /h/w")]
#[case::deny_read_file(r#"{"deny_read":["/h/w/f"]}"#, "rw /h/w, mask-file /h/w/f")]
#[case::deny_read_outside(r#"{"deny_read":["/h/o/f"]}"#, "rw /h/w, mask-file /h/o/f")]
#[case::deny_read_directory(r#"{"deny_read":["/h/o"]}"#, "rw /h/w, mask-directory /h/o")]
#[case::deny_read_by_link(
    r#"{"mode":"read_only","deny_read":["/h/w/out"]}"#,
    "mask-directory /h/o"
)]
#[case::parents_are_pinned(
    r#"{"deny_read":["/h/w/a/b/f"]}"#,
    "rw /h/w, rw /h/w/a, rw /h/w/a/b, mask-file /h/w/a/b/f"
)]
#[case::no_pin_reopens_a_deny(
    r#"{"deny_write":["/h/w/a"],"deny_read":["/h/w/a/b/f"]}"#,
    "rw /h/w, ro /h/w/a, mask-file /h/w/a/b/f"
)]
#[case::deny_read_wins_over_deny_write(
    r#"{"deny_write":["/h/w/a/b"],"deny_read":["/h/w/a"]}"#,
    "rw /h/w, mask-directory /h/w/a"
)]
#[case::nested_denies_count_once(
    r#"{"deny_read":["/h/w/a","/h/w/a/b/f"],"deny_write":["/h/w/f","/h/w/f"]}"#,
    "rw /h/w, mask-directory /h/w/a, ro /h/w/f"
)]
fn policies_become_steps(#[case] json: &str, #[case] middle: &str) {
    let (shallow, deep) = SYSTEM.split_at(SYSTEM.find(", ro /proc/sys").unwrap());
    let mut expected: Vec<String> = [shallow, &deep[2..]]
        .iter()
        .flat_map(|part| part.split(", "))
        .map(|s| s.trim().into())
        .collect();
    expected.extend(middle.split(", ").filter(|step| !step.is_empty()).map(str::to_owned));
    expected.sort_by_key(|step| depth(step));
    expected.extend(SEALS.split(", ").map(str::to_owned));
    assert_eq!(steps(json, &host()), expected);
}

fn depth(step: &str) -> usize {
    step.rsplit(' ').next().unwrap().split('/').filter(|part| !part.is_empty()).count()
}

#[rstest]
#[case::workspace_in_private_tmp(r#"{"workspace":"/tmp/w"}"#, &["tmp /tmp", "rw /tmp/w"], &[])]
#[case::read_only_workspace_in_private_tmp(
    r#"{"workspace":"/tmp/w","mode":"read_only"}"#, &["tmp /tmp", "ro /tmp/w"], &[])]
#[case::read_only_workspace_in_host_tmp(
    r#"{"workspace":"/tmp/w","mode":"read_only","tmp":"host"}"#, &["rw /tmp", "ro /tmp/w"], &["tmp /tmp"])]
#[case::host_tmp(r#"{"tmp":"host"}"#, &["rw /tmp", "tmp /dev/shm", "rw /var/tmp"], &["tmp /tmp"])]
#[case::no_tmp(r#"{"tmp":"none"}"#, &[], &["tmp /tmp", "tmp /var/tmp", "tmp /dev/shm", "rw /tmp"])]
#[case::wide_root_keeps_private_directories(r#"{"writable":["/var"]}"#, &["rw /var", "tmp /var/tmp"], &[])]
#[case::whole_host_keeps_fresh_trees(r#"{"writable":["/"]}"#, &["rw /", "fresh /dev", "fresh /proc"], &["ro /"])]
#[case::resolver_with_host_network(
    r#"{"network":{"host":{}}}"#, &["empty /run", "ro /run/resolve/resolv.conf", "seal /run"], &[])]
#[case::no_resolver_without(r#"{}"#, &[], &["ro /run/resolve/resolv.conf"])]
#[case::listed_socket(r#"{"unix_sockets":["/run/d.sock"]}"#, &["empty /run", "ro /run/d.sock"], &[])]
fn steps_come_in_this_order(#[case] json: &str, #[case] present: &[&str], #[case] absent: &[&str]) {
    let steps = steps(json, &host());
    let places: Vec<_> =
        present.iter().map(|step| steps.iter().position(|s| s == step).expect(step)).collect();
    assert!(places.is_sorted(), "{steps:?}");
    for step in absent {
        assert!(!steps.iter().any(|s| s == step), "{step} in {steps:?}");
    }
}

#[test]
fn loose_sockets_are_masked_where_visible() {
    let mut host = host();
    host.sockets = ["/h/o/s", "/h/w/s", "/h/w/a/s", "/run/x", "/tmp/x"].map(PathBuf::from).into();
    host.paths.insert("/h/o/s".into(), found("/h/o/s", false, &[]));
    let steps = steps(r#"{"unix_sockets":["/h/o/s"],"deny_read":["/h/w/a"]}"#, &host);
    let masks: Vec<_> = steps.iter().filter(|step| step.starts_with("mask-file")).collect();
    assert_eq!(masks, ["mask-file /h/w/s"]);
}

#[test]
fn protected_names_are_read_only_and_pinned_where_deep() {
    let mut host = host();
    host.protected.there = vec![found("/h/w/.git", false, &[]), found("/h/w/a/b/git", true, &[])];
    host.protected.there.push(found("/h/o/git", true, &[]));
    let steps = steps(r#"{"protect":"metadata"}"#, &host);
    let tail = &steps[steps.len() - 7..];
    let expected = [
        "rw /h/w",
        "rw /h/w/a",
        "ro /h/w/.git",
        "rw /h/w/a/b",
        "ro /h/w/a/b/git",
        "seal /dev",
        "seal /run",
    ];
    assert_eq!(tail, expected);
}

#[rstest]
#[case::closed_read(
    r#"{"deny_read":["/h/w/no"]}"#,
    "policy.deny_read: /h/w/no cannot be looked up"
)]
#[case::closed_write(
    r#"{"deny_write":["/h/w/no"]}"#,
    "policy.deny_write: /h/w/no cannot be looked up"
)]
#[case::absent_root(r#"{"writable":["/h/no"]}"#, "policy.writable: /h/no does not exist")]
#[case::kernel_root(
    r#"{"writable":["/dev"]}"#,
    "policy.writable: /dev cannot be made writable: the sandbox has a /dev of its own; remove it"
)]
#[case::kernel_workspace(
    r#"{"workspace":"/dev"}"#,
    "policy.workspace: /dev cannot be made writable: the sandbox has a /dev of its own; choose another"
)]
#[case::device_root(
    r#"{"writable":["/h/o/device"]}"#,
    "policy.writable: /h/o/device is a device file, which a sandbox does not open; remove it"
)]
#[case::link_leaves(r#"{"writable":["/h/w/out"]}"#, "through the link /h/w/out")]
#[case::loose_link(r#"{"deny_write":["/h/w/in"]}"#, "/h/w/in is a symbolic link")]
#[case::readable(r#"{"readable":["/h/none"]}"#, "policy.readable")]
#[case::abstract_socket(r#"{"unix_sockets":["@x"]}"#, "@x is abstract")]
#[case::unconfined_with_rules(
    r#"{"mode":"unconfined","deny_read":["/h/w/f"]}"#,
    "policy.deny_read: mode unconfined"
)]
#[case::denied_cwd(r#"{"deny_read":["/h/w"]}"#, "run.cwd: /h/w is denied")]
fn what_no_step_expresses_is_refused(#[case] json: &str, #[case] message: &str) {
    let refusal = resolve(&policy(json), &run_in("/h/w"), &host()).unwrap_err();
    assert_eq!(refusal.kind, ErrorKind::Unsupported);
    assert!(refusal.message.contains(message), "{}", refusal.message);
}

#[rstest]
#[case::port(r#"{"proxy":{"port":0}}"#, "policy.network.proxy.port: 0 is no port")]
#[case::allow(r#"{"domains":{"allow":["ok.test","*"]}}"#, "policy.network.domains.allow: `*`: ")]
#[case::deny(
    r#"{"domains":{"deny":["http://no.test"]}}"#,
    "policy.network.domains.deny: `http://no.test`: "
)]
fn what_is_no_way_out_is_refused(#[case] network: &str, #[case] message: &str) {
    let policy = policy(&format!(r#"{{"network":{network}}}"#));
    let refusal = resolve(&policy, &run_in("/h/w"), &host()).unwrap_err();
    assert_eq!(refusal.kind, ErrorKind::InvalidRequest);
    assert!(refusal.message.starts_with(message), "{}", refusal.message);
}

#[rstest]
#[case::none("{}", None)]
#[case::port(r#"{"network":{"proxy":{"port":8080}}}"#, Some("http://127.0.0.1:8080"))]
#[case::hosts(r#"{"network":{"domains":{}}}"#, Some("http://127.0.0.1:3128"))]
fn programs_are_told_of_the_proxy(#[case] json: &str, #[case] url: Option<&str>) {
    let plan = resolve(&policy(json), &run_in("/h/w"), &host()).unwrap();
    let value = |name: &str| {
        let found = plan.env.iter().find(|(known, _)| known == name);
        found.and_then(|(_, value)| value.to_str())
    };
    for name in ["http_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
        assert_eq!(value(name), url, "{name}");
    }
    assert_eq!(value("no_proxy"), url.map(|_| "localhost,127.0.0.1,::1,[::1]"));
    assert_eq!(value("NODE_USE_ENV_PROXY"), url.map(|_| "1"));
    assert!(!plan.view.unwrap().host_network);
}

#[test]
fn a_proxy_that_the_policy_sets_stays() {
    let json =
        r#"{"network":{"domains":{}},"env":{"set":{"http_proxy":"socks5h://127.0.0.1:3128"}}}"#;
    let plan = resolve(&policy(json), &run_in("/h/w"), &host()).unwrap();
    let all = plan.env.iter().filter(|(name, _)| name == "http_proxy");
    let all: Vec<_> = all.map(|(_, value)| value.to_str().unwrap()).collect();
    assert_eq!(all, ["socks5h://127.0.0.1:3128"]);
}

#[test]
fn what_the_command_cannot_get_to_needs_no_mask() {
    let mut host = host();
    host.paths.get_mut(Path::new("/h/o/f")).unwrap().reachable = false;
    let steps = steps(r#"{"deny_read":["/h/o/f","/h/w/f"]}"#, &host);
    let masks: Vec<_> = steps.iter().filter(|step| step.starts_with("mask")).collect();
    assert_eq!(masks, ["mask-file /h/w/f"]);
}

#[test]
fn a_protected_link_is_kept_and_what_it_leads_to_is_read_only() {
    let mut host = host();
    host.protected.there = vec![
        found("/h/o", true, &["/h/w/.git"]),
        found("/h/w/a", true, &["/h/w/.idea", "/h/o/l"]),
        found("/h/w/a/b/f", false, &["/h/w/a/b/l"]),
    ];
    let link = |path: &str| MissingPath { real: path.into(), links: Vec::new(), folds: false };
    host.protected.links = ["/h/o/l", "/h/w/.git", "/h/w/.idea", "/h/w/a/b/l"].map(link).to_vec();
    let json = r#"{"protect":"metadata"}"#;
    let steps = steps(json, &host);
    assert!(steps.contains(&"ro /h/w/a".to_owned()), "{steps:?}");
    assert!(!steps.iter().any(|step| step.ends_with(".git")), "{steps:?}");
    // A link in a place where nothing is writable needs no keeping.
    let expected =
        [("/h/w/.git".into(), AbsenceReason::Link), ("/h/w/.idea".into(), AbsenceReason::Link)];
    assert_eq!(mediated(json, &host), expected);
    let refusal = resolve(
        &policy(r#"{"protect":"metadata","deny_write":["/h/w/in"]}"#),
        &run_in("/h/w"),
        &host,
    );
    assert!(refusal.unwrap_err().message.contains("/h/w/in is a symbolic link"));
}

#[test]
fn a_directory_that_may_hold_repositories_has_to_be_looked_into() {
    let mut host = host();
    host.protected.closed = Some("/h/w/a".into());
    let refusal = resolve(&policy(r#"{"protect":"metadata"}"#), &run_in("/h/w"), &host);
    let message = refusal.unwrap_err().message;
    assert!(message.contains("/h/w/a cannot be looked into for repositories"), "{message}");
}

#[test]
fn a_cwd_that_is_hidden_is_refused() {
    let refusal = resolve(&policy("{}"), &run_in("/tmp/w"), &host()).unwrap_err();
    assert!(refusal.message.contains("run.cwd: /tmp/w lies in a directory"), "{}", refusal.message);
}

#[test]
fn mode_unconfined_has_no_view() {
    let plan = resolve(&policy(r#"{"mode":"unconfined"}"#), &run_in("/h/alias"), &host()).unwrap();
    assert_eq!(plan.view, None);
    assert_eq!(plan.cwd, PathBuf::from("/h/w"));
}

/// A host where nothing is at `path`.
fn without(mut host: HostSnapshot, path: &str) -> HostSnapshot {
    let missing = MissingPath { real: path.into(), links: Vec::new(), folds: false };
    host.absent.insert(path.into(), missing);
    host
}

fn mediated(json: &str, host: &HostSnapshot) -> Vec<(PathBuf, AbsenceReason)> {
    let view = resolve(&policy(json), &run_in("/h/w"), host).unwrap().view.unwrap();
    view.mediate.names.into_iter().map(|name| (name.path, name.by)).collect()
}

#[rstest]
#[case::nothing_absent(r#"{"deny_write":["/h/w/f"]}"#, "/h/w/no", &[])]
#[case::deny_write(r#"{"deny_write":["/h/w/no"]}"#, "/h/w/no", &["/h/w/no"])]
#[case::deny_read(r#"{"deny_read":["/h/w/no"]}"#, "/h/w/no", &["/h/w/no"])]
#[case::named_twice(r#"{"deny_read":["/h/w/no"],"deny_write":["/h/w/no"]}"#, "/h/w/no", &["/h/w/no"])]
#[case::outside(r#"{"deny_write":["/h/o/no"]}"#, "/h/o/no", &[])]
#[case::below_a_deny(r#"{"deny_write":["/h/w/a","/h/w/a/no"]}"#, "/h/w/a/no", &[])]
#[case::below_a_mask(r#"{"deny_read":["/h/w/a"],"deny_write":["/h/w/a/no"]}"#, "/h/w/a/no", &[])]
#[case::read_only(r#"{"mode":"read_only","deny_write":["/h/w/no"]}"#, "/h/w/no", &[])]
#[case::private_tmp(r#"{"deny_write":["/tmp/no"]}"#, "/tmp/no", &["/tmp/no"])]
#[case::no_tmp(r#"{"tmp":"none","deny_write":["/tmp/no"]}"#, "/tmp/no", &[])]
fn absent_names_that_could_come_to_be_are_mediated(
    #[case] json: &str,
    #[case] missing: &str,
    #[case] expected: &[&str],
) {
    let is_read = json.contains(&format!("\"deny_read\":[\"{missing}\""));
    let by = if is_read { AbsenceReason::Hide } else { AbsenceReason::Deny };
    let expected: Vec<_> = expected.iter().map(|path| (PathBuf::from(path), by)).collect();
    assert_eq!(mediated(json, &without(host(), missing)), expected);
}

#[test]
fn protected_names_that_are_missing_are_mediated_and_a_deny_comes_first() {
    let mut host = without(host(), "/h/w/.git");
    for path in ["/h/w/.git", "/h/w/.envrc", "/h/w/a/.git"] {
        host.protected.missing.push(MissingPath {
            real: path.into(),
            links: Vec::new(),
            folds: false,
        });
    }
    let json = r#"{"protect":"metadata","deny_write":["/h/w/.git","/h/w/a"]}"#;
    let expected =
        [("/h/w/.envrc".into(), AbsenceReason::Protect), ("/h/w/.git".into(), AbsenceReason::Deny)];
    assert_eq!(mediated(json, &host), expected);
}

#[test]
fn a_missing_name_behind_a_loose_link_is_refused() {
    let mut host = host();
    let missing =
        MissingPath { real: "/h/o/no".into(), links: vec!["/h/w/l".into()], folds: false };
    host.absent.insert("/h/w/l".into(), missing);
    let refusal = resolve(&policy(r#"{"deny_write":["/h/w/l"]}"#), &run_in("/h/w"), &host);
    let refusal = refusal.unwrap_err();
    assert!(refusal.message.contains("/h/w/l is a symbolic link"), "{}", refusal.message);
}

fn expansion(glob: &str, there: &[(&str, bool)], links: &[&str]) -> PatternExpansion {
    PatternExpansion {
        glob: PathGlob::parse(glob).unwrap(),
        folds: false,
        links: links.iter().map(PathBuf::from).collect(),
        there: there.iter().map(|(path, directory)| found(path, *directory, &[])).collect(),
        missing: Vec::new(),
        closed: None,
    }
}

#[rstest]
#[case::present("/h/w/**/f", &[("/h/w/f", false), ("/h/w/a/b/f", false)],
    &["rw /h/w/a", "ro /h/w/f", "rw /h/w/a/b", "ro /h/w/a/b/f"], 1)]
#[case::absent("/h/w/*.env", &[], &[], 1)]
#[case::above_the_roots("/h/**/*.env", &[], &[], 1)]
#[case::in_the_private_tmp("/tmp/*.env", &[], &[], 1)]
#[case::where_nothing_can_be_made("/h/o/*.env", &[], &[], 0)]
fn patterns_become_steps_and_names_to_hold(
    #[case] glob: &str,
    #[case] there: &[(&str, bool)],
    #[case] expected: &[&str],
    #[case] held: usize,
) {
    let mut host = host();
    host.globs.insert(glob.into(), expansion(glob, there, &[]));
    let policy = policy(&format!(r#"{{"deny_write_globs":["{glob}"]}}"#));
    let view = resolve(&policy, &run_in("/h/w"), &host).unwrap().view.unwrap();
    let own: Vec<String> = view.steps.iter().map(shown).filter(|s| s.contains("/h/w/")).collect();
    assert_eq!(own, expected);
    assert_eq!(view.mediate.globs.len(), held);
}

#[rstest]
#[case::unknown("/h/w/*.x", None, "cannot be looked up")]
#[case::closed("/h/w/*.x", Some(("/h/w/a", "")), "/h/w/a")]
#[case::by_a_loose_link("/h/w/in/*.x", Some(("", "/h/w/in")), "symbolic link")]
fn patterns_that_nothing_can_hold_are_refused(
    #[case] glob: &str,
    #[case] trouble: Option<(&str, &str)>,
    #[case] why: &str,
) {
    let mut host = host();
    if let Some((closed, link)) = trouble {
        let links: &[&str] = if link.is_empty() { &[] } else { &[link] };
        let closed = Some(PathBuf::from(closed)).filter(|path| path.is_absolute());
        host.globs.insert(glob.into(), PatternExpansion { closed, ..expansion(glob, &[], links) });
    }
    let policy = policy(&format!(r#"{{"deny_read_globs":["{glob}"]}}"#));
    let refusal = resolve(&policy, &run_in("/h/w"), &host).unwrap_err();
    assert_eq!(refusal.kind, ErrorKind::Unsupported);
    assert!(refusal.message.contains(why), "{}", refusal.message);
}

#[rstest]
#[case::a_root(r#"{"readable":["/h/o"]}"#, "ro /h/o, rw /h/w")]
#[case::none(r#"{"readable":[]}"#, "rw /h/w")]
#[case::in_the_workspace(r#"{"readable":["/h/w/a"]}"#, "rw /h/w")]
#[case::around_the_workspace(r#"{"readable":["/h"]}"#, "ro /h, rw /h/w")]
#[case::read_only(r#"{"readable":[],"mode":"read_only"}"#, "ro /h/w")]
#[case::masked(
    r#"{"readable":["/h/o"],"deny_read":["/h/o/f","/h/w/f"]}"#,
    "ro /h/o, rw /h/w, mask-file /h/o/f, mask-file /h/w/f"
)]
#[case::deny_of_what_is_not_shown(r#"{"readable":[],"deny_read":["/h/o/f"]}"#, "rw /h/w")]
fn a_list_of_readable_roots_shows_nothing_else(#[case] json: &str, #[case] expected: &str) {
    let mut host = host();
    host.platform = vec![
        PlatformEntry::Object("/usr".into()),
        PlatformEntry::Link("/bin".into(), "usr/bin".into()),
        PlatformEntry::Object("/etc/hosts".into()),
    ];
    host.program = Some("/usr/bin/true".into());
    let steps = steps(json, &host);
    let own: Vec<&str> =
        steps.iter().map(String::as_str).filter(|step| step.contains(" /h")).collect();
    let own: Vec<&str> = own.into_iter().filter(|step| !step.starts_with("directory")).collect();
    assert_eq!(own.join(", "), expected);
    let ground = ["empty /", "ro /usr", "link /bin"];
    assert!(ground.iter().all(|step| steps.iter().any(|one| one == step)), "{steps:?}");
    assert!(steps.contains(&"seal /".to_owned()), "{steps:?}");
    assert!(!steps.iter().any(|step| step == "ro /" || step == "empty /run"), "{steps:?}");
}

/// A listed root brings all that lies in it; making it again would fail, or cover it.
#[test]
fn what_lies_in_a_listed_root_is_not_made_again() {
    let mut host = host();
    host.platform = vec![
        PlatformEntry::Object("/usr".into()),
        PlatformEntry::Link("/h/o/link".into(), "elsewhere".into()),
        PlatformEntry::Object("/h/o/file".into()),
    ];
    let steps = steps(r#"{"readable":["/h/o"]}"#, &host);
    assert!(steps.contains(&"ro /h/o".to_owned()) && steps.contains(&"ro /usr".to_owned()));
    let again = |step: &String| step.contains("/h/o/");
    assert!(!steps.iter().any(again), "{steps:?}");
}

mod grants;
mod linked_denies;
mod profile_rules;
