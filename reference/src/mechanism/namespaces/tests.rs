//! Steps and the work they must become; explanations of failures.

use super::layout::{MountSource, MountWork, ViewRoot};
use super::*;
use crate::plan::ForbiddenNames;
use crate::plan::ViewStep;
use crate::sys::mounts::{NODEV, NOEXEC, NOSUID, RDONLY};
use rstest::rstest;
use std::path::PathBuf;

fn layout(steps: Vec<ViewStep>) -> ViewLayout {
    ViewLayout::from_view(&View {
        steps,
        mediate: ForbiddenNames::default(),
        host_network: false,
        egress: None,
    })
}

fn path(text: &str) -> PathBuf {
    PathBuf::from(text)
}

/// Returns one piece of work as a line: source, place, attributes.
fn shown(work: &MountWork) -> String {
    let at = work.at().to_str().unwrap();
    match work {
        MountWork::Directory(_) => format!("directory {at}"),
        MountWork::Seal(_) => format!("seal {at}"),
        MountWork::Link { to, .. } => format!("link {at} {}", to.to_str().unwrap()),
        MountWork::Attach { source, attributes, make, .. } => {
            let make = if *make { "make+" } else { "" };
            format!("{make}{} {at} {}", named(source), flags(*attributes)).trim_end().to_owned()
        }
    }
}

fn named(source: &MountSource) -> String {
    match source {
        MountSource::Host(path) => format!("host:{}", path.to_str().unwrap()),
        MountSource::Same => "same".to_owned(),
        MountSource::MaskFile => "mask-file".to_owned(),
        MountSource::MaskDirectory => "mask-directory".to_owned(),
        MountSource::Tmpfs(mode) => format!("tmpfs:{mode:o}"),
        MountSource::Proc => "proc".to_owned(),
        MountSource::Terminals => "terminals".to_owned(),
    }
}

fn ground(root: ViewRoot) -> String {
    match root {
        ViewRoot::Host(attributes) => flags(attributes),
        ViewRoot::Fresh(mode) => format!("fresh {mode:o}"),
    }
}

fn flags(attributes: u64) -> String {
    let names = [(RDONLY, "ro"), (NOSUID, "nosuid"), (NODEV, "nodev"), (NOEXEC, "noexec")];
    let set = names.iter().filter(|(bit, _)| attributes & bit != 0).map(|(_, name)| *name);
    set.collect::<Vec<_>>().join(",")
}

fn lines(layout: &ViewLayout) -> Vec<String> {
    layout.works.iter().map(shown).collect()
}

#[test]
fn a_view_becomes_work_in_order() {
    let layout = layout(vec![
        ViewStep::BindReadOnly(path("/")),
        ViewStep::Proc,
        ViewStep::Tmpfs(path("/tmp"), 0o1777),
        ViewStep::BindReadOnly(path("/proc/sys")),
        ViewStep::Bind(path("/w")),
        ViewStep::MaskFile(path("/w/a b")),
        ViewStep::MaskDirectory(path("/w/d")),
        ViewStep::BindReadOnly(path("/w/.git")),
        ViewStep::Directory(path("/tmp/x")),
        ViewStep::Bind(path("/tmp/x/y")),
        ViewStep::MaskFile(path("/tmp/x/y/s")),
        ViewStep::Seal(path("/run")),
    ]);
    assert_eq!(ground(layout.root), "ro,nosuid,nodev");
    let expected = [
        "proc proc nosuid,nodev,noexec",
        "tmpfs:1777 tmp nosuid,nodev",
        "same proc/sys ro,nosuid,nodev",
        "host:/w w nosuid,nodev",
        "mask-file w/a b",
        "mask-directory w/d",
        "host:/w/.git w/.git ro,nosuid,nodev",
        "directory tmp/x",
        "make+host:/tmp/x/y tmp/x/y nosuid,nodev",
        "mask-file tmp/x/y/s",
        "seal run",
    ];
    assert_eq!(lines(&layout), expected);
}

