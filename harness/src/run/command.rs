//! Argument vector of an act.

use boxproof_cases::case::Act;
use boxproof_cases::vars::VariableValues;

use crate::names::ArmNames;

/// The command line of a step, and whether a record of it is expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepCommand {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// True if a record with the arm's nonce is expected.
    pub records: bool,
    /// True if the command line carries the nonce in a place of the harness's own, so that it
    /// betrays a test.
    pub is_marked: bool,
}

/// The command line of `act`, variables expanded. Every act but a bare argv carries the nonce,
/// unless names are ordinary: a shell line is called `sh` then.
///
/// # Errors
/// An unknown variable or probe.
pub fn commandline(
    act: &Act,
    vars: &VariableValues,
    names: ArmNames,
) -> Result<StepCommand, String> {
    match act {
        Act::Probe { probe, args } => {
            let spec = boxproof_probes::probe(probe).ok_or(format!("unknown probe `{probe}`"))?;
            let mut argv = vec![known(vars, "PROBE")?, "--nonce".into(), known(vars, "NONCE")?];
            if spec.stdout_is_judged() {
                argv.push("--record=stderr".into());
            }
            argv.push(probe.clone());
            for (name, values) in args {
                for value in values {
                    let value = vars.expand(value).map_err(|e| e.to_string())?;
                    argv.push(format!("--{name}={value}"));
                }
            }
            Ok(StepCommand { argv, records: true, is_marked: true })
        }
        Act::Sh(line) => {
            let line = vars.expand_shell(line);
            let name = if names.ordinary { "sh".into() } else { known(vars, "NONCE")? };
            let argv = vec!["/bin/sh".into(), "-c".into(), line, name];
            Ok(StepCommand { argv, records: false, is_marked: !names.ordinary })
        }
        Act::Argv(argv) => {
            let argv = argv.iter().map(|arg| vars.expand(arg).map_err(|e| e.to_string()));
            let argv = argv.collect::<Result<_, _>>()?;
            Ok(StepCommand { argv, records: false, is_marked: false })
        }
        Act::Decide(_) => Err("a question is no command".to_owned()),
        Act::Receipts(_) => Err("a channel is no command".to_owned()),
    }
}

fn known(vars: &VariableValues, name: &str) -> Result<String, String> {
    vars.get(name).map(str::to_owned).ok_or(format!("${name} has no value"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn vars() -> VariableValues {
        VariableValues::new([("PROBE", "/p"), ("NONCE", "bx1"), ("WS", "/w")])
    }

    #[test]
    fn a_probe_gets_nonce_and_arguments() {
        let args = BTreeMap::from([("path".to_owned(), vec!["$WS/f".to_owned()])]);
        let line = commandline(
            &Act::Probe { probe: "stat".into(), args },
            &vars(),
            ArmNames::for_run("bx1"),
        )
        .unwrap();
        assert_eq!(line.argv, ["/p", "--nonce", "bx1", "stat", "--path=/w/f"]);
        assert!(line.records);
    }

    #[test]
    fn a_shell_line_carries_the_nonce_as_its_name() {
        let line =
            commandline(&Act::Sh("cd $WS; echo $$".into()), &vars(), ArmNames::for_run("bx1"))
                .unwrap();
        assert_eq!(line.argv, ["/bin/sh", "-c", "cd /w; echo $$", "bx1"]);
        let line =
            commandline(&Act::Sh("cd $WS".into()), &vars(), ArmNames::for_run("web-1")).unwrap();
        assert_eq!(line.argv, ["/bin/sh", "-c", "cd /w", "sh"]);
    }

    #[test]
    fn an_unknown_probe_is_an_error() {
        let act = Act::Probe { probe: "nope".into(), args: BTreeMap::new() };
        assert!(commandline(&act, &vars(), ArmNames::for_run("bx1")).unwrap_err().contains("nope"));
    }
}
