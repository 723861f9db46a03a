//! A substitute for splicing: no door leads here, so that no client is ever served.

use tokio::net::TcpStream;

use super::shutdown::ConnectionGuard;

/// Both are closed.
pub(super) async fn pipe(_client: TcpStream, _server: TcpStream, _life: ConnectionGuard) {}
