//! Reading files that a backend may have put there: plain files only, without following a link at
//! the end of the path, without waiting for a writer, and no more than a bound.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use sha2::{Digest, Sha256};

/// Opens the plain file at `path` for reading. The call never blocks.
///
/// # Errors
/// ELOOP for a symbolic link, "not a plain file" for a FIFO, socket, device or directory, else the
/// errno of open(2).
pub(crate) fn open(path: &Path) -> io::Result<(File, Metadata)> {
    let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NOCTTY;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let meta = file.metadata()?;
    match meta.is_file() {
        true => Ok((file, meta)),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a plain file")),
    }
}

/// Returns the content of the plain file at `path`, which must have at most `limit` bytes.
///
/// # Errors
/// As [`open`], and `FileTooLarge` for a file of more than `limit` bytes.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let (file, _) = open(path)?;
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        let message = format!("more than {limit} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// Returns the text of the plain file at `path`, which a person named and which may therefore be
/// behind links; it must have at most `limit` bytes.
///
/// # Errors
/// As [`read`], links apart, and `InvalidData` for what is not UTF-8.
pub(crate) fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    let bytes = read(&path.canonicalize()?, limit)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// The first bytes of a file that count for [`hash`]: a larger file, which may be sparse, would
/// cost time without end.
const HASHED: u64 = 1 << 30;

/// Returns the SHA-256 of the first GiB of the plain file at `path` in lower-case hex, read in
/// pieces.
///
/// # Errors
/// As [`open`], or the errno of read(2).
pub(crate) fn hash(path: &Path) -> io::Result<String> {
    let (file, _) = open(path)?;
    let mut file = file.take(HASHED);
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(format!("{:x}", digest.finalize())),
            count => digest.update(&buffer[..count]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::stat::Mode;
    use rstest::rstest;
    use std::os::unix::fs::symlink;

    #[rstest]
    #[case::fifo("fifo", "not a plain file")]
    #[case::directory(".", "not a plain file")]
    #[case::link("link", "Too many levels")]
    #[case::absent("absent", "No such file")]
    #[case::large("large", "more than 4 bytes")]
    fn what_is_no_small_plain_file_is_refused(#[case] name: &str, #[case] message: &str) {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        nix::unistd::mkfifo(&at("fifo"), Mode::S_IRWXU).unwrap();
        std::fs::write(at("large"), "12345").unwrap();
        symlink("large", at("link")).unwrap();
        let error = read(&at(name), 4).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }

    #[test]
    fn a_small_plain_file_is_read_and_hashed() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, "abc").unwrap();
        assert_eq!(read(&file, 3).unwrap(), b"abc");
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash(&file).unwrap(), abc);
    }
}
