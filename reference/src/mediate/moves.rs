//! The rules for a move: a directory takes along its entries, and each of their names comes to a
//! new place as well.

use std::ffi::{CStr, CString, OsStr};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nix::dir::{Dir, Type};
use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};
use nix::sys::stat::SFlag;
use rustix::fs::RenameFlags;

use super::broker::{SyscallBroker, stat_name};
use super::caller::CallingThread;
use super::mounts::bytes;
use super::rules::{DevicePath, RuleMatch};
use super::walk::{PinnedName, kind};

/// The maximum number of names in a directory that are checked before it moves; with more, each has
/// to move for itself.
const MOST_NAMES: usize = 50_000;

impl SyscallBroker {
    /// Checks that the object at `old` may move to `new`, and with an exchange the other way round.
    pub(super) fn vet_move(
        &self,
        caller: CallingThread<'_>,
        old: &PinnedName,
        new: &PinnedName,
        flags: RenameFlags,
    ) -> nix::Result<()> {
        let source = kind(&stat_name(old)?);
        let target = match stat_name(new) {
            Ok(_) if flags.contains(RenameFlags::NOREPLACE) => return Err(Errno::EEXIST),
            Ok(found) => Some(kind(&found)),
            Err(Errno::ENOENT) => None,
            Err(other) => return Err(other),
        };
        self.vet_end(caller, old, source, true)?;
        self.vet_end(caller, new, source, target.is_some())?;
        if !fault!("mediate.moved-directories") {
            self.vet_coming(caller, old, new, source)?;
        }
        let exchange = flags.contains(RenameFlags::EXCHANGE);
        if let Some(target) = target.filter(|_| exchange && !fault!("mediate.exchanges")) {
            self.vet_end(caller, old, target, true)?;
            self.vet_coming(caller, new, old, target)?;
        }
        Ok(())
    }

    /// Checks that one end of a move may lose or get an object of this kind. A name above a
    /// forbidden place is held: a directory moved there could contain that place.
    fn vet_end(
        &self,
        caller: CallingThread<'_>,
        spot: &PinnedName,
        moved: SFlag,
        stands: bool,
    ) -> nix::Result<()> {
        match self.judge(spot)? {
            RuleMatch::Free | RuleMatch::Within | RuleMatch::Towards => Ok(()),
            RuleMatch::Forbidden => Err(self.refusal(caller, spot, Errno::EACCES)),
            RuleMatch::Above if moved == SFlag::S_IFREG => Ok(()),
            RuleMatch::Above if fault!("mediate.moves-above") => Ok(()),
            RuleMatch::Above if stands => Err(self.refusal(caller, spot, Errno::EBUSY)),
            // Movers fall back to copying, and every copy is mediated.
            RuleMatch::Above => Err(self.refusal(caller, spot, Errno::EXDEV)),
        }
    }

    /// Checks that the patterns let the object at `from`, of kind `moved`, come to `to`.
    fn vet_coming(
        &self,
        caller: CallingThread<'_>,
        from: &PinnedName,
        to: &PinnedName,
        moved: SFlag,
    ) -> nix::Result<()> {
        let may = match self.judge(to)? {
            RuleMatch::Within if moved == SFlag::S_IFDIR => self.may_all_come(from, to)?,
            RuleMatch::Towards if moved == SFlag::S_IFDIR => self.may_all_come(from, to)?,
            RuleMatch::Towards => moved != SFlag::S_IFLNK,
            _ => true,
        };
        if may { Ok(()) } else { Err(self.refusal(caller, to, Errno::EXDEV)) }
    }

    /// Returns whether no entry of the directory `from` would come to a place that a rule covers.
    /// The lock keeps names from being made meanwhile.
    fn may_all_come(&self, from: &PinnedName, to: &PinnedName) -> nix::Result<bool> {
        let (old, new) = (self.place(from)?, self.place(to)?);
        if self.rules.are_no_stricter_at(&new, &old) {
            return Ok(true);
        }
        let (mut ahead, mut seen) = (vec![PathBuf::new()], 0);
        while let Some(directory) = ahead.pop() {
            // A directory that cannot be read may contain such entries.
            let Ok(names) = names(from, &directory) else { return Ok(false) };
            seen += names.len();
            if seen > MOST_NAMES {
                return Ok(false);
            }
            for (name, kind) in names {
                let path = directory.join(name);
                if !self.may_come(&new, &path, kind) {
                    return Ok(false);
                }
                ahead.extend(Some(path).filter(|_| kind == Type::Directory));
            }
        }
        Ok(true)
    }

    fn may_come(&self, new: &DevicePath, below: &Path, kind: Type) -> bool {
        match self.rules.judge(&DevicePath { device: new.device, path: new.path.join(below) }) {
            RuleMatch::Free | RuleMatch::Within => true,
            RuleMatch::Towards => kind != Type::Symlink,
            RuleMatch::Above => kind == Type::File,
            RuleMatch::Forbidden => false,
        }
    }
}

/// Lists the names in `directory`, a path below the directory at `spot`, and their types.
fn names(spot: &PinnedName, directory: &Path) -> nix::Result<Vec<(PathBuf, Type)>> {
    let whole = Path::new(OsStr::from_bytes(spot.bare())).join(directory);
    let whole = CString::new(bytes(&whole)).map_err(|_| Errno::EINVAL)?;
    let how = OpenHow::new()
        .flags(OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC)
        .resolve(ResolveFlag::RESOLVE_NO_SYMLINKS);
    let mut directory = Dir::from_fd(openat2(spot.directory.as_fd(), whole.as_c_str(), how)?)?;
    let is_plain = |name: &CStr| !matches!(name.to_bytes(), b"." | b"..");
    let mut names = Vec::new();
    for entry in directory.iter() {
        let entry = entry?;
        if is_plain(entry.file_name()) {
            let kind = entry.file_type().ok_or(Errno::EOPNOTSUPP)?;
            names.push((OsStr::from_bytes(entry.file_name().to_bytes()).into(), kind));
        }
    }
    Ok(names)
}
