//! The job of the inner stage: [`LaunchSpec`], handed over in a memory file so that neither arguments
//! nor environment appear in the command line of the helper.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::error::Refusal;
use crate::sys;

/// The hold of the inner stage on the command's processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandContainment {
    /// It is pid 1 of a namespace: its exit ends everything, and it locks the command down.
    Namespace {
        /// Landlock also cuts off abstract unix sockets.
        scope_sockets: bool,
    },
    /// It is an ordinary process: it adopts the processes that the command leaves, and kills them.
    Subreaper,
}

/// One command, ready to be executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LaunchSpec {
    /// The hold on the command.
    pub(crate) hold: CommandContainment,
    /// Working directory.
    pub(crate) cwd: CString,
    /// Program and arguments.
    pub(crate) argv: Vec<CString>,
    /// The whole environment, `NAME=value` each.
    pub(crate) env: Vec<CString>,
}

impl CommandContainment {
    /// Returns the hold of a namespace, with the Landlock scopes of this kernel.
    pub(crate) fn namespace() -> Self {
        Self::Namespace { scope_sockets: scopes_sockets() }
    }
}

/// Returns whether Landlock of this kernel can cut off abstract unix sockets.
pub(crate) fn scopes_sockets() -> bool {
    /// The first ABI with scopes.
    const SCOPES: i64 = 6;
    sys::landlock_abi() >= SCOPES
}

impl LaunchSpec {
    /// A launch of `argv` in `cwd` with exactly `env`.
    pub(crate) fn new(
        hold: CommandContainment,
        cwd: &std::path::Path,
        argv: &[impl AsRef<OsStr>],
        env: &[(OsString, OsString)],
    ) -> Result<Self, Refusal> {
        let pairs = env.iter().map(|(name, value)| {
            let mut pair = name.clone();
            pair.push("=");
            pair.push(value);
            text("environment", &pair)
        });
        Ok(Self {
            hold,
            cwd: text("run.cwd", cwd.as_os_str())?,
            argv: argv
                .iter()
                .map(|arg| text("run.command", arg.as_ref()))
                .collect::<Result<_, _>>()?,
            env: pairs.chain(sys::mark().map(Ok)).collect::<Result<_, _>>()?,
        })
    }

    /// The working directory as a path.
    pub(crate) fn cwd_path(&self) -> PathBuf {
        PathBuf::from(OsStr::from_bytes(self.cwd.as_bytes()))
    }

    /// Encodes the launch: hold, number of arguments, then every string with its NUL.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let hold = match self.hold {
            CommandContainment::Namespace { scope_sockets: true } => b'N',
            CommandContainment::Namespace { scope_sockets: false } => b'n',
            CommandContainment::Subreaper => b'r',
        };
        let mut bytes = vec![hold];
        bytes.extend((self.argv.len() as u64).to_le_bytes());
        let strings = std::iter::once(&self.cwd).chain(&self.argv).chain(&self.env);
        strings.for_each(|string| bytes.extend(string.as_bytes_with_nul()));
        bytes
    }

    /// Decodes the bytes; an error if they are not exactly one launch.
    pub(crate) fn decode(bytes: &[u8]) -> io::Result<Self> {
        Self::parse(bytes).ok_or_else(|| io::Error::other("the launch description is damaged"))
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (hold, rest) = bytes.split_first()?;
        let (count, rest) = rest.split_first_chunk::<8>()?;
        let argc = usize::try_from(u64::from_le_bytes(*count)).ok()?;
        let mut strings = strings(rest)?.into_iter();
        let cwd = strings.next()?;
        let argv: Vec<CString> = strings.by_ref().take(argc).collect();
        let hold = match hold {
            b'N' => CommandContainment::Namespace { scope_sockets: true },
            b'n' => CommandContainment::Namespace { scope_sockets: false },
            b'r' => CommandContainment::Subreaper,
            _ => return None,
        };
        (argv.len() == argc && argc > 0).then(|| Self { hold, cwd, argv, env: strings.collect() })
    }
}

fn text(what: &str, bytes: &OsStr) -> Result<CString, Refusal> {
    CString::new(bytes.as_bytes())
        .map_err(|_| Refusal::invalid(format!("{what}: nul byte found in provided data")))
}

fn strings(bytes: &[u8]) -> Option<Vec<CString>> {
    let whole = bytes.last().is_none_or(|last| *last == 0);
    let pieces = bytes.split_inclusive(|byte| *byte == 0);
    whole.then(|| pieces.map(|piece| CString::from_vec_with_nul(piece.to_vec()).ok()).collect())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn launch(hold: CommandContainment) -> LaunchSpec {
        let argv = ["echo".to_owned(), String::new(), "a b\n".to_owned()];
        let env = [(OsString::from("A"), OsString::from("1=2"))];
        LaunchSpec::new(hold, "/w".as_ref(), &argv, &env).unwrap()
    }

    #[rstest]
    #[case(CommandContainment::Namespace { scope_sockets: true })]
    #[case(CommandContainment::Namespace { scope_sockets: false })]
    #[case(CommandContainment::Subreaper)]
    fn round_trips(#[case] hold: CommandContainment) {
        let launch = launch(hold);
        assert_eq!(LaunchSpec::decode(&launch.encode()).unwrap(), launch);
    }

    #[test]
    fn a_cut_description_is_refused() {
        let bytes = launch(CommandContainment::Subreaper).encode();
        for length in [0, 1, 8, 9, 12, bytes.len() - 1] {
            assert!(LaunchSpec::decode(&bytes[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn a_nul_in_an_argument_is_refused() {
        let argv = ["a\0b".to_owned()];
        let error =
            LaunchSpec::new(CommandContainment::Subreaper, "/".as_ref(), &argv, &[]).unwrap_err();
        assert_eq!(error.message, "run.command: nul byte found in provided data");
    }
}
