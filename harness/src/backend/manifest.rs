//! A manifest: a backend's conformance statement, as its file says it. The type is [`Manifest`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use boxproof_cases::Capability;
use boxproof_cases::case::HostPlatform;
use boxproof_cases::load::{LoadError, parse};
use boxproof_cases::protocol::ClaimLevel;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    AgentDialogue, BackendClaims, BackendNoise, ChannelParts, DoubleReply, ExitTable, StopMethod,
    UnsaidMembers, VersionRange, parts, template,
};

/// One backend, as its file describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "boxproof manifest")]
pub struct Manifest {
    /// The backend's name in every report.
    pub name: String,
    /// The backend in one sentence.
    pub summary: String,
    /// The home page of the backend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub homepage: Option<String>,
    /// The way in which it is started.
    #[serde(default)]
    pub kind: ManifestKind,
    /// The program: a name to look up in PATH, or a path.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub program: String,
    /// The program's arguments that make it print its version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub version: Vec<String>,
    /// The versions that this manifest is about, such as `>=0.8, <1`; others are not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version_range: Option<VersionRange>,
    /// The platforms it runs on; by default every one.
    #[serde(default = "everywhere")]
    pub platforms: Vec<HostPlatform>,
    /// Package manager → what to install with it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub install: BTreeMap<String, String>,
    /// Other programs it does not run without, each with package manager → what to install.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub requires: BTreeMap<String, BTreeMap<String, String>>,
    /// The user of its runs; by default an ordinary user, where a program is started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_as: Option<RunAs>,
    /// The claims: `all`, or capability → level. An absent capability is not claimed.
    #[serde(default, skip_serializing_if = "BackendClaims::is_empty")]
    pub claims: BackendClaims,
    /// Capabilities that it does not claim but is asked for all the same, because its users rely
    /// on them. Reports show them as asked, not claimed.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub asked: BTreeSet<Capability>,
    /// Known limits, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
    /// Kinds `argv` and `agent`: the template of the program's arguments, one a line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub argv: String,
    /// Kind `receipts`: how the parts of the channel are called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipts: Option<ChannelParts>,
    /// Kind `agent`: how it is brought to execute the command by its own tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentDialogue>,
    /// Kind `double`: the answer that it gives instead of running the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub double: Option<DoubleReply>,
    /// Kinds `native` and `receipts`: the program's arguments before the verb.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prefix: Vec<String>,
    /// Files that are written before the start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ConfigFile>,
    /// Name → template: variables of the backend's own environment, besides the launcher's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// True if it hands its own environment on to the command: variables that a policy sets are put
    /// there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub passes_env: bool,
    /// Commands before the start, each a template of its program and arguments, one a line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_up: Vec<String>,
    /// Commands after the end, each a template of its program and arguments, one a line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tear_down: Vec<String>,
    /// Policies it has no way to say. The first rule that holds gives the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inexpressible: Vec<InexpressibleRule>,
    /// An expression: whether what the policy does not grant is not there inside, so that finding
    /// nothing is a refusal where the control found something. Empty: never.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hides: String,
    /// An expression: whether a name that must not come to be is closed by something that stands
    /// there, so that meeting it is a refusal where the control could make the name. Empty: never.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stands_in: String,
    /// The endings that are its own and not the command's.
    #[serde(default)]
    pub exits: ExitTable,
    /// Lines of its own between those of the command.
    #[serde(default)]
    pub noise: BackendNoise,
    /// The way in which it is ended when its time is up.
    #[serde(default)]
    pub stop: StopMethod,
    /// Globs of paths it may leave behind, each below `$WS`, `$HOME` or `$TMPDIR`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub residue: Vec<String>,
    /// The place in which the command's processes can be seen.
    #[serde(default)]
    pub liveness: LivenessScope,
    /// True if the command's output is handed on only when it has ended, so that none of it can be
    /// read meanwhile: cases that wait for a word of it cannot be asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub holds_output: bool,
    /// The parts of a policy that the templates say nothing about, as found when it was read.
    #[serde(skip)]
    pub unsaid: UnsaidMembers,
}

fn everywhere() -> Vec<HostPlatform> {
    vec![HostPlatform::Linux, HostPlatform::Macos]
}

/// The way in which a backend is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ManifestKind {
    /// By the argument vector that `argv` renders.
    #[default]
    Argv,
    /// By the argument vector that `argv` renders, as an agent that executes the command by its own
    /// tool, since the model asks it to: `agent` says how.
    Agent,
    /// By the verbs of the protocol; its claims are its own answer.
    Native,
    /// As the parts of a receipts channel that `receipts` renders; commands are not run.
    Receipts,
    /// Not at all: the command runs as it is.
    Bare,
    /// Not at all: every run is refused.
    Refuse,
    /// Not at all: nothing is run, and what `double` names is said instead.
    Double,
}

