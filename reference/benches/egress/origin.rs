//! A server of downloads and small answers, as fast as it can or at the rate of a line.

use std::io::{BufRead, BufReader, Result, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of a download.
const DOWNLOAD: usize = 100 * 1024 * 1024;
const BLOCK: usize = 1024 * 1024;
/// The number of bytes that a line of some rate gets at once.
const PIECE: usize = 128 * 1024;
const SMALL: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nsmall\n";

/// Its port. `/` is a download, `/N` one at N Mbit/s, `/small/…` a small answer.
pub(crate) fn start() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || converse(&stream));
        }
    });
    port
}

fn converse(mut stream: &TcpStream) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    while let Some(Asked { path, is_last }) = asked(&mut reader)? {
        if path.starts_with("/small/") {
            stream.write_all(SMALL)?;
            if is_last {
                break;
            }
            continue;
        }
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {DOWNLOAD}\r\n\r\n")?;
        match path.trim_start_matches('/').parse::<f64>() {
            Ok(megabits) => paced(stream, megabits)?,
            Err(_) => {
                let block = vec![7; BLOCK];
                (0..DOWNLOAD / BLOCK).try_for_each(|_| stream.write_all(&block))?;
            }
        }
    }
    Ok(())
}

struct Asked {
    path: String,
    /// The client wants no more.
    is_last: bool,
}

/// The next request.
fn asked(reader: &mut impl BufRead) -> Result<Option<Asked>> {
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let (mut line, mut is_last) = (first.clone(), false);
    while !line.trim_end().is_empty() {
        line.clear();
        reader.read_line(&mut line)?;
        is_last |= line.trim_end().eq_ignore_ascii_case("connection: close");
    }
    let path = first.split_whitespace().nth(1);
    Ok(path.map(|path| Asked { path: path.to_owned(), is_last }))
}

fn paced(mut stream: &TcpStream, megabits: f64) -> Result<()> {
    let piece = vec![7; PIECE];
    let begun = Instant::now();
    for number in 0..DOWNLOAD / PIECE {
        let bits = number as f64 * PIECE as f64 * 8.0;
        let deadline = begun + Duration::from_secs_f64(bits / megabits / 1e6);
        thread::sleep(deadline.saturating_duration_since(Instant::now()));
        stream.write_all(&piece)?;
    }
    Ok(())
}
