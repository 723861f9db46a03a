//! RFC 8785 text, hashes over it, and the values that a case writes for hashes. Pure.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use sha2::{Digest, Sha256};

/// Returns `sha256:` and the hash of `bytes` in lower-case hex.
pub fn sha256(bytes: &[u8]) -> String {
    format!("sha256:{:x}", Sha256::digest(bytes))
}

/// The RFC 8785 text of `value`.
///
/// # Errors
/// A number that has none.
pub fn canonical(value: &Value) -> Result<Vec<u8>, String> {
    serde_json_canonicalizer::to_vec(value).map_err(|error| error.to_string())
}

/// The hash of the RFC 8785 text of `value`.
///
/// # Errors
/// A number that has no such text.
pub fn hash(value: &Value) -> Result<String, String> {
    canonical(value).map(|text| sha256(&text))
}

/// Returns the text of a receipt that is signed and hashed: without proof, optional nulls left out.
///
/// # Errors
/// A number that has no RFC 8785 text.
pub fn signed_text(receipt: &Value) -> Result<Vec<u8>, String> {
    let mut unsigned = receipt.clone();
    if let Some(members) = unsigned.as_object_mut() {
        members.remove("proof");
    }
    let previous = unsigned.pointer(PREVIOUS).cloned();
    strip(&mut unsigned);
    if let (Some(Value::Null), Some(chain)) =
        (previous, unsigned.pointer_mut("/credentialSubject/chain").and_then(Value::as_object_mut))
    {
        chain.insert("previous_receipt_hash".to_owned(), Value::Null);
    }
    canonical(&unsigned)
}

/// The one member that may be null.
pub(super) const PREVIOUS: &str = "/credentialSubject/chain/previous_receipt_hash";