/// The user of a backend's runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunAs {
    /// An ordinary user: root becomes one before it starts.
    Ordinary,
    /// Root: it does not work otherwise.
    Root,
    /// The user that runs boxproof.
    Any,
}

/// The place in which the processes of a command can be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LivenessScope {
    /// In the host's /proc.
    #[default]
    Proc,
    /// Not there (guests of a machine or kernel of their own): only by the heartbeat files that
    /// they write. Cases that look for survivors in /proc cannot be asked.
    Heartbeat,
}

/// A configuration file: both members are templates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfigFile {
    /// Its path, absolute.
    pub path: String,
    /// The content.
    pub content: String,
}

impl ConfigFile {
    /// Returns whether it lies in a directory that each arm has of its own.
    pub fn is_of_an_arm(&self) -> bool {
        let variable = self.path.trim_start().strip_prefix("{{").map(str::trim_start);
        let ends = |rest: &str| rest.starts_with([' ', '}', '~', '|']);
        ["state", "home", "policy.workspace", "cwd"]
            .iter()
            .any(|own| variable.and_then(|variable| variable.strip_prefix(own)).is_some_and(ends))
    }
}

/// A policy that cannot be said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InexpressibleRule {
    /// An expression over the template's variables.
    pub when: String,
    /// The reason.
    pub reason: String,
}

/// The place of the schema of manifests, from the root of the repository.
pub const MANIFEST_SCHEMA: &str = "harness/backends/schema/manifest.schema.json";

/// The JSON Schema of a manifest, whose checked-in copy is at [`MANIFEST_SCHEMA`].
pub fn schema() -> String {
    boxproof_cases::schema::document(schemars::schema_for!(Manifest), MANIFEST_SCHEMA)
}

impl Manifest {
    /// Reads the manifest `text` of the file at `file`.
    ///
    /// # Errors
    /// The first thing that is wrong with it, located.
    pub fn parse(file: &Path, text: &str) -> Result<Self, LoadError> {
        let mut manifest: Self = parse(file, text)?;
        let located = |(field, message): (String, String)| {
            let line = line_of_fault(text, LoadError::at(file, text, &field, "").line, &message);
            LoadError { line, ..LoadError::at(file, text, &field, message) }
        };
        if let Some(fault) = manifest.fault() {
            return Err(located(fault));
        }
        if manifest.agent.is_some() {
            manifest.tell_by_report();
        }
        if manifest.is_rendered() {
            manifest.unsaid = UnsaidMembers::find(&manifest, &manifest.names()).map_err(located)?;
        }
        Ok(manifest)
    }

    /// Returns whether runs are started by the argument vector that `argv` renders.
    pub fn is_rendered(&self) -> bool {
        matches!(self.kind, ManifestKind::Argv | ManifestKind::Agent)
    }

    /// Adds what holds of every agent: its driver tells of the command when that has ended, and in words
    /// of its own where nothing was learnt.
    fn tell_by_report(&mut self) {
        let (broken, declined) = AgentDialogue::exits();
        self.exits.setup_failed.insert(0, broken);
        self.exits.refused.insert(0, declined);
        self.holds_output = true;
    }

    /// The variables that the templates which make a run ask for.
    fn names(&self) -> BTreeSet<String> {
        let texts = [&self.argv].into_iter().chain(&self.set_up).chain(&self.tear_down);
        let texts = texts.chain(self.env.values());
        let texts = texts.chain(self.agent.iter().map(|agent| &agent.arguments));
        let texts = texts.chain(self.files.iter().flat_map(|file| [&file.path, &file.content]));
        let rules = self.inexpressible.iter().map(|rule| template::names_of_rule(&rule.when));
        texts.map(|text| template::names(text)).chain(rules).flatten().collect()
    }

