//! One process of a channel: its one line, its end.

use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::time::Instant;

use crate::sys;

/// The time that a part may take to serve, and to end.
const PATIENCE: Duration = Duration::from_secs(8);

/// The poll interval of a process or file.
const LOOK: Duration = Duration::from_millis(3);

/// A process of the channel.
#[derive(Debug)]
pub struct ChannelProcess {
    pub(super) name: String,
    pub(super) child: Child,
    pub(super) out: PathBuf,
    pub(super) err: PathBuf,
}

impl ChannelProcess {
    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn signal(&self, signal: Signal) {
        let _ = kill(Pid::from_raw(self.child.id().cast_signed()), signal);
    }

    pub(super) fn ended(&mut self) -> Option<String> {
        self.child.try_wait().ok().flatten().map(|status| match status.signal() {
            Some(number) => format!("signal {number}"),
            None => format!("exit {}", status.code().unwrap_or(-1)),
        })
    }

    /// Waits until it stands still after a SIGSTOP.
    pub(super) async fn stands(&self) -> Result<(), String> {
        let deadline = Instant::now() + PATIENCE;
        let pid = Pid::from_raw(self.child.id().cast_signed());
        loop {
            match sys::stands_still(pid) {
                Ok(true) => return Ok(()),
                Ok(false) if Instant::now() < deadline => tokio::time::sleep(LOOK).await,
                other => return Err(format!("the {} does not stand still: {other:?}", self.name)),
            }
        }
    }

    /// The last line of stderr.
    pub(super) fn wrote(&self) -> String {
        let text = std::fs::read(&self.err).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).trim().to_owned();
        text.lines().last().unwrap_or_default().to_owned()
    }

    /// Waits until the process is gone; kills it at the deadline.
    pub(super) async fn gone(&mut self) -> Result<ExitStatus, String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) if Instant::now() < deadline => tokio::time::sleep(LOOK).await,
                Ok(None) => {
                    self.signal(Signal::SIGKILL);
                    sys::reap(&mut self.child);
                    return Err(format!("the {} did not end within {PATIENCE:?}", self.name));
                }
                Err(error) => return Err(format!("{}: {error}", self.name)),
            }
        }
    }

    /// Waits for its one line on stdout, or its end.
    async fn line(&mut self) -> Result<String, String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let said = std::fs::read_to_string(&self.out).unwrap_or_default();
            if let Some((line, _)) = said.split_once('\n') {
                return Ok(line.trim().to_owned());
            }
            if let Some(how) = self.ended() {
                return Err(format!("the {} did not serve: {how}: {}", self.name, self.wrote()));
            }
            if Instant::now() >= deadline {
                self.signal(Signal::SIGKILL);
                return Err(format!("the {} was not ready within {PATIENCE:?}", self.name));
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    pub(super) async fn says(&mut self, word: &str) -> Result<(), String> {
        let line = self.line().await?;
        match line.split(' ').next() {
            Some(first) if first == word => Ok(()),
            _ => Err(format!("the {} says `{line}` instead of {word}", self.name)),
        }
    }

    pub(super) async fn listens(&mut self) -> Result<SocketAddr, String> {
        let line = self.line().await?;
        let address = line.strip_prefix("listening ").and_then(|rest| rest.trim().parse().ok());
        address.ok_or_else(|| format!("the {} says `{line}` instead of its address", self.name))
    }

    /// Checks that the process refuses to serve: it ends with a code that is not 0. A process that
    /// serves is killed.
    ///
    /// # Errors
    /// The reason why it is no refusal.
    pub async fn refuses(&mut self) -> Result<(), String> {
        match self.line().await {
            Ok(line) => {
                self.signal(Signal::SIGKILL);
                sys::reap(&mut self.child);
                Err(format!("it serves: `{line}`"))
            }
            Err(why) => match self.child.try_wait() {
                Ok(Some(status)) if status.code().is_some_and(|code| code > 0) => Ok(()),
                _ => {
                    sys::reap(&mut self.child);
                    Err(why)
                }
            },
        }
    }
}
