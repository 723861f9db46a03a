//! The neutral policy: the rules that a sandbox has to enforce.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::WirePath;

/// One whole policy, every member present. Paths are absolute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// The workspace: writable in `workspace_write`, read-only in `read_only`.
    pub workspace: WirePath,
    /// The extent to which the file system may be written.
    #[serde(default)]
    pub mode: Mode,
    /// The extent to which the file system may be read.
    #[serde(default)]
    pub readable: Readable,
    /// Further writable roots, besides the workspace.
    #[serde(default)]
    pub writable: Vec<WirePath>,
    /// Files and directories that can be neither read nor written; opening one fails with an error.
    #[serde(default)]
    pub deny_read: Vec<WirePath>,
    /// Files and directories that cannot be written although a root above them can.
    #[serde(default)]
    pub deny_write: Vec<WirePath>,
    /// Patterns of paths that can be neither read nor written, nor can anything below them. A
    /// pattern is absolute and names the whole path; its syntax is that of the crate globset, where
    /// `*`, `?`, `[…]` and `{…}` stop at a slash and `**`, alone between slashes, stands for any
    /// number of directories. A pattern also covers names that do not exist yet when the run
    /// begins: they cannot be created.
    #[serde(default)]
    pub deny_read_globs: Vec<String>,
    /// Patterns, as in `deny_read_globs`, of what cannot be written, made or replaced.
    #[serde(default)]
    pub deny_write_globs: Vec<String>,
    /// The protection of names that steer tools (`.git`, agent and editor configuration).
    #[serde(default)]
    pub protect: Protect,
    /// Directories directly below something that `protect` closes which stay writable, whether they
    /// exist or not. Nothing else there is writable, and nothing is made there beforehand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reopen: Vec<WirePath>,
    /// Explicit grants that re-open part of what `protect` closes (`git_metadata_write`, …).
    #[serde(default)]
    pub grants: Vec<String>,
    /// True if grants may be inferred from the command line.
    #[serde(default = "yes")]
    pub infer_grants: bool,
    /// The form of `/tmp` and `$TMPDIR` inside the sandbox.
    #[serde(default)]
    pub tmp: TmpPolicy,
    /// The network that the command can reach.
    #[serde(default)]
    pub network: Network,
    /// Host unix sockets (paths, or `@name` for abstract ones) that may be connected to.
    #[serde(default)]
    pub unix_sockets: Vec<WirePath>,
    /// The command's environment.
    #[serde(default)]
    pub env: EnvPolicy,
    /// The reaction if the policy cannot be enforced.
    #[serde(default)]
    pub on_unavailable: OnUnavailable,
}

impl Policy {
    /// Returns the default policy over `workspace`: workspace writable, no network, private
    /// directory for temporary files.
    ///
    /// ```
    /// use boxproof_cases::protocol::{Mode, Policy};
    ///
    /// let policy = Policy { deny_read: vec!["/work/secret".into()], ..Policy::new("/work") };
    /// assert_eq!(policy.mode, Mode::WorkspaceWrite);
    /// ```
    pub fn new(workspace: impl Into<WirePath>) -> Self {
        Self {
            workspace: workspace.into(),
            mode: Mode::default(),
            readable: Readable::default(),
            writable: Vec::new(),
            deny_read: Vec::new(),
            deny_write: Vec::new(),
            deny_read_globs: Vec::new(),
            deny_write_globs: Vec::new(),
            protect: Protect::default(),
            reopen: Vec::new(),
            grants: Vec::new(),
            infer_grants: true,
            tmp: TmpPolicy::default(),
            network: Network::default(),
            unix_sockets: Vec::new(),
            env: EnvPolicy::default(),
            on_unavailable: OnUnavailable::default(),
        }
    }
}

fn yes() -> bool {
    true
}

/// The extent to which the file system may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// No sandbox at all.
    Unconfined,
    /// Nothing but the directory for temporary files is writable.
    ReadOnly,
    /// Workspace, `writable` roots and the directory for temporary files are writable.
    #[default]
    WorkspaceWrite,
}

/// The extent to which the file system may be read: everything not denied, or a list of roots only.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Readable {
    /// Everything that `deny_read` does not name.
    #[default]
    All,
    /// Only these roots, the workspace, the writable roots and what running programs needs.
    Only(Vec<WirePath>),
}

impl Serialize for Readable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::All => "all".serialize(serializer),
            Self::Only(roots) => roots.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Readable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ReadableVisitor;
        impl<'de> de::Visitor<'de> for ReadableVisitor {
            type Value = Readable;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("\"all\" or a list of paths")
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<Readable, E> {
                match word {
                    "all" => Ok(Readable::All),
                    other => Err(E::invalid_value(de::Unexpected::Str(other), &self)),
                }
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<Readable, A::Error> {
                Vec::deserialize(de::value::SeqAccessDeserializer::new(seq)).map(Readable::Only)
            }
        }
        deserializer.deserialize_any(ReadableVisitor)
    }
}

impl JsonSchema for Readable {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Readable".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let roots = generator.subschema_for::<Vec<WirePath>>();
        schemars::json_schema!({ "oneOf": [{ "const": "all" }, roots] })
    }
}

/// The protection of tool-steering names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Protect {
    /// No name is special.
    #[default]
    None,
    /// The protected names cannot be written.
    Metadata,
}

/// The form of the directory for temporary files inside the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TmpPolicy {
    /// A fresh, empty, writable directory that ends with the run.
    #[default]
    Private,
    /// The host's directory for temporary files, writable.
    Host,
    /// No writable directory for temporary files.
    None,
}

/// The network that the command can reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Network {
    /// Nothing.
    None {},
    /// The host's network.
    Host {},
    /// One loopback port of the host.
    Proxy {
        /// The TCP port.
        port: u16,
    },
    /// Named domains, through the backend's own proxy.
    Domains {
        /// Names that may be reached.
        #[serde(default)]
        allow: Vec<String>,
        /// Names that may not, even where `allow` covers them.
        #[serde(default)]
        deny: Vec<String>,
    },
}

impl Default for Network {
    fn default() -> Self {
        Self::None {}
    }
}

/// The command's environment: base, scrub, pass, then set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnvPolicy {
    /// The base of the environment.
    #[serde(default)]
    pub base: EnvBase,
    /// True if the inherited part loses names that look like credentials, and in the confined modes
    /// also names by which loader, shells and tools run other code. A command that runs unconfined
    /// because no mechanism was available has the environment of the confined mode.
    #[serde(default = "yes")]
    pub scrub: bool,
    /// True if the inherited part loses variables whose values look like credentials, independent
    /// of their names.
    #[serde(default)]
    pub scrub_values: bool,
    /// Exact names that survive `scrub` and `scrub_values` (and are inherited with base `clear`).
    #[serde(default)]
    pub pass: Vec<String>,
    /// Variables set last; they always win.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
}

impl Default for EnvPolicy {
    fn default() -> Self {
        Self {
            base: EnvBase::Inherit,
            scrub: true,
            scrub_values: false,
            pass: Vec::new(),
            set: BTreeMap::new(),
        }
    }
}

/// The base of the environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EnvBase {
    /// The launcher's environment.
    #[default]
    Inherit,
    /// Nothing.
    Clear,
}

/// The reaction if the policy cannot be enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnUnavailable {
    /// Start nothing and say why.
    #[default]
    Refuse,
    /// Run without a sandbox and say so, loudly.
    RunUnconfined,
}
