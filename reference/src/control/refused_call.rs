//! A refused call of the command, as the inner stage tells the supervisor of it ([`RefusedCall`]), and what
//! became of its process. A notice is a line of JSON in a pipe.

use std::io;

use boxproof_cases::protocol::WirePath;
use serde::{Deserialize, Serialize};

/// The object of a refused call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RefusedObject {
    /// A name that was not made, removed or moved.
    Name(WirePath),
    /// A path by which no socket was reached.
    Socket(WirePath),
    /// A path whose change the kernel refuses.
    Observed { path: WirePath, change: ObservedChange },
    /// An address to which there is no route.
    Address(String),
}

/// The change that was refused, as far as it decides who may make it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ObservedChange {
    /// Of what a file holds.
    Content,
    /// Of what a file holds, which is made if it is missing.
    MadeContent,
    /// Of the names in a directory.
    Entry,
    /// Of mode, owner, times or attributes.
    Metadata,
}

/// One call that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RefusedCall {
    /// The call's name.
    pub(crate) name: String,
    /// The error that it got.
    pub(crate) errno: i32,
    /// The object that it was about.
    pub(crate) object: RefusedObject,
    /// The process that called, as the sandbox numbers it.
    pub(crate) pid: Option<i32>,
    /// The name of that process.
    pub(crate) program: Option<String>,
    /// The monotonic time in nanoseconds.
    pub(crate) at_ns: u64,
}

/// The end of a process that was refused something, in a run that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ProcessFate {
    /// It, or a process between it and the command, did not fail, or a shell did not wait for it: the command
    /// did not fail by it.
    Apart,
    /// It failed, as all between it and the command did, or it was left by a process that failed.
    Failed,
    /// All failed, and each was waited for, and it made nothing and no process was started after the refusal.
    FailedLast,
}

/// The process of refused calls, and its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RefusedFate {
    /// The process, as the sandbox numbers it.
    pub(crate) pid: i32,
    /// Its end.
    pub(crate) fate: ProcessFate,
    /// The exit status that the shell which the command is had of it, or of the process that it was started
    /// by there.
    pub(crate) status: Option<i32>,
}

/// A line of the pipe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RefusalNotice {
    /// A call was refused.
    Call(RefusedCall),
    /// A call could not be looked at: the inner stage had no descriptor or no memory for that.
    Unseen,
    /// The command has failed.
    Fate(RefusedFate),
}

impl RefusalNotice {
    /// Encodes the notice as a line.
    pub(crate) fn encode(&self) -> io::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }

    /// Decodes one line, without its end.
    pub(crate) fn decode(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn a_call_is_one_line_whatever_its_path() {
        let path = WirePath::from(OsStr::from_bytes(b"/w/a\n\xff"));
        let call = RefusalNotice::Call(RefusedCall {
            name: "mkdirat".to_owned(),
            errno: 13,
            object: RefusedObject::Name(path),
            pid: Some(7),
            program: Some("a \"b\"\n".to_owned()),
            at_ns: 5,
        });
        let line = call.encode().unwrap();
        let (end, rest) = line.split_last().unwrap();
        assert_eq!((*end, rest.contains(&b'\n')), (b'\n', false));
        assert_eq!(RefusalNotice::decode(rest), Some(call));
        assert_eq!(RefusalNotice::decode(b"{}"), None);
    }
}
