//! JSON as execd's own reader takes it: names in any case, the last of two, the first value only,
//! bytes that are no UTF-8 replaced.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

/// An object's members under their lower-case names.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct LenientMembers(pub(super) Vec<(String, Value)>);

impl LenientMembers {
    /// The members of the first value in `body`.
    pub(super) fn from_body(body: &[u8]) -> Result<Self, String> {
        let text = String::from_utf8_lossy(body);
        let mut values = serde_json::Deserializer::from_str(&text).into_iter::<Self>();
        match values.next() {
            Some(members) => members.map_err(|error| error.to_string()),
            None => Err("EOF".to_owned()),
        }
    }

    /// The member called `name`.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        let found = self.0.iter().rev().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value).filter(|value| !value.is_null())
    }

    /// The text called `name`; empty if there is none.
    pub(super) fn text(&self, name: &str) -> &str {
        self.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// The text called `inner` of the object called `name`.
    pub(super) fn inner(&self, name: &str, inner: &str) -> String {
        let members = self.get(name).and_then(Value::as_object);
        let members: BTreeMap<String, &Value> =
            members.into_iter().flatten().map(|(key, value)| (key.to_lowercase(), value)).collect();
        members.get(inner).and_then(|value| value.as_str()).unwrap_or_default().to_owned()
    }
}

impl<'de> Deserialize<'de> for LenientMembers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EachMember;
        impl<'de> Visitor<'de> for EachMember {
            type Value = LenientMembers;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LenientMembers, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(LenientMembers(members))
            }
        }
        deserializer.deserialize_map(EachMember)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(b"{\"command\":\"true\",\"COMMAND\":\"id\"}", "id")]
    #[case(b"{\"command\":\"a\",\"command\":\"b\"}", "b")]
    #[case(b"{\"Command\":\"a\"} {\"command\":\"b\"}", "a")]
    #[case(b"{\"command\":\"\xff\"}", "\u{fffd}")]
    fn a_command_is_read_as_execd_reads_it(#[case] body: &[u8], #[case] command: &str) {
        assert_eq!(LenientMembers::from_body(body).unwrap().text("command"), command);
    }

    #[rstest]
    #[case(b"")]
    #[case(b"[]")]
    #[case(b"{")]
    fn what_is_no_object_is_an_error(#[case] body: &[u8]) {
        assert!(LenientMembers::from_body(body).is_err());
    }
}
