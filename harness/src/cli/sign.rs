//! `boxproof sign` and `boxproof verify`: a record that its reader can tell from a changed one.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use boxproof_reports::{ExitCode, record, timing};
use ed25519_dalek::pkcs8::{DecodePrivateKey as _, DecodePublicKey as _};
use ed25519_dalek::{SigningKey, VerifyingKey};

use super::{CliFailure, print_text, unusable};
use crate::attestation::{self, RecordOrigin};
use crate::output::OutputTarget;
use crate::plain_file;

const SIGN_EXAMPLES: &str = "\
Examples:
  openssl genpkey -algorithm ed25519 -out key.pem
  boxproof sign run.ndjson --key key.pem            writes run.ndjson.intoto.json

The envelope is DSSE around an in-toto statement with the record's SHA-256.
Exit codes: 0 signed, 2 a record or a key that cannot be used, 3 it could not be written.";

const VERIFY_EXAMPLES: &str = "\
Examples:
  openssl pkey -in key.pem -pubout -out public.pem
  boxproof verify run.ndjson --key public.pem       reads run.ndjson.intoto.json

Exit codes: 0 the holder of the key vouches for exactly this record, 1 not so, 2 a file that cannot
be read, or is no key.";

/// The most bytes of a key or an envelope.
const LIMIT: u64 = 1 << 20;
/// The most bytes of a record.
const RECORD_LIMIT: u64 = 1 << 30;

/// Arguments of `sign`.
#[derive(Debug, clap::Args)]
#[command(after_help = SIGN_EXAMPLES)]
pub(super) struct SignArgs {
    /// The record: of a run, or of a bench.
    #[arg(value_name = "RECORD")]
    record: PathBuf,
    /// The private key: Ed25519, PKCS#8, PEM.
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// The envelope's file; by default RECORD.intoto.json.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Arguments of `verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = VERIFY_EXAMPLES)]
pub(super) struct VerifyArgs {
    /// The record.
    #[arg(value_name = "RECORD")]
    record: PathBuf,
    /// The public key: Ed25519, PEM.
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// The envelope's file; by default RECORD.intoto.json.
    #[arg(long, value_name = "FILE")]
    envelope: Option<PathBuf>,
}

pub(super) fn sign(args: &SignArgs) -> Result<i32, CliFailure> {
    let key = SigningKey::from_pkcs8_pem(&text(&args.key)?).map_err(|error| {
        fault(
            &args.key,
            &format!(
                "no private Ed25519 key in PKCS#8 and PEM: {error}; `openssl genpkey -algorithm \
             ed25519` makes one"
            ),
        )
    })?;
    let bytes = record_bytes(&args.record)?;
    let origin = origin(&bytes).map_err(|error| fault(&args.record, &error))?;
    let name = args.record.file_name().unwrap_or_default().to_string_lossy();
    let envelope = attestation::sign(&key, (&name, &bytes), origin)
        .map_err(|error| fault(&args.record, &error))?;
    let path = args.out.clone().unwrap_or_else(|| beside(&args.record));
    OutputTarget::open(&path).map_err(unusable)?.write(&envelope)?;
    let (id, digest) = (attestation::key_id(&key.verifying_key()), attestation::sha256(&bytes));
    print_text(&format!("{}: sha256 {digest}, signed by the key {id}\n", args.record.display()))?;
    Ok(0)
}

pub(super) fn verify(args: &VerifyArgs) -> Result<i32, CliFailure> {
    let key = VerifyingKey::from_public_key_pem(&text(&args.key)?).map_err(|error| {
        fault(
            &args.key,
            &format!("no public Ed25519 key in PEM: {error}; `openssl pkey -pubout` writes one"),
        )
    })?;
    let path = args.envelope.clone().unwrap_or_else(|| beside(&args.record));
    let envelope = text(&path)?;
    let bytes = record_bytes(&args.record)?;
    let origin = attestation::verify(&key, envelope.as_bytes(), &bytes).map_err(|refusal| {
        let message = format!("{}: not verified: {refusal}", args.record.display());
        CliFailure { code: ExitCode::Unexpected, message }
    })?;
    let RecordOrigin { kind, harness, started, commit } = origin;
    let commit = commit.map_or(String::new(), |commit| format!(", of commit {commit}"));
    print_text(&format!(
        "{}: verified: the record of a {kind} by boxproof {harness}, begun {started}{commit}\n",
        args.record.display()
    ))?;
    Ok(0)
}

/// The place of the envelope of `record`.
fn beside(record: &Path) -> PathBuf {
    let mut path = record.as_os_str().to_owned();
    path.push(".intoto.json");
    path.into()
}

/// Returns the origin of a record, in its own words; only a whole one has any.
fn origin(bytes: &[u8]) -> Result<RecordOrigin, String> {
    let of = |kind: &str, harness: String, started: String, commit: Option<String>| RecordOrigin {
        kind: kind.to_owned(),
        harness,
        started,
        commit,
    };
    let run = match record::read(bytes) {
        Ok(run) => {
            let header = run.header;
            return Ok(of("run", header.harness, header.started, header.commit));
        }
        Err(error) => error.to_string(),
    };
    match timing::read(bytes) {
        Ok(found) => {
            let header = found.header;
            Ok(of("timing", header.harness, header.started, header.commit))
        }
        Err(timing::TimingError::NoHeader) => Err(run),
        Err(error) => Err(error.to_string()),
    }
}

fn record_bytes(path: &Path) -> Result<Vec<u8>, CliFailure> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(RECORD_LIMIT).read_to_end(&mut bytes));
    read.map_err(|error| fault(path, &error))?;
    Ok(bytes)
}

fn text(path: &Path) -> Result<String, CliFailure> {
    plain_file::read_text(path, LIMIT).map_err(|error| fault(path, &error))
}

fn fault(path: &Path, why: &dyn std::fmt::Display) -> CliFailure {
    CliFailure::usage(format!("{}: {why}", path.display()))
}
