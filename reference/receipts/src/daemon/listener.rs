//! The socket and its place: its permissions, and the files that may be there before.

use std::fs::{DirBuilder, Permissions};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use nix::sys::stat::{Mode, umask};

/// A socket that is removed when it is dropped.
#[derive(Debug)]
pub(super) struct DaemonListener {
    pub(super) socket: UnixListener,
    path: PathBuf,
}

impl Drop for DaemonListener {
    fn drop(&mut self) {
        // The next start finds a socket stale that could not be removed.
        let _stale = std::fs::remove_file(&self.path);
    }
}

/// Listens at `path`, for owner and group alone.
pub(super) fn listen(path: &Path, anywhere: bool) -> Result<DaemonListener, String> {
    refuse_addresses(path)?;
    let said = |error: String| format!("--socket {}: {error}", path.display());
    let directory = directory(path, anywhere).map_err(said)?;
    let path = directory.join(path.file_name().ok_or_else(|| said("names no file".to_owned()))?);
    clear(&path).map_err(said)?;
    let before = umask(Mode::from_bits_truncate(0o117));
    let bound = UnixListener::bind(&path);
    umask(before);
    let socket = bound.map_err(|error| said(error.to_string()))?;
    let listener = DaemonListener { socket, path };
    let mode = if fault!("receipts.socket-open") { 0o666 } else { 0o660 };
    let mode = Permissions::from_mode(mode);
    std::fs::set_permissions(&listener.path, mode).map_err(|error| said(error.to_string()))?;
    Ok(listener)
}

/// Refuses a network address: a socket is a file, so that such a path is a mistake.
fn refuse_addresses(path: &Path) -> Result<(), String> {
    let text = path.to_string_lossy();
    let port =
        |text: &str| text.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let network = text.parse::<SocketAddr>().is_ok()
        || text.contains("://")
        || (!text.contains('/') && (port(&text) || text.starts_with("tcp")));
    match network {
        true => Err(format!("--socket {text}: is an address of a network; name a file")),
        false => Ok(()),
    }
}

/// The directory of the socket, made if it is missing, closed to the world.
fn directory(path: &Path, anywhere: bool) -> Result<PathBuf, String> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    match DirBuilder::new().mode(0o750).create(parent) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(format!("{}: {error}", parent.display()));
        }
        _ => {}
    }
    let directory = parent.canonicalize().map_err(|error| error.to_string())?;
    let found = directory.metadata().map_err(|error| error.to_string())?;
    let mode = found.mode() & 0o7777;
    let shown = directory.display();
    if mode & 0o007 != 0 {
        return Err(format!("{shown} has mode {mode:04o}, open to the world: chmod 0750"));
    }
    let me = nix::unistd::geteuid().as_raw();
    if found.uid() != me && found.uid() != 0 {
        return Err(format!("{shown} belongs to uid {}, who could replace it", found.uid()));
    }
    if !anywhere && !run_directories().iter().any(|run| directory.starts_with(run)) {
        return Err(format!(
            "{shown} is not in a run directory ($XDG_RUNTIME_DIR, /run); \
             choose one or say --unsafe-socket-path"
        ));
    }
    Ok(directory)
}

fn run_directories() -> Vec<PathBuf> {
    let named = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let all = named.into_iter().chain(["/run".into(), "/var/run".into()]);
    all.filter_map(|path| path.canonicalize().ok()).filter(|path| path != Path::new("/")).collect()
}

/// Removes a socket without a listener; any other file stays and is an error.
fn clear(path: &Path) -> Result<(), String> {
    let found = match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        found => found.map_err(|error| error.to_string())?,
    };
    if !found.file_type().is_socket() {
        return Err("something else than a socket is there; it stays".to_owned());
    }
    match UnixStream::connect(path) {
        Ok(_) => Err("a daemon listens there already".to_owned()),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path).map_err(|error| error.to_string())
        }
        Err(error) => Err(format!("a socket is there that cannot be told to be stale: {error}")),
    }
}

#[cfg(test)]
mod tests;
