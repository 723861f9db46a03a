//! The state that the backend's process has after execve(2): its signal state, limits, priority and
//! file mode mask.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The signals that a process ignores or blocks when it starts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignalState {
    /// Signals that it ignores.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub ignored: BTreeSet<CatchableSignal>,
    /// Signals that it blocks.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub blocked: BTreeSet<CatchableSignal>,
}

impl SignalState {
    /// Returns whether no signal is ignored or blocked.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A signal that a process can ignore or block, its name without SIG.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "UPPERCASE")]
#[allow(missing_docs, reason = "their names are those of signal(7)")]
pub enum CatchableSignal {
    Hup,
    Int,
    Quit,
    Usr1,
    Usr2,
    Pipe,
    Alrm,
    Term,
    Chld,
    Cont,
    Tstp,
    Ttin,
    Ttou,
    Winch,
}

/// A resource that has a limit, as getrlimit(2) calls it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum LimitedResource {
    /// Bytes of address space.
    As,
    /// Bytes of a core file.
    Core,
    /// Seconds of CPU.
    Cpu,
    /// Bytes of a file that is written.
    Fsize,
    /// One more than the highest number of a descriptor.
    Nofile,
    /// Bytes of stack.
    Stack,
}

/// The bits that a new file does not get, as umask(2) has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", description = "Four octal digits as text, such as \"0027\".")]
pub struct FileModeMask(u16);

impl FileModeMask {
    /// The bits.
    pub fn bits(self) -> u16 {
        self.0
    }
}

impl TryFrom<String> for FileModeMask {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let bits = super::fixture::octal(&text).and_then(|bits| u16::try_from(bits).ok());
        bits.filter(|bits| *bits <= 0o777)
            .map(Self)
            .ok_or_else(|| format!("umask `{text}` is not \"0000\" to \"0777\", as text"))
    }
}

impl From<FileModeMask> for String {
    fn from(mask: FileModeMask) -> Self {
        format!("{:04o}", mask.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Launcher;
    use rstest::rstest;

    #[rstest]
    #[case("{signals: {ignored: [HUP, CHLD], blocked: [TERM]}}")]
    #[case("{limits: {fsize: 4096, nofile: 64, as: 314572800}}")]
    #[case("{nice: 10, umask: '0027'}")]
    fn survives_a_round_trip(#[case] yaml: &str) {
        let launcher: Launcher = crate::load::fragment(yaml).unwrap();
        assert!(launcher.has_process_state());
        let json = serde_json::to_value(&launcher).unwrap();
        assert_eq!(serde_json::from_value::<Launcher>(json).unwrap(), launcher);
    }

    #[rstest]
    #[case("{signals: {ignored: [KILL]}}", "unknown variant `KILL`, expected one of `HUP`")]
    #[case("{signals: {blocked: [SIGTERM]}}", "unknown variant `SIGTERM`")]
    #[case("{signals: {caught: [TERM]}}", "unknown field `caught`")]
    #[case("{limits: {files: 64}}", "unknown variant `files`")]
    #[case("{limits: {nofile: -1}}", "invalid type")]
    #[case("{nice: 20}", "nice 20 is not 0 to 19")]
    #[case("{nice: -1}", "nice -1 is not 0 to 19")]
    #[case("{umask: '1777'}", "not \"0000\" to \"0777\"")]
    #[case("{umask: 22}", "not \"0000\" to \"0777\"")]
    fn refuses(#[case] yaml: &str, #[case] message: &str) {
        let error = crate::load::fragment::<Launcher>(yaml).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
