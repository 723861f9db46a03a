//! `boxproof lint`: does the corpus load, is it well written, are probes called correctly?

use boxproof_cases::case::Act;
use boxproof_cases::{COVERAGE, LintFinding, LoadError, Suite, finding, lint, suggestion};
use boxproof_probes::{UsageError, catalog};

use super::{CliFailure, CorpusArgs, note, print_text};

/// Arguments of `lint`.
#[derive(Debug, clap::Args)]
pub(super) struct LintArgs {
    #[command(flatten)]
    corpus: CorpusArgs,
}

pub(super) fn run(args: &LintArgs) -> Result<i32, CliFailure> {
    let (suite, errors) = args.corpus.settle()?.survey();
    let mut found = lint(&suite);
    // What does not load is no rule's business, and may be what a requirement lacks.
    let is_faulty = |finding: &LintFinding| errors.iter().any(|error| error.file == finding.file);
    found.retain(|finding| errors.is_empty() || finding.rule != COVERAGE && !is_faulty(finding));
    found.extend(probe_calls(&suite));
    if !errors.is_empty() {
        return Err(does_not_load(&errors, &found));
    }
    for finding in &found {
        print_text(&format!("{finding}\n"))?;
    }
    match suite.lack_of_cases() {
        Some(why) => note(why),
        None => suite.skipped.iter().for_each(|file| note(format_args!("not read: {file}"))),
    }
    let (cases, requirements) = (suite.cases.len(), suite.requirements.len());
    print_text(&format!(
        "{} findings in {cases} cases, {requirements} requirements\n",
        found.len()
    ))?;
    Ok(if suite.cases.is_empty() { 4 } else { i32::from(!found.is_empty()) * 2 })
}

/// Returns the failure of a corpus with these errors, which tells everything that was found.
pub(super) fn does_not_load(errors: &[LoadError], found: &[LintFinding]) -> CliFailure {
    let errors = errors.iter().map(|e| ((&e.file, e.line, e.column), e.to_string()));
    let found = found.iter().map(|f| ((&f.file, f.line, f.column), f.to_string()));
    let mut lines: Vec<_> = errors.chain(found).collect();
    lines.sort();
    let lines: Vec<String> = lines.into_iter().map(|(_, line)| line).collect();
    CliFailure::usage(format!("the corpus does not load\n{}", lines.join("\n")))
}

/// Returns the fault of a call of `probe`, with the name that was probably meant.
fn wrong_call(probe: &str, error: &UsageError) -> String {
    match error {
        UsageError::UnknownProbe(name) => {
            let near = suggestion(name, catalog().iter().map(|probe| probe.name));
            format!("unknown probe `{name}`{near}; `boxproof probe --list` names them")
        }
        UsageError::UnknownArg { arg, .. } => {
            let args = boxproof_probes::probe(probe).map_or(&[][..], |probe| probe.args);
            let near = suggestion(arg, args.iter().map(|arg| arg.name));
            format!(
                "probe {probe} has no argument `{arg}`{near}; `boxproof probe --list` names them"
            )
        }
        other => other.to_string(),
    }
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
                let message = format!("{}: {}", case.id, wrong_call(probe, &error));
                found.push(finding(&case.file, "probe-call", message).located(suite));
            }
        }
    }
    found.dedup();
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
