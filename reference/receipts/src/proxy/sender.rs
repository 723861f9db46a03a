//! The transport of events from the queue to the relay, on a thread of its own.
//!
//! No agent waits for it, and it waits for a pause of the agents, though not for long: reporting
//! must cost them nothing. All events of that time go out together, one post a frame. Frames that
//! the relay does not take are counted, and the next frame that is sent carries the number.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use hyper::StatusCode;
use tokio::sync::mpsc::Receiver;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::debt_journal::DebtJournal;
use super::drop_counter::DropCounter;
use super::event_sink::QueuedEvent;
use super::frame_builder::FrameBuilder;
use super::in_flight::InFlightFrames;
use super::relay_connection::{RelayConnection, RelayEndpoint};

/// The pause of the agents after which waiting events are sent.
const PAUSE: Duration = Duration::from_millis(10);
/// The maximum delay of an event while agents make no pause.
const LINGER: Duration = Duration::from_millis(100);
/// The maximum number of frames in flight. If the connection breaks then, they count as lost.
const MOST: usize = 32;
/// The number of bytes in flight above which no other frame is sent.
const ENOUGH: usize = 256 << 10;

/// The counts of frames by result.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct SendCounts {
    /// The relay took them.
    pub taken: u64,
    /// The relay says that they are wrong; these are no drops.
    pub wrong: u64,
}

/// The sending thread.
pub(super) struct FrameSender {
    relay: RelayEndpoint,
    framing: FrameBuilder,
    drops: Arc<DropCounter>,
    account: Arc<DebtJournal>,
    sent: SendCounts,
    link: Option<RelayConnection>,
    /// The current limit of frames in flight: one after a loss, doubled each time that all were
    /// taken.
    window: usize,
}

impl FrameSender {
    /// Nothing is connected yet.
    pub(super) fn new(
        relay: RelayEndpoint,
        framing: FrameBuilder,
        drops: Arc<DropCounter>,
        account: Arc<DebtJournal>,
    ) -> Self {
        Self { relay, framing, drops, account, sent: SendCounts::default(), link: None, window: 1 }
    }

    /// Sends until the queue is closed and empty, or until `stop`, after which the rest is lost.
    pub(super) async fn send(
        mut self,
        mut queue: Receiver<QueuedEvent>,
        stop: oneshot::Receiver<()>,
    ) -> SendCounts {
        tokio::select! {
            biased;
            _ = stop => {}
            () = self.send_all(&mut queue) => {}
        }
        while let Ok(event) = queue.try_recv() {
            self.drops.add(event.lost(&self.account));
        }
        self.sent
    }

    async fn send_all(&mut self, queue: &mut Receiver<QueuedEvent>) {
        while let Some(first) = queue.recv().await {
            let mut underway = InFlightFrames::new(&self.drops, &self.account);
            underway.push(self.framing.frames(first));
            if !queue.is_closed() {
                self.linger().await;
            }
            // Events from now on wait for others again.
            let mut due = queue.len();
            loop {
                while due > 0
                    && underway.len() < MOST
                    && let Ok(event) = queue.try_recv()
                {
                    due -= 1;
                    underway.push(self.framing.frames(event));
                }
                if underway.len() == 0 {
                    break;
                }
                self.send_some(&mut underway).await;
            }
        }
    }

    /// Returns when agents make a pause, or when it has been long enough.
    async fn linger(&self) {
        let (mut left, mut pause) = (LINGER, PAUSE);
        while !left.is_zero() {
            let before = self.account.changes();
            let _pause = timeout(pause, pending::<()>()).await;
            if self.account.changes() == before {
                return;
            }
            left -= pause;
            // Looking costs something, too.
            pause = (4 * pause).min(left);
        }
    }

    /// Sends as many as may be on their way; at least one of them is settled or lost then.
    async fn send_some(&mut self, underway: &mut InFlightFrames) {
        let (posts, mut left) = self.posts(underway);
        if left == 0 {
            return underway.lost("it is no JSON");
        }
        let all = left;
        let mut link = match self.link().await {
            Ok(link) => link,
            Err(why) => return self.lost(underway, all, &why),
        };
        let (sent, authority) = (&mut self.sent, &self.relay.authority);
        let (mut lost, mut ended) = (false, false);
        let told = link
            .exchange((&posts, all), |answer| {
                left -= 1;
                ended = answer.last;
                match answer.status {
                    StatusCode::ACCEPTED => {
                        underway.taken();
                        sent.taken += 1;
                    }
                    status @ (StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE) => {
                        underway.wrong();
                        sent.wrong += 1;
                        eprintln!("proxy: {authority} refuses a frame of ours as wrong: {status}");
                    }
                    status => {
                        underway.lost(&format!("the relay answered {status}"));
                        lost = true;
                    }
                }
            })
            .await;
        match told {
            // Frames left then were not read by the relay, and are sent again.
            Ok(()) if !ended && !lost => self.link = Some(link),
            Ok(()) => {}
            Err(why) => return self.lost(underway, left, &why),
        }
        self.window = if lost { 1 } else { (2 * self.window).min(MOST) };
    }

    /// Counts `count` frames as lost, as far as is known here.
    fn lost(&mut self, underway: &mut InFlightFrames, count: usize, why: &str) {
        (0..count).for_each(|_| underway.lost(why));
        self.window = 1;
    }

    /// The connection that is there, or another one.
    async fn link(&mut self) -> Result<RelayConnection, String> {
        if let Some(mut kept) = self.link.take()
            && kept.is_open().await
        {
            return Ok(kept);
        }
        RelayConnection::connect(&self.relay).await
    }

    /// Posts of the first frames, one behind the other, and how many these are.
    fn posts(&self, underway: &mut InFlightFrames) -> (Vec<u8>, usize) {
        let (mut posts, mut count) = (Vec::new(), 0);
        for frame in underway.loaded().take(self.window) {
            let Ok(body) = serde_json::to_vec(frame) else { break };
            let (to, length) = (&self.relay.authority, body.len());
            let head = format!(
                "POST /ingest HTTP/1.1\r\nhost: {to}\r\ncontent-type: application/json\r\n\
                 content-length: {length}\r\n\r\n"
            );
            posts.extend_from_slice(head.as_bytes());
            posts.extend_from_slice(&body);
            count += 1;
            // Other threads that wait for this processor go first.
            std::thread::yield_now();
            if posts.len() > ENOUGH {
                break;
            }
        }
        (posts, count)
    }
}

#[cfg(test)]
mod tests;
