//! The body of an answer to an agent, execd's or the proxy's own.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use super::response_tap::ResponseTap;

/// One of the bodies that there are.
pub(super) enum OutgoingBody {
    /// The body of execd, which is watched.
    Watched(ResponseTap),
    /// The body of execd.
    Passed(Incoming),
    /// Our own.
    Whole(Full<Bytes>),
}

impl Body for OutgoingBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match self.get_mut() {
            Self::Watched(body) => Pin::new(body).poll_frame(context),
            Self::Passed(body) => Pin::new(body).poll_frame(context),
            Self::Whole(body) => Pin::new(body).poll_frame(context).map_err(|never| match never {}),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Watched(body) => body.is_end_stream(),
            Self::Passed(body) => body.is_end_stream(),
            Self::Whole(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Watched(body) => body.size_hint(),
            Self::Passed(body) => body.size_hint(),
            Self::Whole(body) => body.size_hint(),
        }
    }
}
