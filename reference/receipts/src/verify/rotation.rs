//! A receipt that hands over to a new key.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::VerifyingKey;

use crate::keys::fingerprint;
use crate::parsed_receipt::KeyRotation;

const ALGORITHM: &str = "ed25519";

/// The new key that `event` names, if everything it says fits `active`, the key before.
pub(super) fn incoming(active: &VerifyingKey, event: &KeyRotation) -> Result<VerifyingKey, String> {
    let KeyRotation { event_type, signed_with, old_algorithm, new_algorithm, .. } = event;
    if event_type != "key_rotated" {
        return Err(format!("event_type must be \"key_rotated\", got {event_type:?}"));
    }
    if signed_with != "old" {
        return Err(format!("signed_with must be \"old\", got {signed_with:?}"));
    }
    for (name, found) in [("old", old_algorithm), ("new", new_algorithm)] {
        if found != ALGORITHM {
            return Err(format!(
                "unsupported {name}_algorithm {found:?}: only {ALGORITHM:?} is supported"
            ));
        }
    }
    let old = fingerprint(active);
    if old != event.old_key_fingerprint {
        let said = &event.old_key_fingerprint;
        return Err(format!(
            "old_key_fingerprint mismatch: outgoing key is {old}, field says {said}"
        ));
    }
    let key = decode(&event.new_public_key).map_err(|e| format!("decode new_public_key: {e}"))?;
    let new = fingerprint(&key);
    if new != event.new_key_fingerprint {
        let said = &event.new_key_fingerprint;
        return Err(format!(
            "new_key_fingerprint mismatch: new_public_key hashes to {new}, field says {said}"
        ));
    }
    Ok(key)
}

fn decode(text: &str) -> Result<VerifyingKey, String> {
    let body = text.strip_prefix('u').ok_or("expected multibase \"u\" prefix")?;
    let raw = URL_SAFE_NO_PAD.decode(body).map_err(|error| error.to_string())?;
    let length = raw.len();
    let raw = raw.try_into().map_err(|_| format!("expected 32 key bytes, got {length}"))?;
    VerifyingKey::from_bytes(&raw).map_err(|error| error.to_string())
}
