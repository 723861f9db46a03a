//! An action that has ended: its reports, item by item.

use super::asked::{Item, Named};
use super::behind::Behind;
use super::outcome::{Ended, Outcome};
use super::routes::Family;
use super::tell::Told;

/// The state of an action at its end. Its outcome is read later, on another thread.
pub(super) struct Ending {
    pub action: &'static str,
    pub family: Option<Family>,
    pub items: Vec<Item>,
    pub reader: Behind,
    pub ended: Ended,
}

impl Ending {
    /// Returns the events of the action.
    pub(super) fn told(&self) -> Vec<Told> {
        let outcome = self.reader.end(self.ended);
        tellings(self.action, self.family, &self.items, &outcome)
    }
}

/// Returns the event of every item.
fn tellings(action: &str, family: Option<Family>, items: &[Item], outcome: &Outcome) -> Vec<Told> {
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
        tellings.push(Told {
            action: action.to_owned(),
            family,
            input: item.input(),
            output,
            error,
            correlation: correlation.clone(),
            target: item.target().or(background),
            ..Told::default()
        });
    }
    tellings
}

/// The one item that execd's message names as the one it could not remove.
fn culprit(items: &[Item], said: &[u8]) -> Option<usize> {
    let said: serde_json::Value = serde_json::from_slice(said).ok()?;
    let message = said.get("message")?.as_str()?;
    let names = |item: &Item| {
        let Named::Path(path, _) = &item.named else { return false };
        let mut kinds = ["removing file", "removing directory", "resolving directory"].iter();
        kinds.any(|kind| message.starts_with(&format!("error {kind} {path}. ")))
    };
    let mut found = items.iter().enumerate().filter(|(_, item)| names(item));
    let (at, _) = found.next()?;
    found.next().is_none().then_some(at)
}

#[cfg(test)]
mod tests;
