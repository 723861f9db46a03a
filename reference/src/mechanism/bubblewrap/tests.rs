//! Steps and the arguments they must become; explanations of `bwrap`'s failures.

use super::*;
use crate::plan::ForbiddenNames;
use rstest::rstest;

#[test]
fn a_view_becomes_arguments_in_order() {
    let path = |text: &str| PathBuf::from(text);
    let steps = vec![
        ViewStep::BindReadOnly(path("/")),
        ViewStep::Dev,
        ViewStep::Proc,
        ViewStep::Tmpfs(path("/tmp"), 0o1777),
        ViewStep::Bind(path("/w")),
        ViewStep::MaskFile(path("/w/a b")),
        ViewStep::MaskDirectory(path("/w/d")),
        ViewStep::MaskFile(path("/w/e")),
        ViewStep::Seal(path("/dev")),
    ];
    let list = arguments(
        &View { steps, mediate: ForbiddenNames::default(), host_network: false, egress: None },
        &[7, 8],
    );
    let text: Vec<String> = list.iter().map(|word| word.display().to_string()).collect();
    let expected = "--unshare-user|--unshare-pid|--unshare-ipc|--unshare-uts|--unshare-cgroup-try|\
        --die-with-parent|--as-pid-1|--cap-drop|ALL|--unshare-net|--ro-bind|/|/|--dev|/dev|\
        --proc|/proc|--perms|1777|--tmpfs|/tmp|--bind|/w|/w|--perms|0000|--ro-bind-data|7|/w/a b|\
        --perms|0000|--tmpfs|/w/d|--remount-ro|/w/d|--perms|0000|--ro-bind-data|8|/w/e|\
        --remount-ro|/dev";
    assert_eq!(text.join("|"), expected);
}

#[test]
fn the_host_network_is_shared_only_where_granted() {
    let has_net = |host_network| {
        let list = arguments(
            &View {
                steps: Vec::new(),
                mediate: ForbiddenNames::default(),
                host_network,
                egress: None,
            },
            &[],
        );
        list.contains(&OsString::from("--unshare-net"))
    };
    assert!(has_net(false));
    assert!(!has_net(true));
}

#[test]
fn a_program_in_a_writable_directory_is_not_trusted() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    std::fs::write(root.join("bwrap"), "").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(root.join("bwrap"), mode).unwrap();
    let path = Some(root.clone().into_os_string());
    assert_eq!(locate::find(path.clone(), &[]).unwrap(), root.join("bwrap"));
    let refusal = locate::find(path, &[root]).unwrap_err();
    assert_eq!(refusal.kind, ErrorKind::Unavailable);
    assert!(refusal.message.contains("install the package bubblewrap"), "{refusal}");
}

#[rstest]
#[case::refused(
    "bwrap: No permissions to create new namespace, likely because",
    ErrorKind::Unavailable
)]
#[case::uid_map("bwrap: setting up uid map: Permission denied", ErrorKind::Unavailable)]
#[case::masked_proc(
    "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
    ErrorKind::Unavailable
)]
#[case::other("bwrap: Can't find source path /x: No such file", ErrorKind::Setup)]
fn failures_are_told_apart(#[case] said: &str, #[case] kind: ErrorKind) {
    let refusal = explain(Some(said), "exit status: 1", &[]);
    assert_eq!(refusal.kind, kind);
    assert!(refusal.message.contains(said), "{refusal}");
}

#[test]
fn a_pattern_is_refused_by_its_text() {
    let glob = crate::policy::path_glob::PathGlob::parse("/w/**/*.env").unwrap();
    let globs = vec![FuturePattern { glob, folds: false, hides: false }];
    let mediate = ForbiddenNames { globs, ..ForbiddenNames::default() };
    let refusal = can_hold(&View { steps: Vec::new(), mediate, host_network: false, egress: None })
        .unwrap_err();
    assert!(refusal.message.contains("/w/**/*.env"), "{}", refusal.message);
}
