//! Steps and the work they must become; explanations of failures.

use super::layout::{Root, Source, Work};
use super::*;
use crate::plan::Held;
use crate::plan::Step;
use crate::sys::mounts::{NODEV, NOEXEC, NOSUID, RDONLY};
use rstest::rstest;
use std::path::PathBuf;

fn layout(steps: Vec<Step>) -> Layout {
    Layout::of(&View { steps, mediate: Held::default(), host_network: false, egress: None })
}

fn path(text: &str) -> PathBuf {
    PathBuf::from(text)
}

/// Returns one piece of work as a line: source, place, attributes.
fn shown(work: &Work) -> String {
    let at = work.at().to_str().unwrap();
    match work {
        Work::Folder(_) => format!("folder {at}"),
        Work::Seal(_) => format!("seal {at}"),
        Work::Link { to, .. } => format!("link {at} {}", to.to_str().unwrap()),
        Work::Attach { source, attributes, make, .. } => {
            let make = if *make { "make+" } else { "" };
            format!("{make}{} {at} {}", named(source), flags(*attributes)).trim_end().to_owned()
        }
    }
}

fn named(source: &Source) -> String {
    match source {
        Source::Host(path) => format!("host:{}", path.to_str().unwrap()),
        Source::Same => "same".to_owned(),
        Source::MaskFile => "mask-file".to_owned(),
        Source::MaskFolder => "mask-folder".to_owned(),
        Source::Tmpfs(mode) => format!("tmpfs:{mode:o}"),
        Source::Proc => "proc".to_owned(),
        Source::Terminals => "terminals".to_owned(),
    }
}

fn ground(root: Root) -> String {
    match root {
        Root::Host(attributes) => flags(attributes),
        Root::Fresh(mode) => format!("fresh {mode:o}"),
    }
}

fn flags(attributes: u64) -> String {
    let names = [(RDONLY, "ro"), (NOSUID, "nosuid"), (NODEV, "nodev"), (NOEXEC, "noexec")];
    let set = names.iter().filter(|(bit, _)| attributes & bit != 0).map(|(_, name)| *name);
    set.collect::<Vec<_>>().join(",")
}

fn lines(layout: &Layout) -> Vec<String> {
    layout.works.iter().map(shown).collect()
}

#[test]
fn a_view_becomes_work_in_order() {
    let layout = layout(vec![
        Step::BindReadOnly(path("/")),
        Step::Proc,
        Step::Tmpfs(path("/tmp"), 0o1777),
        Step::BindReadOnly(path("/proc/sys")),
        Step::Bind(path("/w")),
        Step::MaskFile(path("/w/a b")),
        Step::MaskFolder(path("/w/d")),
        Step::BindReadOnly(path("/w/.git")),
        Step::Folder(path("/tmp/x")),
        Step::Bind(path("/tmp/x/y")),
        Step::MaskFile(path("/tmp/x/y/s")),
        Step::Seal(path("/run")),
    ]);
    assert_eq!(ground(layout.root), "ro,nosuid,nodev");
    let expected = [
        "proc proc nosuid,nodev,noexec",
        "tmpfs:1777 tmp nosuid,nodev",
        "same proc/sys ro,nosuid,nodev",
        "host:/w w nosuid,nodev",
        "mask-file w/a b",
        "mask-folder w/d",
        "host:/w/.git w/.git ro,nosuid,nodev",
        "folder tmp/x",
        "make+host:/tmp/x/y tmp/x/y nosuid,nodev",
        "mask-file tmp/x/y/s",
        "seal run",
    ];
    assert_eq!(lines(&layout), expected);
}

#[test]
fn the_whole_host_may_be_writable() {
    assert_eq!(ground(layout(vec![Step::Bind(path("/"))]).root), "nosuid,nodev");
}

#[test]
fn a_fresh_dev_holds_read_only_devices_links_and_terminals() {
    let lines = lines(&layout(vec![Step::Dev, Step::Tmpfs(path("/dev/shm"), 0o1777)]));
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
        "folder dev/shm",
        "make+tmpfs:1777 dev/shm nosuid,nodev",
    ];
    expected.extend(rest.map(str::to_owned));
    assert_eq!(lines, expected);
}

fn explained(work: Option<u32>, call: Call, errno: Errno) -> Refusal {
    let steps = vec![Step::BindReadOnly(path("/")), Step::Proc, Step::MaskFile(path("/w/s"))];
    let view = View { steps, mediate: Held::default(), host_network: false, egress: None };
    explain(Place { work, call }.code(), errno as i32, &view)
}

#[rstest]
#[case::step(
    Some(1),
    Call::Attach,
    Errno::EPERM,
    "move_mount of the mask over /w/s: EPERM (Operation not permitted (os error 1))"
)]
#[case::gone(
    Some(1),
    Call::Target,
    Errno::ENOENT,
    "opening the place of the mask over /w/s: ENOENT"
)]
#[case::whole(None, Call::Pivot, Errno::EINVAL, "pivot_root: EINVAL")]
#[case::busy(None, Call::Clone, Errno::EAGAIN, "clone into new namespaces: EAGAIN")]
fn a_failed_step_is_named(
    #[case] work: Option<u32>,
    #[case] call: Call,
    #[case] errno: Errno,
    #[case] words: &str,
) {
    let refusal = explained(work, call, errno);
    assert_eq!(refusal.kind, ErrorKind::Setup);
    assert!(refusal.message.contains(words), "{refusal}");
}

#[rstest]
#[case::namespaces(None, Call::Clone, Errno::EPERM, "clone into new namespaces: EPERM")]
#[case::limit(None, Call::Clone, Errno::ENOSPC, "clone into new namespaces: ENOSPC")]
#[case::maps(None, Call::Maps, Errno::EPERM, "writing the user and group maps: EPERM")]
#[case::stripped(None, Call::Private, Errno::EACCES, "making the mounts private: EACCES")]
#[case::old_kernel(None, Call::Attributes, Errno::ENOSYS, "mount_setattr: ENOSYS")]
#[case::masked_proc(Some(0), Call::Fresh, Errno::EPERM, "a container that masks parts of /proc")]
fn a_host_that_refuses_is_told_with_a_remedy(
    #[case] work: Option<u32>,
    #[case] call: Call,
    #[case] errno: Errno,
    #[case] words: &str,
) {
    let refusal = explained(work, call, errno);
    assert_eq!(refusal.kind, ErrorKind::Unavailable);
    assert!(refusal.message.contains(words), "{refusal}");
}
