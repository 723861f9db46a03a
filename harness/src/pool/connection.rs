//! The line to one worker: jobs go out with a token, and what comes back is bounded and is an
//! answer only with that token. Main type: [`WorkerLine`].

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use boxproof_cases::protocol::from_json;

use crate::execution::ExecutedArm;
use crate::run::SETTLED;
use crate::sys;
use crate::worker::{ANSWER_LIMIT, WorkerAnswer};

/// The number of reads of 64 KiB in one go: a writer that never pauses does not keep other sockets
/// from being read.
const READS: usize = 64;

/// A message of a worker.
#[derive(Debug)]
pub(super) enum WorkerMessage {
    /// Its arm only waits from now on.
    Settled,
    /// The answer to the job that it holds, and how many bytes it had.
    Answer(ExecutedArm, usize),
}

/// The reason why nothing more is read from a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BrokenLine {
    /// Its end is closed.
    Closed,
    /// Bytes came that it cannot have sent.
    Forged(String),
}

/// Our end of the line to a worker.
#[derive(Debug)]
pub(super) struct WorkerLine {
    socket: UnixStream,
    heard: Vec<u8>,
    /// The token of the job that it holds.
    token: Option<String>,
}

impl WorkerLine {
    pub(super) fn new(socket: UnixStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self { socket, heard: Vec::new(), token: None })
    }

    /// Hands out job `number` with a token that only the worker knows: it has read it before
    /// anything of the job is started.
    ///
    /// # Errors
    /// Returns an error when there is no randomness.
    pub(super) fn hand_out(&mut self, number: usize) -> io::Result<()> {
        let token = sys::random::<16>()?;
        // A dead worker shows when it is listened to.
        let _ = writeln!(self.socket, "{number} {token}");
        self.token = Some(token);
        Ok(())
    }

    /// Returns the messages of the worker of job `number` so far, in order, and the reason why
    /// there will be no more.
    pub(super) fn read_messages(
        &mut self,
        number: Option<usize>,
    ) -> (Vec<WorkerMessage>, Option<BrokenLine>) {
        let mut said = Vec::new();
        let mut buffer = [0; 64 << 10];
        for _ in 0..READS {
            let count = match self.socket.read(&mut buffer) {
                Ok(0) => return (said, Some(BrokenLine::Closed)),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => return (said, Some(BrokenLine::Closed)),
            };
            if let Err(broken) = self.take(&buffer[..count], number, &mut said) {
                return (said, Some(broken));
            }
        }
        (said, None)
    }

    /// Takes more bytes, and what is whole of them.
    fn take(
        &mut self,
        bytes: &[u8],
        number: Option<usize>,
        said: &mut Vec<WorkerMessage>,
    ) -> Result<(), BrokenLine> {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.heard.extend_from_slice(&rest[..end]);
            rest = &rest[end + 1..];
            let line = std::mem::take(&mut self.heard);
            said.push(self.read(&line, number).map_err(BrokenLine::Forged)?);
        }
        self.heard.extend_from_slice(rest);
        match self.heard.len() > ANSWER_LIMIT {
            true => Err(BrokenLine::Forged(format!("a line of more than {ANSWER_LIMIT} bytes"))),
            false => Ok(()),
        }
    }

    /// Parses one line; its job is answered with it.
    fn read(&mut self, line: &[u8], number: Option<usize>) -> Result<WorkerMessage, String> {
        if line == SETTLED && number.is_some() {
            return Ok(WorkerMessage::Settled);
        }
        let Some(token) = self.token.take() else {
            return Err("a line while it had nothing to do".to_owned());
        };
        match from_json::<WorkerAnswer>(line) {
            Ok(answer) if answer.token == token && Some(answer.job) == number => {
                Ok(WorkerMessage::Answer(answer.arm, line.len()))
            }
            Ok(answer) => Err(format!("an answer to job {} without its token", answer.job)),
            Err(error) => Err(format!("a line that cannot be read ({error})")),
        }
    }
}

impl AsFd for WorkerLine {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
#[allow(clippy::panic, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;
    use crate::execution::ArmRecord;
    use rstest::rstest;
    use std::io::{BufRead, BufReader};

    /// A line that has handed out job 3, the worker's end, and the token.
    fn handed_out() -> (WorkerLine, UnixStream, String) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut line = WorkerLine::new(ours).unwrap();
        line.hand_out(3).unwrap();
        let mut text = String::new();
        BufReader::new(&theirs).read_line(&mut text).unwrap();
        let (number, token) = text.trim().split_once(' ').unwrap();
        assert_eq!((number, token.len()), ("3", 32));
        (line, theirs, token.to_owned())
    }

    fn answer(job: usize, token: &str) -> String {
        let arm = ExecutedArm::Act(ArmRecord::Fault("none".to_owned()));
        serde_json::to_string(&WorkerAnswer { job, token: token.to_owned(), arm }).unwrap()
    }

    #[test]
    fn an_answer_with_its_token_counts_once() {
        let (mut line, mut worker, token) = handed_out();
        writeln!(worker, "~\n{}", answer(3, &token)).unwrap();
        let (said, broken) = line.read_messages(Some(3));
        assert!(
            matches!(
                said[..],
                [
                    WorkerMessage::Settled,
                    WorkerMessage::Answer(ExecutedArm::Act(ArmRecord::Fault(_)), _)
                ]
            ),
            "{said:?}"
        );
        assert_eq!(broken, None);
        writeln!(worker, "{}", answer(3, &token)).unwrap();
        let (said, broken) = line.read_messages(None);
        assert!(said.is_empty() && matches!(broken, Some(BrokenLine::Forged(_))), "{broken:?}");
    }

    #[rstest]
    #[case::another_token(answer(3, "00"))]
    #[case::another_job(answer(999_999, "TOKEN"))]
    #[case::no_token(r#"{"job":3,"arm":{"fault":""}}"#.to_owned())]
    #[case::nothing(String::new())]
    #[case::garbage("[".repeat(200_000))]
    fn anything_else_breaks_the_line(#[case] text: String) {
        let (mut line, mut worker, token) = handed_out();
        worker.set_nonblocking(true).unwrap();
        writeln!(worker, "{}", text.replace("TOKEN", &token)).unwrap();
        let (said, broken) = line.read_messages(Some(3));
        assert!(said.is_empty() && matches!(broken, Some(BrokenLine::Forged(_))), "{broken:?}");
    }

    #[test]
    fn a_line_without_end_breaks_the_line() {
        let (mut line, mut worker, _) = handed_out();
        let writer = std::thread::spawn(move || {
            let text = vec![b'x'; 1 << 20];
            while worker.write_all(&text).is_ok() {}
        });
        let broken = loop {
            if let (_, Some(broken)) = line.read_messages(Some(3)) {
                break broken;
            }
        };
        assert!(matches!(broken, BrokenLine::Forged(_)), "{broken:?}");
        assert!(line.heard.capacity() <= 3 * ANSWER_LIMIT);
        drop(line);
        writer.join().unwrap();
    }

    #[test]
    fn a_closed_end_is_told() {
        let (mut line, worker, _) = handed_out();
        drop(worker);
        assert_eq!(line.read_messages(Some(3)).1, Some(BrokenLine::Closed));
    }
}
