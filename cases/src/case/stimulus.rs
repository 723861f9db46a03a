//! Events at the backend while the command runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Moment, NoSettings, TerminalSize};

/// An event at the backend while the command runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "WrittenEvent", into = "WrittenEvent")]
#[schemars(with = "WrittenEvent")]
pub struct DuringEvent {
    /// The moment.
    pub when: Moment,
    /// The delay after the moment, in milliseconds.
    pub after_ms: u64,
    /// The event.
    pub what: BackendStimulus,
}

impl DuringEvent {
    /// Returns the typed text, which may hold a variable.
    pub fn typed(&self) -> Option<&str> {
        match &self.what {
            BackendStimulus::Type(text) => Some(text),
            _ => None,
        }
    }
}

/// An event at a backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackendStimulus {
    /// A signal (its name without SIG) to a target.
    Signal(String, SignalTarget),
    /// The reading end of one of its streams is closed.
    Close(OutStream),
    /// The backend's terminal is hung up.
    HangUp,
    /// This text is typed into the backend's terminal.
    Type(String),
    /// The backend's terminal gets another size.
    Resize(TerminalSize),
}

impl BackendStimulus {
    /// Returns whether the event needs the launcher's terminal.
    pub fn needs_terminal(&self) -> bool {
        matches!(self, Self::HangUp | Self::Type(_) | Self::Resize(_))
    }
}

/// The receiver of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SignalTarget {
    /// The backend's process alone.
    #[default]
    Backend,
    /// The backend's process group.
    Group,
    /// The process that started the backend (`launcher.apart`).
    Launcher,
}

/// The receiver of the signal that ends a backend, as its manifest states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopTarget {
    /// The backend's process alone.
    #[default]
    Backend,
    /// The backend's process group.
    Group,
}

/// A stream that the backend writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutStream {
    /// The backend's stdout.
    Stdout,
    /// The backend's stderr.
    Stderr,
}

/// The event as a case writes it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WrittenEvent {
    /// The moment: `ready`, `start`, `{mark: WORD}`, `{file: PATH}` or `{during: NUMBER}`.
    when: Moment,
    /// The delay after the moment, in milliseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    after_ms: u64,
    /// This signal is sent, its name without SIG.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signal: Option<String>,
    /// The receiver of the signal; by default the backend alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<SignalTarget>,
    /// The reading end of this stream is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    close: Option<OutStream>,
    /// The terminal is hung up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hang_up: Option<NoSettings>,
    /// This is typed into the terminal; "\x03" is Ctrl-C.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    typed: Option<String>,
    /// The terminal gets this size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    resize: Option<TerminalSize>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Signals that a case may send.
const SIGNALS: [&str; 14] = [
    "HUP", "INT", "QUIT", "ABRT", "KILL", "USR1", "USR2", "PIPE", "ALRM", "TERM", "STOP", "TSTP",
    "CONT", "WINCH",
];

impl TryFrom<WrittenEvent> for DuringEvent {
    type Error = String;

    fn try_from(written: WrittenEvent) -> Result<Self, String> {
        let to = written.to;
        if to.is_some() && written.signal.is_none() {
            return Err("`to` says who gets a `signal`".to_owned());
        }
        if let Some(name) = written.signal.as_ref().filter(|n| !SIGNALS.contains(&n.as_str())) {
            return Err(format!("no signal {name}: use one of {}", SIGNALS.join(" ")));
        }
        let found = [
            written.signal.map(|name| BackendStimulus::Signal(name, to.unwrap_or_default())),
            written.close.map(BackendStimulus::Close),
            written.hang_up.map(|_| BackendStimulus::HangUp),
            written.typed.map(BackendStimulus::Type),
            written.resize.map(BackendStimulus::Resize),
        ];
        let mut found = found.into_iter().flatten();
        let (Some(what), None) = (found.next(), found.next()) else {
            return Err("an event is one of signal, close, hang_up, type and resize".to_owned());
        };
        if written.when == Moment::Exit {
            return Err("after the exit there is no process left to act on".to_owned());
        }
        Ok(Self { when: written.when, after_ms: written.after_ms, what })
    }
}

impl From<DuringEvent> for WrittenEvent {
    fn from(during: DuringEvent) -> Self {
        let mut written = Self {
            when: during.when,
            after_ms: during.after_ms,
            signal: None,
            to: None,
            close: None,
            hang_up: None,
            typed: None,
            resize: None,
        };
        match during.what {
            BackendStimulus::Signal(name, to) => {
                written.signal = Some(name);
                written.to = Some(to);
            }
            BackendStimulus::Close(stream) => written.close = Some(stream),
            BackendStimulus::HangUp => written.hang_up = Some(NoSettings {}),
            BackendStimulus::Type(text) => written.typed = Some(text),
            BackendStimulus::Resize(size) => written.resize = Some(size),
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("{when: ready, signal: TERM}")]
    #[case("{when: ready, signal: KILL, to: launcher}")]
    #[case("{when: {mark: trapped}, after_ms: 20, signal: INT, to: group}")]
    #[case("{when: {during: 1}, signal: CONT}")]
    #[case("{when: {file: beat}, close: stdout}")]
    #[case("{when: start, after_ms: 100, hang_up: {}}")]
    #[case("{when: ready, type: \"\\x03\"}")]
    #[case("{when: ready, resize: {rows: 30, columns: 100}}")]
    fn survives_a_round_trip(#[case] yaml: &str) {
        let during: DuringEvent = crate::load::fragment(yaml).unwrap();
        let json = serde_json::to_value(&during).unwrap();
        assert_eq!(serde_json::from_value::<DuringEvent>(json).unwrap(), during);
    }

    #[test]
    fn what_is_typed_is_the_byte_itself() {
        let during: DuringEvent = crate::load::fragment("{when: ready, type: \"\\x03\"}").unwrap();
        assert_eq!(during.what, BackendStimulus::Type("\u{3}".to_owned()));
    }

    #[rstest]
    #[case("{when: ready}", "one of signal")]
    #[case("{when: ready, signal: TERM, hang_up: {}}", "one of signal")]
    #[case("{when: ready, close: stdin}", "unknown variant `stdin`")]
    #[case("{when: ready, close: stdout, to: group}", "who gets a `signal`")]
    #[case("{when: ready, signal: SIGTERM}", "no signal SIGTERM")]
    #[case("{when: exit, signal: TERM}", "no process left")]
    #[case("{when: {mark: a, file: b}, signal: TERM}", "expected")]
    #[case("{when: soon, signal: TERM}", "unknown variant `soon`")]
    #[case("{when: ready, sginal: TERM}", "unknown field `sginal`")]
    fn refuses(#[case] yaml: &str, #[case] message: &str) {
        let error = crate::load::fragment::<DuringEvent>(yaml).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
