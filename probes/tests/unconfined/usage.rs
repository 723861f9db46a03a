//! A wrong call exits 64 with a message and no record; help and list print.

use assert_cmd::Command;
use boxproof_probes::catalog;
use predicates::prelude::{PredicateBooleanExt as _, predicate};
use predicates::str::{contains, starts_with};
use rstest::rstest;

fn boxprobe(args: &[&str]) -> assert_cmd::assert::Assert {
    Command::new(env!("CARGO_BIN_EXE_boxprobe")).args(args).assert()
}

#[rstest]
#[case::nothing(&[], "no probe named; see --help")]
#[case::no_probe(&["--nonce", "n"], "no probe named; see --help")]
#[case::no_nonce(&["read", "--path", "/"], "--nonce is missing")]
#[case::empty_nonce(&["--nonce", "", "cwd"], "--nonce: expected 1 to 128")]
#[case::nonce_with_blank(&["--nonce", "a b", "cwd"], "--nonce: expected 1 to 128")]
#[case::nonce_without_value(&["--nonce"], "--nonce: value missing")]
#[case::unknown_option(&["--quiet", "--nonce", "n", "cwd"], "unexpected `--quiet`; see --help")]
#[case::short_option(&["-n", "cwd"], "unexpected `-n`; see --help")]
#[case::unknown_stream(&["--nonce", "n", "--record", "file", "cwd"], "--record: expected stdout|stderr")]
#[case::limit_zero(&["--nonce", "n", "--limit", "0", "cwd"], "--limit: expected 1..60")]
#[case::limit_long(&["--nonce", "n", "--limit", "61", "cwd"], "--limit: expected 1..60")]
#[case::unknown_probe(&["--nonce", "n", "raed"], "unknown probe `raed`; see --list")]
#[case::unknown_arg(&["--nonce", "n", "cwd", "--path", "/"], "probe `cwd` has no --path; see --list")]
#[case::missing_arg(&["--nonce", "n", "read"], "--path is missing")]
#[case::missing_value(&["--nonce", "n", "read", "--path"], "--path: value missing")]
#[case::given_twice(&["--nonce", "n", "read", "--path=a", "--path=b"], "--path: given more than once")]
#[case::stray_word(&["--nonce", "n", "read", "/etc"], "unexpected `/etc`; see --help")]
#[case::option_after(&["--nonce", "n", "cwd", "--record", "stderr"], "probe `cwd` has no --record")]
#[case::bad_kind(&["--nonce", "n", "kill", "--pid", "-1", "--signal", "0"], "--pid: expected PID|parent")]
#[case::bad_list(&["--nonce", "n", "open", "--path", "/", "--flags", "read,,creat"], "--flags: expected read|")]
#[case::variable(&["--nonce", "n", "kill", "--pid", "$VICTIM", "--signal", "0"], "--pid: expected PID|parent")]
#[case::switch_value(&["--nonce", "n", "hold", "--ready=no"], "--ready: expected true")]
#[case::judged_stdout(&["--nonce", "n", "--record", "stdout", "exit", "--code", "0"],
    "--record: this probe's stdout is judged: say stderr")]
#[case::own_descriptor(&["--nonce", "n", "read-fd", "--fd", "200"], "--fd: expected 0..199")]
fn is_wrong(#[case] args: &[&str], #[case] message: &str) {
    let said = starts_with(format!("boxprobe: {message}")).and(contains("\x1e").not());
    boxprobe(args).code(64).stdout("").stderr(said);
}

#[cfg(target_os = "linux")]
#[rstest]
#[case::elsewhere("/etc/hostname")]
#[case::around("/proc/sys/../../etc/hostname")]
fn sysctl_same_stays_under_proc_sys(#[case] path: &str) {
    let args = ["--nonce", "n", "sysctl-same", "--path", path];
    boxprobe(&args).code(64).stdout("").stderr(contains("expected a path under /proc/sys"));
}

#[test]
fn values_may_look_like_options() {
    let expected = "6:--item\n0:\n3:a=b\n";
    let args = ["--nonce=n", "argv", "--item", "--item", "--item=", "--item=a=b"];
    boxprobe(&args).code(0).stdout(expected).stderr("");
}

#[test]
fn help_has_examples() {
    let prints = contains("Usage:").and(contains("Examples:\n  boxprobe --nonce"));
    boxprobe(&["--help"]).code(0).stdout(prints).stderr("");
}

#[test]
fn the_examples_in_help_are_calls_that_parse() {
    let help = boxprobe(&["-h"]).get_output().stdout.clone();
    let help = String::from_utf8(help).expect("plain text");
    let examples: Vec<_> = help.lines().filter_map(|l| l.strip_prefix("  boxprobe ")).collect();
    assert_eq!(examples.len(), 4);
    let dir = tempfile::tempdir().expect("a temp directory");
    for example in examples {
        let words: Vec<_> = example.split(' ').collect();
        let mut command = Command::new(env!("CARGO_BIN_EXE_boxprobe"));
        command.args(&words).current_dir(dir.path()).assert().code(predicate::ne(64));
    }
}

#[test]
fn list_has_a_line_for_each_probe() {
    let list = boxprobe(&["--list"]).code(0).stderr("").get_output().stdout.clone();
    let list = String::from_utf8(list).expect("plain text");
    assert_eq!(list.lines().count(), catalog().len());
    for (line, spec) in list.lines().zip(catalog()) {
        let fields: Vec<_> = line.split('\t').collect();
        assert_eq!(fields[..2], [spec.name, spec.family.name()]);
        assert_eq!(fields[3..], [spec.purpose]);
        let named = |arg: &&boxproof_probes::ArgSpec| fields[2].contains(&arg.synopsis());
        assert_eq!(spec.args.iter().filter(named).count(), spec.args.len(), "{line}");
    }
}
