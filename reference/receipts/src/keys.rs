//! Signing keys: PKCS#8 files that only their owner can read, SPKI files beside them.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey};
use ed25519_dalek::{SigningKey, VerifyingKey};

use super::canonical;

/// The digest by which receipts name a key: over its 32 bytes.
pub fn fingerprint(key: &VerifyingKey) -> String {
    canonical::digest(key.as_bytes())
}

/// Bytes as receipts carry them: `u` and unpadded base64url.
pub fn multibase(bytes: &[u8]) -> String {
    format!("u{}", URL_SAFE_NO_PAD.encode(bytes))
}

/// The public key in PEM text.
pub fn public_from_pem(text: &str) -> Result<VerifyingKey, String> {
    VerifyingKey::from_public_key_pem(text).map_err(|e| format!("not an Ed25519 public key: {e}"))
}

/// The private key in PEM text.
pub fn private_from_pem(text: &str) -> Result<SigningKey, String> {
    SigningKey::from_pkcs8_pem(text).map_err(|e| format!("not a PKCS#8 Ed25519 key: {e}"))
}

/// Returns the path of the public key: `.pub` beside the private one.
pub fn public_path(private: &Path) -> PathBuf {
    let mut name = private.as_os_str().to_owned();
    name.push(".pub");
    name.into()
}

/// Reads a public key.
pub fn read_public(path: &Path) -> Result<VerifyingKey, String> {
    let said = |error: String| format!("{}: {error}", path.display());
    let bytes = std::fs::read(path).map_err(|e| said(e.to_string()))?;
    pem_of(&bytes, "pkey -pubin").and_then(public_from_pem).map_err(said)
}

/// The PEM text of a key file; `convert` is how openssl makes one of DER.
fn pem_of<'a>(bytes: &'a [u8], convert: &str) -> Result<&'a str, String> {
    if bytes.is_empty() {
        return Err("is empty; a key in PEM text belongs there".to_owned());
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        return Err(
            "a byte order mark (EF BB BF) stands in front; save the file without".to_owned()
        );
    }
    let text = std::str::from_utf8(bytes).ok().filter(|text| text.contains("-----BEGIN"));
    text.ok_or_else(|| {
        format!(
            "is no PEM text; if it is DER: openssl {convert} -inform DER -in FILE -out FILE.pem"
        )
    })
}

/// The public key of a key file, private or public.
pub fn show(path: &Path) -> Result<VerifyingKey, String> {
    let public = read_public(path);
    public.or_else(|_| {
        let key = read_private(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(key.verifying_key())
    })
}

/// Reads a private key that only its owner can read, and publishes its public key beside it.
pub fn load(path: &Path) -> Result<SigningKey, String> {
    let key = read_private(path).map_err(|error| format!("{}: {error}", path.display()))?;
    publish(&public_path(path), &key.verifying_key())?;
    Ok(key)
}

fn read_private(path: &Path) -> Result<SigningKey, String> {
    let mut open = OpenOptions::new();
    open.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC);
    let mut file = open.open(path).map_err(|error| match error.raw_os_error() {
        Some(libc::ELOOP) => "is a symbolic link; name the key file itself".to_owned(),
        _ => error.to_string(),
    })?;
    check_private(&file)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    pem_of(&bytes, "pkey").and_then(private_from_pem)
}

fn check_private(file: &File) -> Result<(), String> {
    let found = file.metadata().map_err(|error| error.to_string())?;
    if !found.is_file() {
        return Err("is not a regular file".to_owned());
    }
    let mode = found.mode() & 0o7777;
    if mode & 0o077 != 0 && !fault!("receipts.readable-key") {
        return Err(format!("has mode {mode:04o}; only its owner may have access: chmod 0600"));
    }
    let me = nix::unistd::geteuid().as_raw();
    if found.uid() != me {
        return Err(format!("belongs to uid {}, not to uid {me}", found.uid()));
    }
    Ok(())
}

