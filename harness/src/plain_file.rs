//! Reading files that a backend may have put there: plain files only, without following a link at
//! the end of the path, without waiting for a writer, and no more than a bound.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use memchr::memmem::find;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::Mode;
use sha2::{Digest, Sha256};

/// Opens the plain file at `path` for reading. The call never blocks.
///
/// # Errors
/// ELOOP for a symbolic link, "not a plain file" for a FIFO, socket, device or directory, else the
/// errno of open(2).
pub(crate) fn open(path: &Path) -> io::Result<(File, Metadata)> {
    plain(File::options().read(true).custom_flags(FLAGS).open(path)?)
}

/// The flags with which such a file is opened.
const FLAGS: i32 = libc::O_NONBLOCK | libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NOCTTY;

/// Checks that `file` is a plain one.
fn plain(file: File) -> io::Result<(File, Metadata)> {
    let meta = file.metadata()?;
    match meta.is_file() {
        true => Ok((file, meta)),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a plain file")),
    }
}

/// Returns the content of the plain file called `name` in `directory`.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_at(directory: &File, name: &OsStr, limit: u64) -> io::Result<Vec<u8>> {
    let flags = OFlag::from_bits_retain(FLAGS | libc::O_RDONLY);
    let file = openat(directory, name, flags, Mode::empty())?;
    bounded(plain(File::from(file))?.0, limit)
}

/// Returns the content of the plain file at `path`, which must have at most `limit` bytes.
///
/// # Errors
/// As [`open`], and `FileTooLarge` for a file of more than `limit` bytes.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    bounded(open(path)?.0, limit)
}

fn bounded(file: File, limit: u64) -> io::Result<Vec<u8>> {
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

/// The bytes that one look may still read: a backend decides how much there is.
#[derive(Debug)]
pub(crate) struct ReadBudget(u64);

impl Default for ReadBudget {
    fn default() -> Self {
        Self(256 << 20)
    }
}

impl ReadBudget {
    /// Takes `bytes` from the budget.
    ///
    /// # Errors
    /// `FileTooLarge` when fewer than `bytes` are left.
    fn spend(&mut self, bytes: u64) -> io::Result<()> {
        let message = "too much to be read";
        let too_much = || io::Error::new(io::ErrorKind::FileTooLarge, message);
        self.0 = self.0.checked_sub(bytes).ok_or_else(too_much)?;
        Ok(())
    }
}

/// The size of a piece.
const PIECE: usize = 1 << 16;

/// Returns the SHA-256 of the plain file at `path` in lower-case hex, read in pieces.
///
/// # Errors
/// As [`open`], the errno of read(2), or `FileTooLarge` for one of more bytes than `budget` has.
pub(crate) fn hash(path: &Path, budget: &mut ReadBudget) -> io::Result<String> {
    let (mut file, meta) = open(path)?;
    if meta.len() > budget.0 {
        budget.spend(meta.len())?;
    }
    let mut digest = Sha256::new();
    let mut buffer = vec![0; PIECE];
    loop {
        let count = file.read(&mut buffer)?;
        budget.spend(count as u64)?;
        match count {
            0 => return Ok(format!("{:x}", digest.finalize())),
            count => digest.update(&buffer[..count]),
        }
    }
}

/// Returns whether the plain file at `path` contains `needle`, which has no zero bytes. Holes are
/// skipped; the rest is read in pieces.
///
/// # Errors
/// As [`hash`].
pub(crate) fn contains(path: &Path, needle: &[u8], budget: &mut ReadBudget) -> io::Result<bool> {
    let (file, _) = open(path)?;
    let mut buffer = vec![0; PIECE];
    let (mut window, mut next) = (Vec::new(), 0);
    while let Some(at) = next_data(&file, next)? {
        if at != next {
            window.clear();
        }
        let count = file.read_at(&mut buffer, at)?;
        budget.spend(count as u64)?;
        window.extend_from_slice(&buffer[..count]);
        if find(&window, needle).is_some() {
            return Ok(true);
        }
        if count == 0 {
            break;
        }
        let kept = window.len().saturating_sub(needle.len().saturating_sub(1));
        window.drain(..kept);
        next = at + count as u64;
    }
    Ok(false)
}

/// Returns the offset of the first byte at or after `from` that is in no hole; none after the end.
fn next_data(file: &File, from: u64) -> io::Result<Option<u64>> {
    use rustix::io::Errno;
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(from)) {
        Ok(at) => Ok(Some(at)),
        Err(Errno::NXIO) => Ok(None),
        // The file system does not tell holes.
        Err(Errno::INVAL | Errno::NOTSUP) => Ok(Some(from)),
        Err(errno) => Err(errno.into()),
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
        assert_eq!(hash(&file, &mut ReadBudget::default()).unwrap(), abc);
    }

    #[rstest]
    #[case::nothing(&[], false)]
    #[case::whole(&[(0, "secret")], true)]
    #[case::part(&[(0, "secre")], false)]
    #[case::across_pieces(&[(PIECE as u64 - 3, "secret")], true)]
    #[case::behind_a_hole(&[(0, "x"), (8 << 30, "secret")], true)]
    #[case::with_a_hole_between(&[(0, "sec"), (8 << 30, "ret")], false)]
    fn a_word_is_found_wherever_it_is(#[case] parts: &[(u64, &str)], #[case] found: bool) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let file = File::create(&path).unwrap();
        parts.iter().for_each(|(at, text)| file.write_all_at(text.as_bytes(), *at).unwrap());
        assert_eq!(contains(&path, b"secret", &mut ReadBudget::default()).unwrap(), found);
    }

    #[test]
    fn what_is_too_large_is_not_read_at_all() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        File::create(&path).unwrap().set_len(8 << 30).unwrap();
        let error = hash(&path, &mut ReadBudget::default()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        std::fs::write(&path, "four").unwrap();
        let mut budget = ReadBudget(6);
        assert!(!contains(&path, b"secret", &mut budget).unwrap());
        let error = contains(&path, b"secret", &mut budget).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge, "the budget is for several files");
    }
}
