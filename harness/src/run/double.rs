//! The built-in false backends: the answer of each to a command that it does not run.

use boxproof_cases::Case;
use boxproof_cases::protocol::exit::REFUSED;
use boxproof_probes::{ActOutcome, ProbeFamily, ProbeRecord, RecordDetail, encode, probe};

use super::StepCommand;
use super::stream::{EndedRun, RawStreams, read_streams};
use crate::backend::{DoubleReply, SpawnPlan};
use crate::execution::ProcessExit;
use crate::workspace::ArmWorkspace;

/// Plays `double` where `line` is to be run. A forger knows all that the probe's file tells.
pub(super) fn play(
    double: DoubleReply,
    line: &StepCommand,
    (case, workspace): (&Case, &ArmWorkspace),
) -> RawStreams {
    let answer = answer(double, &line.argv, &workspace.probe_word);
    let ended = EndedRun {
        exit: ProcessExit::Code(answer.code),
        moments: Vec::new(),
        watched_ms: 0.0,
        stopped: false,
        out: answer.out,
        err: answer.err,
    };
    let mut streams =
        read_streams(ended, (&SpawnPlan::default(), None), line.records, (case, workspace));
    if case.run.capture || case.expect.result.is_some() || case.expect.rule.is_some() {
        streams.report.result_fault = Some("no result was written".to_owned());
    }
    streams
}

/// The output of a double and its exit code.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct DoubleOutput {
    out: Vec<u8>,
    err: Vec<u8>,
    code: i32,
}

fn answer(double: DoubleReply, command: &[String], word: &str) -> DoubleOutput {
    match double {
        DoubleReply::SilentSuccess => DoubleOutput::default(),
        DoubleReply::SilentFailure => DoubleOutput { code: 1, ..DoubleOutput::default() },
        DoubleReply::SilentRefusal => DoubleOutput { code: REFUSED, ..DoubleOutput::default() },
        DoubleReply::Echo => DoubleOutput {
            out: format!("{}\n", command.join(" ")).into_bytes(),
            ..DoubleOutput::default()
        },
        DoubleReply::ForgerDenies | DoubleReply::KnowsCorpus => denied(command, word),
        DoubleReply::ForgerAllows => allowed(command, word),
    }
}

/// The call of a probe, as its command line shows it.
struct ProbeCall<'a> {
    on_stderr: bool,
    probe: &'a str,
    args: &'a [String],
}

impl<'a> ProbeCall<'a> {
    fn read(command: &'a [String]) -> Option<Self> {
        let [_, flag, _, rest @ ..] = command else { return None };
        let on_stderr = rest.first().is_some_and(|word| word == "--record=stderr");
        let (probe, args) = rest[usize::from(on_stderr)..].split_first()?;
        (flag == "--nonce").then_some(Self { on_stderr, probe, args })
    }

    fn values(&self, name: &str) -> impl Iterator<Item = &'a str> {
        let option = format!("--{name}=");
        self.args.iter().filter_map(move |arg| arg.strip_prefix(&option))
    }

    fn record(&self, outcome: ActOutcome, word: &str) -> DoubleOutput {
        let record =
            ProbeRecord { probe: self.probe.to_owned(), outcome, detail: RecordDetail::default() };
        let line = encode(word, &record);
        let (out, err) = if self.on_stderr { (Vec::new(), line) } else { (line, Vec::new()) };
        DoubleOutput { out, err, code: 0 }
    }
}

/// The refusal that is likeliest for a kind of probe.
fn denied(command: &[String], word: &str) -> DoubleOutput {
    let words = b"denied: Permission denied (Operation not permitted, Read-only file system)\n";
    let Some(call) = ProbeCall::read(command) else {
        return DoubleOutput { err: words.to_vec(), code: 1, ..DoubleOutput::default() };
    };
    let family = probe(call.probe).map(|spec| spec.family);
    let (errno, name) = match family {
        Some(ProbeFamily::Net) => ("ENETUNREACH", "connect"),
        Some(ProbeFamily::Fs) => ("EACCES", "openat"),
        _ => ("EPERM", call.probe),
    };
    let outcome = ActOutcome::Refused { errno: errno.to_owned(), call: name.to_owned() };
    DoubleOutput { code: 1, ..call.record(outcome, word) }
}

/// A success, with what the line says would be printed.
fn allowed(command: &[String], word: &str) -> DoubleOutput {
    let Some(call) = ProbeCall::read(command) else {
        let line = command.get(2).map(String::as_str).unwrap_or_default();
        let words = |after: &str| line.split(after).nth(1).and_then(|rest| rest.split(';').next());
        let code = words("exit ").and_then(|code| code.trim().parse().ok()).unwrap_or(0);
        let echoed = words("echo ").map(|text| format!("{}\n", text.trim())).unwrap_or_default();
        return DoubleOutput { out: echoed.into_bytes(), code, ..DoubleOutput::default() };
    };
    let mut answer = call.record(ActOutcome::Succeeded, word);
    answer.code = call.values("code").next().and_then(|code| code.parse().ok()).unwrap_or(0);
    for (name, stream) in [("stdout", &mut answer.out), ("stderr", &mut answer.err)] {
        stream.extend(call.values(name).flat_map(str::bytes));
    }
    for item in call.values("item") {
        answer.out.extend(format!("{}:{item}\n", item.len()).bytes());
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use boxproof_probes::{FoundRecords, find};
    use rstest::rstest;

    fn double_output(double: DoubleReply, command: &[&str]) -> DoubleOutput {
        let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        answer(double, &command, "n.w")
    }

    #[rstest]
    #[case(DoubleReply::SilentSuccess, "", 0)]
    #[case(DoubleReply::SilentFailure, "", 1)]
    #[case(DoubleReply::SilentRefusal, "", 126)]
    #[case(DoubleReply::Echo, "sh -c true n\n", 0)]
    fn who_forges_nothing_says_the_same_to_all(
        #[case] double: DoubleReply,
        #[case] out: &str,
        #[case] code: i32,
    ) {
        let wanted = DoubleOutput { out: out.into(), err: Vec::new(), code };
        assert_eq!(double_output(double, &["sh", "-c", "true", "n"]), wanted);
    }

    #[rstest]
    #[case(DoubleReply::ForgerDenies, &["p", "--nonce", "n", "write", "--path=f"], 1)]
    #[case(DoubleReply::ForgerAllows, &["p", "--nonce", "n", "exit", "--code=7"], 7)]
    fn a_forged_record_is_one_that_is_read(
        #[case] double: DoubleReply,
        #[case] command: &[&str],
        #[case] code: i32,
    ) {
        let answer = double_output(double, command);
        assert!(
            matches!(find("n.w", &answer.out), FoundRecords::One(record) if record.probe == command[3])
        );
        assert_eq!(answer.code, code);
    }

    #[test]
    fn a_record_goes_where_the_line_asks_for_it() {
        let answer = double_output(
            DoubleReply::ForgerAllows,
            &["p", "--nonce", "n", "--record=stderr", "streams", "--stdout=a"],
        );
        assert_eq!(answer.out, b"a");
        assert!(matches!(find("n.w", &answer.err), FoundRecords::One(_)));
    }

    #[test]
    fn output_and_exit_are_read_off_a_shell_line() {
        let answer =
            double_output(DoubleReply::ForgerAllows, &["sh", "-c", "echo a b; exit 3", "n"]);
        assert_eq!((answer.out.as_slice(), answer.code), (&b"a b\n"[..], 3));
    }
}
