//! Certificates of a channel: an authority, the relay's own, and those that clients show.

use std::path::{Path, PathBuf};

use boxproof_cases::case::Certificate;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, SanType, date_time_ymd,
};

use super::keys::write;

/// The prefix of a sandbox's name in its certificate.
const URN: &str = "urn:opensandbox:";

/// An authority that signs certificates.
#[derive(Debug)]
pub struct CertificateAuthority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate and its key, as PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificatePair {
    /// The certificate.
    pub certificate: String,
    /// The key.
    pub key: String,
}

impl CertificateAuthority {
    /// A new one.
    ///
    /// # Errors
    /// Returns an error when there are no random bytes.
    pub fn new(name: &str) -> Result<Self, String> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().map_err(plain)?;
        let issuer = CertifiedIssuer::self_signed(params, key).map_err(plain)?;
        Ok(Self { issuer })
    }

    /// Its own certificate, as PEM.
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// The certificate of a server on the loopback interface.
    ///
    /// # Errors
    /// Returns an error when it cannot be signed.
    pub fn server(&self) -> Result<CertificatePair, String> {
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let mut params = CertificateParams::new(names).map_err(plain)?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(&params)
    }

    /// The certificate that a client of the sandbox `id` shows; none where it shows none.
    ///
    /// # Errors
    /// Returns an error when it cannot be signed.
    pub fn client(&self, kind: Certificate, id: &str) -> Result<Option<CertificatePair>, String> {
        let mut params = CertificateParams::default();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        params.distinguished_name.push(DnType::CommonName, id);
        let ids = match kind {
            Certificate::None => return Ok(None),
            Certificate::TwoIds => vec![id.to_owned(), format!("{id}-two")],
            Certificate::NoId | Certificate::SubjectId => Vec::new(),
            Certificate::SlashId => vec![format!("{id}/two")],
            Certificate::EmptyId => vec![String::new()],
            Certificate::LongId => vec!["a".repeat(129)],
            Certificate::Good
            | Certificate::Foreign
            | Certificate::Expired
            | Certificate::Early => {
                vec![id.to_owned()]
            }
        };
        for id in ids {
            let name = format!("{URN}{id}").try_into().map_err(plain)?;
            params.subject_alt_names.push(SanType::URI(name));
        }
        match kind {
            Certificate::Expired => {
                params.not_before = date_time_ymd(2001, 1, 1);
                params.not_after = date_time_ymd(2002, 1, 1);
            }
            Certificate::Early => {
                params.not_before = date_time_ymd(2090, 1, 1);
                params.not_after = date_time_ymd(2091, 1, 1);
            }
            _ => {}
        }
        self.sign(&params).map(Some)
    }

    fn sign(&self, params: &CertificateParams) -> Result<CertificatePair, String> {
        let key = KeyPair::generate().map_err(plain)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(plain)?;
        Ok(CertificatePair { certificate: certificate.pem(), key: key.serialize_pem() })
    }
}

// `map_err` hands the error itself over.
#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
fn plain(error: rcgen::Error) -> String {
    format!("certificate: {error}")
}

/// The files of a pair.
#[derive(Debug, Clone)]
pub struct CertificateFiles {
    /// The certificate.
    pub certificate: PathBuf,
    /// The key, for its owner alone.
    pub key: PathBuf,
}

impl CertificatePair {
    /// Writes both into the directory `directory`.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn store(&self, directory: &Path) -> Result<CertificateFiles, String> {
        let files = CertificateFiles {
            certificate: directory.join("cert.pem"),
            key: directory.join("cert.key.pem"),
        };
        write(&files.certificate, &self.certificate, 0o644)?;
        write(&files.key, &self.key, 0o600)?;
        Ok(files)
    }
}
