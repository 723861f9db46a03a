//! Terminals: a record, and from the first connection on a shell with pipes.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// A message to a connected client.
pub(super) enum ClientMessage {
    Binary(Vec<u8>),
    Text(String),
    /// The end, with a code and a reason.
    Close(u16, &'static str),
}

/// All terminals.
#[derive(Default)]
pub(super) struct ShellSessions(Mutex<HashMap<String, Arc<Mutex<ShellSession>>>>);

/// One terminal.
#[derive(Default)]
pub(super) struct ShellSession {
    command: Option<String>,
    /// Everything printed so far; a real one keeps 1 MiB.
    printed: Vec<u8>,
    client: Option<UnboundedSender<ClientMessage>>,
    stdin: Option<UnboundedSender<Vec<u8>>>,
    group: Option<i32>,
}

/// Locks `mutex`, even if a thread panicked while it held the lock.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ShellSessions {
    /// Makes a record, and returns its name.
    pub(super) fn create(&self, command: Option<&str>) -> String {
        let id = uuid::Uuid::new_v4().to_string();
        let command = command.filter(|text| !text.is_empty()).map(str::to_owned);
        let shell = ShellSession { command, ..ShellSession::default() };
        lock(&self.0).insert(id.clone(), Arc::new(Mutex::new(shell)));
        id
    }

    pub(super) fn get(&self, id: &str) -> Option<Arc<Mutex<ShellSession>>> {
        lock(&self.0).get(id).cloned()
    }

    /// Kills the shell and forgets it.
    pub(super) fn delete(&self, id: &str) -> bool {
        let gone = lock(&self.0).remove(id);
        if let Some(shell) = &gone {
            lock(shell).signal("SIGKILL");
        }
        gone.is_some()
    }
}

impl ShellSession {
    /// Returns whether a client is connected.
    pub(super) fn is_taken(&self) -> bool {
        self.client.as_ref().is_some_and(|client| !client.is_closed())
    }

    /// Its state, as execd shows it.
    pub(super) fn state(&self, id: &str) -> serde_json::Value {
        json!({"session_id": id, "running": self.group.is_some(),
            "output_offset": self.printed.len()})
    }

    pub(super) fn signal(&self, name: &str) {
        if let (Some(group), Ok(signal)) = (self.group, name.parse::<Signal>()) {
            // It may be gone already.
            let _sent = killpg(Pid::from_raw(group), signal);
        }
    }

    pub(super) fn type_in(&self, bytes: &[u8]) {
        if let Some(stdin) = &self.stdin {
            // A shell that is gone reads nothing.
            let _unread = stdin.send(bytes.to_vec());
        }
    }

    fn send_to_client(&self, say: ClientMessage) {
        if let Some(client) = &self.client {
            // A client that is gone hears nothing.
            let _unheard = client.send(say);
        }
    }
}

/// Connects a client, and notifies the previous one; starts the shell unless it runs.
pub(super) fn attach(
    shell: &Arc<Mutex<ShellSession>>,
    id: &str,
    since: usize,
) -> UnboundedReceiver<ClientMessage> {
    let (send, said) = unbounded_channel();
    let mut held = lock(shell);
    held.send_to_client(ClientMessage::Close(4001, "TAKEN_OVER"));
    held.client = Some(send);
    if since < held.printed.len() {
        let mut replay = vec![3];
        replay.extend((since as u64).to_be_bytes());
        replay.extend(&held.printed[since..]);
        held.send_to_client(ClientMessage::Binary(replay));
    }
    let connected = json!({"type": "connected", "session_id": id, "mode": "pipe"});
    held.send_to_client(ClientMessage::Text(connected.to_string()));
    if held.group.is_none()
        && let Err(error) = start(&mut held, shell)
    {
        let failed = json!({"type": "error", "code": "START_FAILED", "error": error.to_string()});
        held.send_to_client(ClientMessage::Text(failed.to_string()));
    }
    said
}

fn start(held: &mut ShellSession, shell: &Arc<Mutex<ShellSession>>) -> std::io::Result<()> {
    let mut command = Command::new("sh");
    if let Some(line) = &held.command {
        command.arg("-c").arg(line);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.process_group(0).kill_on_drop(true).spawn()?;
    held.group = child.id().and_then(|id| i32::try_from(id).ok());
    let (stdin, mut typed) = unbounded_channel::<Vec<u8>>();
    held.stdin = Some(stdin);
    let (pipe, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    tokio::spawn(async move {
        let Some(mut pipe) = pipe else { return };
        while let Some(bytes) = typed.recv().await {
            if pipe.write_all(&bytes).await.is_err() {
                return;
            }
        }
    });
    let shell = Arc::clone(shell);
    tokio::spawn(async move {
        tokio::join!(print(&shell, 1, out), print(&shell, 2, err));
        let status = child.wait().await;
        let code = status.ok().and_then(|status| status.code()).unwrap_or(-1);
        let mut held = lock(&shell);
        (held.group, held.stdin) = (None, None);
        held.send_to_client(ClientMessage::Text(
            json!({"type": "exit", "exit_code": code}).to_string(),
        ));
        held.send_to_client(ClientMessage::Close(1000, ""));
        held.client = None;
    });
    Ok(())
}

async fn print(shell: &Arc<Mutex<ShellSession>>, tag: u8, from: Option<impl AsyncRead + Unpin>) {
    let Some(mut from) = from else { return };
    let mut piece = vec![0; 8 << 10];
    while let Ok(count @ 1..) = from.read(&mut piece).await {
        let mut held = lock(shell);
        held.printed.extend_from_slice(&piece[..count]);
        held.send_to_client(ClientMessage::Binary([&[tag], &piece[..count]].concat()));
    }
}
