//! The requests of the agent in the demonstration: a command, code, files, a terminal.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{Message, client};

/// Works through the proxy; an error where an answer is not as it should be.
pub(super) fn run(proxy: SocketAddr, directory: &Path) -> Result<(), String> {
    let agent = DemoAgent(proxy);
    let work = directory.join("work");
    let file = work.join("notes.txt");
    let (work, file) = (work.display().to_string(), file.display().to_string());
    agent.does("POST", "/command", "", &json!({"command": "echo hello from a sandbox"}))?;
    agent.does("POST", "/command", "", &json!({"command": "exit 3"}))?;
    let code = json!({"code": "print('hello')\n41 + 1", "context": {"language": "python"}});
    agent.does("POST", "/code", "", &code)?;
    agent.does("POST", "/directories", "", &json!({&work: {"mode": 755}}))?;
    agent.uploads(&file, "a line that no receipt holds\n")?;
    agent.does("GET", &format!("/files/download?path={file}"), "", &Value::Null)?;
    agent.does("GET", &format!("/directories/list?path={work}"), "", &Value::Null)?;
    agent.does("DELETE", &format!("/files?path={file}"), "", &Value::Null)?;
    let refused = json!({"command": "true", "COMMAND": "id"}).to_string();
    if agent.asks("POST", "/command", "", &refused)?.starts_with("HTTP/1.1 200") {
        return Err("a body with two readings was let through".to_owned());
    }
    agent.terminal()
}

/// The agent, a client of the proxy at this address.
struct DemoAgent(SocketAddr);

impl DemoAgent {
    fn asks(&self, method: &str, path: &str, more: &str, body: &str) -> Result<String, String> {
        let wrong = |error: std::io::Error| format!("{method} {path}: {error}");
        let mut stream = TcpStream::connect(self.0).map_err(wrong)?;
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: execd\r\n{more}Content-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(format!("{head}{body}").as_bytes()).map_err(wrong)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).map_err(wrong)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    fn does(&self, method: &str, path: &str, more: &str, body: &Value) -> Result<String, String> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.succeeds(method, path, more, &body)
    }

    fn succeeds(&self, method: &str, path: &str, more: &str, body: &str) -> Result<String, String> {
        let answer = self.asks(method, path, more, body)?;
        let line = answer.lines().next().unwrap_or_default().to_owned();
        if line.contains(" 200") || line.contains(" 201") {
            return Ok(answer);
        }
        Err(format!("{method} {path}: {line:?}"))
    }

    fn uploads(&self, path: &str, content: &str) -> Result<(), String> {
        let metadata = json!({"path": path, "mode": 644});
        let part = "\r\nContent-Disposition: form-data; name=";
        let body = format!(
            "--b{part}\"metadata\"; filename=\"metadata\"\r\n\r\n{metadata}\r\n--b{part}\"file\"; filename=\"file\"\r\n\r\n{content}\r\n--b--\r\n"
        );
        let kind = "Content-Type: multipart/form-data; boundary=b\r\n";
        self.succeeds("POST", "/files/upload", kind, &body).map(drop)
    }

    /// A shell that is typed to, and that leaves by itself.
    fn terminal(&self) -> Result<(), String> {
        let made = self.does("POST", "/pty", "", &json!({}))?;
        let (_, body) = made.split_once("\r\n\r\n").unwrap_or_default();
        let made: Value = serde_json::from_str(body).map_err(|error| error.to_string())?;
        let id = made.get("session_id").and_then(Value::as_str).unwrap_or_default();
        let stream = TcpStream::connect(self.0).map_err(|error| error.to_string())?;
        let url = format!("ws://{}/pty/{id}/ws", self.0);
        let (mut shell, _) = client(url, stream).map_err(|error| error.to_string())?;
        let typed = Message::binary(b"\0echo typed; exit 0\n".to_vec());
        shell.send(typed).map_err(|error| error.to_string())?;
        loop {
            match shell.read().map_err(|error| error.to_string())? {
                Message::Text(text) if text.contains("\"exit\"") => return Ok(()),
                _ => {}
            }
        }
    }
}
