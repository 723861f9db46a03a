//! Bytes from one end to the other and back, until both have said all.

use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional_with_sizes};

/// Bytes that are on their way in one direction.
const BUFFER: usize = 256 * 1024;

/// Carries bytes between `one` and `other`. Whoever breaks off breaks off both.
pub(super) async fn pipe<A, B>(mut one: A, mut other: B)
where
    A: AsyncRead + AsyncWrite + Unpin,
    B: AsyncRead + AsyncWrite + Unpin,
{
    // Each end sees for itself that the other one is gone.
    let _broken = copy_bidirectional_with_sizes(&mut one, &mut other, BUFFER, BUFFER).await;
}
