//! A finished run that a case asks about: `{decide: explain, sh: …, exit: …, stderr: …}`.

use std::collections::BTreeMap;

use crate::protocol::Command;

/// A run that is over. Variables may stand in its texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedRunSpec {
    /// The command that was executed.
    pub command: Command,
    /// The command as the user typed it, if `command` is a rewritten form of it.
    pub original: Option<String>,
    /// The exit code; `None` if a signal killed the command.
    pub exit: Option<i32>,
    /// The number of the signal it died of.
    pub signal: Option<i32>,
    /// The number of packets that found no way out of the command's own network, if it was counted.
    pub refused_routes: Option<u32>,
    /// The command's stdout.
    pub stdout: String,
    /// The command's stderr.
    pub stderr: String,
}

impl FinishedRunSpec {
    /// Every string a variable may stand in.
    pub(super) fn strings(&self) -> Vec<&str> {
        let command: Vec<&str> = match &self.command {
            Command::Shell(line) => vec![line],
            Command::Argv(argv) => argv.iter().map(String::as_str).collect(),
        };
        let rest = [Some(&self.stdout), Some(&self.stderr), self.original.as_ref()];
        command.into_iter().chain(rest.into_iter().flatten().map(String::as_str)).collect()
    }

    /// Reads the members beside `decide: explain` out of `rest`; members that are unknown stay
    /// there.
    pub(super) fn written(rest: &mut BTreeMap<String, Vec<String>>) -> Result<Self, String> {
        let command = match (rest.remove("sh"), rest.remove("argv")) {
            (Some(line), None) => Command::Shell(single("sh", line)?),
            (None, Some(argv)) if !argv.is_empty() => Command::Argv(argv),
            _ => return Err("decide: explain has exactly one of sh and argv".to_owned()),
        };
        let (exit, signal) = (number("exit", rest)?, number("signal", rest)?);
        if exit.is_some() == signal.is_some() {
            return Err("decide: explain has exactly one of exit and signal".to_owned());
        }
        let counted = number("refused_routes", rest)?.map(u32::try_from).transpose();
        let refused_routes = counted.map_err(|_| "`refused_routes` is below 0".to_owned())?;
        let mut text = |key: &str| rest.remove(key).map(|value| single(key, value)).transpose();
        let original = text("original")?;
        let stdout = text("stdout")?.unwrap_or_default();
        let stderr = text("stderr")?.unwrap_or_default();
        Ok(Self { command, original, exit, signal, refused_routes, stdout, stderr })
    }

    /// Returns the members as written, without `decide`.
    pub(super) fn members(&self) -> Vec<(&'static str, serde_json::Value)> {
        let command = match &self.command {
            Command::Shell(line) => ("sh", line.clone().into()),
            Command::Argv(argv) => ("argv", argv.clone().into()),
        };
        let routes = self.refused_routes.map(i64::from);
        let numbers = [
            ("exit", self.exit.map(i64::from)),
            ("signal", self.signal.map(i64::from)),
            ("refused_routes", routes),
        ];
        let numbers = numbers.into_iter().filter_map(|(key, value)| Some((key, value?.into())));
        let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let texts = [
            ("original", self.original.clone()),
            ("stdout", given(&self.stdout)),
            ("stderr", given(&self.stderr)),
        ];
        let texts = texts.into_iter().filter_map(|(key, value)| Some((key, value?.into())));
        std::iter::once(command).chain(numbers).chain(texts).collect()
    }
}

fn number(key: &str, rest: &mut BTreeMap<String, Vec<String>>) -> Result<Option<i32>, String> {
    let Some(value) = rest.remove(key) else { return Ok(None) };
    let value = single(key, value)?;
    value.parse().map(Some).map_err(|_| format!("`{key}` is a number: {value:?} is none"))
}

fn single(key: &str, value: Vec<String>) -> Result<String, String> {
    <[String; 1]>::try_from(value)
        .map(|[value]| value)
        .map_err(|_| format!("`{key}` is one text, not a list"))
}