/// Writes the public key unless the same one is there; another one is an error.
fn publish(path: &Path, key: &VerifyingKey) -> Result<(), String> {
    let said = |error: String| format!("{}: {error}", path.display());
    match path.symlink_metadata() {
        Ok(found) if !found.is_file() => Err(said("is not a regular file".to_owned())),
        Ok(_) if read_public(path)? == *key => Ok(()),
        Ok(_) => Err(said("holds another key than the private one; remove it first".to_owned())),
        Err(_) => write_public(path, key).map_err(said),
    }
}

fn write_public(path: &Path, key: &VerifyingKey) -> Result<(), String> {
    let pem = key.to_public_key_pem(LineEnding::LF).map_err(|error| error.to_string())?;
    let beside = path.with_extension(format!("pub.{}", std::process::id()));
    let written = create(&beside, 0o644, pem.as_bytes())
        .and_then(|()| std::fs::rename(&beside, path).map_err(|error| error.to_string()));
    if written.is_err() {
        // The first error is the one to tell.
        let _gone = std::fs::remove_file(&beside);
    }
    written
}

fn create(path: &Path, mode: u32, bytes: &[u8]) -> Result<(), String> {
    let mut open = OpenOptions::new();
    open.write(true).create_new(true).mode(mode).custom_flags(libc::O_CLOEXEC);
    let mut file = open.open(path).map_err(|error| error.to_string())?;
    // The umask may have taken bits away.
    file.set_permissions(Permissions::from_mode(mode)).map_err(|error| error.to_string())?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(|error| error.to_string())
}

/// Makes a new pair of files; an existing one is never replaced.
pub fn make(path: &Path) -> Result<VerifyingKey, String> {
    let mut secret = [0; 32];
    let random = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut secret));
    random.map_err(|error| format!("/dev/urandom: {error}"))?;
    let key = SigningKey::from_bytes(&secret);
    let pem = key.to_pkcs8_pem(LineEnding::LF).map_err(|error| error.to_string())?;
    if public_path(path).symlink_metadata().is_ok() {
        return Err(format!("{} exists already", public_path(path).display()));
    }
    create(path, 0o600, pem.as_bytes()).map_err(|e| format!("{}: {e}", path.display()))?;
    publish(&public_path(path), &key.verifying_key())?;
    Ok(key.verifying_key())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_new_pair_is_private_and_loads() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        let made = make(&path).unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        assert_eq!(public_path(&path).metadata().unwrap().mode() & 0o777, 0o644);
        assert_eq!(load(&path).unwrap().verifying_key(), made);
        assert_eq!(read_public(&public_path(&path)).unwrap(), made);
        assert!(make(&path).unwrap_err().contains("exists"));
    }

    #[rstest::rstest]
    #[case::empty(b"", "is empty")]
    #[case::der(
        b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00\xff",
        "openssl pkey -pubin -inform DER"
    )]
    #[case::text(b"ssh-ed25519 AAAA", "is no PEM text")]
    #[case::marked(b"\xef\xbb\xbf-----BEGIN PUBLIC KEY-----", "byte order mark")]
    #[case::another(b"-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n", "not an Ed25519")]
    fn what_is_no_key_file_is_told_so(#[case] bytes: &[u8], #[case] why: &str) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key.pub");
        std::fs::write(&path, bytes).unwrap();
        let error = read_public(&path).unwrap_err();
        assert!(error.contains(why) && error.contains("key.pub"), "{error}");
    }

    #[test]
    fn keys_that_others_reach_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        make(&path).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        assert!(load(&path).unwrap_err().contains("0640"));
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let link = directory.path().join("link");
        symlink(&path, &link).unwrap();
        assert!(load(&link).unwrap_err().contains("symbolic link"));
        assert!(load(directory.path()).unwrap_err().contains("regular file"));
    }

    #[test]
    fn another_public_key_beside_it_stops_the_start() {
        let directory = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| directory.path().join(name));
        make(&one).unwrap();
        make(&two).unwrap();
        std::fs::copy(public_path(&two), public_path(&one)).unwrap();
        assert!(load(&one).unwrap_err().contains("another key"));
        std::fs::remove_file(public_path(&one)).unwrap();
        let key = load(&one).unwrap();
        assert_eq!(read_public(&public_path(&one)).unwrap(), key.verifying_key());
    }
}
