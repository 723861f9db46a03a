//! Claims of a manifest: a level for each capability, and the evidence for it. The type is
//! [`BackendClaims`].

use std::collections::BTreeMap;
use std::fmt;

use boxproof_cases::Capability;
use boxproof_cases::protocol::ClaimLevel;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The claims of a backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackendClaims {
    /// Everything, whole.
    All,
    /// These.
    Each(BTreeMap<Capability, ClaimedLevel>),
}

/// One claim: `enforced`, or `{enforced: documented}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimedLevel {
    /// The extent of the claim.
    pub level: ClaimLevel,
    /// The evidence that the backend makes this claim; none when the manifest gives none.
    pub evidence: Option<ClaimEvidence>,
}

/// The evidence for a backend's claim.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ClaimEvidence {
    /// Its own documentation or help says so.
    Documented,
    /// Its source, or the configuration it writes, says so.
    Source,
    /// Seen when it was tried, without a promise.
    Observed,
}

impl ClaimEvidence {
    /// The word for it.
    pub fn keyword(self) -> &'static str {
        match self {
            Self::Documented => "documented",
            Self::Source => "source",
            Self::Observed => "observed",
        }
    }
}

impl BackendClaims {
    /// Returns whether nothing is claimed or denied.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Each(each) if each.is_empty())
    }

    /// Returns capability → level.
    pub fn levels(&self) -> BTreeMap<Capability, ClaimLevel> {
        match self {
            Self::All => Capability::all().map(|each| (each, ClaimLevel::Enforced)).collect(),
            Self::Each(each) => {
                each.iter().map(|(name, claim)| (name.clone(), claim.level)).collect()
            }
        }
    }

    /// Returns capability → evidence, where the manifest gives one.
    pub fn evidence(&self) -> BTreeMap<Capability, ClaimEvidence> {
        let Self::Each(each) = self else { return BTreeMap::new() };
        each.iter().filter_map(|(name, claim)| Some((name.clone(), claim.evidence?))).collect()
    }
}

impl Default for BackendClaims {
    fn default() -> Self {
        Self::Each(BTreeMap::new())
    }
}

impl Serialize for BackendClaims {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::All => "all".serialize(serializer),
            Self::Each(each) => each.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for BackendClaims {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = BackendClaims;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`all`, or capability: enforced | partial | none")
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<BackendClaims, E> {
                match word {
                    "all" => Ok(BackendClaims::All),
                    other => Err(E::invalid_value(de::Unexpected::Str(other), &self)),
                }
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<BackendClaims, A::Error> {
                Deserialize::deserialize(de::value::MapAccessDeserializer::new(map))
                    .map(BackendClaims::Each)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for BackendClaims {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Claims".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let (name, level) =
            (generator.subschema_for::<Capability>(), generator.subschema_for::<ClaimedLevel>());
        let each = serde_json::json!({
            "type": "object", "propertyNames": name, "additionalProperties": level,
        });
        schemars::json_schema!({ "oneOf": [{ "const": "all" }, each] })
    }
}

impl Serialize for ClaimedLevel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.evidence {
            None => self.level.serialize(serializer),
            Some(evidence) => {
                BTreeMap::from([(self.level.keyword(), evidence)]).serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for ClaimedLevel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = ClaimedLevel;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a level, or one level: documented | source | observed")
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<ClaimedLevel, E> {
                let level = ClaimLevel::deserialize(de::value::StrDeserializer::new(word))?;
                Ok(ClaimedLevel { level, evidence: None })
            }

            fn visit_map<A: de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<ClaimedLevel, A::Error> {
                let one = || de::Error::invalid_length(0, &"one level with its evidence");
                let (level, evidence) = map.next_entry()?.ok_or_else(one)?;
                if map.next_key::<ClaimLevel>()?.is_some() {
                    return Err(de::Error::custom("a claim has one level"));
                }
                Ok(ClaimedLevel { level, evidence: Some(evidence) })
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for ClaimedLevel {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Claim".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let level = generator.subschema_for::<ClaimLevel>();
        let evidence = generator.subschema_for::<ClaimEvidence>();
        schemars::json_schema!({ "oneOf": [level, {
            "type": "object", "additionalProperties": evidence, "propertyNames": level,
            "minProperties": 1, "maxProperties": 1,
        }] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn read(yaml: &str) -> Result<BackendClaims, String> {
        serde_yaml::from_str(yaml).map_err(|error: serde_yaml::Error| error.to_string())
    }

    #[test]
    fn a_claim_is_a_level_with_or_without_evidence() {
        let claims = read("{fs.write: {enforced: documented}, net.none: partial}").unwrap();
        let name = |name: &str| Capability::new(name).unwrap();
        let levels = claims.levels();
        assert_eq!(levels[&name("fs.write")], ClaimLevel::Enforced);
        assert_eq!(levels[&name("net.none")], ClaimLevel::Partial);
        assert_eq!(claims.evidence(), [(name("fs.write"), ClaimEvidence::Documented)].into());
        let text = serde_yaml::to_string(&claims).unwrap();
        assert_eq!(read(&text).unwrap(), claims, "{text}");
    }

    #[rstest]
    #[case("{fs.write: {}}", "one level with its evidence")]
    #[case("{fs.write: {enforced: source, partial: source}}", "one level")]
    #[case("{fs.write: {enforced: hearsay}}", "unknown variant `hearsay`")]
    #[case("{fs.write: {total: source}}", "unknown variant `total`")]
    #[case("some", "`all`, or capability")]
    fn anything_else_is_an_error(#[case] yaml: &str, #[case] message: &str) {
        let error = read(yaml).unwrap_err();
        assert!(error.contains(message), "{error}");
    }
}
