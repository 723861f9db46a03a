//! The lifetime of a way out: it is served until the run is over, and bytes sent before then are
//! delivered.

use std::convert::Infallible;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

/// The time limit for delivering sent bytes, once no sender is left.
const DELIVERY: Duration = Duration::from_secs(2);

/// A handle held by every task that carries bytes.
#[derive(Clone)]
pub(super) struct ConnectionGuard {
    over: watch::Receiver<bool>,
    _held: mpsc::Sender<Infallible>,
}

/// Sees to the end.
pub(super) struct ShutdownWaiter {
    over: watch::Receiver<bool>,
    all: mpsc::Receiver<Infallible>,
}

/// Says that the run is over, also when it is dropped.
pub(super) struct ShutdownTrigger(watch::Sender<bool>);

/// Makes the handle of tasks, the end that waits for them, and the stop that ends them.
pub(super) fn life() -> (ConnectionGuard, ShutdownWaiter, ShutdownTrigger) {
    let (stop, over) = watch::channel(false);
    let (held, all) = mpsc::channel(1);
    (
        ConnectionGuard { over: over.clone(), _held: held },
        ShutdownWaiter { over, all },
        ShutdownTrigger(stop),
    )
}

impl ConnectionGuard {
    /// Waits until the run is over.
    pub(super) async fn over(&mut self) {
        wait(&mut self.over).await;
    }
}

impl ShutdownWaiter {
    /// Waits until the run is over.
    pub(super) async fn over(&mut self) {
        wait(&mut self.over).await;
    }

    /// Waits for all tasks that carry bytes, for at most [`DELIVERY`].
    pub(super) async fn delivered(mut self) {
        // A task that is still busy by then waits for a receiver that does not read.
        let _late = timeout(DELIVERY, self.all.recv()).await;
    }
}

impl ShutdownTrigger {
    /// The run is over.
    pub(super) fn stop(self) {
        self.0.send_replace(true);
    }
}

async fn wait(over: &mut watch::Receiver<bool>) {
    // An error means that the sender is gone.
    let _gone = over.wait_for(|over| *over).await;
}
