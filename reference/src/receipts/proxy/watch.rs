//! An answer on its way to the agent, watched: when it ends, the action is told.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use super::asked::Item;
use super::behind::Behind;
use super::outcome::{Ended, Outcome, Reader};
use super::routes::Family;
use super::tell::{Open, Teller, Told};

/// An action that has begun, until it is told.
pub(super) struct Watch {
    action: &'static str,
    family: Option<Family>,
    pub items: Vec<Item>,
    reader: Behind,
    teller: Arc<Teller>,
    told: bool,
    /// How the answer ended, where that is still to be told.
    due: Option<Ended>,
    _open: Open,
}

impl Watch {
    /// Watches an action on `items`.
    pub(super) fn new(
        teller: &Arc<Teller>,
        (action, family): (&'static str, Option<Family>),
        items: Vec<Item>,
        reader: Reader,
    ) -> Self {
        let (teller, open) = (Arc::clone(teller), teller.begin());
        let reader = Behind::new(reader);
        Self { action, family, items, reader, teller, told: false, due: None, _open: open }
    }

    /// The answer began.
    pub(super) fn begins(&mut self, status: u16) {
        self.reader.begins(status);
        // A redirection carries nothing out; what follows it is told by itself.
        self.told |= self.family.is_some() && matches!(status, 301 | 302 | 307 | 308);
    }

    /// Somebody else tells of it.
    pub(super) fn forget(&mut self) {
        self.told = true;
    }

    /// Tells what is known at this end when the answer is on its way: not before what the agent
    /// waits for is written. A task that never runs tells when it is dropped.
    fn end_behind(mut self, ended: Ended) {
        self.due = Some(ended);
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(async move { self.end(ended) })),
            Err(_) => self.end(ended),
        }
    }

    /// Tells what is known at this end, once.
    pub(super) fn end(&mut self, ended: Ended) {
        if std::mem::replace(&mut self.told, true) {
            return;
        }
        let outcome = self.reader.end(ended);
        for told in tellings(self.action, self.family, &self.items, &outcome) {
            self.teller.tell(told);
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let early = if self.teller.is_stopping() { Ended::Stopped } else { Ended::Left };
        self.end(self.due.unwrap_or(early));
    }
}

/// What is told of every item.
fn tellings(action: &str, family: Option<Family>, items: &[Item], outcome: &Outcome) -> Vec<Told> {
    let several = items.len() > 1;
    let correlation = several.then(|| uuid::Uuid::new_v4().to_string());
    // Where execd names the path it failed at, those before are gone and those after were not tried.
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
            input: item.input.clone(),
            output,
            error,
            correlation: correlation.clone(),
            target: item.target.clone().or(background),
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
        let path = item.input.as_ref().and_then(|input| input.get("path")?.as_str());
        let begins = |kind, path| message.starts_with(&format!("error {kind} {path}. "));
        path.is_some_and(|path| {
            ["removing file", "removing directory", "resolving directory"]
                .iter()
                .any(|kind| begins(kind, path))
        })
    };
    let mut found = items.iter().enumerate().filter(|(_, item)| names(item));
    let (at, _) = found.next()?;
    found.next().is_none().then_some(at)
}

/// A body whose bytes are watched on their way.
pub(super) struct Watched {
    inner: Option<Incoming>,
    watch: Option<Watch>,
    /// An agent that goes away does not end the action.
    drains: bool,
}

impl Watched {
    /// Watches `inner` for `watch`.
    pub(super) fn new(inner: Incoming, watch: Watch, drains: bool) -> Self {
        let mut watch = Some(watch);
        if inner.is_end_stream()
            && let Some(watch) = watch.take()
        {
            watch.end_behind(Ended::Whole);
        }
        Self { inner: Some(inner), watch, drains }
    }

    fn sees(&mut self, polled: &Option<Result<Frame<Bytes>, hyper::Error>>) {
        let over = self.inner.as_ref().is_none_or(Body::is_end_stream);
        let Some(watch) = &mut self.watch else { return };
        let ended = match polled {
            Some(Ok(frame)) => {
                if let Some(bytes) = frame.data_ref() {
                    watch.reader.feed(bytes);
                }
                over.then_some(Ended::Whole)
            }
            Some(Err(_)) => Some(Ended::Cut),
            None => Some(Ended::Whole),
        };
        if let Some(ended) = ended
            && let Some(watch) = self.watch.take()
        {
            watch.end_behind(ended);
        }
    }
}

impl Body for Watched {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(inner) = &mut self.inner else { return Poll::Ready(None) };
        let polled = Pin::new(inner).poll_frame(context);
        if let Poll::Ready(polled) = &polled {
            self.sees(polled);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or_else(SizeHint::default, Body::size_hint)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let (Some(inner), Some(watch)) = (self.inner.take(), self.watch.take()) else { return };
        let stays = self.drains && !watch.told && !watch.teller.is_stopping();
        if let Ok(runtime) = tokio::runtime::Handle::try_current()
            && stays
        {
            runtime.spawn(drain(inner, watch));
        }
    }
}

/// Reads on to the end, for nobody but the receipt.
async fn drain(mut inner: Incoming, mut watch: Watch) {
    loop {
        match inner.frame().await {
            Some(Ok(frame)) => {
                if let Some(bytes) = frame.data_ref() {
                    watch.reader.feed(bytes);
                }
            }
            Some(Err(_)) => return watch.end(Ended::Cut),
            None => return watch.end(Ended::Whole),
        }
    }
}

#[cfg(test)]
mod tests;
