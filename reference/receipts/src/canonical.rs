//! Canonical text: strict reading, RFC 8785 writing, and the digest of the text.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::Serialize;
use serde_json::{Map, Number, Value};
use sha2::{Digest, Sha256};

/// A JSON value whose objects name each member once; also numbers must fit a double.
#[derive(Debug)]
struct StrictValue(Value);

/// Reads one JSON text; a repeated member, a number beyond a double or more text is an error.
pub fn parse(text: &[u8]) -> Result<Value, String> {
    serde_json::from_slice::<StrictValue>(text)
        .map(|StrictValue(value)| value)
        .map_err(|e| e.to_string())
}

/// The RFC 8785 text of `value`.
pub fn canonical(value: &impl Serialize) -> Result<Vec<u8>, String> {
    serde_json_canonicalizer::to_vec(value).map_err(|error| error.to_string())
}

/// `sha256:` and the digest in hexadecimal.
pub fn digest(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(71);
    text.push_str("sha256:");
    push_hex(&mut text, &Sha256::digest(bytes));
    text
}

fn push_hex(text: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}

/// The digest of the canonical text of `value`.
pub fn hash(value: &impl Serialize) -> Result<String, String> {
    Ok(digest(&canonical(value)?))
}

/// Drops members that are null, at any depth; elements of arrays stay.
pub fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// Returns the part of a receipt that its signature and hash cover: all but `proof`, nulls dropped,
/// except that the first receipt of a chain says `null` where the others name their predecessor.
pub fn unsigned(mut receipt: Value) -> Value {
    if let Some(members) = receipt.as_object_mut() {
        members.remove("proof");
    }
    drop_nulls(&mut receipt);
    if let Some(Value::Object(chain)) = receipt.pointer_mut("/credentialSubject/chain") {
        chain.entry("previous_receipt_hash").or_insert(Value::Null);
    }
    receipt
}

/// The canonical text of [`unsigned`], without a copy where nothing is dropped but the proof.
pub fn signed_text(receipt: &Value) -> Result<Vec<u8>, String> {
    let link = receipt.pointer("/credentialSubject/chain/previous_receipt_hash");
    match receipt {
        Value::Object(members) if link.is_some() && !has_null(receipt, link) => {
            canonical(&UnsignedReceipt(members))
        }
        _ => canonical(&unsigned(receipt.clone())),
    }
}

/// Returns whether a member other than `link` is null.
fn has_null(value: &Value, link: Option<&Value>) -> bool {
    match value {
        Value::Object(members) => members.values().any(|member| {
            let is_link = link.is_some_and(|link| std::ptr::eq(link, member));
            (member.is_null() && !is_link) || has_null(member, link)
        }),
        Value::Array(items) => items.iter().any(|item| has_null(item, link)),
        _ => false,
    }
}

struct UnsignedReceipt<'a>(&'a Map<String, Value>);

impl Serialize for UnsignedReceipt<'_> {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().filter(|(name, _)| *name != "proof"))
    }
}

impl<'de> Deserialize<'de> for StrictValue {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(StrictVisitor)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = StrictValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<StrictValue, E> {
        Ok(StrictValue(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<StrictValue, E> {
        Ok(StrictValue(Value::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<StrictValue, E> {
        Ok(StrictValue(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<StrictValue, E> {
        Ok(StrictValue(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<StrictValue, E> {
        let number = Number::from_f64(value);
        number
            .map(|n| StrictValue(Value::Number(n)))
            .ok_or_else(|| E::custom("not a finite number"))
    }

    fn visit_str<E>(self, value: &str) -> Result<StrictValue, E> {
        Ok(StrictValue(Value::String(value.to_owned())))
    }

    fn visit_string<E>(self, value: String) -> Result<StrictValue, E> {
        Ok(StrictValue(Value::String(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<StrictValue, A::Error> {
        let mut items = Vec::new();
        while let Some(StrictValue(item)) = from.next_element()? {
            items.push(item);
        }
        Ok(StrictValue(Value::Array(items)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<StrictValue, A::Error> {
        let mut members = Map::new();
        while let Some(name) = from.next_key::<String>()? {
            if members.contains_key(&name) {
                return Err(A::Error::custom(format_args!("member {name:?} is there twice")));
            }
            let StrictValue(member) = from.next_value()?;
            members.insert(name, member);
        }
        Ok(StrictValue(Value::Object(members)))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::repeated(r#"{"a": {"b": 1, "b": 1}}"#, "twice")]
    #[case::repeated_by_escape(r#"{"a": 1, "\u0061": 1}"#, "twice")]
    #[case::overflow(r#"{"a": [1e400]}"#, "out of range")]
    #[case::more_text("{} {}", "trailing")]
    #[case::not_a_number("NaN", "expected")]
    fn ambiguous_text_is_refused(#[case] text: &str, #[case] says: &str) {
        let error = parse(text.as_bytes()).unwrap_err();
        assert!(error.contains(says), "{error}");
    }

    #[rstest]
    #[case(
        r#"{"command":"ls -la"}"#,
        "1df8bccaec747dc615b50678f35bf5b51756a45f9b2b77b247c7a617fde58b3e"
    )]
    #[case(
        r#"{"env":{"B":"2","A":"1"},"command":"ls -la"}"#,
        "b9bc30ceef7631699cf1479dda1f7c9685fffa5edf163f0a14aea9e27f484b9a"
    )]
    #[case(
        r#"{"exit_code":0}"#,
        "e81bc160c0843ee56f31f12997bb3aff50528d596002d4866676cb8a1b19195a"
    )]
    #[case(
        r#"{"exit_code":-1}"#,
        "d5628c66dcaaa49f62de85bfd8a9a2bf17ad9d3fc980f4ccb628b2e51224ac3b"
    )]
    #[case("{}", "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a")]
    #[case(
        r#"{"dst_addr":"203.0.113.7","dst_port":443,"protocol":"tcp"}"#,
        "591536eeaf4ac0ff2bab6ce45bea32b58722bc62dc96a894539292b5d9488249"
    )]
    fn hashes_of_known_payloads(#[case] text: &str, #[case] hex: &str) {
        assert_eq!(hash(&parse(text.as_bytes()).unwrap()).unwrap(), format!("sha256:{hex}"));
    }

    #[test]
    fn nulls_are_dropped_except_the_first_link() {
        let receipt = json!({"a": null, "list": [null, {"b": null}], "proof": {},
            "credentialSubject": {"chain": {"previous_receipt_hash": null, "status": null}}});
        let kept = json!({"list": [null, {}],
            "credentialSubject": {"chain": {"previous_receipt_hash": null}}});
        assert_eq!(signed_text(&receipt).unwrap(), canonical(&kept).unwrap());
        assert_eq!(unsigned(receipt), kept);
    }

    #[rstest]
    #[case(json!({"proof": 1, "credentialSubject": {"chain": {"previous_receipt_hash": null}}}))]
    #[case(json!({"proof": 1, "a": {"proof": 2}, "credentialSubject": {"chain": {"previous_receipt_hash": "x"}}}))]
    #[case(json!({"a": null, "credentialSubject": {"chain": {"previous_receipt_hash": "x"}}}))]
    #[case(json!({"a": [{"b": null}], "credentialSubject": {"chain": {"previous_receipt_hash": "x"}}}))]
    #[case(json!({"credentialSubject": {"chain": {}}}))]
    #[case(json!([{"proof": 1}]))]
    fn the_text_without_a_copy_is_the_same(#[case] receipt: Value) {
        let expected = canonical(&unsigned(receipt.clone())).unwrap();
        assert_eq!(signed_text(&receipt).unwrap(), expected);
    }
}
