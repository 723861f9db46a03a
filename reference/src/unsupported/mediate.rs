//! A substitute for mediation of the command's calls, which other systems cannot do.

use std::convert::Infallible;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use crate::plan::ForbiddenNames;

pub(crate) use self::UnsupportedMediation as Mediation;
pub(crate) use self::UnsupportedService as ServedMediation;

/// None is ever made.
pub(crate) struct UnsupportedMediation(Infallible);

impl UnsupportedMediation {
    pub(crate) fn prepare(_held: &ForbiddenNames, _ledger: Option<OwnedFd>) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn hold(&self) -> nix::Result<()> {
        match self.0 {}
    }

    pub(crate) fn serve(self) -> io::Result<ServedMediation> {
        match self.0 {}
    }
}

/// None ever goes on.
pub(crate) struct UnsupportedService(Infallible);

impl UnsupportedService {
    pub(crate) fn conclude(&self) {
        match self.0 {}
    }
}

/// None is denied.
pub(crate) fn denied_sockets(_unreached: &[PathBuf]) -> Vec<PathBuf> {
    Vec::new()
}