/// The hash of a receipt, which its successor names.
///
/// # Errors
/// A number that has no RFC 8785 text.
pub fn receipt_hash(receipt: &Value) -> Result<String, String> {
    signed_text(receipt).map(|text| sha256(&text))
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

/// Replaces every stand-in in `value` of a case: `{sha256: TEXT}`, `{canonical: VALUE}`,
/// `{events: […]}`, `{io: [STDIN, STDOUT, STDERR]}`.
///
/// # Errors
/// A stand-in that is written otherwise.
pub fn meant(value: &Value) -> Result<Value, String> {
    match value {
        Value::Object(members) => match stand_in(members)? {
            Some(hash) => Ok(Value::String(hash)),
            None => {
                let each = members.iter().map(|(key, value)| Ok((key.clone(), meant(value)?)));
                each.collect::<Result<Map<_, _>, String>>().map(Value::Object)
            }
        },
        Value::Array(items) => items.iter().map(meant).collect::<Result<_, _>>().map(Value::Array),
        other => Ok(other.clone()),
    }
}

fn stand_in(members: &Map<String, Value>) -> Result<Option<String>, String> {
    let mut each = members.iter();
    let (Some((word, inner)), None) = (each.next(), each.next()) else { return Ok(None) };
    match (word.as_str(), inner) {
        ("sha256", Value::String(text)) => Ok(Some(sha256(text.as_bytes()))),
        ("canonical", value) => hash(value).map(Some),
        ("events", Value::Array(events)) => {
            let mut text = Vec::new();
            for event in events {
                text.extend(canonical(event)?);
                text.push(b'\n');
            }
            Ok(Some(sha256(&text)))
        }
        ("io", Value::Array(streams)) => {
            let texts: Option<Vec<&str>> = streams.iter().map(Value::as_str).collect();
            let texts = texts.filter(|texts| texts.len() == 3);
            let texts = texts.ok_or("io: stdin, stdout and stderr, three texts")?;
            Ok(Some(io_hash([texts[0], texts[1], texts[2]].map(str::as_bytes))))
        }
        ("sha256" | "events" | "io", _) => Err(format!("{word}: cannot be read")),
        _ => Ok(None),
    }
}

/// The hash of a session: over the digests of its three streams.
fn io_hash(streams: [&[u8]; 3]) -> String {
    let digests: Vec<u8> = streams.iter().flat_map(Sha256::digest).collect();
    sha256(&digests)
}

/// Parses `text` as JSON, duplicate names being an error.
///
/// # Errors
/// The fault of the text.
pub fn strictly(text: &str) -> Result<Value, String> {
    serde_json::from_str::<StrictJson>(text)
        .map(|strict| strict.0)
        .map_err(|error| error.to_string())
}

/// A JSON value whose objects have every name once.
struct StrictJson(Value);

/// The text in the error of a name that is there twice.
pub(super) const TWICE: &str = "there twice";

impl<'de> Deserialize<'de> for StrictJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(StrictJson)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("not a finite number"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(StrictJson(item)) = seq.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some((name, StrictJson(value))) = map.next_entry::<String, StrictJson>()? {
            if members.insert(name.clone(), value).is_some() {
                return Err(de::Error::custom(format!("`{name}` is {TWICE}")));
            }
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case(json!({"command": "ls -la"}), "1df8bccaec747dc615b50678f35bf5b51756a45f9b2b77b247c7a617fde58b3e")]
    #[case(json!({"command": "ls -la", "env": {"B": "2", "A": "1"}}), "b9bc30ceef7631699cf1479dda1f7c9685fffa5edf163f0a14aea9e27f484b9a")]
    #[case(json!({"exit_code": 0}), "e81bc160c0843ee56f31f12997bb3aff50528d596002d4866676cb8a1b19195a")]
    #[case(json!({"exit_code": -1}), "d5628c66dcaaa49f62de85bfd8a9a2bf17ad9d3fc980f4ccb628b2e51224ac3b")]
    #[case(json!({}), "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a")]
    #[case(json!({"code_hash": {"sha256": "print(1)"}, "language": "python"}), "1b32e42c993bce29eb43028ac0654a17dd1849c031b4861a606b0a865cc2c888")]
    #[case(json!({"path": "a.txt", "content_hash": {"sha256": "hello execd\n"}}), "17e208e7df6735c7977f8fa4dc85b52082d6c2cac6f04e63c2caa068ef5c9a74")]
    #[case(json!({"bytes_written": 12}), "adc813ea9e43dcf49762d83ab836741a2fe367b72930af3399ccb878a8342aad")]
    #[case(json!({"exit_code": 0, "signal": "SIGHUP"}), "a14d94b8ed6342fd1adb34e87679c0b6cf46387cc353c1b8ed1290d52c04ebe3")]
    #[case(json!({"dst_addr": "203.0.113.7", "dst_port": 443, "protocol": "tcp"}), "591536eeaf4ac0ff2bab6ce45bea32b58722bc62dc96a894539292b5d9488249")]
    fn the_worked_values_are_those_of_the_description(#[case] value: Value, #[case] wanted: &str) {
        assert_eq!(hash(&meant(&value).unwrap()).unwrap(), format!("sha256:{wanted}"));
    }

    #[test]
    fn stand_ins_are_hashes() {
        let none = sha256(b"");
        assert_eq!(meant(&json!({"events": []})).unwrap(), json!(none));
        let line = sha256(b"{\"t\":\"stdout\",\"x\":\"a\"}\n");
        assert_eq!(meant(&json!({"events": [{"x": "a", "t": "stdout"}]})).unwrap(), json!(line));
        let digests = [&b"a"[..], b"b", b""].map(Sha256::digest).concat();
        assert_eq!(meant(&json!({"io": ["a", "b", ""]})).unwrap(), json!(sha256(&digests)));
        assert_eq!(meant(&json!({"canonical": []})).unwrap(), json!(sha256(b"[]")));
        assert!(meant(&json!({"io": ["a"]})).is_err());
    }

    #[rstest]
    #[case("{\"a\":1,\"a\":1}", "there twice")]
    #[case("{\"b\":[{\"a\":1,\"a\":2}]}", "there twice")]
    #[case("1e400", "out of range")]
    fn what_two_readers_read_in_two_ways_is_an_error(#[case] text: &str, #[case] message: &str) {
        let error = strictly(text).unwrap_err();
        assert!(error.contains(message), "{error}");
    }

    #[test]
    fn whatever_is_plain_is_read_as_it_is() {
        let text = "{\"a\":[1,-2,0.5,null,true,\"x\"],\"b\":{}}";
        assert_eq!(strictly(text).unwrap(), serde_json::from_str::<Value>(text).unwrap());
    }
}
