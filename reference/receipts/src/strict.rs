//! JSON read without ambiguity: members in their order, no name twice, one value, nothing after it.
//!
//! execd reads member names case-insensitively and takes the last of two; another reading would
//! commit to something else than what ran. So a text with two readings is an error.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Number, Value};

/// A JSON value whose members keep their order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum OrderedJson {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<OrderedJson>),
    Members(Vec<(String, OrderedJson)>),
}

/// Reads one value and nothing else.
pub(crate) fn read(bytes: &[u8]) -> Result<OrderedJson, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| format!("not UTF-8: {error}"))?;
    serde_json::from_str(text).map_err(|error| format!("not one plain JSON value: {error}"))
}

/// Folds a member's name as execd compares it, without regard to case.
fn folded(name: &str) -> String {
    let plain = |c| match c {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        other => other,
    };
    name.chars().map(plain).flat_map(char::to_lowercase).collect()
}

impl OrderedJson {
    /// The first name that occurs twice if case does not count, here or further in.
    ///
    /// `maps` is how many levels are maps, whose names are data and differ by case.
    pub(crate) fn ambiguous(&self, maps: usize) -> Option<&str> {
        match self {
            Self::List(items) => items.iter().find_map(|item| item.ambiguous(maps)),
            Self::Members(members) => {
                let mut seen = HashSet::new();
                let twice =
                    members.iter().find(|(name, _)| maps == 0 && !seen.insert(folded(name)));
                let further = || {
                    members.iter().find_map(|(_, value)| value.ambiguous(maps.saturating_sub(1)))
                };
                twice.map(|(name, _)| name.as_str()).or_else(further)
            }
            _ => None,
        }
    }

    /// A member by its name in any case; null is none.
    pub(crate) fn member(&self, name: &str) -> Option<&Self> {
        let found = self.members()?.iter().find(|(known, _)| folded(known) == name);
        found.map(|(_, value)| value).filter(|value| **value != Self::Null)
    }

    /// The members, if it is an object.
    pub(crate) fn members(&self) -> Option<&[(String, Self)]> {
        if let Self::Members(members) = self { Some(members) } else { None }
    }

    /// The items, if it is an array.
    pub(crate) fn items(&self) -> Option<&[Self]> {
        if let Self::List(items) = self { Some(items) } else { None }
    }

    /// The text, if it is one.
    pub(crate) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// Returns the value without the order of members.
    pub(crate) fn value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(bool) => Value::Bool(*bool),
            Self::Number(number) => Value::Number(number.clone()),
            Self::Text(text) => Value::String(text.clone()),
            Self::List(items) => items.iter().map(Self::value).collect(),
            Self::Members(members) => {
                Value::Object(members.iter().map(|(k, v)| (k.clone(), v.value())).collect())
            }
        }
    }
}

impl Serialize for OrderedJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(bool) => serializer.serialize_bool(*bool),
            Self::Number(number) => number.serialize(serializer),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(items) => serializer.collect_seq(items),
            Self::Members(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (name, value) in members {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for OrderedJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = OrderedJson;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<OrderedJson, E> {
        Ok(OrderedJson::Null)
    }

    fn visit_bool<E>(self, bool: bool) -> Result<OrderedJson, E> {
        Ok(OrderedJson::Bool(bool))
    }

    fn visit_u64<E>(self, number: u64) -> Result<OrderedJson, E> {
        Ok(OrderedJson::Number(number.into()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<OrderedJson, E> {
        Ok(OrderedJson::Number(number.into()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<OrderedJson, E> {
        Number::from_f64(number)
            .map(OrderedJson::Number)
            .ok_or_else(|| E::custom("not a finite number"))
    }

    fn visit_str<E>(self, text: &str) -> Result<OrderedJson, E> {
        Ok(OrderedJson::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<OrderedJson, E> {
        Ok(OrderedJson::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<OrderedJson, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(OrderedJson::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OrderedJson, A::Error> {
        let (mut members, mut seen) = (Vec::new(), HashSet::new());
        while let Some((name, value)) = map.next_entry::<String, OrderedJson>()? {
            if !seen.insert(name.clone()) {
                return Err(A::Error::custom(format!("member {name:?} occurs twice")));
            }
            members.push((name, value));
        }
        Ok(OrderedJson::Members(members))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::twice(br#"{"a":1,"a":2}"#, "occurs twice")]
    #[case::twice_inside(br#"[{"b":{"a":1,"\u0061":2}}]"#, "occurs twice")]
    #[case::second_value(br#"{} {}"#, "trailing")]
    #[case::not_utf8(b"{\"a\":\"\xff\"}", "not UTF-8")]
    #[case::half_a_pair(br#"{"a":"\ud800"}"#, "not one plain JSON value")]
    #[case::too_large(br#"{"a":1e400}"#, "out of range")]
    #[case::nothing(b"", "EOF")]
    fn two_readings_are_none(#[case] text: &[u8], #[case] why: &str) {
        let error = read(text).unwrap_err();
        assert!(error.contains(why), "{error}");
    }

    #[rstest]
    #[case::case_alone(r#"{"command":"true","COMMAND":"id"}"#, 0, Some("COMMAND"))]
    #[case::long_s(r#"{"envs":{},"env\u017f":{}}"#, 0, Some("env\u{17f}"))]
    #[case::names_that_are_data(r#"{"a":{},"A":{}}"#, 1, None)]
    #[case::below_a_map(r#"{"a":{"old":"x","OLD":"y"}}"#, 1, Some("OLD"))]
    #[case::plain(r#"{"command":"true","cwd":"/"}"#, 0, None)]
    fn case_does_not_tell_names_apart(
        #[case] text: &str,
        #[case] maps: usize,
        #[case] twice: Option<&str>,
    ) {
        assert_eq!(read(text.as_bytes()).unwrap().ambiguous(maps), twice);
    }

    #[test]
    fn order_and_case_of_members() {
        let text = r#"{"b":[1,-2,1.5,null,true],"Command":"x","a":{}}"#;
        let json = read(text.as_bytes()).unwrap();
        assert_eq!(serde_json::to_string(&json).unwrap(), text);
        assert_eq!(json.member("command").and_then(OrderedJson::text), Some("x"));
    }
}
