//! The sandbox of a certificate: one URI `urn:opensandbox:<id>` among its names.

use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

const URN: &str = "urn:opensandbox:";
/// The longest identifier.
const LONGEST: usize = 128;

/// The sandbox that a certificate names; the subject does not count.
pub(crate) fn of_certificate(der: &[u8]) -> Result<String, String> {
    let (_, certificate) = X509Certificate::from_der(der).map_err(|error| error.to_string())?;
    let names = certificate.subject_alternative_name().map_err(|error| error.to_string())?;
    let names = names.map(|names| &names.value.general_names[..]).unwrap_or_default();
    let uris: Vec<&str> = names.iter().filter_map(uri).collect();
    let first = if fault!("receipts.several-names") { uris.len().min(1) } else { uris.len() };
    let [uri] = uris[..first] else {
        return Err(format!("the certificate has {} URI names instead of one", uris.len()));
    };
    let id = uri.strip_prefix(URN).ok_or_else(|| format!("{uri:?} does not begin with {URN}"))?;
    is_id(id).then(|| id.to_owned()).ok_or_else(|| format!("{id:?} is no sandbox identifier"))
}

fn uri<'a>(name: &GeneralName<'a>) -> Option<&'a str> {
    if let GeneralName::URI(uri) = name { Some(uri) } else { None }
}

/// Returns whether a text can be a sandbox's identifier, which becomes part of a chain's name.
pub(crate) fn is_id(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=LONGEST).contains(&text.len()) && text.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, SanType};
    use rstest::rstest;

    use super::*;

    fn certificate(uris: &[&str]) -> Vec<u8> {
        let mut params = CertificateParams::new(vec!["s9.example".to_owned()]).unwrap();
        let uris = uris.iter().map(|uri| SanType::URI((*uri).try_into().unwrap()));
        params.subject_alt_names.extend(uris);
        let key = KeyPair::generate().unwrap();
        params.self_signed(&key).unwrap().der().to_vec()
    }

    #[test]
    fn one_name_is_taken() {
        assert_eq!(of_certificate(&certificate(&["urn:opensandbox:s-1.A_b"])).unwrap(), "s-1.A_b");
    }

    #[rstest]
    #[case::none(&[], "0 URI names")]
    #[case::two(&["urn:opensandbox:s1", "urn:opensandbox:s2"], "2 URI names")]
    #[case::another(&["urn:opensandbox:s1", "https://h/"], "2 URI names")]
    #[case::other_urn(&["urn:sandbox:s1"], "does not begin")]
    #[case::slash(&["urn:opensandbox:a/b"], "no sandbox identifier")]
    #[case::nul(&["urn:opensandbox:a\0b"], "no sandbox identifier")]
    #[case::empty(&["urn:opensandbox:"], "no sandbox identifier")]
    fn other_names_are_not(#[case] uris: &[&str], #[case] why: &str) {
        let error = of_certificate(&certificate(uris)).unwrap_err();
        assert!(error.contains(why), "{error}");
    }

    #[test]
    fn length_has_an_end() {
        assert!(is_id(&"a".repeat(128)));
        assert!(!is_id(&"a".repeat(129)));
    }
}