#[test]
fn the_whole_host_may_be_writable() {
    assert_eq!(ground(layout(vec![ViewStep::Bind(path("/"))]).root), "nosuid,nodev");
}

#[test]
fn a_fresh_dev_holds_read_only_devices_links_and_terminals() {
    let lines = lines(&layout(vec![ViewStep::Dev, ViewStep::Tmpfs(path("/dev/shm"), 0o1777)]));
    let device = |name| format!("make+host:/dev/{name} dev/{name} ro,nosuid,noexec");
    let mut expected = vec!["tmpfs:755 dev nosuid,noexec".to_owned()];
    expected.extend(["null", "zero", "full", "random", "urandom", "tty"].map(device));
    let rest = [
        "link dev/fd /proc/self/fd",
        "link dev/stdin /proc/self/fd/0",
        "link dev/stdout /proc/self/fd/1",
        "link dev/stderr /proc/self/fd/2",
        "link dev/core /proc/kcore",
        "link dev/ptmx pts/ptmx",
        "make+terminals dev/pts nosuid,noexec",
        "directory dev/shm",
        "make+tmpfs:1777 dev/shm nosuid,nodev",
    ];
    expected.extend(rest.map(str::to_owned));
    assert_eq!(lines, expected);
}

fn explained(work: Option<u32>, call: BuildCall, errno: Errno) -> Refusal {
    let steps =
        vec![ViewStep::BindReadOnly(path("/")), ViewStep::Proc, ViewStep::MaskFile(path("/w/s"))];
    let view =
        View { steps, mediate: ForbiddenNames::default(), host_network: false, egress: None };
    explain(FailurePoint { work, call }.code(), errno as i32, &view)
}

#[rstest]
#[case::step(
    Some(1),
    BuildCall::Attach,
    Errno::EPERM,
    "move_mount of the mask over /w/s: EPERM (Operation not permitted (os error 1))"
)]
#[case::gone(
    Some(1),
    BuildCall::Target,
    Errno::ENOENT,
    "opening the place of the mask over /w/s: ENOENT"
)]
#[case::whole(None, BuildCall::Pivot, Errno::EINVAL, "pivot_root: EINVAL")]
#[case::busy(None, BuildCall::Clone, Errno::EAGAIN, "clone into new namespaces: EAGAIN")]
fn a_failed_step_is_named(
    #[case] work: Option<u32>,
    #[case] call: BuildCall,
    #[case] errno: Errno,
    #[case] words: &str,
) {
    let refusal = explained(work, call, errno);
    assert_eq!(refusal.kind, ErrorKind::Setup);
    assert!(refusal.message.contains(words), "{refusal}");
}

#[rstest]
#[case::namespaces(None, BuildCall::Clone, Errno::EPERM, "clone into new namespaces: EPERM")]
#[case::limit(None, BuildCall::Clone, Errno::ENOSPC, "clone into new namespaces: ENOSPC")]
#[case::maps(None, BuildCall::Maps, Errno::EPERM, "writing the user and group maps: EPERM")]
#[case::stripped(None, BuildCall::Private, Errno::EACCES, "making the mounts private: EACCES")]
#[case::old_kernel(None, BuildCall::Attributes, Errno::ENOSYS, "mount_setattr: ENOSYS")]
#[case::masked_proc(
    Some(0),
    BuildCall::Fresh,
    Errno::EPERM,
    "a container that masks parts of /proc"
)]
fn a_host_that_refuses_is_told_with_a_remedy(
    #[case] work: Option<u32>,
    #[case] call: BuildCall,
    #[case] errno: Errno,
    #[case] words: &str,
) {
    let refusal = explained(work, call, errno);
    assert_eq!(refusal.kind, ErrorKind::Unavailable);
    assert!(refusal.message.contains(words), "{refusal}");
}
