//! The line of a member of a request ([`located`]), for faults that are found after it was read.

use std::fmt;
use std::path::Path;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use crate::error::Refusal;

/// The error at the member that is looked for.
const HERE: &str = "here";

/// Returns `refusal` with the line in the request `file` of the member that its message begins with.
pub(crate) fn located(refusal: &Refusal, file: &Path) -> Refusal {
    let member = refusal.message.split(':').next().unwrap_or_default();
    let found = || {
        let named = member.starts_with("policy.") || member.starts_with("run.");
        line(&named.then(|| std::fs::read(file).ok()).flatten()?, member)
    };
    Refusal { line: refusal.line.or_else(found), ..refusal.clone() }
}

/// Returns the line of `member`, a path of names with dots between, in the JSON `text`.
fn line(text: &[u8], member: &str) -> Option<u64> {
    let names: Vec<&str> = member.split('.').collect();
    let mut json = serde_json::Deserializer::from_slice(text);
    let error = MemberSearch(&names).deserialize(&mut json).err()?;
    error.to_string().starts_with(HERE).then_some(error.line() as u64)
}

/// The names that lead on to the member.
struct MemberSearch<'a>(&'a [&'a str]);

impl<'de> DeserializeSeed<'de> for MemberSearch<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for MemberSearch<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match self.0 {
                [last] if *last == key => return Err(A::Error::custom(HERE)),
                [first, rest @ ..] if *first == key => map.next_value_seed(MemberSearch(rest))?,
                _ => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const TEXT: &str = "{\"protocol\": 1,\n \"policy\": {\"workspace\": \"/w\",\n\n  \"writable\": [\"x\"],\
                        \n  \"network\": {\"domains\": {\n \"allow\": []}}},\n \"run\": {\"cwd\": \"w\"}}";

    #[rstest]
    #[case("policy.writable", Some(4))]
    #[case("policy.workspace", Some(2))]
    #[case("policy.network.domains.allow", Some(6))]
    #[case("run.cwd", Some(7))]
    #[case("policy.deny_read", None)]
    #[case("policy.writable.x", None)]
    fn a_member_has_a_line(#[case] member: &str, #[case] at: Option<u64>) {
        assert_eq!(line(TEXT.as_bytes(), member), at);
    }
}
