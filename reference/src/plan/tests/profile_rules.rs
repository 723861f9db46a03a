//! Tests of plans whose workspace a profile takes over.

use super::*;

/// Allows reading and modifying everything but the named path.
struct AllBut(&'static str);

impl PathDecider for AllBut {
    fn allows(&self, _: PathAccess, path: &Path) -> bool {
        path != Path::new(self.0)
    }
}

#[test]
fn a_profile_takes_the_workspace_over() {
    let lines = || vec![PathRule::new(true, "**"), PathRule::new(false, "a/b/f")];
    let law = Arc::new(PathRules::new(Arc::new(AllBut("a/b/f")), lines(), lines()));
    let file =
        WorkspaceNode { path: "/h/w/f".into(), read: false, modify: false, kind: NodeKind::File };
    let kind = NodeKind::Directory { open: true, children: vec![file] };
    let root = WorkspaceNode { path: "/h/w".into(), read: true, modify: true, kind };
    let mut host = host();
    host.sockets = vec!["/h/w/s".into()];
    host.program = Some("/h/w/f".into());
    host.tree = Some(WorkspaceTree { root, law, closed: None, folds: None, settled: false });
    let policy = policy(r#"{"readable":[],"mode":"read_only"}"#);
    let view = resolve(&policy, &run_in("/h/w"), &host).unwrap().view.unwrap();
    let own: Vec<String> = view.steps.iter().map(shown).filter(|s| s.contains(" /h")).collect();
    assert_eq!(own, ["directory /h", "rw /h/w", "mask-file /h/w/f"]);
    assert_eq!(view.mediate.profile.unwrap().root, Path::new("/h/w"));
    let refused = |change: &dyn Fn(&mut WorkspaceTree)| {
        let mut host = host.clone();
        change(host.tree.as_mut().unwrap());
        resolve(&policy, &run_in("/h/w"), &host).unwrap_err().message
    };
    let closed = refused(&|tree| tree.closed = Some("/h/w/x".into()));
    assert!(closed.contains("/h/w/x, which cannot be looked into"), "{closed}");
    let folds = refused(&|tree| tree.folds = Some("/h/w/y".into()));
    assert!(folds.contains("/h/w/y takes names that differ in case"), "{folds}");
}