    /// The first field that does not make sense, and why.
    fn fault(&self) -> Option<(String, String)> {
        let fault = |field: &str, message: &str| Some((field.to_owned(), message.to_owned()));
        let is_channel = self.kind == ManifestKind::Receipts;
        let verbs = self.kind == ManifestKind::Native;
        let runs = self.is_rendered() || verbs || is_channel;
        if self.name.is_empty() || !self.name.bytes().all(|b| b.is_ascii_graphic() && b != b'/') {
            return fault("name", "a name is one word without a slash");
        }
        if runs == self.program.is_empty() {
            return fault(
                "program",
                "kinds argv, agent, native and receipts name a program, the others do not",
            );
        }
        if self.is_rendered() == self.argv.is_empty() {
            return fault(
                "argv",
                "kinds argv and agent have an argv template, the others have none",
            );
        }
        if let Some((field, message)) = self.agent_fault() {
            return fault(field, &message);
        }
        if (self.kind == ManifestKind::Double) != self.double.is_some() {
            return fault("double", "kind double says what it does here, the others do not");
        }
        if is_channel != self.receipts.is_some() {
            return fault("receipts", "kind receipts has its parts here, the others have none");
        }
        if let Some(parts) = &self.receipts
            && let Some((field, message)) = parts.fault(&self.claims.levels())
        {
            return fault(field, message);
        }
        if !verbs && !is_channel && !self.prefix.is_empty() {
            return fault(
                "prefix",
                "only kinds native and receipts have a verb for it to stand before",
            );
        }
        if verbs && !self.claims.is_empty() {
            return fault("claims", "a native backend says itself what it claims: leave them out");
        }
        if let Some((field, message)) = self.exits.fault(&self.claims.levels()) {
            return fault(field, message);
        }
        if self.stop.grace_ms > StopMethod::LONGEST_MS {
            return fault(
                "stop.grace_ms",
                &format!("at most {} ms, ten minutes", StopMethod::LONGEST_MS),
            );
        }
        self.unusable_value().or_else(|| self.broken_template())
    }

    /// The first field of an agent that does not make sense, and why.
    fn agent_fault(&self) -> Option<(&'static str, String)> {
        if (self.kind == ManifestKind::Agent) != self.agent.is_some() {
            return Some((
                "agent",
                "kind agent has its conversation here, the others have none".into(),
            ));
        }
        let agent = self.agent.as_ref()?;
        let mut claimed = self.claims.levels().into_iter();
        let streams =
            claimed.any(|(c, level)| c.name() == "exec.streams" && level != ClaimLevel::None);
        let why = "the report of a tool is one text: no agent hands streams on byte for byte";
        agent.fault().or_else(|| streams.then(|| ("claims", why.to_owned())))
    }

    /// Returns the user that these runs are meant for.
    pub fn run_as(&self) -> RunAs {
        use ManifestKind::{Bare, Double, Refuse};
        let starts = !matches!(self.kind, Bare | Refuse | Double);
        self.run_as.unwrap_or(if starts { RunAs::Ordinary } else { RunAs::Any })
    }

    fn broken_template(&self) -> Option<(String, String)> {
        let argvs = [("argv", std::slice::from_ref(&self.argv))].into_iter();
        let argvs = argvs.chain([("set_up", &self.set_up[..]), ("tear_down", &self.tear_down[..])]);
        let mut templates: Vec<(&str, &str)> = argvs
            .flat_map(|(field, all)| all.iter().map(move |text| (field, text.as_str())))
            .collect();
        templates.extend(self.env.values().map(|text| ("env", text.as_str())));
        templates.extend(self.agent.iter().map(|agent| ("agent", agent.arguments.as_str())));
        templates.extend(self.noise.templates().map(|text| ("noise", text)));
        for file in &self.files {
            templates.extend([("files", file.path.as_str()), ("files", file.content.as_str())]);
        }
        let texts = templates.into_iter().map(|(field, text)| (field, template::check(text)));
        let channel = self
            .receipts
            .iter()
            .flat_map(ChannelParts::templates)
            .map(|(field, text)| (field, template::check_with(text, parts::VARIABLES)));
        let texts = texts.chain(channel);
        let said = [("hides", &self.hides), ("stands_in", &self.stands_in)];
        let said = said.into_iter().filter(|(_, when)| !when.is_empty());
        let rules = self.inexpressible.iter().map(|rule| ("inexpressible", &rule.when));
        let rules = rules.chain(said);
        let rules = rules.map(|(field, when)| (field, template::check_rule(when)));
        texts
            .chain(rules)
            .find_map(|(field, checked)| checked.err().map(|message| (field.to_owned(), message)))
    }
}

/// Returns the line of the fault that `message` tells, in a field that begins on line `first`: the
/// first one with the word that the message quotes, else the line of the template that it counts.
fn line_of_fault(text: &str, first: usize, message: &str) -> usize {
    let below = || text.lines().enumerate().skip(first.saturating_sub(1));
    let word = message.split('`').nth(1).filter(|word| !word.is_empty());
    let named = word.and_then(|word| below().find(|(_, line)| has_word(line, word)));
    let counted = message.strip_prefix("line ").and_then(|rest| rest.split(' ').next());
    let counted = counted.and_then(|number| number.parse::<usize>().ok());
    // A template in a block begins on the line below its field.
    let is_block =
        text.lines().nth(first.saturating_sub(1)).is_some_and(|line| line.ends_with('|'));
    match (counted, named) {
        (Some(number), _) if is_block => first + number,
        (None, Some((at, _))) => at + 1,
        _ => first,
    }
}

/// Returns whether `word` stands in `line`, and not as the beginning of a longer one.
fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| !line[at + word.len()..].starts_with(is_part))
}
