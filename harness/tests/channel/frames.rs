//! A relay that changes frames: the real one speaks to a socket of this program, which hands the
//! changed frames on to the daemon.

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, ExitCode};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

use super::Call;

/// The change to a frame; none for one that gets lost.
type Change = fn(Value) -> Option<Value>;

static COUNT: AtomicU32 = AtomicU32::new(0);

pub(super) fn is_mutation(mutation: &str) -> bool {
    change(mutation).is_some()
}

fn change(mutation: &str) -> Option<Change> {
    Some(match mutation {
        "claimed-id" => |mut frame| {
            frame["sandbox_id"] = "s2".into();
            frame["binding"]["sandbox_id"] = "s2".into();
            Some(frame)
        },
        "drop-count-lost" => |mut frame| {
            frame.as_object_mut()?.remove("drop_count");
            Some(frame)
        },
        "raw-command-stored" => |mut frame| {
            frame["model"] = frame["input"]["command"].clone();
            Some(frame)
        },
        "pty-unpaired" => |mut frame| {
            let number = COUNT.fetch_add(1, Ordering::SeqCst);
            frame["correlation_id"] = format!("own-{number}").into();
            Some(frame)
        },
        "silent-code" => |frame| (frame["action_type"] != "system.code.execute").then_some(frame),
        "takes-everything-silently" => |_| None,
        _ => return None,
    })
}

/// Ends the real relay when this one ends in good order; SIGKILL ends it by its closed socket.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(super) fn relay(mutation: &str, call: &Call) -> ExitCode {
    let Some(change) = change(mutation) else { return call.exec() };
    let daemon = call.file("--socket");
    let between = daemon.with_file_name(format!("between-{}", std::process::id()));
    let listener = UnixListener::bind(&between).unwrap();
    let between = between.display().to_string();
    let mut command = super::proxy::dying_along(&call.with("--socket", &between));
    let _relay = Ended(command.spawn().unwrap());
    for client in listener.incoming().flatten() {
        let daemon = daemon.clone();
        std::thread::spawn(move || carry(client, &daemon, change));
    }
    ExitCode::SUCCESS
}

fn carry(mut client: UnixStream, daemon: &std::path::Path, change: Change) -> Option<()> {
    let mut daemon = UnixStream::connect(daemon).ok()?;
    loop {
        let mut header = [0; 4];
        client.read_exact(&mut header).ok()?;
        let mut body = vec![0; u32::from_be_bytes(header) as usize];
        client.read_exact(&mut body).ok()?;
        let Some(frame) = change(serde_json::from_slice(&body).ok()?) else { continue };
        let body = frame.to_string().into_bytes();
        daemon.write_all(&u32::try_from(body.len()).ok()?.to_be_bytes()).ok()?;
        daemon.write_all(&body).ok()?;
    }
}
