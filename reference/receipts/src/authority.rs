//! An authority of its own, for the demonstration and for tests: certificates in a private
//! directory.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, SanType,
};

/// The issuing certificate authority.
pub struct CertificateAuthority {
    directory: PathBuf,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl CertificateAuthority {
    /// A new one; `NAME.pem` and `NAME.key` of all that it signs go to `directory`.
    pub fn new(directory: &Path) -> Result<Self, String> {
        let mut params = named("boxproof demonstration authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().map_err(|error| error.to_string())?;
        let issuer =
            CertifiedIssuer::self_signed(params, key).map_err(|error| error.to_string())?;
        let authority = Self { directory: directory.to_owned(), issuer };
        write(&authority.certificate(), &authority.issuer.pem())?;
        Ok(authority)
    }

    /// Its own certificate's file.
    pub fn certificate(&self) -> PathBuf {
        self.directory.join("ca.pem")
    }

    /// Signs for a relay on this host; returns the certificate's file and the key's.
    pub fn relay(&self) -> Result<(PathBuf, PathBuf), String> {
        let mut params = named("relay");
        params.extended_key_usages.push(ExtendedKeyUsagePurpose::ServerAuth);
        params.subject_alt_names = vec![
            SanType::IpAddress([127, 0, 0, 1].into()),
            SanType::DnsName("localhost".try_into().map_err(|_| "no name".to_owned())?),
        ];
        self.sign("relay", &params)
    }

    /// Signs for a proxy whose certificate has these URI names.
    pub fn proxy(&self, name: &str, uris: &[&str]) -> Result<(PathBuf, PathBuf), String> {
        let mut params = named(name);
        params.extended_key_usages.push(ExtendedKeyUsagePurpose::ClientAuth);
        for uri in uris {
            let uri = (*uri).try_into().map_err(|error| format!("{uri}: {error}"))?;
            params.subject_alt_names.push(SanType::URI(uri));
        }
        self.sign(name, &params)
    }

    fn sign(&self, name: &str, params: &CertificateParams) -> Result<(PathBuf, PathBuf), String> {
        let key = KeyPair::generate().map_err(|error| error.to_string())?;
        let signed: Certificate =
            params.signed_by(&key, &self.issuer).map_err(|error| error.to_string())?;
        let file = |end| self.directory.join(format!("{name}.{end}"));
        write(&file("pem"), &signed.pem())?;
        write(&file("key"), &key.serialize_pem())?;
        Ok((file("pem"), file("key")))
    }
}

fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    let mut options = fs::OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(0o600).open(file);
    opened
        .and_then(|mut opened| opened.write_all(text.as_bytes()))
        .map_err(|error| format!("{}: {error}", file.display()))
}
