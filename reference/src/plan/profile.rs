//! The steps of a workspace under a profile: each path that differs from its surroundings gets a
//! mount of its own, to any depth.

use std::path::PathBuf;

use super::Step;
use crate::error::Refusal;
use crate::host::{Kind, Node, Tree};

/// Mode of a directory that cannot be listed although something in it can be reached.
const PASSAGE: u32 = 0o111;

/// The state of a place before any step of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Around {
    /// Nothing of the host is there.
    Nothing,
    /// The host's object, read-only.
    ReadOnly,
    /// The host's object, writable.
    Writable,
}

use Around::{Nothing, ReadOnly, Writable};

/// The steps for `tree`, where the platform shows its place or not; seals come last.
pub(super) fn steps(tree: &Tree, around: Around) -> Result<Vec<Step>, Refusal> {
    if let Some(folder) = &tree.closed {
        return Err(Refusal::unsupported(format!(
            "the profile has rules about what lies in {}, which cannot be looked into; make it readable",
            folder.display()
        )));
    }
    if let Some(folder) = &tree.folds {
        return Err(Refusal::unsupported(format!(
            "{} takes names that differ in case for one, and the profile tells them apart; move the workspace to another volume",
            folder.display()
        )));
    }
    let mut steps = Vec::new();
    place(&tree.root, around, &mut steps)?;
    if !tree.root.read && !steps.iter().any(|step| matches!(step, Step::Tmpfs(..))) {
        // The root must stay searchable for a command that starts below it.
        let root = &tree.root.path;
        steps = vec![Step::Tmpfs(root.clone(), PASSAGE), Step::Seal(root.clone())];
    }
    Ok(steps)
}

/// Returns whether a name can be created in a directory that stays writable.
pub(super) fn has_room(node: &Node) -> bool {
    match &node.kind {
        Kind::Folder { open, children } => {
            node.read && (node.modify || *open) || children.iter().any(has_room)
        }
        _ => false,
    }
}

fn place(node: &Node, around: Around, steps: &mut Vec<Step>) -> Result<(), Refusal> {
    match &node.kind {
        Kind::Folder { children, .. } if !node.read => closed_folder(node, children, around, steps),
        Kind::Folder { open, children } => folder(node, *open, children, around, steps),
        Kind::Link { says, reads, modifies } => {
            link_can_be_held(node, around, *reads, *modifies)?;
            let anew = around == Nothing && node.read;
            steps.extend(anew.then(|| Step::Link(node.path.clone(), says.clone())));
            Ok(())
        }
        Kind::File | Kind::Socket => {
            steps.extend(object(node, around));
            Ok(())
        }
    }
}

/// Returns the steps for a listable directory. It is writable if it may be changed or a name may be
/// created in it, and then a mount of its own if it must not be moved.
fn folder(
    node: &Node,
    open: bool,
    children: &[Node],
    around: Around,
    steps: &mut Vec<Step>,
) -> Result<(), Refusal> {
    let wanted = if node.modify || open { Writable } else { ReadOnly };
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
fn closed_folder(
    node: &Node,
    children: &[Node],
    around: Around,
    steps: &mut Vec<Step>,
) -> Result<(), Refusal> {
    let mut below = Vec::new();
    children.iter().try_for_each(|child| place(child, Nothing, &mut below))?;
    if !below.is_empty() {
        steps.push(Step::Tmpfs(node.path.clone(), PASSAGE));
        steps.append(&mut below);
        steps.push(Step::Seal(node.path.clone()));
    } else if around != Nothing {
        steps.push(Step::MaskFolder(node.path.clone()));
    }
    Ok(())
}

fn object(node: &Node, around: Around) -> Option<Step> {
    let wanted = if node.modify { Writable } else { ReadOnly };
    match node.read && node.kind != Kind::Socket {
        true if around == wanted => None,
        true => Some(bound(node.path.clone(), wanted)),
        false if around == Nothing => None,
        false => Some(Step::MaskFile(node.path.clone())),
    }
}

fn bound(path: PathBuf, wanted: Around) -> Step {
    if wanted == Writable { Step::Bind(path) } else { Step::BindReadOnly(path) }
}

/// Refuses a link that the profile closes more than its target, or than the writable directory
/// around it: no mount can hold a link.
fn link_can_be_held(
    node: &Node,
    around: Around,
    reads: bool,
    modifies: bool,
) -> Result<(), Refusal> {
    let seen = around != Nothing || node.read;
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
    fn node(path: &str, may: &str, kind: Kind) -> Node {
        let kind = match kind {
            Kind::Folder { children, .. } => Kind::Folder { open: may.contains('o'), children },
            other => other,
        };
        Node { path: path.into(), read: may.contains('r'), modify: may.contains('w'), kind }
    }

    fn tree_of(top: &str, folder: &str, file: &str) -> Node {
        let file = node("/w/d/f", file, Kind::File);
        let folder = node("/w/d", folder, Kind::Folder { open: false, children: vec![file] });
        node("/w", top, Kind::Folder { open: false, children: vec![folder] })
    }

    fn shown(steps: &[Step]) -> String {
        let one = |step: &Step| {
            let word = match step {
                Step::Bind(_) => "rw",
                Step::BindReadOnly(_) => "ro",
                Step::MaskFile(_) | Step::MaskSocket(_) => "mask-file",
                Step::MaskFolder(_) => "mask-folder",
                Step::Tmpfs(..) => "passage",
                Step::Seal(_) => "seal",
                Step::Folder(_) => "folder",
                Step::Link(..) => "link",
                Step::Dev | Step::Proc | Step::HostProc => "fresh",
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
    #[case::hidden_folder("rw", "", "", "rw /w, mask-folder /w/d")]
    #[case::hole_in_hidden_folder("rw", "", "r", "rw /w, passage /w/d, ro /w/d/f, seal /w/d")]
    #[case::folder_in_nothing("", "rw", "rw", "passage /w, rw /w/d, seal /w")]
    #[case::open_folder("r", "ro", "r", "ro /w, rw /w/d, ro /w/d/f")]
    #[case::open_folder_in_writable("rw", "ro", "rw", "rw /w, rw /w/d")]
    #[case::open_but_unread("r", "o", "r", "ro /w, passage /w/d, ro /w/d/f, seal /w/d")]
    #[case::alternating("rw", "r", "rw", "rw /w, ro /w/d, rw /w/d/f")]
    fn profiles_become_steps(
        #[case] top: &str,
        #[case] folder: &str,
        #[case] file: &str,
        #[case] expected: &str,
    ) {
        let mut steps = Vec::new();
        place(&tree_of(top, folder, file), Nothing, &mut steps).unwrap();
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
        #[case] around: Around,
        #[case] expected: Option<&str>,
    ) {
        let mut steps = Vec::new();
        let (reads, modifies) = (leads.contains('r'), leads.contains('w'));
        let node = node("/w/l", may, Kind::Link { says: "t".into(), reads, modifies });
        let placed = place(&node, around, &mut steps);
        assert_eq!(placed.ok().map(|()| shown(&steps)).as_deref(), expected);
    }

    #[rstest]
    #[case("r", "r", "rw", false)]
    #[case("r", "ro", "r", true)]
    #[case("rw", "", "", true)]
    #[case("", "o", "rw", false)]
    fn names_come_only_to_folders_that_can_be_read(
        #[case] top: &str,
        #[case] folder: &str,
        #[case] file: &str,
        #[case] room: bool,
    ) {
        assert_eq!(has_room(&tree_of(top, folder, file)), room);
    }
}
