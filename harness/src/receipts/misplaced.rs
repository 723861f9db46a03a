//! A second daemon on a place that is not fit for it: [`MisplacedDaemon`].

use std::fs::{DirBuilder, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use boxproof_cases::case::ForbiddenPlace;

use super::keys;

/// The text of the file in the place of a socket.
const KEPT: &str = "kept";

/// The files of a daemon beside the channel's own. Its store is its own, too, or the lock of the
/// channel's store would refuse the daemon, so that no other fault could show.
pub struct MisplacedDaemon {
    /// Its socket.
    pub socket: String,
    /// Its key.
    pub key: String,
    /// Its store.
    pub store: String,
    place: ForbiddenPlace,
    /// The one that listens in its place.
    _other: Option<UnixListener>,
}

impl MisplacedDaemon {
    /// Prepares the files that `place` is about, and leaves all else in order, in the directory of the
    /// channel's parts.
    ///
    /// # Errors
    /// A file that cannot be made.
    pub fn prepare(place: ForbiddenPlace, host: &Path) -> Result<Self, String> {
        let at = |name: &str| host.join(name).display().to_string();
        let (socket, key, store) = (at("elsewhere"), at("key"), at("other-store"));
        let mut daemon = Self { socket, key, store, place, _other: None };
        let why = |error: std::io::Error| format!("{place:?}: {error}");
        let new_key = || keys::private_pem(&keys::new_key()?);
        let other = host.join("other-key");
        match place {
            ForbiddenPlace::TcpAddress => "127.0.0.1:0".clone_into(&mut daemon.socket),
            ForbiddenPlace::NotASocket => keys::write(daemon.socket.as_ref(), KEPT, 0o644)?,
            ForbiddenPlace::Taken => {
                daemon._other = Some(UnixListener::bind(&daemon.socket).map_err(why)?);
            }
            ForbiddenPlace::OpenDirectory => {
                let directory = host.join("open");
                DirBuilder::new().create(&directory).map_err(why)?;
                std::fs::set_permissions(&directory, Permissions::from_mode(0o777)).map_err(why)?;
                daemon.socket = directory.join("elsewhere").display().to_string();
            }
            ForbiddenPlace::OpenKey => keys::write(&other, &new_key()?, 0o644)?,
            ForbiddenPlace::LinkedKey => symlink(&daemon.key, &other).map_err(why)?,
            ForbiddenPlace::OtherPublicKey => {
                keys::write(&other, &new_key()?, 0o600)?;
                let public = keys::public_pem(&keys::new_key()?)?;
                keys::write(&keys::published(&other), &public, 0o644)?;
            }
            ForbiddenPlace::OpenStore => {
                keys::write(daemon.store.as_ref(), "", 0o600)?;
                let open = Permissions::from_mode(0o666);
                std::fs::set_permissions(&daemon.store, open).map_err(why)?;
            }
            ForbiddenPlace::ForeignStore => {
                keys::write(&other, &new_key()?, 0o600)?;
                let held = std::fs::read(host.join("store")).map_err(why)?;
                keys::write(daemon.store.as_ref(), &held, 0o600)?;
            }
        }
        if other.symlink_metadata().is_ok() {
            daemon.key = other.display().to_string();
        }
        Ok(daemon)
    }

    /// Returns whether the file in the place of its socket is as it was.
    pub fn is_place_kept(&self) -> bool {
        self.place != ForbiddenPlace::NotASocket
            || std::fs::read_to_string(&self.socket).is_ok_and(|text| text == KEPT)
    }
}
