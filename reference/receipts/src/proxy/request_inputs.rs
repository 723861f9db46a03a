//! The input objects of a request, which its receipts commit to.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::outcome::{ActionOutcome, hex};
use super::routes::InputSource;
use crate::strict::{self, OrderedJson};

/// One object of an action: a command, a piece of code, a path.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ActionItem {
    pub named: ItemContent,
    /// The number of bytes written, if any were.
    pub written: Option<u64>,
}

/// The kind of an item. Its receipt's input and target are made of it later, on another thread.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) enum ItemContent {
    #[default]
    Nothing,
    /// A path, with the further member of its input.
    Path(String, Option<(&'static str, Value)>),
    /// Another input.
    Input(Value),
    /// A target alone: system and resource.
    Target(String, String),
}

impl ActionItem {
    /// Builds an item of a path, with the further member of its input.
    pub(super) fn path(path: impl Into<String>, more: Option<(&'static str, Value)>) -> Self {
        ItemContent::Path(path.into(), more).into()
    }

    /// Returns the input that its receipt commits to.
    pub(super) fn input(&self) -> Option<Value> {
        match &self.named {
            ItemContent::Path(path, more) => {
                let mut input = Map::from_iter([("path".to_owned(), json!(path))]);
                input.extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
                Some(input.into())
            }
            ItemContent::Input(input) => Some(input.clone()),
            ItemContent::Nothing | ItemContent::Target(..) => None,
        }
    }

    /// System and resource, if they are known already.
    pub(super) fn target(&self) -> Option<(String, String)> {
        match &self.named {
            ItemContent::Path(path, _) => Some(("opensandbox".to_owned(), path.clone())),
            ItemContent::Target(system, resource) => Some((system.clone(), resource.clone())),
            ItemContent::Nothing | ItemContent::Input(_) => None,
        }
    }

    /// Returns the result for its receipt.
    pub(super) fn output(&self, outcome: &ActionOutcome) -> Option<Value> {
        let written = self.written.map(|bytes| json!({"bytes_written": bytes}));
        outcome.output.clone().map(|output| written.unwrap_or(output))
    }
}

impl From<ItemContent> for ActionItem {
    fn from(named: ItemContent) -> Self {
        Self { named, written: None }
    }
}

/// The items of a body.
#[derive(Debug, Default, PartialEq)]
pub(super) struct RequestInputs {
    pub items: Vec<ActionItem>,
    /// The command continues when the answer has ended.
    pub background: bool,
}

/// Reads a JSON body; an error where two readers could differ.
pub(super) fn read(asks: InputSource, body: &[u8]) -> Result<RequestInputs, String> {
    let json = json_of(body, usize::from(asks == InputSource::Names))?;
    Ok(match asks {
        InputSource::Command => command(&json),
        InputSource::Code => RequestInputs { items: vec![code(&json)], background: false },
        InputSource::Names => RequestInputs { items: names(&json), background: false },
        InputSource::Moves => RequestInputs { items: moves(&json), background: false },
        InputSource::Path | InputSource::Paths | InputSource::Upload => RequestInputs::default(),
    })
}

/// A JSON text of one reading.
pub(super) fn json_of(body: &[u8], maps: usize) -> Result<OrderedJson, String> {
    let json = strict::read(body)?;
    match json.ambiguous(maps) {
        Some(name) => Err(format!("member {name:?} differs from another by case alone")),
        None => Ok(json),
    }
}

fn command(json: &OrderedJson) -> RequestInputs {
    let background = !fault!("receipts.background-as-foreground")
        && json.member("background") == Some(&OrderedJson::Bool(true));
    let input = json.member("command").and_then(OrderedJson::text).and_then(|text| {
        let mut input = Map::from_iter([("command".to_owned(), json!(text))]);
        let env = env(json)?.filter(|_| !fault!("receipts.command-variables"));
        input.extend(env.map(|env| ("env".to_owned(), env)));
        Some(ItemContent::Input(input.into()))
    });
    RequestInputs { items: vec![input.unwrap_or_default().into()], background }
}

/// The variables, if there are any; nothing at all if they are none that execd takes.
fn env(json: &OrderedJson) -> Option<Option<Value>> {
    let Some(envs) = json.member("envs") else { return Some(None) };
    let members = envs.members()?;
    members.iter().all(|(_, value)| value.text().is_some()).then_some(())?;
    Some((!members.is_empty()).then(|| envs.value()))
}

fn code(json: &OrderedJson) -> ActionItem {
    // Without a language execd runs the code as a shell command.
    let language = json.member("context").and_then(|context| context.member("language")?.text());
    let language = language.filter(|language| !language.is_empty()).unwrap_or("command");
    let input = json.member("code").and_then(OrderedJson::text).map(|code| {
        let hash = hex(Sha256::new_with_prefix(code));
        ItemContent::Input(json!({"code_hash": hash, "language": language}))
    });
    input.unwrap_or_default().into()
}

fn names(json: &OrderedJson) -> Vec<ActionItem> {
    let names = json.members().unwrap_or_default().iter();
    or_one(names.map(|(path, _)| ActionItem::path(path.as_str(), None)).collect())
}

fn moves(json: &OrderedJson) -> Vec<ActionItem> {
    let moved = |item: &OrderedJson| {
        let from = item.member("src").and_then(OrderedJson::text)?;
        let to = item.member("dest").and_then(OrderedJson::text)?;
        Some(ActionItem::path(from, Some(("destination", json!(to)))))
    };
    or_one(json.items().unwrap_or_default().iter().filter_map(moved).collect())
}

/// Returns one item without an input for a request that names none, so that it is reported once.
pub(super) fn or_one(items: Vec<ActionItem>) -> Vec<ActionItem> {
    if items.is_empty() { vec![ActionItem::default()] } else { items }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// RFC 8785, then SHA-256.
    fn hash(value: &Value) -> String {
        hex(Sha256::new_with_prefix(serde_json_canonicalizer::to_vec(value).unwrap()))
    }

    const LS: &str = "1df8bccaec747dc615b50678f35bf5b51756a45f9b2b77b247c7a617fde58b3e";
    const LS_ENV: &str = "b9bc30ceef7631699cf1479dda1f7c9685fffa5edf163f0a14aea9e27f484b9a";
    const PRINT: &str = "1b32e42c993bce29eb43028ac0654a17dd1849c031b4861a606b0a865cc2c888";

    #[rstest]
    #[case(InputSource::Command, r#"{"command":"ls -la"}"#, LS)]
    #[case(InputSource::Command, r#"{"COMMAND":"ls -la","cwd":"/x","uid":3}"#, LS)]
    #[case(InputSource::Command, r#"{"command":"ls -la","envs":{}}"#, LS)]
    #[case(InputSource::Command, r#"{"command":"ls -la","envs":null}"#, LS)]
    #[case(InputSource::Command, r#"{"envs":{"B":"2","A":"1"},"command":"ls -la"}"#, LS_ENV)]
    #[case(InputSource::Code, r#"{"code":"print(1)","context":{"language":"python"}}"#, PRINT)]
    fn worked_values(#[case] asks: InputSource, #[case] body: &str, #[case] wanted: &str) {
        let asked = read(asks, body.as_bytes()).unwrap();
        let [item] = &asked.items[..] else { panic!("{asked:?}") };
        assert_eq!(hash(&item.input().unwrap()), format!("sha256:{wanted}"));
    }

    #[rstest]
    #[case(InputSource::Command, r#"{"command":5}"#)]
    #[case(InputSource::Command, r#"{"command":"x","envs":{"A":1}}"#)]
    #[case(InputSource::Command, "[]")]
    #[case(InputSource::Code, "{}")]
    #[case(InputSource::Names, "{}")]
    #[case(InputSource::Moves, r#"[{"src":"a"}]"#)]
    fn what_execd_does_not_take_has_no_input(#[case] asks: InputSource, #[case] body: &str) {
        let asked = read(asks, body.as_bytes()).unwrap();
        assert_eq!(asked.items, [ActionItem::default()]);
    }

    #[test]
    fn names_keep_their_order_and_case() {
        let asked = read(InputSource::Names, br#"{"b":{},"a":{},"A":{}}"#).unwrap();
        let paths = asked.items.iter().map(|item| item.input().unwrap()["path"].clone());
        assert_eq!(paths.collect::<Vec<_>>(), ["b", "a", "A"]);
    }

    #[test]
    fn no_language_is_the_shell() {
        let asked = read(InputSource::Code, br#"{"code":"ls"}"#).unwrap();
        assert_eq!(asked.items[0].input().unwrap()["language"], "command");
    }

    #[test]
    fn moves_have_both_ends() {
        let asked = read(InputSource::Moves, br#"[{"src":"a","dest":"b"}]"#).unwrap();
        assert_eq!(asked.items[0].input(), Some(json!({"path": "a", "destination": "b"})));
    }

    #[test]
    fn background_is_seen() {
        assert!(
            read(InputSource::Command, br#"{"command":"x","background":true}"#).unwrap().background
        );
    }
}
