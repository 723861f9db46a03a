//! The steps of a workspace under a profile: each path that differs from its surroundings gets a
//! mount of its own, to any depth.

use std::path::PathBuf;

use super::ViewStep;
use crate::error::Refusal;
use crate::host::{NodeKind, WorkspaceNode, WorkspaceTree};

/// Mode of a directory that cannot be listed although something in it can be reached.
const PASSAGE: u32 = 0o111;

/// The state of a place before any step of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SurroundingAccess {
    /// Nothing of the host is there.
    Nothing,
    /// The host's object, read-only.
    ReadOnly,
    /// The host's object, writable.
    Writable,
}

use SurroundingAccess::{Nothing, ReadOnly, Writable};

/// The steps for `tree`, where the platform shows its place or not; seals come last.
pub(super) fn steps(
    tree: &WorkspaceTree,
    around: SurroundingAccess,
) -> Result<Vec<ViewStep>, Refusal> {
    if let Some(directory) = &tree.closed {
        return Err(Refusal::unsupported(format!(
            "the profile has rules about what lies in {}, which cannot be looked into; make it readable",
            directory.display()
        )));
    }
    if let Some(directory) = &tree.folds {
        return Err(Refusal::unsupported(format!(
            "{} takes names that differ in case for one, and the profile tells them apart; move the workspace to another volume",
            directory.display()
        )));
    }
    let mut steps = Vec::new();
    place(&tree.root, around, &mut steps)?;
    if !tree.root.read && !steps.iter().any(|step| matches!(step, ViewStep::Tmpfs(..))) {
        // The root must stay searchable for a command that starts below it.
        let root = &tree.root.path;
        steps = vec![ViewStep::Tmpfs(root.clone(), PASSAGE), ViewStep::Seal(root.clone())];
    }
    Ok(steps)
}

/// Returns whether a name can be created in a directory that stays writable.
pub(super) fn has_room(node: &WorkspaceNode) -> bool {
    match &node.kind {
        NodeKind::Directory { open, children } => {
            node.read && (node.modify || *open) || children.iter().any(has_room)
        }
        _ => false,
    }
}

fn place(
    node: &WorkspaceNode,
    around: SurroundingAccess,
    steps: &mut Vec<ViewStep>,
) -> Result<(), Refusal> {
    match &node.kind {
        NodeKind::Directory { children, .. }
            if !node.read && !fault!("plan.profile-directories-readable") =>
        {
            closed_directory(node, children, around, steps)
        }
        NodeKind::Directory { open, children } => directory(node, *open, children, around, steps),
        NodeKind::Link { says, reads, modifies } => {
            link_can_be_held(node, around, *reads, *modifies)?;
            let anew = around == Nothing && node.read;
            steps.extend(anew.then(|| ViewStep::Link(node.path.clone(), says.clone())));
            Ok(())
        }
        NodeKind::File | NodeKind::Socket => {
            steps.extend(object(node, around));
            Ok(())
        }
    }
}

/// Returns the steps for a listable directory. It is writable if it may be changed or a name may be
/// created in it, and then a mount of its own if it must not be moved.
fn directory(
    node: &WorkspaceNode,
    open: bool,
    children: &[WorkspaceNode],
    around: SurroundingAccess,
    steps: &mut Vec<ViewStep>,
) -> Result<(), Refusal> {
    let modify = node.modify || fault!("plan.profile-directories-writable");
    let wanted = if modify || open { Writable } else { ReadOnly };
    let mut below = Vec::new();
    children.iter().try_for_each(|child| place(child, wanted, &mut below))?;
    let held = wanted == Writable && (!node.modify || !below.is_empty());
    if around != wanted || held {
        steps.push(bound(node.path.clone(), wanted));
    }
    steps.append(&mut below);
    Ok(())
}

/// Returns the steps for a directory that cannot be listed: it shows nothing, or only its readable
/// entries.
fn closed_directory(
    node: &WorkspaceNode,
    children: &[WorkspaceNode],
    around: SurroundingAccess,
    steps: &mut Vec<ViewStep>,
) -> Result<(), Refusal> {
    let mut below = Vec::new();
    children.iter().try_for_each(|child| place(child, Nothing, &mut below))?;
    if !below.is_empty() {
        steps.push(ViewStep::Tmpfs(node.path.clone(), PASSAGE));
        steps.append(&mut below);
        steps.push(ViewStep::Seal(node.path.clone()));
    } else if around != Nothing {
        steps.push(ViewStep::MaskDirectory(node.path.clone()));
    }
    Ok(())
}

fn object(node: &WorkspaceNode, around: SurroundingAccess) -> Option<ViewStep> {
    let modify = node.modify || fault!("plan.profile-files-writable");
    let wanted = if modify { Writable } else { ReadOnly };
    match (node.read || fault!("plan.profile-files-readable")) && node.kind != NodeKind::Socket {
        true if around == wanted => None,
        true => Some(bound(node.path.clone(), wanted)),
        false if around == Nothing => None,
        false => Some(ViewStep::MaskFile(node.path.clone())),
    }
}

fn bound(path: PathBuf, wanted: SurroundingAccess) -> ViewStep {
    if wanted == Writable { ViewStep::Bind(path) } else { ViewStep::BindReadOnly(path) }
}

