//! The two ends of the connection between proxy and relay: TLS 1.3, and both sides present
//! certificates.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore, ServerConfig};

/// The certificate of one end, and the authority it trusts.
#[derive(Debug, Clone, Args)]
pub struct TlsIdentity {
    /// The authority that the other side's certificate comes from, PEM
    #[arg(long, value_name = "FILE")]
    pub ca: PathBuf,
    /// Our certificate, PEM
    #[arg(long, value_name = "FILE")]
    pub cert: PathBuf,
    /// The private key of our certificate, PEM
    #[arg(long, value_name = "FILE")]
    pub key: PathBuf,
}

impl TlsIdentity {
    /// Returns the configuration of the connecting side.
    pub(crate) fn client(&self) -> Result<Arc<ClientConfig>, String> {
        let config = ClientConfig::builder_with_protocol_versions(&[&TLS13])
            .with_root_certificates(self.roots()?)
            .with_client_auth_cert(self.chain()?, self.key()?);
        config.map(Arc::new).map_err(|error| format!("{}: {error}", self.cert.display()))
    }

    /// Returns the configuration of the listening side; a client without a certificate of our
    /// authority is refused.
    pub(crate) fn server(&self) -> Result<Arc<ServerConfig>, String> {
        let verifier = WebPkiClientVerifier::builder(Arc::new(self.roots()?)).build();
        let verifier = verifier.map_err(|error| format!("{}: {error}", self.ca.display()))?;
        let config = ServerConfig::builder_with_protocol_versions(&[&TLS13])
            .with_client_cert_verifier(verifier)
            .with_single_cert(self.chain()?, self.key()?);
        config.map(Arc::new).map_err(|error| format!("{}: {error}", self.cert.display()))
    }

    /// Returns our certificate and the chain to the authority.
    pub(crate) fn chain(&self) -> Result<Vec<CertificateDer<'static>>, String> {
        certificates(&self.cert)
    }

    fn roots(&self) -> Result<RootCertStore, String> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates(&self.ca)? {
            roots.add(certificate).map_err(|error| format!("{}: {error}", self.ca.display()))?;
        }
        Ok(roots)
    }

    fn key(&self) -> Result<PrivateKeyDer<'static>, String> {
        let key = PrivateKeyDer::from_pem_file(&self.key);
        key.map_err(|error| format!("{}: no private key: {error}", self.key.display()))
    }
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let wrong = |error| format!("{}: no certificate: {error}", file.display());
    let found = CertificateDer::pem_file_iter(file).map_err(wrong)?;
    let found = found.collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    if found.is_empty() {
        return Err(format!("{}: there is no certificate in it", file.display()));
    }
    Ok(found)
}

/// Installs the one provider of cryptography, unless there is one.
pub(crate) fn provider() {
    // An error says that there is one already, and it is this one.
    let _installed = rustls::crypto::ring::default_provider().install_default();
}
