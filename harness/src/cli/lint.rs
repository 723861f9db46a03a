//! `boxproof lint`: does the corpus load, is it well written, are probes called correctly?

use std::path::PathBuf;

use boxproof_cases::case::Act;
use boxproof_cases::{LintFinding, Suite, lint};

use super::{CaseArgs, CliFailure, print_text};

/// Arguments of `lint`.
#[derive(Debug, clap::Args)]
pub(super) struct LintArgs {
    /// Cases of your own instead of the built-in corpus.
    #[arg(long, value_name = "DIR")]
    cases: Option<PathBuf>,
}

pub(super) fn run(args: &LintArgs) -> Result<i32, CliFailure> {
    let suite = CaseArgs { filters: Vec::new(), cases: args.cases.clone(), slow: true }.loaded()?;
    let mut found = lint(&suite);
    found.extend(probe_calls(&suite));
    for finding in &found {
        print_text(&format!("{finding}\n"))?;
    }
    let (cases, requirements) = (suite.cases.len(), suite.requirements.len());
    print_text(&format!(
        "{} findings in {cases} cases, {requirements} requirements\n",
        found.len()
    ))?;
    Ok(if suite.cases.is_empty() { 4 } else { i32::from(!found.is_empty()) * 2 })
}

/// Checks that every probe that a case calls exists and takes the arguments it is given.
pub(super) fn probe_calls(suite: &Suite) -> Vec<LintFinding> {
    let mut found = Vec::new();
    for case in &suite.cases {
        for step in &case.steps {
            let Act::Probe { probe, args } = &step.act else { continue };
            // Values are variables still; their later values are of the right form.
            let args: Vec<_> = args.iter().map(|(k, v)| (k.clone(), placeholders(v))).collect();
            if let Err(error) = boxproof_probes::check_args(probe, &args) {
                let message = format!("{}: {error}", case.id);
                found.push(LintFinding { file: case.file.clone(), rule: "probe-call", message });
            }
        }
    }
    found
}

/// Replaces variables that a checker would refuse as they stand by plausible values.
fn placeholders(values: &[String]) -> Vec<String> {
    let stand_ins = [
        ("$TCP4", "127.0.0.1:1"),
        ("$TCP6", "[::1]:1"),
        ("$HTTP", "127.0.0.1:1"),
        ("$UDP", "127.0.0.1:1"),
        ("$VICTIM", "4194303"),
        ("$ABSTRACT", "@name"),
    ];
    let fill = |value: &String| {
        stand_ins.iter().fold(value.clone(), |text, (name, value)| text.replace(name, value))
    };
    values.iter().map(fill).collect()
}
