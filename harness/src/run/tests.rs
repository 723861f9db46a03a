//! Reports of a finished run: the probe's record, the native result.

use boxproof_probes::{ActOutcome, ProbeRecord, encode};
use rstest::rstest;

use super::held_file::HeldFile;
use super::report::{observe, take_result};
use super::*;
use crate::execution::ProbeObservation;

fn record(outcome: ActOutcome) -> ProbeRecord {
    ProbeRecord { probe: "write".to_owned(), outcome, detail: BTreeMap::new() }
}

fn line(nonce: &str) -> Vec<u8> {
    encode(nonce, &record(ActOutcome::Succeeded))
}

fn other(nonce: &str) -> Vec<u8> {
    encode(nonce, &record(ActOutcome::Killed { signal: "SIGSYS".to_owned() }))
}

#[rstest]
#[case::on_stdout(line("n1"), Vec::new(), "seen")]
#[case::on_stderr(Vec::new(), line("n1"), "seen")]
#[case::between_lines([b"a\n".as_slice(), &line("n1"), b"b"].concat(), b"x".to_vec(), "seen")]
#[case::nothing(Vec::new(), Vec::new(), "missing")]
#[case::of_another_nonce(line("n2"), Vec::new(), "missing")]
#[case::of_a_longer_nonce(line("n11"), Vec::new(), "missing")]
#[case::twice([line("n1"), other("n1")].concat(), Vec::new(), "untrusted")]
#[case::the_same_twice([line("n1"), line("n1")].concat(), Vec::new(), "untrusted")]
#[case::on_both(line("n1"), other("n1"), "untrusted")]
#[case::cut_off(line("n1")[..20].to_vec(), Vec::new(), "untrusted")]
#[case::and_one_cut_off(line("n1"), line("n1")[..20].to_vec(), "untrusted")]
fn one_record_is_seen_and_nothing_else(
    #[case] out: Vec<u8>,
    #[case] err: Vec<u8>,
    #[case] wanted: &str,
) {
    let found = match observe(("n1", "n1"), true, &out, &err) {
        ProbeObservation::Seen(found) => {
            assert_eq!(found, record(ActOutcome::Succeeded));
            "seen"
        }
        ProbeObservation::Missing => "missing",
        ProbeObservation::Untrusted(_) => "untrusted",
        ProbeObservation::NotExpected => "not expected",
    };
    assert_eq!(found, wanted);
}

#[test]
fn an_act_that_is_no_probe_has_no_record_whatever_it_prints() {
    assert_eq!(observe(("n1", "n1"), false, &line("n1"), b""), ProbeObservation::NotExpected);
    let unproven = observe(("n1", "n1.word"), true, &line("n1"), b"");
    assert!(matches!(unproven, ProbeObservation::Untrusted(_)), "{unproven:?}");
}

#[rstest]
#[case::absent(None, Err("no result was written"))]
#[case::empty(Some(""), Err("not of the protocol"))]
#[case::cut_off(Some(r#"{"protocol": 1, "started"#), Err("not of the protocol"))]
#[case::superfluous(
    Some(r#"{"protocol": 1, "started": true, "success": true, "exit_code": 0, "x": 1}"#),
    Err("not of the protocol")
)]
#[case::of_another_protocol(
    Some(r#"{"protocol": 2, "started": true, "success": true, "exit_code": 0}"#),
    Err("protocol 2")
)]
#[case::whole(
    Some(r#"{"protocol": 1, "started": true, "success": true, "exit_code": 0}"#),
    Ok(Some(0))
)]
fn a_native_result_is_whole_or_a_fault(
    #[case] text: Option<&str>,
    #[case] wanted: Result<Option<i32>, &str>,
) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("result.json");
    if let Some(text) = text {
        std::fs::write(&file, text).unwrap();
    }
    match (take_result(Some(&HeldFile::open(&file).unwrap())), wanted) {
        (Ok(Some(result)), Ok(code)) => assert_eq!(result.exit_code, code),
        (Err(fault), Err(words)) => assert!(fault.contains(words), "{fault}"),
        (found, wanted) => panic!("{found:?} instead of {wanted:?}"),
    }
}

#[test]
fn where_no_result_is_promised_none_is_missed() {
    assert_eq!(take_result(None), Ok(None));
}

#[test]
fn a_private_namespace_gets_masks_and_command_apart() {
    let masks = [PathBuf::from("/w/a b").into(), PathBuf::from("/w/c").into()];
    let command = ["sh".to_owned(), "--".to_owned()];
    let argv = private_ns::wrap("/p".as_ref(), &masks, &command);
    assert_eq!(argv, ["/p", PRIVATE_NS_VERB, "/w/a b", "/w/c", "--", "sh", "--"]);
}
