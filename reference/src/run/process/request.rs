//! The request of a caller of `run_process`. Its debug output shows no secret.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::policy::redact::{REDACTED, is_sensitive_env_name};
use crate::sys::launcher_environment;

/// One command and how it is run.
#[derive(Debug, Clone)]
pub struct ProcessRequest {
    /// The program, looked up in the command's PATH unless it has a slash.
    pub program: OsString,
    /// The arguments after the program's name.
    pub args: Vec<OsString>,
    /// Working directory; `None`: ours.
    pub current_dir: Option<PathBuf>,
    /// Time after which the command is ended, from its spawn; more than zero.
    pub timeout: Option<Duration>,
    /// The input at descriptor 0.
    pub stdin: ProcessStdin,
    /// Its variables.
    pub environment: ProcessEnvironment,
    /// The destination of descriptors 1 and 2.
    pub output: ProcessOutput,
    /// Captured streams are also shown on our stderr, redacted. The captured bytes stay as written.
    pub debug: bool,
}

impl ProcessRequest {
    /// `program` without arguments, captured, everything else inherited.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            current_dir: None,
            timeout: None,
            stdin: ProcessStdin::default(),
            environment: ProcessEnvironment::default(),
            output: ProcessOutput::default(),
            debug: false,
        }
    }

    /// Sets the arguments.
    #[must_use]
    pub fn args(self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self { args: args.into_iter().map(Into::into).collect(), ..self }
    }
}

/// The input of a command at descriptor 0.
#[derive(Clone, Default)]
pub enum ProcessStdin {
    /// Ours.
    #[default]
    Inherit,
    /// `/dev/null`.
    Null,
    /// These bytes, then end of file.
    Bytes(Vec<u8>),
}

impl fmt::Debug for ProcessStdin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inherit => f.write_str("Inherit"),
            Self::Null => f.write_str("Null"),
            Self::Bytes(bytes) => write!(f, "Bytes({} bytes)", bytes.len()),
        }
    }
}

/// The destination of a command's descriptors 1 and 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProcessOutput {
    /// They come with the result.
    #[default]
    Capture,
    /// They are ours.
    PassThrough,
}

/// A command's variables.
#[derive(Clone, Default)]
pub enum ProcessEnvironment {
    /// Ours.
    #[default]
    Inherit,
    /// These and no others; of two with one name the last.
    ClearAndSet(Vec<(OsString, OsString)>),
}

impl ProcessEnvironment {
    /// All of them, one value a name.
    pub(super) fn variables(&self) -> Vec<(OsString, OsString)> {
        match self {
            Self::Inherit => launcher_environment(),
            Self::ClearAndSet(pairs) => {
                let last: BTreeMap<_, _> = pairs.iter().cloned().collect();
                last.into_iter().collect()
            }
        }
    }
}

impl fmt::Debug for ProcessEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::ClearAndSet(pairs) = self else { return f.write_str("Inherit") };
        let shown = pairs.iter().map(|(name, value)| match is_sensitive_env_name(name) {
            true => (name, OsStr::new(REDACTED)),
            false => (name, value.as_os_str()),
        });
        f.write_str("ClearAndSet(")?;
        f.debug_list().entries(shown).finish()?;
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_shows_no_secret() {
        let pairs = [("API_KEY", "value-1"), ("KEY", "value-2")];
        let pairs = pairs.map(|(name, value)| (name.into(), value.into())).to_vec();
        let request = ProcessRequest {
            environment: ProcessEnvironment::ClearAndSet(pairs),
            stdin: ProcessStdin::Bytes(b"value-3".to_vec()),
            ..ProcessRequest::new("env")
        };
        let shown = format!("{request:?}");
        assert!(!shown.contains("value-1") && !shown.contains("value-3"), "{shown}");
        assert!(shown.contains(r#"("API_KEY", "[REDACTED]"), ("KEY", "value-2")"#), "{shown}");
        assert!(shown.contains("Bytes(7 bytes)"), "{shown}");
    }
}
