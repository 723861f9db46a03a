//! The check of arguments against a probe: [`check_args`] for lints, `check` for the program
//! itself.

use std::ffi::{OsStr, OsString};

use crate::arg_spec::ArgSpec;
use crate::args::{NamedValues, split};
use crate::catalog::{ProbeSpec, probe};
use crate::usage_error::UsageError;

/// Checks an act without running it.
///
/// Names come without dashes; a switch has no value or `true`. A value that holds a variable (`$`
/// and an upper-case letter) passes for every kind, since only the run fills it in; the program
/// checks it again then.
///
/// # Errors
/// The first fault: an unknown probe, or an argument that is unknown, missing, given too often, or
/// not of its kind.
pub fn check_args(name: &str, args: &[(String, Vec<String>)]) -> Result<(), UsageError> {
    let spec = probe(name).ok_or_else(|| UsageError::UnknownProbe(name.to_owned()))?;
    let named: NamedValues =
        args.iter().map(|(name, values)| (name.clone(), given(values))).collect();
    check(spec, &named, holds_variable)
}

/// A switch without a value is given all the same.
fn given(values: &[String]) -> Vec<OsString> {
    if values.is_empty() {
        return vec!["true".into()];
    }
    values.iter().map(Into::into).collect()
}

/// Checks every argument; values for which `exempt` holds are not looked into.
pub(crate) fn check(
    spec: &ProbeSpec,
    named: &NamedValues,
    exempt: fn(&OsStr) -> bool,
) -> Result<(), UsageError> {
    for (at, (name, values)) in named.iter().enumerate() {
        let arg = spec.arg(name).ok_or_else(|| UsageError::unknown(spec.name, name))?;
        let repeated = named[..at].iter().any(|(earlier, _)| earlier == name);
        if repeated || (values.len() > 1 && !arg.many) {
            return Err(UsageError::bad(name, "given more than once"));
        }
        check_values(arg, values, exempt)?;
    }
    let absent = |arg: &&ArgSpec| arg.required && !named.iter().any(|(name, _)| name == arg.name);
    spec.args.iter().find(absent).map_or(Ok(()), |arg| Err(UsageError::missing(arg.name)))
}

fn check_values(
    arg: &ArgSpec,
    values: &[OsString],
    exempt: fn(&OsStr) -> bool,
) -> Result<(), UsageError> {
    for value in values.iter().filter(|value| !exempt(value)) {
        let fits = if arg.many && arg.kind.splits() {
            split(value).try_for_each(|word| arg.kind.check(word))
        } else {
            arg.kind.check(value)
        };
        fits.map_err(|what| UsageError::bad(arg.name, what))?;
    }
    Ok(())
}

fn holds_variable(value: &OsStr) -> bool {
    let bytes = value.as_encoded_bytes();
    bytes.windows(2).any(|pair| pair[0] == b'$' && pair[1].is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn args(text: &[(&str, &[&str])]) -> Vec<(String, Vec<String>)> {
        let owned = |values: &[&str]| values.iter().map(ToString::to_string).collect();
        text.iter().map(|(name, values)| ((*name).to_owned(), owned(values))).collect()
    }

    #[rstest]
    #[case::plain("write", &[("path", &["a"] as &[_]), ("text", &["b"])])]
    #[case::optional("mkdir", &[("path", &["a"] as &[_])])]
    #[case::list("open", &[("path", &["a"] as &[_]), ("flags", &["read", "append,creat"])])]
    #[case::variable("tcp-connect", &[("addr", &["$TCP4"] as &[_])])]
    #[case::switch("hold", &[("ready", &[] as &[_])])]
    #[case::switch_true("hold", &[("ready", &["true"] as &[_])])]
    fn accepts(#[case] probe: &str, #[case] given: &[(&str, &[&str])]) {
        assert_eq!(check_args(probe, &args(given)), Ok(()));
    }

    #[rstest]
    #[case::probe("wirte", &[], "unknown probe `wirte`; see --list")]
    #[case::missing("write", &[("path", &["a"] as &[_])], "--text is missing")]
    #[case::unknown("rmdir", &[("path", &["a"] as &[_]), ("force", &["x"])],
        "probe `rmdir` has no --force; see --list")]
    #[case::kind("exit", &[("code", &["256"] as &[_])], "--code: expected 0..255")]
    #[case::twice("rmdir", &[("path", &["a", "b"] as &[_])], "--path: given more than once")]
    #[case::twice_apart("rmdir", &[("path", &["a"] as &[_]), ("path", &["b"])],
        "--path: given more than once")]
    #[case::switch_off("hold", &[("ready", &["false"] as &[_])], "--ready: expected true")]
    #[case::lower_case("tcp-connect", &[("addr", &["$tcp4"] as &[_])],
        "--addr: expected HOST:PORT")]
    fn rejects(#[case] probe: &str, #[case] given: &[(&str, &[&str])], #[case] message: &str) {
        let error = check_args(probe, &args(given)).expect_err("wrong arguments");
        assert_eq!(error.to_string(), message);
    }
}
