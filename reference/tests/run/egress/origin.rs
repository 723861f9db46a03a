//! An HTTP server of the host that remembers who asked it for what: the oracle of these tests.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// The answer to a request without a file.
pub(crate) const TEXT: &str = "from the origin";

/// A server, for as long as the test runs.
pub(crate) struct Origin {
    pub(crate) port: u16,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    /// `HOST PATH` of every request.
    requests: Mutex<Vec<String>>,
    connections: AtomicUsize,
    open: AtomicUsize,
}

impl Origin {
    /// Serves the files below `directory`; `/to/URL` redirects to `http://URL`.
    pub(crate) fn new(directory: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Seen::default());
        let (theirs, directory) = (Arc::clone(&seen), directory.to_owned());
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (seen, directory) = (Arc::clone(&theirs), directory.clone());
                seen.connections.fetch_add(1, Ordering::SeqCst);
                seen.open.fetch_add(1, Ordering::SeqCst);
                std::thread::spawn(move || {
                    let _broken_off = converse(stream, &directory, &seen);
                    seen.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { port, seen }
    }

    /// Returns the requests since the last call.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.seen.requests.lock().unwrap())
    }

    /// Connections that were ever made.
    pub(crate) fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    /// Connections that are.
    pub(crate) fn open(&self) -> usize {
        self.seen.open.load(Ordering::SeqCst)
    }
}

fn converse(stream: TcpStream, directory: &Path, seen: &Seen) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some(request) = read_request(&mut reader)? {
        let Request { path, host, line } = request;
        seen.requests.lock().unwrap().push(format!("{host} {line}"));
        write(&stream, &path, directory)?;
    }
    Ok(())
}

struct Request {
    path: String,
    host: String,
    /// Method, path and length of the body.
    line: String,
}

fn read_request(reader: &mut impl BufRead) -> std::io::Result<Option<Request>> {
    let mut first = String::new();
    if reader.read_line(&mut first)? == 0 {
        return Ok(None);
    }
    let (mut host, mut length, mut extra) = (String::new(), 0, String::new());
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "host" => host = value.to_owned(),
            "content-length" => length = value.parse().unwrap(),
            "proxy-authorization" | "proxy-connection" | "x-hop" | "transfer-encoding" | "te" => {
                extra.push_str(&format!(" {}", name.to_lowercase()));
            }
            _ => {}
        }
    }
    if extra.contains("transfer-encoding") {
        extra.push_str(&chunks(reader)?);
    }
    reader.read_exact(&mut vec![0; length])?;
    let mut words = first.split_whitespace();
    let (method, path) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let line = format!("{method} {path}{extra}");
    Ok(Some(Request { path: path.to_owned(), host, line }))
}

/// A space and the body in chunks.
fn chunks(reader: &mut impl BufRead) -> std::io::Result<String> {
    let mut body = " ".to_owned();
    loop {
        let mut length = String::new();
        reader.read_line(&mut length)?;
        let length = usize::from_str_radix(length.trim(), 16).unwrap();
        let mut chunk = vec![0; length + 2];
        reader.read_exact(&mut chunk)?;
        if length == 0 {
            return Ok(body);
        }
        body.push_str(std::str::from_utf8(&chunk[..length]).unwrap());
    }
}

fn write(mut stream: &TcpStream, path: &str, directory: &Path) -> std::io::Result<()> {
    let path = path.split('?').next().unwrap_or("");
    if let Some(to) = path.strip_prefix("/to/") {
        return write!(
            stream,
            "HTTP/1.1 302 Found\r\nlocation: http://{to}\r\ncontent-length: 0\r\n\r\n"
        );
    }
    let file: PathBuf = directory.join(path.trim_start_matches('/'));
    let body = match (path.starts_with("/repo/"), fs::read(file)) {
        (_, Ok(body)) => body,
        (true, Err(_)) => return stream.write_all(NOT_FOUND),
        (false, Err(_)) => TEXT.into(),
    };
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )?;
    stream.write_all(&body)
}

const NOT_FOUND: &[u8] = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";
