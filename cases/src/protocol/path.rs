//! A path on the wire: a string, or base64 when it is not UTF-8.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A file system path that survives JSON independent of its bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct WirePath(pub PathBuf);

impl WirePath {
    /// The path itself.
    pub fn as_path(&self) -> &Path {
        &self.0
    }
}

impl<P: Into<PathBuf>> From<P> for WirePath {
    fn from(path: P) -> Self {
        Self(path.into())
    }
}

impl AsRef<Path> for WirePath {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

/// The two spellings, as JSON sees them.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum PathSpelling {
    /// An ordinary UTF-8 path.
    Text(String),
    /// Base64 of the raw bytes.
    Bytes {
        /// Base64 (standard alphabet, padded) of the path's bytes.
        b64: String,
    },
}

/// The two spellings, as they are read: no list stands for the object.
#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenPath {
    Text(String),
    Bytes(BTreeMap<String, String>),
}

impl Serialize for WirePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let spelling = match self.0.to_str() {
            Some(text) => PathSpelling::Text(text.to_owned()),
            None => PathSpelling::Bytes { b64: STANDARD.encode(self.0.as_os_str().as_bytes()) },
        };
        spelling.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for WirePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let neither = || de::Error::custom("a path is a string or {\"b64\": \"…\"}");
        let bytes = match WrittenPath::deserialize(deserializer).map_err(|_| neither())? {
            WrittenPath::Text(text) => text.into_bytes(),
            WrittenPath::Bytes(members) => match members.iter().next() {
                Some((name, b64)) if name == "b64" && members.len() == 1 => STANDARD
                    .decode(b64)
                    .map_err(|error| de::Error::custom(format!("path is not base64: {error}")))?,
                _ => return Err(neither()),
            },
        };
        if bytes.contains(&0) {
            return Err(de::Error::custom("a path cannot contain a NUL byte"));
        }
        Ok(Self(PathBuf::from(OsString::from_vec(bytes))))
    }
}

impl JsonSchema for WirePath {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Path".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        PathSpelling::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("\"/a/b\"", b"/a/b")]
    #[case("{\"b64\":\"L2H/\"}", b"/a\xff")]
    fn round_trips(#[case] json: &str, #[case] bytes: &[u8]) {
        let path: WirePath = serde_json::from_str(json).unwrap();
        assert_eq!(path.0.as_os_str().as_bytes(), bytes);
        assert_eq!(serde_json::to_string(&path).unwrap(), json);
    }

    #[rstest]
    #[case("7", "a path is a string")]
    #[case("{\"b64\":\"*\"}", "not base64")]
    #[case("\"a\\u0000b\"", "NUL")]
    fn refuses(#[case] json: &str, #[case] message: &str) {
        let error = serde_json::from_str::<WirePath>(json).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
