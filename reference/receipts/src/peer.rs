//! The process at the other end of a connection, as the kernel reports it.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::{Uid, User};

/// A process that connected.
#[derive(Debug, Clone)]
pub(crate) struct PeerProcess {
    pub(crate) pid: i32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// Its program, where it is known.
    pub(crate) exe: Option<String>,
    /// Its user, as receipts name one.
    pub(crate) principal: String,
}

impl PeerProcess {
    /// Asks before anything is read from `stream`.
    pub(crate) fn from_socket(stream: &UnixStream) -> Result<Self, String> {
        let found = getsockopt(stream, PeerCredentials).map_err(|error| error.to_string())?;
        let (pid, uid, gid) = (found.pid(), found.uid(), found.gid());
        let link = std::fs::read_link(format!("/proc/{pid}/exe"));
        let exe = link.ok().and_then(|path: PathBuf| path.into_os_string().into_string().ok());
        Ok(Self { pid, uid, gid, exe, principal: principal(uid) })
    }
}

fn principal(uid: u32) -> String {
    match User::from_uid(Uid::from_raw(uid)) {
        Ok(Some(user)) => format!("did:user:{}", user.name),
        Ok(None) => format!("did:user:linux:{uid}"),
        Err(_) => "did:user:unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_names_this_process() {
        let (one, _other) = UnixStream::pair().unwrap();
        let peer = PeerProcess::from_socket(&one).unwrap();
        assert_eq!(peer.pid, i32::try_from(std::process::id()).unwrap());
        assert_eq!(peer.uid, nix::unistd::geteuid().as_raw());
        let exe = std::env::current_exe().unwrap();
        assert_eq!(peer.exe.as_deref(), exe.to_str());
    }

    #[test]
    fn a_user_without_a_name_is_told_by_number() {
        assert_eq!(principal(0), "did:user:root");
        assert_eq!(principal(3_999_999_999), "did:user:linux:3999999999");
    }
}
