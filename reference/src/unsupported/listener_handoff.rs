//! A substitute for doors out of a private network, which other systems do not have.

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::os::fd::{OwnedFd, RawFd};

pub(crate) use self::UnsupportedHandoff as ListenerHandoff;

/// None is ever made.
#[derive(Debug)]
pub(crate) struct UnsupportedHandoff(Infallible);

pub(crate) fn pair(_port: u16) -> io::Result<(UnsupportedHandoff, OwnedFd)> {
    Err(io::ErrorKind::Unsupported.into())
}

impl UnsupportedHandoff {
    pub(crate) fn adopt(_numbers: [RawFd; 2]) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn numbers(&self) -> [RawFd; 2] {
        match self.0 {}
    }

    pub(crate) fn open(&self) -> io::Result<()> {
        match self.0 {}
    }
}

pub(super) fn wait(_outer: &OwnedFd) -> io::Result<Vec<TcpListener>> {
    Err(io::ErrorKind::Unsupported.into())
}
