//! Rules as a ruleset of this kernel, with every right that its ABI has.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};

use super::rules::LandlockGrants;
use crate::error::Refusal;

/// Devices of the host that are harmless.
const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// The ruleset, to be entered by the command.
pub(super) fn build(rules: &LandlockGrants, abi: i64) -> Result<OwnedFd, Refusal> {
    let os = |error: RulesetError| Refusal::os("the Landlock ruleset", error);
    let rights = AbiRights::for_abi(abi);
    let mut ruleset = empty(&rights, rules.offline).map_err(os)?;
    for (path, access) in grants(rules, &rights) {
        // A path removed meanwhile needs no grant.
        let Ok(place) = PathFd::new(&path) else { continue };
        let fits = if path.is_dir() { access } else { access & rights.file } & handled(&rights);
        if fits.is_empty() {
            continue;
        }
        ruleset = ruleset.add_rule(PathBeneath::new(place, fits)).map_err(os)?;
    }
    Option::<OwnedFd>::from(ruleset)
        .ok_or_else(|| Refusal::setup("the Landlock ruleset: the kernel made none"))
}

/// The rights of one ABI.
struct AbiRights {
    abi: ABI,
    /// Rights to read and execute.
    read: BitFlags<AccessFs>,
    /// Rights to change as well; without the right to make device files.
    write: BitFlags<AccessFs>,
    /// The rights that apply to a file.
    file: BitFlags<AccessFs>,
}

impl AbiRights {
    fn for_abi(abi: i64) -> Self {
        // Rights of later ABIs are not used before they are tested.
        let abi = ABI::from(abi.min(9) as i32);
        let devices = AccessFs::MakeChar | AccessFs::MakeBlock;
        Self {
            abi,
            read: AccessFs::from_read(abi),
            write: match fault!("landlock.no-moves") {
                true => AccessFs::from_all(abi) & !devices & !AccessFs::Refer,
                false => AccessFs::from_all(abi) & !devices,
            },
            file: AccessFs::from_file(abi),
        }
    }
}

/// A ruleset that grants nothing. Where the kernel lacks one of the rights it fails, instead of
/// leaving it open.
fn empty(rights: &AbiRights, offline: bool) -> Result<RulesetCreated, RulesetError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(handled(rights))?;
    let ports = AccessNet::from_all(rights.abi);
    if offline && !ports.is_empty() {
        ruleset = ruleset.handle_access(ports)?;
    }
    let mut scopes = Scope::from_all(rights.abi);
    if fault!("landlock.signals") {
        scopes.remove(Scope::Signal);
    }
    if fault!("landlock.abstract-sockets") {
        scopes.remove(Scope::AbstractUnixSocket);
    }
    if !scopes.is_empty() {
        ruleset = ruleset.scope(scopes)?;
    }
    ruleset.create()
}

/// The rights that need a grant.
fn handled(rights: &AbiRights) -> BitFlags<AccessFs> {
    let all = AccessFs::from_all(rights.abi);
    match () {
        () if fault!("landlock.truncate") => all & !AccessFs::Truncate,
        () if fault!("landlock.make-directory") => all & !AccessFs::MakeDir,
        () if fault!("landlock.make-link") => all & !AccessFs::MakeSym,
        () if fault!("landlock.remove-file") => all & !AccessFs::RemoveFile,
        () if fault!("landlock.read-file") => all & !AccessFs::ReadFile,
        () if fault!("landlock.write-file") => all & !AccessFs::WriteFile,
        () if fault!("landlock.read-directory") => all & !AccessFs::ReadDir,
        () => all,
    }
}

fn grants(rules: &LandlockGrants, rights: &AbiRights) -> Vec<(PathBuf, BitFlags<AccessFs>)> {
    let mut grants = Vec::new();
    if rules.all {
        open_parts(Path::new("/"), &rules.hidden, rights, &mut grants);
    }
    grants.extend(rules.read.iter().map(|path| (path.clone(), rights.read)));
    grants.extend(rules.write.iter().map(|path| (path.clone(), rights.write)));
    if rules.devices {
        let use_it = rights.file & !(AccessFs::Execute);
        grants.extend(DEVICES.iter().map(|path| (PathBuf::from(path), use_it)));
    }
    grants
}

/// Grants reading of all below `directory` but `hidden`. A directory that holds something hidden can
/// be listed, with all below it: names are not hidden.
fn open_parts(
    directory: &Path,
    hidden: &[PathBuf],
    rights: &AbiRights,
    grants: &mut Vec<(PathBuf, BitFlags<AccessFs>)>,
) {
    if hidden.iter().any(|path| path == directory) {
        return;
    }
    if !hidden.iter().any(|path| path.starts_with(directory)) {
        grants.push((directory.to_owned(), rights.read));
        return;
    }
    grants.push((directory.to_owned(), AccessFs::ReadDir.into()));
    // Entries of a directory that cannot be listed are not granted.
    let children = fs::read_dir(directory).into_iter().flatten().flatten();
    for child in children.filter(|child| child.file_type().is_ok_and(|kind| !kind.is_symlink())) {
        open_parts(&child.path(), hidden, rights, grants);
    }
}
