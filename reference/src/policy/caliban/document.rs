//! The parser from the text of a document to [`CalibanSettings`], every value with its place.

use std::ops::Range;

use boxproof_cases::protocol::{Document, ObjectsOnly};
use serde::Deserialize;
use toml::Spanned;

use super::error::SettingsError;
use crate::policy::orbit::SourceLocation;

/// The table `[sandbox]` as written, with defaults for absent members.
#[derive(Debug, Clone)]
pub struct CalibanSettings {
    pub(super) table: SandboxTable,
    source: Document,
}

/// A document; tables of others are none of our business.
#[derive(Deserialize)]
struct SettingsFile {
    #[serde(default)]
    sandbox: SandboxTable,
}

/// `[sandbox]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct SandboxTable {
    pub(super) enabled: bool,
    pub(super) fail_if_unavailable: bool,
    pub(super) auto_allow_bash_if_sandboxed: bool,
    pub(super) allow_unsandboxed_commands: Vec<String>,
    pub(super) enable_weaker_nested_sandbox: bool,
    pub(super) bwrap_path: Option<Spanned<String>>,
    pub(super) sandbox_exec_path: Option<Spanned<String>>,
    pub(super) filesystem: FilesystemTable,
    pub(super) network: NetworkTable,
    pub(super) env: EnvTable,
}

/// `[sandbox.filesystem]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct FilesystemTable {
    pub(super) allow_read: Vec<Spanned<String>>,
    pub(super) deny_read: Vec<Spanned<String>>,
    pub(super) allow_write: Vec<Spanned<String>>,
    pub(super) deny_write: Vec<Spanned<String>>,
}

/// `[sandbox.network]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct NetworkTable {
    pub(super) allowed_domains: Option<Spanned<Vec<String>>>,
    pub(super) denied_domains: Option<Spanned<Vec<String>>>,
    pub(super) http_proxy_port: Option<Spanned<u16>>,
    pub(super) socks_proxy_port: Option<Spanned<u16>>,
    pub(super) allow_all_outbound: bool,
    pub(super) allow_unix_sockets: bool,
    pub(super) allow_local_binding: bool,
    pub(super) allow_mach_lookup: Vec<String>,
}

/// `[sandbox.env]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct EnvTable {
    pub(super) scrub_secrets: bool,
    pub(super) passthrough: Vec<String>,
}

impl CalibanSettings {
    /// Parses the settings in `documents`, which must be one.
    ///
    /// # Errors
    /// An invalid value, with file, line, column, field and remedy.
    pub fn parse(documents: &[Document]) -> Result<Self, SettingsError> {
        let [source] = documents else {
            let why = format!("documents: name one settings file, not {}", documents.len());
            return Err(SettingsError::config(why, None));
        };
        named_otherwise(source)?;
        let whole =
            toml::Deserializer::parse(&source.text).map_err(|error| syntax(source, &error))?;
        let mut track = serde_path_to_error::Track::new();
        let tracked = serde_path_to_error::Deserializer::new(whole, &mut track);
        let file = SettingsFile::deserialize(ObjectsOnly(tracked)).map_err(|error| {
            // The last name is one of the library's own, for a value with its place.
            let field = track.path().to_string();
            let field = field.split(".$__serde_spanned").next().unwrap_or_default().to_owned();
            wrong_value(source, &field, &error)
        })?;
        Ok(Self { table: file.sandbox, source: source.clone() })
    }

    /// Returns the place of the beginning of `span`.
    pub(super) fn place(&self, span: &Range<usize>) -> SourceLocation {
        place(&self.source, span.start)
    }
}

/// Refuses a misspelled table, which would be ignored silently.
fn named_otherwise(source: &Document) -> Result<(), SettingsError> {
    // A later parser reports text that is no TOML.
    let Ok(whole) = toml::de::DeTable::parse(&source.text) else { return Ok(()) };
    let plain = |name: &str| {
        name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase()
    };
    let means = |name: &str| ["sandbox", "sandboxes", "sandboxing"].contains(&&*plain(name));
    let names = whole.get_ref().keys();
    match names.into_iter().find(|key| key.get_ref() != "sandbox" && means(key.get_ref())) {
        None => Ok(()),
        Some(key) => Err(SettingsError::config(
            format!("`{}` is not read; write `sandbox`", key.get_ref()),
            Some(place(source, key.span().start)),
        )),
    }
}

fn syntax(source: &Document, error: &toml::de::Error) -> SettingsError {
    let at = place(source, error.span().map_or(0, |span| span.start));
    let what = error.message().trim();
    let remedy = match what.contains("array") || what.contains("quoted") {
        true => "put each text in quotes, and a comma between two",
        false => "write the document in TOML 1.0",
    };
    SettingsError::config(format!("{what}; {remedy}"), Some(at))
}

