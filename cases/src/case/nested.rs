//! A host that lacks something: namespaces in which the launcher, and all that it starts, run.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FixtureEntry;

/// A user namespace inside that of the harness, which maps the harness's own ids alone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nested {
    /// Kinds of namespaces that cannot be made in it. Without user namespaces the launcher has no
    /// capabilities in it either, as an ordinary user has none.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub without: BTreeSet<Namespace>,
    /// True if part of the host's `/proc` is covered, as container engines do: then no other
    /// `/proc` can be mounted.
    #[serde(default, skip_serializing_if = "super::launcher::is_false")]
    pub covered_proc: bool,
    /// Additional or replaced files in `/run` and `/etc` of the nested host: absolute path → entry.
    /// Both directories are read-only.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, FixtureEntry>,
    /// Directories and files that are mounted in it: place → source.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mounts: BTreeMap<String, BindMount>,
    /// True if the root differs from that of the mount namespace, as after chroot(2).
    #[serde(default, skip_serializing_if = "super::launcher::is_false")]
    pub chroot: bool,
}

impl Nested {
    /// The strings a variable may stand in.
    pub fn strings(&self) -> impl Iterator<Item = &str> {
        let mounts = self.mounts.iter().flat_map(|(place, mount)| [place, &mount.bind]);
        self.files.values().flat_map(FixtureEntry::strings).chain(mounts.map(String::as_str))
    }
}

/// A directory or file in another place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BindMount {
    /// The source of the bind mount.
    pub bind: String,
    /// True if the mount is read-only.
    #[serde(default, skip_serializing_if = "super::launcher::is_false")]
    pub read_only: bool,
    /// True if the source's name is removed after mounting, as an atomic save on the host does.
    #[serde(default, skip_serializing_if = "super::launcher::is_false")]
    pub deleted: bool,
}

/// A kind of namespace.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Namespace {
    /// Users and capabilities.
    User,
    /// Mounts.
    Mnt,
    /// Processes.
    Pid,
    /// The network.
    Net,
    /// System V objects and message queues.
    Ipc,
    /// Host name.
    Uts,
    /// Control groups.
    Cgroup,
}

impl Namespace {
    /// The word a case and the kernel use for it.
    pub fn keyword(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Mnt => "mnt",
            Self::Pid => "pid",
            Self::Net => "net",
            Self::Ipc => "ipc",
            Self::Uts => "uts",
            Self::Cgroup => "cgroup",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[test]
    fn a_host_is_told_by_closed_words() {
        let nested: Nested =
            crate::load::fragment("{without: [user, pid], covered_proc: true}").unwrap();
        assert_eq!(nested.without, BTreeSet::from([Namespace::User, Namespace::Pid]));
        assert!(nested.covered_proc);
        let json = serde_json::to_value(&nested).unwrap();
        assert_eq!(serde_json::from_value::<Nested>(json).unwrap(), nested);
    }

    #[rstest]
    #[case("{files: {/run/x: {link: $OUT/x}, /etc/y: text}}")]
    #[case("{mounts: {a b: {bind: $OUT/d, read_only: true}, f: {bind: $OUT/f, deleted: true}}}")]
    #[case("{chroot: true, without: [net]}")]
    fn survives_a_round_trip(#[case] yaml: &str) {
        let nested: Nested = crate::load::fragment(yaml).unwrap();
        let json = serde_json::to_value(&nested).unwrap();
        assert_eq!(serde_json::from_value::<Nested>(json).unwrap(), nested);
    }

    #[rstest]
    #[case("{mounts: {a: {tmpfs: {}}}}", "unknown field `tmpfs`")]
    #[case("{mounts: {a: {read_only: true}}}", "missing field `bind`")]
    #[case("{chroot: /srv}", "invalid type")]
    #[case("{without: [time]}", "unknown variant `time`")]
    #[case("{with: []}", "unknown field `with`")]
    fn refuses(#[case] yaml: &str, #[case] message: &str) {
        let error = crate::load::fragment::<Nested>(yaml).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
