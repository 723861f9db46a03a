//! An answer on its way to the agent, watched: at its end, the action is reported.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use super::action_ending::ActionEnding;
use super::deferred_reader::DeferredReader;
use super::event_sink::{EventSink, OpenAction, PendingDebt};
use super::outcome::{AnswerEnd, OutcomeReader};
use super::request_inputs::ActionItem;
use super::routes::EndpointFamily;

/// An action that has begun, until it is reported.
pub(super) struct ActionWatch {
    action: &'static str,
    family: Option<EndpointFamily>,
    pub items: Vec<ActionItem>,
    reader: DeferredReader,
    teller: Arc<EventSink>,
    /// The owed events that are not reported yet.
    owed: Option<PendingDebt>,
    /// The end of the answer, where it is still to be reported.
    due: Option<AnswerEnd>,
    _open: OpenAction,
}

impl ActionWatch {
    /// Watches an action on `items`.
    pub(super) fn new(
        teller: &Arc<EventSink>,
        (action, family): (&'static str, Option<EndpointFamily>),
        items: Vec<ActionItem>,
        reader: OutcomeReader,
    ) -> Self {
        let ((open, owed), teller) = (teller.begin(), Arc::clone(teller));
        let (reader, owed) = (DeferredReader::new(reader), Some(owed));
        Self { action, family, items, reader, teller, owed, due: None, _open: open }
    }

    /// The answer began.
    pub(super) fn begins(&mut self, status: u16) {
        self.reader.begins(status);
        // A redirection carries nothing out; the request that follows it is reported by itself.
        if self.family.is_some() && matches!(status, 301 | 302 | 307 | 308) {
            self.forget();
        }
    }

    /// Leaves the report to another watch.
    pub(super) fn forget(&mut self) {
        self.owed = None;
    }

    /// Reports the action at its end; where its answer may be still unread, after the answer is on
    /// its way: not before the agent's bytes are written. A task that never runs reports when it is
    /// dropped.
    fn end_behind(mut self, ended: AnswerEnd) {
        if self.reader.is_short() {
            return self.end(ended);
        }
        self.due = Some(ended);
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(async move { self.end(ended) })),
            Err(_) => self.end(ended),
        }
    }

    /// Reports the action at its end, once.
    pub(super) fn end(&mut self, ended: AnswerEnd) {
        let Some(owed) = self.owed.take() else { return };
        let (action, family, reader) = (self.action, self.family, self.reader.clone());
        reader.leave_little();
        let items = std::mem::take(&mut self.items);
        self.teller.ended(ActionEnding { action, family, items, reader, ended }, owed);
    }
}

impl Drop for ActionWatch {
    fn drop(&mut self) {
        let early = if self.teller.is_stopping() { AnswerEnd::Stopped } else { AnswerEnd::Left };
        self.end(self.due.unwrap_or(early));
    }
}

/// A body whose bytes are watched on their way.
pub(super) struct ResponseTap {
    inner: Option<Incoming>,
    watch: Option<ActionWatch>,
    /// The answer is read on after the agent has closed, as the action continues.
    drains: bool,
}

impl ResponseTap {
    /// Watches `inner` for `watch`.
    pub(super) fn new(inner: Incoming, watch: ActionWatch, drains: bool) -> Self {
        let mut watch = Some(watch);
        if inner.is_end_stream()
            && let Some(watch) = watch.take()
        {
            watch.end_behind(AnswerEnd::Whole);
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
                over.then_some(AnswerEnd::Whole)
            }
            Some(Err(_)) => Some(AnswerEnd::Cut),
            None => Some(AnswerEnd::Whole),
        };
        if let Some(ended) = ended
            && let Some(watch) = self.watch.take()
        {
            watch.end_behind(ended);
        }
    }
}

impl Body for ResponseTap {
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

impl Drop for ResponseTap {
    fn drop(&mut self) {
        let (Some(inner), Some(watch)) = (self.inner.take(), self.watch.take()) else { return };
        let stays = self.drains && watch.owed.is_some() && !watch.teller.is_stopping();
        if let Ok(runtime) = tokio::runtime::Handle::try_current()
            && stays
        {
            runtime.spawn(drain(inner, watch));
        }
    }
}

/// Reads on to the end, only for the receipt.
async fn drain(mut inner: Incoming, mut watch: ActionWatch) {
    loop {
        match inner.frame().await {
            Some(Ok(frame)) => {
                if let Some(bytes) = frame.data_ref() {
                    watch.reader.feed(bytes);
                }
            }
            Some(Err(_)) => return watch.end(AnswerEnd::Cut),
            None => return watch.end(AnswerEnd::Whole),
        }
    }
}