fn wrong_value(source: &Document, field: &str, error: &toml::de::Error) -> SettingsError {
    let at = error.span().map(|span| place(source, span.start));
    let what = &error
        .message()
        .trim()
        .replace("an object: {…}", "a table")
        .replace("an object", "a table");
    let field = field.strip_prefix("sandbox.").unwrap_or(field);
    SettingsError::config(format!("{field}: {what}; {}", remedy(what)), at)
}

/// Returns the remedy for a parser's message.
fn remedy(what: &str) -> &'static str {
    let known = [
        ("unknown field", "correct its spelling or remove it"),
        ("a boolean", "write true or false, without quotes"),
        ("u16", "write a whole number from 0 to 65535, without quotes"),
        ("a sequence", "write a list of texts, such as [\"/srv/data\"]"),
        ("a string", "write a text in quotes"),
        ("a table", "write it as a table, such as [sandbox]"),
    ];
    let found = known.iter().find(|(part, _)| what.contains(part));
    found.map_or("see the table of settings in the documentation", |(_, remedy)| remedy)
}

fn place(source: &Document, at: usize) -> SourceLocation {
    let before = source.text.get(..at).unwrap_or(&source.text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    SourceLocation {
        file: source.name.as_str().into(),
        line: before.matches('\n').count() + 1,
        column: line.chars().count() + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn parse(text: &str) -> Result<CalibanSettings, SettingsError> {
        CalibanSettings::parse(&[Document { name: "settings.toml".into(), text: text.into() }])
    }

    #[rstest]
    #[case::nothing("")]
    #[case::empty("[sandbox]\n")]
    #[case::others("[model]\nname = 1\n[mcp.x]\ny = 2\n")]
    fn what_says_nothing_is_the_default(#[case] text: &str) {
        let table = parse(text).unwrap().table;
        assert!(!table.enabled && table.filesystem.allow_write.is_empty());
    }

    #[rstest]
    #[case::top("[sandbox]\nbogus = 1\n", "unknown field `bogus`, expected one of `enabled`", 2, 1)]
    #[case::files(
        "[sandbox.filesystem]\nbogus = 1\n",
        "filesystem.bogus: unknown field `bogus`",
        2,
        1
    )]
    #[case::network("[sandbox.network]\n\nbogus = 1\n", "unknown field `bogus`", 3, 1)]
    #[case::env("sandbox.env = {\"é\" = 1}\n", "unknown field `é`", 1, 16)]
    #[case::port(
        "[sandbox.network]\nhttp_proxy_port = 65536\n",
        "network.http_proxy_port: ",
        2,
        19
    )]
    #[case::capital("[model]\nx = 1\n[Sandbox]\nenabled = true\n", "write `sandbox`", 3, 2)]
    #[case::plural("sandboxes = 1\n", "`sandboxes` is not read", 1, 1)]
    #[case::negative("[sandbox.network]\nhttp_proxy_port = -1\n", "expected u16", 2, 19)]
    #[case::quoted("[sandbox.network]\nhttp_proxy_port = \"80\"\n", "0 to 65535", 2, 19)]
    #[case::word("[sandbox]\nenabled = \"yes\"\n", "expected a boolean", 2, 11)]
    #[case::text("[sandbox.filesystem]\nallow_read = \"/\"\n", "expected a sequence", 2, 14)]
    #[case::member(
        "[sandbox.filesystem]\nallow_read = [\"/\", 3]\n",
        "write a text in quotes",
        2,
        20
    )]
    #[case::table(
        "sandbox = true\n",
        "sandbox: invalid type: boolean `true`, expected a table",
        1,
        11
    )]
    #[case::tables("[[sandbox]]\nenabled = true\n", "has to be a table", 1, 1)]
    #[case::by_place("sandbox = [true]\n", "has to be a table", 1, 11)]
    #[case::unquoted(
        "[sandbox.filesystem]\nallow_read = [${HOME}]\n",
        "put each text in quotes",
        2,
        16
    )]
    #[case::deep(&format!("[{}x]\n", "x.".repeat(900)), "recursion limit", 1, 1)]
    #[case::twice("[sandbox]\nenabled = true\nenabled = true\n", "duplicate key", 3, 1)]
    #[case::syntax("[sandbox\n", "TOML", 1, 9)]
    fn what_cannot_be_meant_is_told(
        #[case] text: &str,
        #[case] message: &str,
        #[case] line: usize,
        #[case] column: usize,
    ) {
        let error = parse(text).unwrap_err();
        assert!(error.kind.to_string().contains(message), "{error}");
        let place = error.place.unwrap();
        assert_eq!((place.line, place.column), (line, column), "{}", error.kind);
        assert_eq!(&*place.file, "settings.toml");
    }

    #[test]
    fn settings_are_one_document() {
        assert!(CalibanSettings::parse(&[]).unwrap_err().to_string().contains("name one"));
    }
}
