//! One argument that a probe takes: [`ArgSpec`].

use crate::kind::ValueKind;

/// One argument of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArgSpec {
    /// The argument's name, without dashes.
    pub name: &'static str,
    /// The form of its value.
    pub kind: ValueKind,
    /// True if the probe requires the argument.
    pub required: bool,
    /// True if the argument may be given several times.
    pub many: bool,
}

impl ArgSpec {
    /// The argument as usage shows it: `--path=PATH`, `[--ready]`, `(--flags=a|b)...`.
    #[must_use]
    pub fn synopsis(&self) -> String {
        let value = match self.kind {
            ValueKind::Switch => String::new(),
            kind => format!("={}", kind.expects()),
        };
        let (open, close) = match (self.required, self.many) {
            (true, false) => ("", ""),
            (true, true) => ("(", ")..."),
            (false, false) => ("[", "]"),
            (false, true) => ("[", "]..."),
        };
        format!("{open}--{}{value}{close}", self.name)
    }
}
