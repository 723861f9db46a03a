//! An agent that asks and throws away what it gets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// One connection.
pub(crate) struct Client(BufReader<TcpStream>);

impl Client {
    pub(crate) fn connect(to: SocketAddr) -> Self {
        let stream = TcpStream::connect(to).unwrap();
        stream.set_nodelay(true).unwrap();
        Self(BufReader::with_capacity(256 << 10, stream))
    }

    /// Asks for a file of this size; how long it took to have it.
    pub(crate) fn get(&mut self, size: u64) -> Duration {
        let begun = Instant::now();
        let request = format!("GET /files/download?path={size} HTTP/1.1\r\nHost: e\r\n\r\n");
        self.0.get_mut().write_all(request.as_bytes()).unwrap();
        let (mut line, mut length) = (String::new(), None);
        while line != "\r\n" {
            line.clear();
            self.0.read_line(&mut line).unwrap();
            if let Some(value) = line.to_lowercase().strip_prefix("content-length: ") {
                length = value.trim().parse().ok();
            }
        }
        assert_eq!(length, Some(size));
        let mut body = (&mut self.0).take(size);
        let copied = std::io::copy(&mut body, &mut std::io::sink()).unwrap();
        assert_eq!(copied, size);
        begun.elapsed()
    }
}
