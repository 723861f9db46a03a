//! Signing keys as a daemon keeps them: PKCS#8 for the private half, SPKI for the public one.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use boxproof_cases::case::KeyFile;
use ed25519_dalek::SigningKey;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{EncodePrivateKey as _, EncodePublicKey as _};

use crate::sys;

/// A new key.
///
/// # Errors
/// Returns an error when there are no random bytes.
pub fn new_key() -> Result<SigningKey, String> {
    let hex = sys::random::<32>().map_err(|error| error.to_string())?;
    let mut seed = [0; 32];
    for (at, byte) in seed.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).map_err(|e| e.to_string())?;
    }
    Ok(SigningKey::from_bytes(&seed))
}

/// Its private half as PEM.
///
/// # Errors
/// Never, as far as is known.
pub fn private_pem(key: &SigningKey) -> Result<String, String> {
    let pem = key.to_pkcs8_pem(LineEnding::LF).map_err(|error| error.to_string())?;
    Ok(pem.to_string())
}

/// Its public half as PEM.
///
/// # Errors
/// Never, as far as is known.
pub fn public_pem(key: &SigningKey) -> Result<String, String> {
    let pem = key.verifying_key().to_public_key_pem(LineEnding::LF);
    pem.map_err(|error| error.to_string())
}

/// Returns the content of a file that a verifier is given as the key of a chain.
///
/// # Errors
/// A point that is not 32 bytes.
pub fn file_of(form: &KeyFile, own: &SigningKey) -> Result<Vec<u8>, String> {
    let der = |key: &[u8]| [SPKI, key].concat();
    match form {
        KeyFile::Other => public_pem(&new_key()?).map(String::into_bytes),
        KeyFile::Der => Ok(der(own.verifying_key().as_bytes())),
        KeyFile::Text(text) => Ok(text.clone().into_bytes()),
        KeyFile::Point(hex) => {
            let digits = |at| u8::from_str_radix(hex.get(at..at + 2).unwrap_or_default(), 16);
            let bytes: Result<Vec<u8>, _> = (0..64).step_by(2).map(digits).collect();
            let bytes = bytes.map_err(|error| format!("point: {hex}: {error}"))?;
            let body = STANDARD.encode(der(&bytes));
            let pem = format!("-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n");
            Ok(pem.into_bytes())
        }
    }
}

/// The start of the DER text of an Ed25519 public key, before its 32 bytes.
const SPKI: &[u8] = b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00";

/// Returns the path at which the public half of the key in `file` is published.
pub fn published(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".pub");
    name.into()
}

/// Writes both halves, the private one for its owner alone.
///
/// # Errors
/// Returns an error when a file cannot be written.
pub fn store(key: &SigningKey, file: &Path) -> Result<(), String> {
    write(file, &private_pem(key)?, 0o600)?;
    write(&published(file), &public_pem(key)?, 0o644)
}

/// Writes a new file with these bits.
///
/// # Errors
/// Returns an error when it cannot be written.
pub fn write(file: &Path, text: &(impl AsRef<[u8]> + ?Sized), mode: u32) -> Result<(), String> {
    let open = std::fs::File::options().write(true).create_new(true).mode(mode).open(file);
    open.and_then(|mut open| open.write_all(text.as_ref()))
        .map_err(|error| format!("{}: {error}", file.display()))
}
