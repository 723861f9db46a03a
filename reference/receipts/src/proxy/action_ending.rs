//! An action that has ended: its reports, item by item.

use super::deferred_reader::DeferredReader;
use super::event_sink::ActionRecord;
use super::outcome::{ActionOutcome, AnswerEnd};
use super::request_inputs::{ActionItem, ItemContent};
use super::routes::EndpointFamily;

/// The state of an action at its end. Its outcome is read later, on another thread.
pub(super) struct ActionEnding {
    pub action: &'static str,
    pub family: Option<EndpointFamily>,
    pub items: Vec<ActionItem>,
    pub reader: DeferredReader,
    pub ended: AnswerEnd,
}

impl ActionEnding {
    /// Returns the events of the action.
    pub(super) fn action_records(&self) -> Vec<ActionRecord> {
        let outcome = self.reader.end(self.ended);
        tellings(self.action, self.family, &self.items, &outcome)
    }
}

/// Returns the event of every item.
fn tellings(
    action: &str,
    family: Option<EndpointFamily>,
    items: &[ActionItem],
    outcome: &ActionOutcome,
) -> Vec<ActionRecord> {
    let several = items.len() > 1;
    let correlation = several.then(|| uuid::Uuid::new_v4().to_string());
    // A path that execd names as failed separates the deleted paths before it from those not tried.
    let culprit = outcome.said.as_deref().filter(|_| several).and_then(|said| culprit(items, said));
    let reached = culprit.map_or(items.len(), |at| at + 1);
    let mut tellings = Vec::new();
    for (at, item) in items.iter().take(reached).enumerate() {
        let done = culprit.is_some_and(|culprit| at < culprit);
        let output = if done { Some(serde_json::json!({})) } else { item.output(outcome) };
        let error = if done { None } else { outcome.error.clone() };
        let background = outcome.id.clone().map(|id| ("opensandbox".to_owned(), id));
        tellings.push(ActionRecord {
            action: action.to_owned(),
            family,
            input: item.input(),
            output,
            error,
            correlation: correlation.clone(),
            target: item.target().or(background),
            ..ActionRecord::default()
        });
    }
    tellings
}

/// The one item that execd's message names as the one it could not remove.
fn culprit(items: &[ActionItem], said: &[u8]) -> Option<usize> {
    let said: serde_json::Value = serde_json::from_slice(said).ok()?;
    let message = said.get("message")?.as_str()?;
    let names = |item: &ActionItem| {
        let ItemContent::Path(path, _) = &item.named else { return false };
        let mut kinds = ["removing file", "removing directory", "resolving directory"].iter();
        kinds.any(|kind| message.starts_with(&format!("error {kind} {path}. ")))
    };
    let mut found = items.iter().enumerate().filter(|(_, item)| names(item));
    let (at, _) = found.next()?;
    found.next().is_none().then_some(at)
}

#[cfg(test)]
mod tests;