/// Refuses a link that the profile closes more than its target, or than the writable directory
/// around it: no mount can hold a link.
fn link_can_be_held(
    node: &WorkspaceNode,
    around: SurroundingAccess,
    reads: bool,
    modifies: bool,
) -> Result<(), Refusal> {
    let seen = (around != Nothing || node.read) && !fault!("plan.profile-links");
    let loose = match () {
        () if !seen => return Ok(()),
        () if !node.read && reads => "read",
        () if !node.modify && (around == Writable || reads && modifies) => "modify",
        () => return Ok(()),
    };
    Err(Refusal::unsupported(format!(
        "the profile does not let {loose} {}, which is a symbolic link, and a mount cannot hold a link; replace it by what it leads to, or let {loose} both alike",
        node.path.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    /// `rw`, `r`, `w` or `-`, with `o` for an open directory.
    fn node(path: &str, may: &str, kind: NodeKind) -> WorkspaceNode {
        let kind = match kind {
            NodeKind::Directory { children, .. } => {
                NodeKind::Directory { open: may.contains('o'), children }
            }
            other => other,
        };
        WorkspaceNode {
            path: path.into(),
            read: may.contains('r'),
            modify: may.contains('w'),
            kind,
        }
    }

    fn tree_of(top: &str, directory: &str, file: &str) -> WorkspaceNode {
        let file = node("/w/d/f", file, NodeKind::File);
        let directory =
            node("/w/d", directory, NodeKind::Directory { open: false, children: vec![file] });
        node("/w", top, NodeKind::Directory { open: false, children: vec![directory] })
    }

    fn shown(steps: &[ViewStep]) -> String {
        let one = |step: &ViewStep| {
            let word = match step {
                ViewStep::Bind(_) => "rw",
                ViewStep::BindReadOnly(_) => "ro",
                ViewStep::MaskFile(_) | ViewStep::MaskSocket(_) => "mask-file",
                ViewStep::MaskDirectory(_) => "mask-directory",
                ViewStep::Tmpfs(..) => "passage",
                ViewStep::Seal(_) => "seal",
                ViewStep::Directory(_) => "directory",
                ViewStep::Link(..) => "link",
                ViewStep::Dev | ViewStep::Proc | ViewStep::HostProc => "fresh",
            };
            format!("{word} {}", step.path().display())
        };
        steps.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    #[rstest]
    #[case::all("rw", "rw", "rw", "rw /w")]
    #[case::nothing("", "", "", "")]
    #[case::read_only("r", "r", "r", "ro /w")]
    #[case::hidden_file("rw", "rw", "", "rw /w, rw /w/d, mask-file /w/d/f")]
    #[case::kept_file("rw", "rw", "r", "rw /w, rw /w/d, ro /w/d/f")]
    #[case::write_only_is_nothing("rw", "rw", "w", "rw /w, rw /w/d, mask-file /w/d/f")]
    #[case::hole_in_read_only("r", "r", "rw", "ro /w, rw /w/d/f")]
    #[case::hole_in_nothing(
        "",
        "",
        "rw",
        "passage /w, passage /w/d, rw /w/d/f, seal /w/d, seal /w"
    )]
    #[case::hidden_directory("rw", "", "", "rw /w, mask-directory /w/d")]
    #[case::hole_in_hidden_directory("rw", "", "r", "rw /w, passage /w/d, ro /w/d/f, seal /w/d")]
    #[case::directory_in_nothing("", "rw", "rw", "passage /w, rw /w/d, seal /w")]
    #[case::open_directory("r", "ro", "r", "ro /w, rw /w/d, ro /w/d/f")]
    #[case::open_directory_in_writable("rw", "ro", "rw", "rw /w, rw /w/d")]
    #[case::open_but_unread("r", "o", "r", "ro /w, passage /w/d, ro /w/d/f, seal /w/d")]
    #[case::alternating("rw", "r", "rw", "rw /w, ro /w/d, rw /w/d/f")]
    fn profiles_become_steps(
        #[case] top: &str,
        #[case] directory: &str,
        #[case] file: &str,
        #[case] expected: &str,
    ) {
        let mut steps = Vec::new();
        place(&tree_of(top, directory, file), Nothing, &mut steps).unwrap();
        assert_eq!(shown(&steps), expected);
    }

    #[rstest]
    #[case::free("rw", "rw", Writable, Some(""))]
    #[case::kept("r", "r", ReadOnly, Some(""))]
    #[case::loose("r", "r", Writable, None)]
    #[case::hidden("", "r", ReadOnly, None)]
    #[case::hidden_and_so_is_the_target("", "", ReadOnly, Some(""))]
    #[case::kept_but_not_the_target("r", "rw", ReadOnly, None)]
    #[case::made_anew("r", "r", Nothing, Some("link /w/l"))]
    #[case::made_anew_but_not_kept("r", "rw", Nothing, None)]
    #[case::left_out("", "rw", Nothing, Some(""))]
    fn links_are_held_or_refused(
        #[case] may: &str,
        #[case] leads: &str,
        #[case] around: SurroundingAccess,
        #[case] expected: Option<&str>,
    ) {
        let mut steps = Vec::new();
        let (reads, modifies) = (leads.contains('r'), leads.contains('w'));
        let node = node("/w/l", may, NodeKind::Link { says: "t".into(), reads, modifies });
        let placed = place(&node, around, &mut steps);
        assert_eq!(placed.ok().map(|()| shown(&steps)).as_deref(), expected);
    }

    #[rstest]
    #[case("r", "r", "rw", false)]
    #[case("r", "ro", "r", true)]
    #[case("rw", "", "", true)]
    #[case("", "o", "rw", false)]
    fn names_come_only_to_directories_that_can_be_read(
        #[case] top: &str,
        #[case] directory: &str,
        #[case] file: &str,
        #[case] room: bool,
    ) {
        assert_eq!(has_room(&tree_of(top, directory, file)), room);
    }
}
