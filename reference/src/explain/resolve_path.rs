//! Resolution of a written path: from the working directory, through links and `..`, as far as the
//! path exists. The caller reads the links. Pure.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Links followed at most, as in the kernel.
const LINKS: usize = 40;

/// Reads the target of the link at a path; none if it is no link.
pub(crate) type ReadLink<'a> = &'a dyn Fn(&Path) -> Option<PathBuf>;

/// Queries to the host's file system.
#[derive(Clone, Copy)]
pub(crate) struct HostLookup<'a> {
    /// Reads the target of a link.
    pub(crate) link: ReadLink<'a>,
    /// Reads a short text file that a user may have written.
    pub(crate) text: &'a dyn Fn(&Path) -> Option<String>,
    /// Returns whether a path exists.
    pub(crate) there: &'a dyn Fn(&Path) -> bool,
    /// Returns the names in a directory.
    pub(crate) names: &'a dyn Fn(&Path) -> Vec<String>,
    /// Returns whether a path can be executed or entered by some user.
    pub(crate) runs: &'a dyn Fn(&Path) -> bool,
    /// Tells whether this user may write in a directory.
    pub(crate) may_write: &'a dyn Fn(&Path) -> bool,
    /// Tells whether root takes a capability to use a path: its mode, or that of a directory above, leaves it to
    /// others.
    pub(crate) closed_to_root: &'a dyn Fn(&Path) -> bool,
    /// Tells whether a server of the host waits for connections at a port.
    pub(crate) listens: &'a dyn Fn(u16) -> bool,
    /// The file system that a path is on, or would be.
    pub(crate) device: &'a dyn Fn(&Path) -> Option<u64>,
}

/// Resolves `written` from `base`; `follows` if a link at its end is followed, too.
pub(super) fn resolve(base: &Path, written: &Path, follows: bool, link: ReadLink<'_>) -> PathBuf {
    let start = unrooted(&base.join(written));
    let mut left: Vec<OsString> = parts(&start);
    let (mut at, mut links) = (PathBuf::from("/"), 0);
    while let Some(part) = left.pop() {
        if part == ".." {
            at.pop();
            continue;
        }
        at.push(&part);
        if left.is_empty() && !follows || links == LINKS {
            continue;
        }
        if let Some(says) = link(&at) {
            links += 1;
            at.pop();
            let whole = at.join(says);
            if whole.is_absolute() {
                at = PathBuf::from("/");
            }
            left.extend(parts(&whole));
        }
    }
    at
}

/// The components, the last first.
fn parts(path: &Path) -> Vec<OsString> {
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    });
    let mut parts: Vec<OsString> = parts.collect();
    parts.reverse();
    parts
}

/// The root of a process of the box is the box's root.
fn unrooted(path: &Path) -> PathBuf {
    let mut parts = path.components().skip(1);
    let names = [parts.next(), parts.next(), parts.next()];
    let names = names.map(|part| part.and_then(|part| part.as_os_str().to_str()));
    match names {
        [Some("proc"), Some(_), Some("root")] => Path::new("/").join(parts.collect::<PathBuf>()),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn links(path: &Path) -> Option<PathBuf> {
        match path.to_str()? {
            "/w/out" => Some("/etc".into()),
            "/w/d/up" => Some("..".into()),
            "/w/loop" => Some("loop".into()),
            _ => None,
        }
    }

    #[rstest]
    #[case("a", true, "/w/a")]
    #[case("../x", true, "/x")]
    #[case("/w/./a//b/", true, "/w/a/b")]
    #[case("out/x", true, "/etc/x")]
    #[case("out", true, "/etc")]
    #[case("out", false, "/w/out")]
    #[case("d/up/../x", true, "/x")]
    #[case("/proc/self/root/etc/x", true, "/etc/x")]
    #[case("loop/x", true, "/w/loop/x")]
    fn a_path_is_where_it_leads(#[case] path: &str, #[case] follows: bool, #[case] due: &str) {
        let found = resolve("/w".as_ref(), path.as_ref(), follows, &links);
        assert_eq!(found, Path::new(due));
    }
}
