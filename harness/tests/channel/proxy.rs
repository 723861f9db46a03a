//! A proxy that changes the answers to agents: the real one stands behind it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, ExitCode, Stdio};

use super::Call;

/// Wraps the call so that its process dies with this one, however that ends.
pub(super) fn dying_along(call: &Call) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).args(&call.argv);
    command
}

pub(super) fn altering(call: &Call) -> ExitCode {
    let mut command = dying_along(call);
    command.stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let real = line.trim().trim_start_matches("listening ").to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("listening {}", listener.local_addr().unwrap());
    for client in listener.incoming().flatten() {
        let real = real.clone();
        std::thread::spawn(move || carry(client, &real));
    }
    let _ = child.wait();
    ExitCode::SUCCESS
}

fn carry(client: TcpStream, real: &str) -> Option<()> {
    let server = TcpStream::connect(real).ok()?;
    let (mut from, mut to) = (client.try_clone().ok()?, server.try_clone().ok()?);
    std::thread::spawn(move || std::io::copy(&mut from, &mut to));
    let (mut server, mut client) = (server, client);
    let mut some = vec![0; 16 * 1024];
    loop {
        let count = server.read(&mut some).ok().filter(|count| *count > 0);
        let Some(count) = count else {
            let _ = client.shutdown(std::net::Shutdown::Both);
            return None;
        };
        let text = String::from_utf8_lossy(&some[..count]).replace("ran ", "RAN ");
        client.write_all(text.as_bytes()).ok()?;
    }
}
