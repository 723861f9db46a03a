//! The kinds of argument values: [`ValueKind`], and the parsers for them.

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;

use nix::sys::signal::Signal;

/// The form of one argument's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// Any bytes.
    Text,
    /// Any bytes, taken as a path exactly as given.
    Path,
    /// Present or not; `true` where a value is needed.
    Switch,
    /// A decimal number from 0 up to this.
    UpTo(u64),
    /// Permission bits in octal, at most 7777.
    Octal,
    /// A process id above zero, or `parent`.
    Pid,
    /// A signal by name or number.
    Signal,
    /// A signal, or 0 for the existence test.
    SignalOrZero,
    /// A signal whose default action ends the process.
    FatalSignal,
    /// Literal IPv4 or IPv6 address and port: `127.0.0.1:80`, `[::1]:80`.
    Address,
    /// Bytes in hexadecimal.
    Hex,
    /// One of these words.
    OneOf(&'static [&'static str]),
}

/// Signals that stop, continue or do nothing by default.
const NOT_FATAL: [Signal; 8] = [
    Signal::SIGSTOP,
    Signal::SIGTSTP,
    Signal::SIGTTIN,
    Signal::SIGTTOU,
    Signal::SIGCONT,
    Signal::SIGCHLD,
    Signal::SIGURG,
    Signal::SIGWINCH,
];

impl ValueKind {
    /// Checks that `value` has this form; the error names the expected form.
    pub(crate) fn check(self, value: &OsStr) -> Result<(), String> {
        let fits = match self {
            Self::Text | Self::Path => true,
            Self::Switch => value == "true",
            Self::UpTo(most) => number(value, most).is_some(),
            Self::Octal => octal(value).is_some(),
            Self::Pid => value == "parent" || pid(value).is_some(),
            Self::Signal => signal(value).is_some(),
            Self::SignalOrZero => value == "0" || signal(value).is_some(),
            Self::FatalSignal => signal(value).is_some_and(|s| !NOT_FATAL.contains(&s)),
            Self::Address => address(value).is_some(),
            Self::Hex => hex(value).is_some(),
            Self::OneOf(words) => words.iter().any(|word| value == *word),
        };
        if fits { Ok(()) } else { Err(format!("expected {}", self.expects())) }
    }

    /// Returns the expected form of a value, in words.
    #[must_use]
    pub fn expects(self) -> String {
        match self {
            Self::Text => "TEXT".to_owned(),
            Self::Path => "PATH".to_owned(),
            Self::Switch => "true".to_owned(),
            Self::UpTo(most) => format!("0..{most}"),
            Self::Octal => "OCTAL".to_owned(),
            Self::Pid => "PID|parent".to_owned(),
            Self::Signal => "SIGNAL".to_owned(),
            Self::SignalOrZero => "SIGNAL|0".to_owned(),
            Self::FatalSignal => "FATAL-SIGNAL".to_owned(),
            Self::Address => "HOST:PORT".to_owned(),
            Self::Hex => "HEX".to_owned(),
            Self::OneOf(words) => words.join("|"),
        }
    }

    /// Returns whether one value may hold several, separated by commas.
    pub(crate) fn splits(self) -> bool {
        matches!(self, Self::OneOf(_) | Self::Signal)
    }
}

pub(crate) fn number(value: &OsStr, most: u64) -> Option<u64> {
    let digits = value.to_str().filter(|text| text.bytes().all(|b| b.is_ascii_digit()))?;
    digits.parse().ok().filter(|number| *number <= most)
}

pub(crate) fn octal(value: &OsStr) -> Option<u32> {
    let digits = value.to_str().filter(|text| text.bytes().all(|b| b.is_ascii_digit()))?;
    u32::from_str_radix(digits, 8).ok().filter(|mode| *mode <= 0o7777)
}

/// Zero and negative numbers name groups or everything, so they are no process.
pub(crate) fn pid(value: &OsStr) -> Option<i32> {
    let pid = number(value, i32::MAX as u64).and_then(|pid| i32::try_from(pid).ok())?;
    (pid > 0).then_some(pid)
}

/// `TERM`, `SIGTERM` or `15`.
pub(crate) fn signal(value: &OsStr) -> Option<Signal> {
    if let Some(number) = number(value, 64).and_then(|number| i32::try_from(number).ok()) {
        return Signal::try_from(number).ok();
    }
    let name = value.to_str()?;
    name.parse().or_else(|_| format!("SIG{name}").parse()).ok()
}

pub(crate) fn address(value: &OsStr) -> Option<SocketAddr> {
    value.to_str()?.parse().ok()
}

pub(crate) fn hex(value: &OsStr) -> Option<Vec<u8>> {
    let bytes = value.as_bytes();
    if !bytes.len().is_multiple_of(2) || !bytes.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    bytes.chunks(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(ValueKind::UpTo(255), "0", "256")]
    #[case(ValueKind::UpTo(255), "255", "-1")]
    #[case(ValueKind::UpTo(255), "007", "+7")]
    #[case(ValueKind::UpTo(255), "1", "")]
    #[case(ValueKind::Octal, "0644", "0o644")]
    #[case(ValueKind::Octal, "7777", "17777")]
    #[case(ValueKind::Octal, "0", "8")]
    #[case(ValueKind::Pid, "1", "0")]
    #[case(ValueKind::Pid, "parent", "-1")]
    #[case(ValueKind::Pid, "77", "2147483648")]
    #[case(ValueKind::Signal, "TERM", "TERMINATE")]
    #[case(ValueKind::Signal, "SIGTERM", "term")]
    #[case(ValueKind::Signal, "15", "0")]
    #[case(ValueKind::SignalOrZero, "0", "65")]
    #[case(ValueKind::FatalSignal, "KILL", "STOP")]
    #[case(ValueKind::FatalSignal, "SEGV", "CHLD")]
    #[case(ValueKind::Address, "127.0.0.1:80", "localhost:80")]
    #[case(ValueKind::Address, "[::1]:80", "::1:80")]
    #[case(ValueKind::Address, "10.0.0.1:0", "10.0.0.1")]
    #[case(ValueKind::Hex, "00ffAB", "0")]
    #[case(ValueKind::Hex, "", "zz")]
    #[case(ValueKind::OneOf(&["a", "b"]), "b", "c")]
    #[case(ValueKind::Switch, "true", "false")]
    fn takes_the_one_and_not_the_other(
        #[case] kind: ValueKind,
        #[case] good: &str,
        #[case] bad: &str,
    ) {
        assert_eq!(kind.check(good.as_ref()), Ok(()), "{good}");
        assert_eq!(kind.check(bad.as_ref()), Err(format!("expected {}", kind.expects())), "{bad}");
    }

    #[test]
    fn hex_is_its_bytes() {
        assert_eq!(hex("00fF1e".as_ref()), Some(vec![0, 255, 0x1E]));
    }
}
