//! Which path a path means on the disk, and what is decided of it there.
//!
//! Every link on the way is followed, also one that leads nowhere, so that what a write would make
//! is what is decided about. What is asked for and what it means are both decided on, and the
//! stricter holds.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use super::decide::{Decision, Op};
use super::profile::Profile;

/// What stands for the rule where a path means something outside the workspace.
pub const OUTSIDE: &str = "<outside workspace>";

/// Links that are followed for one path, as the kernel does.
const MOST_LINKS: usize = 40;

/// A workspace on the disk.
#[derive(Debug, Clone)]
pub struct Resolver {
    root: PathBuf,
}

/// What a path means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolved {
    /// These names below the workspace's root.
    Inside(Vec<Vec<u8>>),
    /// This place, which is not in the workspace.
    Outside(PathBuf),
}

impl Resolver {
    /// For the workspace at `root`, links followed.
    ///
    /// # Errors
    /// When it is not there.
    pub fn new(root: &Path) -> io::Result<Self> {
        Ok(Self { root: root.canonicalize()? })
    }

    /// What the path of these names below the root means.
    ///
    /// # Errors
    /// A loop of links, or a folder that cannot be looked into.
    pub fn resolve<N: AsRef<[u8]>>(&self, names: &[N]) -> io::Result<Resolved> {
        let own = names.iter().map(|name| OsString::from_vec(name.as_ref().to_vec()));
        let mut left: VecDeque<OsString> = own.collect();
        let (mut at, mut links) = (self.root.clone(), 0);
        while let Some(name) = left.pop_front() {
            if name == ".." {
                at.pop();
                continue;
            }
            let next = at.join(&name);
            match std::fs::read_link(&next) {
                Ok(target) => {
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(io::Error::from_raw_os_error(libc::ELOOP));
                    }
                    for part in target.components().rev() {
                        match part {
                            Component::Normal(name) => left.push_front(name.to_owned()),
                            Component::ParentDir => left.push_front("..".into()),
                            Component::RootDir => at = PathBuf::from("/"),
                            Component::CurDir | Component::Prefix(_) => {}
                        }
                    }
                }
                // No link, or nothing there yet: what a write would make.
                Err(error) if is_no_link(&error) => at = next,
                Err(error) => return Err(error),
            }
        }
        Ok(match at.strip_prefix(&self.root) {
            Ok(inside) => Resolved::Inside(
                inside.components().map(|part| part.as_os_str().as_bytes().to_vec()).collect(),
            ),
            Err(_) => Resolved::Outside(at),
        })
    }

    /// What is decided of the path of these names: of what it means and of itself, the stricter.
    /// `None` if it means something outside.
    ///
    /// # Errors
    /// As [`Self::resolve`].
    pub fn decide<'a, N: AsRef<[u8]>>(
        &self,
        profile: &'a Profile,
        op: Op,
        names: &[N],
    ) -> io::Result<Option<(Decision<'a>, Vec<Vec<u8>>)>> {
        let Resolved::Inside(real) = self.resolve(names)? else { return Ok(None) };
        let meant = profile.decide(op, &real);
        let asked = profile.decide(op, names);
        if meant.allowed && !asked.allowed {
            let own = names.iter().map(|name| name.as_ref().to_vec()).collect();
            return Ok(Some((asked, own)));
        }
        Ok(Some((meant, real)))
    }
}

fn is_no_link(error: &io::Error) -> bool {
    // A file where a folder should be: whatever is below it is not there.
    let known = [libc::EINVAL, libc::ENOENT, libc::ENOTDIR].map(Some);
    known.contains(&error.raw_os_error())
}
