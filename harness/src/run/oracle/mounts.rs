//! Changes of the mount table during an arm ([`MountsBefore`]), and which of them are the arm's.

use std::collections::HashSet;
use std::path::PathBuf;

use crate::removal::mount_point;
use crate::sweep;
use crate::workspace::ArmWorkspace;

/// The mount table before the act.
pub(super) struct MountsBefore {
    table: String,
    /// The place of the arm in a table that every program of the host shares; nothing where the table
    /// is the worker's own.
    place: Option<ArmPlace>,
}

/// What tells a mount of the arm from one of another program.
struct ArmPlace {
    root: PathBuf,
    nonce: String,
}

impl MountsBefore {
    /// Takes `table`, which is the worker's own if `own` is true.
    pub(super) fn new(table: &str, own: bool, workspace: &ArmWorkspace) -> Self {
        let place =
            || ArmPlace { root: workspace.root().to_owned(), nonce: workspace.nonce.clone() };
        Self { table: table.to_owned(), place: (!own).then(place) }
    }

    /// Describes a mount of the arm that is new, or one that was detached.
    pub(super) fn change(&self) -> Option<String> {
        self.change_to(&sweep::mounts())
    }

    fn change_to(&self, now: &str) -> Option<String> {
        if now == self.table {
            return None;
        }
        let is_ours = |line: &&str| self.place.as_ref().is_none_or(|place| place.holds(line));
        if let Some(new) = only_in(now, &self.table).find(is_ours) {
            return Some(format!("a mount outlived the run: {new}"));
        }
        let gone = only_in(&self.table, now).find(is_ours)?;
        Some(format!("a mount was detached in the run: {gone}"))
    }
}

impl ArmPlace {
    /// Returns whether the mount of this line lies in the arm, or is named after it.
    fn holds(&self, line: &str) -> bool {
        let lies_in = mount_point(line).is_some_and(|point| point.starts_with(&self.root));
        lies_in || line.contains(&self.nonce)
    }
}

/// The lines of one mount table that another does not have, and whose mount point is there: a
/// mount whose point the host removes goes with it.
fn only_in<'a>(one: &'a str, other: &str) -> impl Iterator<Item = &'a str> {
    let known: HashSet<&str> = other.lines().collect();
    let lines: Vec<_> = one.lines().filter(|line| !known.contains(line)).collect();
    lines
        .into_iter()
        .filter(|line| mount_point(line).is_some_and(|point| point.symlink_metadata().is_ok()))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::own_elsewhere(true, "/tmp", true)]
    #[case::shared_elsewhere(false, "/tmp", false)]
    #[case::shared_in_the_arm(false, "ROOT", true)]
    #[case::shared_named_after_it(false, "/tmp rw - ext4 NONCE", true)]
    fn a_mount_of_a_shared_table_is_the_arm_s_by_place_or_name(
        #[case] own: bool,
        #[case] mount: &str,
        #[case] told: bool,
    ) {
        let root = tempfile::tempdir().unwrap();
        let nonce = "bx0123abcd-1";
        let place = ArmPlace { root: root.path().to_owned(), nonce: nonce.to_owned() };
        let before = MountsBefore { table: String::new(), place: (!own).then_some(place) };
        let mount = mount.replace("ROOT", root.path().to_str().unwrap()).replace("NONCE", nonce);
        let line = format!("121 43 254:0 / {mount}\n");
        let change = before.change_to(&line);
        assert_eq!(change.is_some(), told, "{change:?}");
        // The same mount, gone.
        let before = MountsBefore { table: line, ..before };
        assert_eq!(before.change_to("").is_some(), told);
    }
}
