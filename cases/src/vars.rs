//! Variables: the names a case uses for what only the running harness knows.

use std::collections::BTreeMap;

use crate::nearest::nearest_name;

/// Every variable, with what it stands for.
pub const VARIABLES: &[(&str, &str)] = &[
    ("WS", "the workspace, and the command's working directory"),
    ("OUT", "a sibling of the workspace, outside every grant, same file system"),
    ("HOME", "a canary home"),
    ("TMPDIR", "the host's temp directory for this case"),
    ("TCP4", "a listener of the harness on 127.0.0.1, as address:port"),
    ("TCP6", "a listener of the harness on [::1], as [address]:port"),
    ("HTTP", "a web server of the harness on 127.0.0.1, as address:port"),
    ("METADATA", "a web server of the harness where clouds have theirs, 169.254.169.254:80"),
    ("METADATA6", "the same over IPv6, [fd00:ec2::254]:80"),
    ("UDP", "a datagram listener of the harness on 127.0.0.1, as address:port"),
    ("UNIX", "a listening unix socket of the harness below $OUT, as a path"),
    ("DGRAM", "a unix datagram socket of the harness below $OUT, as a path"),
    ("SEQPACKET", "a listening unix socket of whole messages of the harness below $OUT, as a path"),
    ("ABSTRACT", "an abstract listening unix socket of the harness, as @name"),
    ("ABSTRACT_DGRAM", "an abstract unix datagram socket of the harness, as @name"),
    ("VICTIM", "a process of the harness, as a process id"),
    ("PROBE", "the probe program"),
    ("NONCE", "the secret word of this arm, which proves who speaks"),
    ("CANARY", "a made-up secret, new for each arm"),
];

/// The variables that `sh` acts leave to the shell, which has values of its own for them.
const SHELL_OWN: &[&str] = &["HOME", "TMPDIR"];

/// A `$NAME` that is no variable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown variable ${0}{near}", near = near(.0))]
pub struct UnknownVariable(pub String);

fn near(name: &str) -> String {
    let known = || VARIABLES.iter().map(|(name, _)| *name);
    match nearest_name(name, known()) {
        Some(near) => format!(": did you mean ${near}?"),
        None => format!(": use one of ${}", known().collect::<Vec<_>>().join(" $")),
    }
}

/// Values for variables.
///
/// ```
/// use boxproof_cases::vars::VariableValues;
///
/// let values = VariableValues::new([("WORKSPACE", "/work"), ("NONCE", "n1")]);
/// assert_eq!(values.expand("$WORKSPACE/$NONCE").unwrap(), "/work/n1");
/// assert!(values.expand("$HOME").is_err());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VariableValues(BTreeMap<String, String>);

impl VariableValues {
    /// These names and values.
    pub fn new<'a>(values: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self(values.into_iter().map(|(n, v)| (n.to_owned(), v.to_owned())).collect())
    }

    /// Sets one more.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// The value of `name`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// `text` with every `$NAME` replaced.
    ///
    /// # Errors
    /// A name without a value.
    pub fn expand(&self, text: &str) -> Result<String, UnknownVariable> {
        replace(text, |name| match self.get(name) {
            Some(value) => Ok(Some(value.to_owned())),
            None => Err(UnknownVariable(name.to_owned())),
        })
    }

    /// A shell line with our variables replaced; every other `$` belongs to the shell.
    pub fn expand_shell(&self, line: &str) -> String {
        let own = |name: &str| (!SHELL_OWN.contains(&name)).then(|| self.get(name)).flatten();
        replace(line, |name| Ok(own(name).map(escaped))).unwrap_or_else(|e: UnknownVariable| e.0)
    }
}

/// Returns a value for a shell line, bare or in double quotes: each character that the shell would
/// act on in both is escaped with a backslash.
fn escaped(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for char in value.chars() {
        if ['$', '`', '"', '\\'].contains(&char) {
            out.push('\\');
        }
        out.push(char);
    }
    out
}

/// The variables that `text` uses: `strict` texts may use no other `$NAME`, shell lines may.
pub fn used_in<'a>(text: &'a str) -> impl Iterator<Item = &'static str> + 'a {
    let known = |name: &str| VARIABLES.iter().find(|(known, _)| *known == name).map(|(n, _)| *n);
    names(text).filter_map(move |(_, name)| known(name))
}

/// Every `$NAME` of `text` that is no variable.
pub fn unknown_in(text: &str) -> impl Iterator<Item = UnknownVariable> {
    names(text)
        .filter(|(_, name)| !VARIABLES.iter().any(|(known, _)| known == name))
        .map(|(_, name)| UnknownVariable(name.to_owned()))
}

/// Returns the offset and the name of each `$NAME` (capitals, digits, underscores).
fn names(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices('$').filter_map(|(at, _)| {
        let rest = &text[at + 1..];
        let end = rest
            .find(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'))
            .unwrap_or(rest.len());
        let starts_well = rest.starts_with(|c: char| c.is_ascii_uppercase());
        starts_well.then(|| (at, &rest[..end]))
    })
}

fn replace(
    text: &str,
    mut value: impl FnMut(&str) -> Result<Option<String>, UnknownVariable>,
) -> Result<String, UnknownVariable> {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (at, name) in names(text) {
        if let Some(value) = value(name)? {
            out.push_str(&text[done..at]);
            out.push_str(&value);
            done = at + 1 + name.len();
        }
    }
    out.push_str(&text[done..]);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn vars() -> VariableValues {
        VariableValues::new([("WS", "/w"), ("OUT", "/o"), ("HOME", "/h")])
    }

    #[rstest]
    #[case("$WS/a:$OUT", "/w/a:/o")]
    #[case("price: 5$ and $x", "price: 5$ and $x")]
    #[case("$HOME", "/h")]
    fn expands(#[case] text: &str, #[case] expanded: &str) {
        assert_eq!(vars().expand(text).unwrap(), expanded);
    }

    #[rstest]
    #[case("$NOPE")]
    #[case("$WSX")]
    fn refuses_what_it_does_not_know(#[case] text: &str) {
        assert!(vars().expand(text).is_err());
    }

    #[rstest]
    #[case("cd $WS && echo $HOME $$ $PATH ${X} $1", "cd /w && echo $HOME $$ $PATH ${X} $1")]
    fn leaves_the_shell_its_own(#[case] line: &str, #[case] expanded: &str) {
        assert_eq!(vars().expand_shell(line), expanded);
    }

    #[test]
    fn nothing_in_a_value_is_done_by_the_shell() {
        let value = "/a/$(echo b)`echo c`\"\\$HOME";
        let line = VariableValues::new([("WS", value)]).expand_shell("printf %s \"$WS\"");
        let shell = std::process::Command::new("/bin/sh").args(["-c", &line]).output().unwrap();
        assert_eq!(String::from_utf8(shell.stdout).unwrap(), value);
    }

    #[test]
    fn finds_what_is_used() {
        assert_eq!(used_in("a $WS $FOO $TCP4").collect::<Vec<_>>(), ["WS", "TCP4"]);
        let unknown: Vec<_> = unknown_in("a $WS $FOO $WSX").map(|unknown| unknown.0).collect();
        assert_eq!(unknown, ["FOO", "WSX"]);
    }
}
