//! An executor as a document: `kind: Executor`, with its keys below `spec`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::declaration::{AgentProvider, ExecutorDeclaration, OuterSandbox, read};

/// The only version.
const VERSION: u32 = 2;

/// The document.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ExecutorEnvelope {
    schema_version: u32,
    kind: String,
    metadata: ExecutorMetadata,
    spec: EnvelopeSpec,
}

#[derive(Debug, Deserialize)]
struct ExecutorMetadata {
    name: String,
    #[serde(default, rename = "labels")]
    _labels: Option<IgnoredAny>,
    #[serde(default, rename = "annotations")]
    _annotations: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EnvelopeSpec {
    #[serde(default, rename = "executor_type")]
    _executor_type: Option<String>,
    command: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    config: BTreeMap<String, String>,
    #[serde(default)]
    sandbox: Option<OuterSandboxField>,
    #[serde(default)]
    allow_fallback: bool,
    #[serde(default)]
    env: Option<IgnoredAny>,
    #[serde(default)]
    timeout_seconds: Option<IgnoredAny>,
    #[serde(default)]
    stdout_format: Option<IgnoredAny>,
    #[serde(default)]
    model_pair_override: Option<IgnoredAny>,
    #[serde(default)]
    model_flag: Option<IgnoredAny>,
    #[serde(default, rename = "description")]
    _description: Option<IgnoredAny>,
    #[serde(default, rename = "created_at")]
    _created_at: Option<IgnoredAny>,
    #[serde(default, rename = "updated_at")]
    _updated_at: Option<IgnoredAny>,
}

/// The outer sandbox, or none.
#[derive(Debug, Deserialize)]
enum OuterSandboxField {
    #[serde(rename = "macos-sandbox-exec")]
    MacosSandboxExec,
    #[serde(rename = "off")]
    Off,
}

impl ExecutorEnvelope {
    /// The declaration in the document `text` of the file `name`.
    pub(super) fn declared(name: &str, text: &str) -> Result<ExecutorDeclaration, String> {
        let Self { schema_version, kind, metadata, spec } = read(name, text)?;
        if kind != "Executor" {
            return Err(format!("failed to parse {name}: expected kind Executor, found {kind}"));
        }
        if schema_version != VERSION {
            return Err(format!(
                "failed to parse {name}: unsupported executor schemaVersion {schema_version}; write schemaVersion: {VERSION}"
            ));
        }
        let left = spec.left();
        let EnvelopeSpec { command, args, config, sandbox, allow_fallback, .. } = spec;
        let sandbox = sandbox.and_then(|sandbox| match sandbox {
            OuterSandboxField::MacosSandboxExec => Some(OuterSandbox::MacosSandboxExec),
            OuterSandboxField::Off => None,
        });
        let provider = provider(&command, &metadata.name);
        let name = metadata.name;
        Ok(ExecutorDeclaration {
            name,
            provider,
            program: command,
            args,
            config,
            sandbox,
            allow_fallback,
            left,
        })
    }
}

impl EnvelopeSpec {
    /// Returns the keys that are for the starter of the agent.
    fn left(&self) -> Vec<&'static str> {
        let keys = [
            ("env", &self.env),
            ("timeout_seconds", &self.timeout_seconds),
            ("stdout_format", &self.stdout_format),
            ("model_pair_override", &self.model_pair_override),
            ("model_flag", &self.model_flag),
        ];
        keys.into_iter().filter(|(_, value)| value.is_some()).map(|(key, _)| key).collect()
    }
}

/// Returns the provider of the agent that `command` starts: by the program's name, else by the
/// executor's.
fn provider(command: &str, name: &str) -> AgentProvider {
    let program = Path::new(command).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let known = |word: &str| match word {
        "codex" => Some(AgentProvider::Codex),
        "claude" => Some(AgentProvider::Claude),
        "gemini" => Some(AgentProvider::Gemini),
        _ => None,
    };
    known(program).or_else(|| known(name)).unwrap_or(AgentProvider::Other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn document(name: &str, spec: &str) -> String {
        format!("schemaVersion: 2\nkind: Executor\nmetadata:\n  name: {name}\nspec: {spec}\n")
    }

    #[rstest]
    #[case(
        "claude",
        "{executor_type: direct_agent, command: claude, sandbox: macos-sandbox-exec}",
        AgentProvider::Claude
    )]
    #[case("x", "{command: /opt/bin/gemini, sandbox: macos-sandbox-exec}", AgentProvider::Gemini)]
    #[case("codex", "{command: npx, sandbox: macos-sandbox-exec}", AgentProvider::Codex)]
    #[case("local", "{command: sh, sandbox: macos-sandbox-exec}", AgentProvider::Other)]
    fn a_document_declares_an_executor(
        #[case] name: &str,
        #[case] spec: &str,
        #[case] provider: AgentProvider,
    ) {
        let declared = ExecutorDeclaration::parse("x.yaml", &document(name, spec)).unwrap();
        assert_eq!((declared.name.as_str(), declared.provider), (name, provider));
        assert_eq!(declared.sandbox, Some(OuterSandbox::MacosSandboxExec));
        assert!(!declared.allow_fallback && declared.left.is_empty());
    }

    #[test]
    fn what_is_for_others_is_named() {
        let spec = "{command: claude, sandbox: off, timeout_seconds: 9, env: {A: b}}";
        let declared = ExecutorDeclaration::parse("x.yaml", &document("claude", spec)).unwrap();
        assert_eq!((declared.sandbox, declared.left), (None, vec!["env", "timeout_seconds"]));
    }

    #[rstest]
    #[case(
        "schemaVersion: 2\nkind: Policy\nmetadata: {name: x}\nspec: {command: x}\n",
        "expected kind Executor, found Policy"
    )]
    #[case(
        "schemaVersion: 1\nkind: Executor\nmetadata: {name: x}\nspec: {command: x}\n",
        "unsupported executor schemaVersion 1"
    )]
    #[case(
        "schemaVersion: 2\nkind: Executor\nmetadata: {name: x}\nspec: {command: x, sandbx: y}\n",
        "x.yaml:4:20: "
    )]
    #[case(
        "schemaVersion: 2\nkind: Executor\nmetadata: {name: x}\nspec: {command: x, sandbox: linux-jail}\n",
        "linux-jail"
    )]
    #[case("schemaVersion: 2\nkind: Executor\nmetadata: {name: x}\nspec: {}\n", "command")]
    fn a_document_that_cannot_be_meant_is_told(#[case] text: &str, #[case] message: &str) {
        let error = ExecutorDeclaration::parse("x.yaml", text).unwrap_err();
        assert!(error.contains(message), "{error}");
    }
}
