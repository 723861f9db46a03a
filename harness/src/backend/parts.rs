//! The parts of a receipts channel: a template of the arguments of each, one a line.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use boxproof_cases::Capability;
use boxproof_cases::protocol::ClaimLevel;
use minijinja::Value;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Backend, BackendKind, template};

/// The variables that a template of a part can ask for.
pub(super) const VARIABLES: &[&str] = &[
    "program",
    "socket",
    "store",
    "key",
    "ca",
    "cert",
    "cert_key",
    "listen",
    "execd",
    "relay",
    "sandbox_id",
    "profile",
    "token_file",
    "file",
    "strict",
    "expected_length",
    "expected_final_hash",
    "require_terminal",
    "response_bodies",
    "provenance",
];

/// The parts of a receipts channel. Each is a template of the program's arguments, one a line.
/// Daemon, relay and proxy serve until SIGTERM, and print one line when they do: `ready`, or
/// `listening` and the address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChannelParts {
    /// Serves `socket`, signs with `key`, appends to `store`, in the form of `profile`.
    pub daemon: String,
    /// Serves `listen` with `cert`, `cert_key` and `ca`, and hands on to `socket`.
    pub relay: String,
    /// Serves `listen` in front of `execd`, and tells `relay` as `sandbox_id`.
    pub proxy: String,
    /// Prints the receipts of `store`, one a line, in the order of storage.
    pub export: String,
    /// The file of the public key that the receipts are signed for, once the daemon serves; without
    /// it they must be signed by `key`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub public_key: String,
    /// Verifies the receipts in `file` with the public key `key`: 0 valid, 1 broken, 2 misuse.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub verify: String,
}

/// The templates of the protocol's verbs.
const VERBS: [&str; 5] = [
    "receipts\ndaemon\n--socket\n{{ socket }}\n--store\n{{ store }}\n--key\n{{ key }}\n\
     --profile\n{{ profile }}\n--unsafe-socket-path\n",
    "receipts\nrelay\n--listen\n{{ listen }}\n--socket\n{{ socket }}\n--ca\n{{ ca }}\n\
     --cert\n{{ cert }}\n--key\n{{ cert_key }}\n",
    "receipts\nproxy\n--listen\n{{ listen }}\n--execd\n{{ execd }}\n--relay\n{{ relay }}\n\
     --ca\n{{ ca }}\n--cert\n{{ cert }}\n--key\n{{ cert_key }}\n--sandbox-id\n{{ sandbox_id }}\n\
     {% if token_file %}\n--execd-token-file\n{{ token_file }}\n{% endif %}\n",
    "receipts\nexport\n--store\n{{ store }}\n",
    "receipts\nverify\n--key\n{{ key }}\n{% if strict %}\n--strict\n{% endif %}\n\
     {% if expected_length %}\n--expected-length\n{{ expected_length }}\n{% endif %}\n\
     {% if expected_final_hash %}\n--expected-final-hash\n{{ expected_final_hash }}\n{% endif %}\n\
     {% if require_terminal %}\n--require-terminal\n{% endif %}\n\
     {% if response_bodies %}\n--response-bodies\n{{ response_bodies }}\n{% endif %}\n\
     {% if provenance %}\n--provenance\n{% endif %}\n{{ file }}\n",
];

impl ChannelParts {
    /// The verbs of the protocol.
    pub(super) fn of_protocol() -> Self {
        let [daemon, relay, proxy, export, verify] = VERBS.map(str::to_owned);
        Self { daemon, relay, proxy, export, public_key: String::new(), verify }
    }

    /// A part that is missing, and what to do.
    pub(super) fn fault(
        &self,
        claims: &BTreeMap<Capability, ClaimLevel>,
    ) -> Option<(&'static str, &'static str)> {
        let empty = self.templates().into_iter().find(|(name, text)| {
            text.trim().is_empty() && !["receipts.public_key", "receipts.verify"].contains(name)
        });
        let claimed = |(claim, level): (&Capability, &ClaimLevel)| {
            claim.name() == "receipts.verify" && *level != ClaimLevel::None
        };
        let verifies = claims.iter().any(claimed);
        match empty {
            Some((name, _)) => {
                Some((name, "is empty: daemon, relay, proxy and export are all needed"))
            }
            None if verifies && self.verify.is_empty() => Some((
                "receipts.verify",
                "is claimed: say how the verifier is called, or do not claim it",
            )),
            None => None,
        }
    }

    /// Returns every template, with its name.
    pub(super) fn templates(&self) -> [(&'static str, &str); 6] {
        [
            ("receipts.daemon", &self.daemon),
            ("receipts.relay", &self.relay),
            ("receipts.proxy", &self.proxy),
            ("receipts.export", &self.export),
            ("receipts.public_key", &self.public_key),
            ("receipts.verify", &self.verify),
        ]
    }
}

/// The calls of a channel's parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelCommands {
    program: PathBuf,
    prefix: Vec<String>,
    /// The templates.
    pub parts: ChannelParts,
}

impl ChannelCommands {
    /// The argument vector that `template` makes with these variables.
    ///
    /// # Errors
    /// Returns an error when the template cannot be rendered.
    pub fn argv(&self, template: &str, context: &Value) -> Result<Vec<OsString>, String> {
        let mut argv = vec![OsString::from(&self.program)];
        argv.extend(self.prefix.iter().map(Into::into));
        argv.extend(template::argv(template, context).map_err(|error| error.to_string())?);
        Ok(argv)
    }

    /// The file of the public key, where the manifest names one.
    ///
    /// # Errors
    /// Returns an error when the template does not render one path.
    pub fn public_key(&self, context: &Value) -> Result<Option<PathBuf>, String> {
        if self.parts.public_key.is_empty() {
            return Ok(None);
        }
        let words = template::argv(&self.parts.public_key, context);
        match &words.map_err(|error| error.to_string())?[..] {
            [path] => Ok(Some(path.into())),
            words => Err(format!("receipts.public_key: {} lines; one path is needed", words.len())),
        }
    }

    /// The program.
    pub fn program(&self) -> &Path {
        &self.program
    }
}

impl Backend {
    /// Returns the calls of its receipts channel, if it has one.
    pub fn channel(&self) -> Option<ChannelCommands> {
        match &self.kind {
            BackendKind::Native { program, prefix, .. } => Some(ChannelCommands {
                program: program.clone(),
                prefix: prefix.clone(),
                parts: ChannelParts::of_protocol(),
            }),
            BackendKind::Receipts(manifest) => Some(ChannelCommands {
                program: self.program.clone().unwrap_or_else(|| PathBuf::from(&manifest.program)),
                prefix: manifest.prefix.clone(),
                parts: manifest.receipts.clone()?,
            }),
            BackendKind::Argv(_)
            | BackendKind::Bare
            | BackendKind::Refuse
            | BackendKind::Double(_) => None,
        }
    }
}
