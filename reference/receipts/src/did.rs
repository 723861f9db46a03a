//! `did:key`: a public key as a name, and back.

use ed25519_dalek::VerifyingKey;

const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
/// The multicodec prefix of an Ed25519 public key.
const MARK: [u8; 2] = [0xed, 0x01];
const SCHEME: &str = "did:key:";

/// The name of a key.
pub fn name(key: &VerifyingKey) -> String {
    let bytes = [&MARK[..], key.as_bytes()].concat();
    format!("{SCHEME}z{}", base58(&bytes))
}

/// Returns the key of a name, or of the address of a part of it.
pub fn resolve(did: &str) -> Result<VerifyingKey, String> {
    let unresolvable = |why: &str| format!("UNRESOLVABLE_DID: {did:?}: {why}");
    let name = did.split_once('#').map_or(did, |(name, _)| name);
    let text = name.strip_prefix(SCHEME).ok_or_else(|| unresolvable("not a did:key"))?;
    let text = text.strip_prefix('z').ok_or_else(|| unresolvable("not in base58btc"))?;
    let bytes = base58_decode(text).ok_or_else(|| unresolvable("not in base58btc"))?;
    let raw = bytes.strip_prefix(&MARK).ok_or_else(|| unresolvable("not an Ed25519 key"))?;
    let raw = raw.try_into().map_err(|_| unresolvable("not 32 bytes"))?;
    VerifyingKey::from_bytes(raw).map_err(|_| unresolvable("not a point of the curve"))
}

fn base58(bytes: &[u8]) -> String {
    let mut digits: Vec<u8> = Vec::new();
    for byte in bytes {
        let mut carry = u32::from(*byte);
        for digit in &mut digits {
            carry += u32::from(*digit) << 8;
            *digit = (carry % 58) as u8;
            carry /= 58;
        }
        while carry > 0 {
            digits.push((carry % 58) as u8);
            carry /= 58;
        }
    }
    let zeros = bytes.iter().take_while(|byte| **byte == 0).map(|_| '1');
    zeros
        .chain(digits.iter().rev().map(|digit| char::from(ALPHABET[usize::from(*digit)])))
        .collect()
}

fn base58_decode(text: &str) -> Option<Vec<u8>> {
    // Longer than any key; the work grows with the square.
    if text.len() > 128 {
        return None;
    }
    let mut bytes: Vec<u8> = Vec::new();
    for c in text.bytes() {
        let mut carry = ALPHABET.iter().position(|known| *known == c)?;
        for byte in &mut bytes {
            carry += usize::from(*byte) * 58;
            *byte = (carry & 0xff) as u8;
            carry >>= 8;
        }
        while carry > 0 {
            bytes.push((carry & 0xff) as u8);
            carry >>= 8;
        }
    }
    let zeros = text.bytes().take_while(|c| *c == b'1').map(|_| 0);
    Some(zeros.chain(bytes.iter().rev().copied()).collect())
}
