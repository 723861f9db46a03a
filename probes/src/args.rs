//! A probe's arguments: [`parse`] reads them off the command line, [`ProbeArguments`] answers for them.

use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use nix::sys::signal::Signal;
use nix::unistd::Pid;

use crate::arg_spec::ArgSpec;
use crate::kind::{self, ValueKind};
use crate::usage_error::UsageError;

/// Name and values, in the order given; a name appears once.
pub(crate) type NamedValues = Vec<(String, Vec<OsString>)>;

/// Checked arguments of one probe.
#[derive(Debug)]
pub(crate) struct ProbeArguments {
    /// The nonce of this run.
    pub(crate) nonce: String,
    /// The process that started the program; asked before any fork of ours.
    pub(crate) parent: Pid,
    /// Arguments by name.
    pub(crate) named: NamedValues,
}

impl ProbeArguments {
    /// Every value of `name`; empty when not given.
    pub(crate) fn all(&self, name: &str) -> &[OsString] {
        self.named.iter().find(|(given, _)| given == name).map_or(&[], |(_, values)| values)
    }

    /// The value of `name`, if given.
    pub(crate) fn maybe(&self, name: &str) -> Option<&OsStr> {
        self.all(name).first().map(OsString::as_os_str)
    }

    /// The value of `name`.
    pub(crate) fn one(&self, name: &str) -> Result<&OsStr, UsageError> {
        self.maybe(name).ok_or_else(|| UsageError::missing(name))
    }

    /// Returns whether `name` was given.
    pub(crate) fn has(&self, name: &str) -> bool {
        !self.all(name).is_empty()
    }

    /// The path the probe acts on.
    pub(crate) fn path(&self) -> Result<&OsStr, UsageError> {
        self.one("path")
    }

    /// The bytes of `name`; empty when not given.
    pub(crate) fn bytes(&self, name: &str) -> &[u8] {
        self.maybe(name).map_or(&[], OsStr::as_bytes)
    }

    /// The words of a list, commas split.
    pub(crate) fn list_values(&self, name: &str) -> Vec<&OsStr> {
        self.all(name).iter().flat_map(|value| split(value)).collect()
    }

    /// The number `name`, or `default` when not given.
    pub(crate) fn number_or(&self, name: &str, default: u64) -> Result<u64, UsageError> {
        let Some(value) = self.maybe(name) else { return Ok(default) };
        parsed(name, ValueKind::UpTo(u64::MAX), kind::number(value, u64::MAX))
    }

    /// The permission bits `--mode`, or `default` when not given.
    pub(crate) fn mode_or(&self, default: u32) -> Result<u32, UsageError> {
        let Some(value) = self.maybe("mode") else { return Ok(default) };
        parsed("mode", ValueKind::Octal, kind::octal(value))
    }

    /// The process `--pid`.
    pub(crate) fn pid(&self) -> Result<Pid, UsageError> {
        let value = self.one("pid")?;
        if value == "parent" {
            return Ok(self.parent);
        }
        parsed("pid", ValueKind::Pid, kind::pid(value).map(Pid::from_raw))
    }

    /// The signal `--signal`; `None` for 0.
    pub(crate) fn signal(&self) -> Result<Option<Signal>, UsageError> {
        let value = self.one("signal")?;
        if value == "0" {
            return Ok(None);
        }
        parsed("signal", ValueKind::Signal, kind::signal(value)).map(Some)
    }

    /// The signal `name`.
    pub(crate) fn signal_named(&self, name: &str) -> Result<Signal, UsageError> {
        parsed(name, ValueKind::Signal, kind::signal(self.one(name)?))
    }

    /// Every signal of `--signal`.
    pub(crate) fn signals(&self) -> Result<Vec<Signal>, UsageError> {
        let one = |word| parsed("signal", ValueKind::Signal, kind::signal(word));
        self.list_values("signal").into_iter().map(one).collect()
    }

    /// The address `--addr`, if given.
    pub(crate) fn address(&self) -> Result<Option<SocketAddr>, UsageError> {
        let Some(value) = self.maybe("addr") else { return Ok(None) };
        parsed("addr", ValueKind::Address, kind::address(value)).map(Some)
    }

    /// The bytes that `name` gives in hexadecimal; empty when not given.
    pub(crate) fn hex(&self, name: &str) -> Result<Vec<u8>, UsageError> {
        let Some(value) = self.maybe(name) else { return Ok(Vec::new()) };
        parsed(name, ValueKind::Hex, kind::hex(value))
    }
}

fn parsed<T>(name: &str, kind: ValueKind, value: Option<T>) -> Result<T, UsageError> {
    value.ok_or_else(|| UsageError::bad(name, format!("expected {}", kind.expects())))
}

/// The parts of a comma-separated value.
pub(crate) fn split(value: &OsStr) -> impl Iterator<Item = &OsStr> {
    value.as_bytes().split(|&b| b == b',').map(OsStr::from_bytes)
}

/// Reads `--name=value`, `--name value` and bare switches.
pub(crate) fn parse(
    specs: &[ArgSpec],
    argv: impl IntoIterator<Item = OsString>,
) -> Result<NamedValues, UsageError> {
    let mut argv = argv.into_iter();
    let mut named = NamedValues::new();
    while let Some(word) = argv.next() {
        let (name, inline) = option(&word)?;
        let switch = specs.iter().any(|arg| arg.name == name && arg.kind == ValueKind::Switch);
        let value = match inline {
            Some(value) => value,
            None if switch => "true".into(),
            None => argv.next().ok_or_else(|| UsageError::bad(&name, "value missing"))?,
        };
        match named.iter_mut().find(|(given, _)| *given == name) {
            Some((_, values)) => values.push(value),
            None => named.push((name, vec![value])),
        }
    }
    Ok(named)
}

/// Splits `--name` or `--name=value`.
pub(crate) fn option(word: &OsStr) -> Result<(String, Option<OsString>), UsageError> {
    let unexpected = || UsageError::Unexpected(word.to_string_lossy().into_owned());
    let body = word.as_bytes().strip_prefix(b"--").ok_or_else(unexpected)?;
    let mut parts = body.splitn(2, |&b| b == b'=');
    let name = parts.next().and_then(|name| std::str::from_utf8(name).ok());
    let name = name.filter(|name| !name.is_empty()).ok_or_else(unexpected)?;
    Ok((name.to_owned(), parts.next().map(|value| OsString::from_vec(value.to_vec()))))
}
