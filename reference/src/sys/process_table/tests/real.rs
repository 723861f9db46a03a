//! The rounds over Linux's own table: a process that left session and parent is found by the mark.

use super::super::*;
use crate::sys;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

struct Proc {
    mark: String,
}

impl Proc {
    fn entry(&self, number: i32) -> Option<ProcessEntry> {
        let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
        let words: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
        let environ = fs::read(format!("/proc/{number}/environ")).unwrap_or_default();
        let marked = environ.split(|byte| *byte == 0).any(|pair| pair == self.mark.as_bytes());
        let who = ProcessIdentity { number, start: words[19].parse().ok()? };
        let [parent, session] = [1, 3].map(|place| words[place].parse().unwrap_or_default());
        (words[0] != "Z").then_some(ProcessEntry { who, parent, session, marked })
    }
}

impl ProcessTable for Proc {
    fn list_processes(&mut self) -> io::Result<Vec<ProcessEntry>> {
        let names = fs::read_dir("/proc")?.flatten().map(|entry| entry.file_name());
        let numbers = names.filter_map(|name| name.to_str()?.parse().ok());
        Ok(numbers.filter_map(|number| self.entry(number)).collect())
    }

    fn start_of(&mut self, number: i32) -> Option<u64> {
        self.entry(number).map(|entry| entry.who.start)
    }

    fn kill(&mut self, number: i32) {
        let _dead_already = kill(Pid::from_raw(number), Signal::SIGKILL);
    }

    fn wait(&mut self, _whom: &[ProcessIdentity]) -> io::Result<()> {
        std::thread::yield_now();
        Ok(())
    }
}

#[test]
fn who_left_session_and_parent_is_ended() {
    let mark = format!("REFBOX_RUN={}", uuid::Uuid::new_v4());
    let (name, value) = mark.split_once('=').unwrap();
    let line = "setsid sh -c 'echo $$; exec sleep 600' & wait";
    let mut shell = Command::new("setsid");
    shell.args(["sh", "-c", line]).env(name, value).stdout(Stdio::piped());
    let mut shell = shell.spawn().unwrap();
    let mut said = String::new();
    BufReader::new(shell.stdout.take().unwrap()).read_line(&mut said).unwrap();
    let left = sys::open_process(Pid::from_raw(said.trim().parse().unwrap())).unwrap();
    let mut table = Proc { mark };
    let number = shell.id() as i32;
    let command = table.entry(number).unwrap().who;
    // The parent first, so that only the mark tells.
    shell.kill().unwrap();
    shell.wait().unwrap();
    DescendantTree::rooted_at(command).end(&mut table).unwrap();
    let mut polled =
        [nix::poll::PollFd::new(std::os::fd::AsFd::as_fd(&left), nix::poll::PollFlags::POLLIN)];
    assert_eq!(nix::poll::poll(&mut polled, nix::poll::PollTimeout::ZERO), Ok(1), "it is alive");
}
