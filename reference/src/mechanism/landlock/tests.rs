//! Steps as grants, and which of them are refused; directories that come and go.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use rstest::rstest;

use super::*;
use crate::plan::View;
use crate::plan::{AbsenceReason, AbsentName, ForbiddenNames, ViewStep};

fn view(steps: &[ViewStep]) -> View {
    View {
        steps: steps.to_vec(),
        mediate: ForbiddenNames::default(),
        host_network: false,
        egress: None,
    }
}

fn all() -> ViewStep {
    ViewStep::BindReadOnly("/".into())
}

fn bind(path: &str) -> ViewStep {
    ViewStep::Bind(path.into())
}

#[rstest]
#[case::enough(3, true)]
#[case::newer(99, true)]
#[case::truncate_missing(2, false)]
#[case::none(0, false)]
fn the_abi_must_be_enough(#[case] abi: i64, #[case] enough: bool) {
    let found = available(abi);
    assert_eq!(found.is_ok(), enough);
    if let Err(refusal) = found {
        assert_eq!(refusal.kind, ErrorKind::Unavailable);
        assert!(refusal.message.contains("Linux 6.2"), "{refusal}");
    }
}

#[rstest]
#[case::write_deny(&[all(), bind("/w"), ViewStep::BindReadOnly("/w/d".into())], "/w/d")]
#[case::read_deny(&[all(), ViewStep::MaskFile("/home/k".into())], "/home/k")]
#[case::directory(&[all(), bind("/w"), ViewStep::MaskDirectory("/w/s".into())], "/w/s")]
#[case::listed(&[ViewStep::BindReadOnly("/usr".into()), ViewStep::MaskFile("/usr/x".into())], "/usr/x")]
#[case::in_hidden_but_writable(
    &[all(), ViewStep::Tmpfs("/tmp".into(), 0o1777), bind("/tmp/w"), ViewStep::MaskFile("/tmp/w/s".into())],
    "/tmp/w/s"
)]
fn what_takes_part_of_a_grant_away_is_refused(#[case] steps: &[ViewStep], #[case] path: &str) {
    let refusal = LandlockGrants::from_view(&view(steps)).unwrap_err();
    assert_eq!(refusal.kind, ErrorKind::Unsupported);
    assert!(refusal.message.contains(path), "{refusal}");
}

#[rstest]
#[case::not_listed(&[ViewStep::BindReadOnly("/usr".into()), ViewStep::MaskFile("/home/k".into())])]
#[case::hidden(&[all(), ViewStep::Tmpfs("/tmp".into(), 0o1777), ViewStep::MaskFile("/tmp/x".into())])]
#[case::sockets_are_not_claimed(&[all(), ViewStep::MaskSocket("/srv/s".into())])]
#[case::sibling(&[all(), bind("/w"), ViewStep::BindReadOnly("/w2".into())])]
fn what_is_not_granted_needs_no_taking_away(#[case] steps: &[ViewStep]) {
    LandlockGrants::from_view(&view(steps)).unwrap();
}

#[rstest]
#[case::denied(AbsenceReason::Deny)]
#[case::protected(AbsenceReason::Protect)]
fn a_name_yet_to_come_is_refused(#[case] by: AbsenceReason) {
    let name = AbsentName { path: "/w/.git".into(), folds: false, by };
    let held = ForbiddenNames { names: vec![name], ..ForbiddenNames::default() };
    let refusal = LandlockGrants::from_view(&View { mediate: held, ..view(&[all(), bind("/w")]) })
        .unwrap_err();
    assert!(refusal.message.contains("/w/.git"), "{refusal}");
}

#[test]
fn a_usual_view_becomes_grants() {
    let steps = [
        all(),
        ViewStep::Dev,
        ViewStep::Proc,
        ViewStep::Tmpfs("/tmp".into(), 0o1777),
        ViewStep::Tmpfs("/run".into(), 0o755),
        ViewStep::BindReadOnly("/proc/sys".into()),
        bind("/w"),
        ViewStep::Tmpfs("/dev/shm".into(), 0o1777),
    ];
    let rules = LandlockGrants::from_view(&view(&steps)).unwrap();
    let paths = |list: &[&str]| list.iter().map(PathBuf::from).collect::<Vec<_>>();
    assert_eq!(rules.hidden, paths(&["/dev", "/tmp", "/run", "/dev/shm"]));
    assert_eq!((rules.read, rules.write), (vec![], paths(&["/w"])));
    assert!(rules.all && rules.devices && rules.temp && rules.offline);
}

#[test]
fn shared_memory_alone_gives_no_temp_directory() {
    let rules =
        LandlockGrants::from_view(&view(&[all(), ViewStep::Tmpfs("/dev/shm".into(), 0o1777)]))
            .unwrap();
    assert!(!rules.temp);
}

#[test]
fn the_temp_directory_goes_with_all_that_was_closed_in_it() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("t");
    fs::create_dir(&path).unwrap();
    fs::create_dir_all(path.join("a/b")).unwrap();
    fs::write(path.join("a/b/f"), "x").unwrap();
    fs::set_permissions(path.join("a"), fs::Permissions::from_mode(0o000)).unwrap();
    crate::mechanism::temp_directory::remove(&path).unwrap();
    assert!(!path.exists());
}
