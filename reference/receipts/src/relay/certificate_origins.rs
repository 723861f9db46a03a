//! The addresses from which each certificate was used: one that two sandboxes share vouches for
//! neither.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};

/// Addresses of certificates.
#[derive(Default)]
pub(super) struct CertificateOrigins(Mutex<HashMap<[u8; 32], BTreeSet<IpAddr>>>);

impl CertificateOrigins {
    /// Notes a connection; a finding if this certificate came from another address before.
    pub(super) fn note(&self, certificate: &[u8], sandbox: &str, from: IpAddr) -> Option<String> {
        let fingerprint: [u8; 32] = Sha256::digest(certificate).into();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let addresses = all.entry(fingerprint).or_default();
        if !addresses.insert(from) || addresses.len() < 2 {
            return None;
        }
        let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        Some(format!(
            "finding: shared_certificate: that of sandbox {sandbox} is used from {}",
            addresses.join(", ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_address_is_a_finding_once() {
        let (seen, one, two) =
            (CertificateOrigins::default(), [127, 0, 0, 1].into(), [127, 0, 0, 2].into());
        assert_eq!(seen.note(b"c", "s1", one), None);
        assert_eq!(seen.note(b"c", "s1", one), None);
        assert_eq!(seen.note(b"d", "s2", two), None);
        let finding = seen.note(b"c", "s1", two).unwrap();
        assert!(finding.contains("shared_certificate"), "{finding}");
        assert!(finding.ends_with("s1 is used from 127.0.0.1, 127.0.0.2"), "{finding}");
        assert_eq!(seen.note(b"c", "s1", two), None);
    }
}
