//! A channel as a body: it passes on pieces as they are sent.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame};
use tokio::sync::mpsc::Receiver;

/// An error that ends a body early.
pub(crate) type BodyError = Box<dyn Error + Send + Sync>;

/// A piece of a body.
pub(crate) type BodyPiece = Result<Frame<Bytes>, BodyError>;

/// The body; it ends when all senders are dropped.
pub(crate) struct ChannelBody(pub Receiver<BodyPiece>);

impl Body for ChannelBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        self.0.poll_recv(context)
    }
}
