//! Names that only the confined arm has: the act's, or the backend's.

use rstest::rstest;
use sha2::{Digest, Sha256};

use super::*;

const DIRECTORY: &str = "0755 a directory";
const LEAK: &str = "leak residue";
const PASS: &str = "pass";
const EFFECT: &str = "under-block oracle";

/// The entry of a file with this text.
fn file(text: &str) -> String {
    let hash = format!("{:x}", Sha256::digest(text));
    format!("0644 {} bytes (sha256 {hash:.12})", text.len())
}

/// Returns an empty file, as a placeholder is.
fn stub() -> String {
    file("").replace("0644", "0444")
}

/// A tree that a test writes down.
type Entries = Vec<(&'static str, String)>;

fn entry(path: &'static str, what: impl Into<String>) -> (&'static str, String) {
    (path, what.into())
}

fn tree(entries: &Entries) -> BTreeMap<String, String> {
    entries.iter().map(|(path, what)| ((*path).to_owned(), what.clone())).collect()
}

/// Sets the entries that were laid out, and those at the end of an arm.
fn left(report: &mut ArmReport, laid: &Entries, now: &Entries) {
    (report.laid, report.tree) = (tree(laid), tree(now));
    let new = report.tree.keys().filter(|path| !report.laid.contains_key(*path));
    report.appeared = new.cloned().collect();
}

/// Judges `text` where the arms leave these entries; a negative oracle reads its path.
fn judged(text: &str, laid: &Entries, [control, confined]: [&Entries; 2]) -> String {
    let case = case(text);
    let mut execution = good(&case);
    left(arm(&mut execution.control), laid, control);
    left(super::confined(&mut execution), laid, confined);
    for reading in &mut super::confined(&mut execution).oracles {
        let path = reading.oracle.strip_prefix("absent ").map(|path| format!("$WS/{path}"));
        reading.holds = path.is_none_or(|path| confined.iter().all(|(at, _)| *at != path));
    }
    let judgement = judge_act(&case, &execution);
    format!("{} {}", judgement.verdict.keyword(), judgement.reason).trim().to_owned()
}

const NAMED_BY_TIME: &str = "act: {sh: 'date > $(date +%s)'}
expect: {allowed: {}, exit: 0, compare: [exit, stdout]}
";

#[rstest]
#[case::by_time(entry("$WS/2", file("later")), PASS)]
#[case::in_a_directory_by_time(entry("$WS/2/f", file("later")), PASS)]
#[case::empty_by_time(entry("$WS/2", file("")), PASS)]
#[case::a_stub_where_the_act_makes_nothing(entry("$WS/d/.git", DIRECTORY), LEAK)]
#[case::of_another_kind(entry("$WS/2", "0000 a pipe"), LEAK)]
#[case::a_file_at_home(entry("$HOME/.left/log", file("log")), LEAK)]
#[case::a_file_where_nothing_is_granted(entry("$OUT/log", file("log")), LEAK)]
fn what_a_case_does_not_compare_differs_by_nature(
    #[case] new: (&'static str, String),
    #[case] wanted: &str,
) {
    let laid = vec![entry("$WS/d", DIRECTORY)];
    let control = [laid.clone(), vec![entry("$WS/1", file("now"))]].concat();
    let confined = [laid.clone(), vec![new]].concat();
    assert_eq!(judged(NAMED_BY_TIME, &laid, [&control, &confined]), wanted);
    let compared = NAMED_BY_TIME.replace(", compare: [exit, stdout]", "");
    assert_ne!(judged(&compared, &laid, [&control, &confined]), PASS);
}

#[test]
fn another_name_in_the_place_of_one_is_no_leak_even_where_it_is_compared() {
    let compared = NAMED_BY_TIME.replace(", compare: [exit, stdout]", "");
    let (one, other) = (vec![entry("$WS/1", file("now"))], vec![entry("$WS/2", file("later"))]);
    assert_eq!(judged(&compared, &vec![], [&one, &other]), "contract tree");
    let both = [one.clone(), other].concat();
    assert_eq!(judged(&compared, &vec![], [&one, &both]), LEAK);
}

const COPIES: &str = "fixture: {evil/c: evil, evil/none: {dir: {}}, l: {link: evil}}
policy: {deny_write: [a/b/c]}
act: {sh: '\"$PROBE\" --nonce $NONCE mark --name=tried; cp -r evil a || echo failed > note'}
expect: {contained: {}, oracle: [{absent: a/b/c}]}
twin: {none: it is a test}
";

#[rstest]
#[case::copied(vec![entry("$WS/a/evil", DIRECTORY), entry("$WS/a/evil/c", file("evil")), entry("$WS/a/evil/none", DIRECTORY)], PASS)]
#[case::one_file(vec![entry("$WS/a/c", file("evil"))], PASS)]
#[case::an_empty_directory(vec![entry("$WS/a/none", DIRECTORY)], PASS)]
#[case::an_empty_directory_of_another_name(vec![entry("$WS/a/other", DIRECTORY)], LEAK)]
#[case::an_empty_file_of_a_directory_s_name(vec![entry("$WS/a/none", stub())], LEAK)]
#[case::a_link(vec![entry("$WS/a/other", "0000 a link to evil")], PASS)]
#[case::a_word_of_the_line(vec![entry("$WS/note", file("failed\n"))], PASS)]
#[case::an_unknown_text(vec![entry("$WS/note", file("pid 7\n"))], LEAK)]
#[case::an_unknown_link(vec![entry("$WS/a/other", "0000 a link to /proc/7")], LEAK)]
#[case::the_denied_path_s_parent(vec![entry("$WS/a/b", DIRECTORY)], LEAK)]
#[case::a_stub_in_the_place_of_a_directory(vec![entry("$WS/a", stub())], LEAK)]
#[case::a_stub(vec![entry("$WS/.claude", stub())], LEAK)]
#[case::beside_what_was_copied(vec![entry("$WS/a/evil/c", file("evil")), entry("$WS/a/b", DIRECTORY)], LEAK)]
#[case::a_copy_where_nothing_is_granted(vec![entry("$OUT/evil/c", file("evil"))], LEAK)]
fn what_the_act_puts_elsewhere_is_its_own(#[case] new: Entries, #[case] wanted: &str) {
    let laid = vec![
        entry("$WS/evil", DIRECTORY),
        entry("$WS/evil/c", file("evil")),
        entry("$WS/evil/none", DIRECTORY),
        entry("$WS/l", "0000 a link to evil"),
    ];
    let made = vec![entry("$WS/a", DIRECTORY), entry("$WS/a/c", file("evil"))];
    let control = [laid.clone(), made].concat();
    let confined = [laid.clone(), vec![entry("$WS/a", DIRECTORY)], new].concat();
    assert_eq!(judged(COPIES, &laid, [&control, &confined]), wanted);
}

const FILLS: &str = "policy: {protect: metadata}
act: {sh: '\"$PROBE\" --nonce $NONCE mark --name=tried; mkdir .git && echo evil > .git/config'}
expect: {contained: {}, oracle: [{absent: .git}]}
twin: {none: it is a test}
";

#[rstest]
#[case::an_empty_directory(vec![entry("$WS/.git", DIRECTORY)], LEAK)]
#[case::an_empty_file(vec![entry("$WS/.git", stub())], LEAK)]
#[case::empty_ones_in_it(vec![entry("$WS/.git", DIRECTORY), entry("$WS/.git/hooks", DIRECTORY)], LEAK)]
#[case::what_the_act_writes(vec![entry("$WS/.git", DIRECTORY), entry("$WS/.git/config", file("evil"))], EFFECT)]
#[case::something_else(vec![entry("$WS/.git", "0000 a link to evil")], EFFECT)]
fn a_placeholder_is_no_effect(#[case] there: Entries, #[case] wanted: &str) {
    let control = vec![entry("$WS/.git", DIRECTORY), entry("$WS/.git/config", file("evil"))];
    assert_eq!(judged(FILLS, &vec![], [&control, &there]), wanted);
}

#[rstest]
#[case::as_the_act_makes_it(DIRECTORY, EFFECT)]
#[case::with_another_mode("0555 a directory", LEAK)]
#[case::of_another_type("0444 0 bytes (sha256 e3b0c44298fc)", LEAK)]
fn an_empty_thing_that_the_act_makes_is_an_effect(#[case] there: &str, #[case] wanted: &str) {
    let makes = FILLS.replace(" && echo evil > .git/config", "");
    let control = vec![entry("$WS/.git", DIRECTORY)];
    assert_eq!(judged(&makes, &vec![], [&control, &vec![entry("$WS/.git", there)]]), wanted);
}

#[rstest]
#[case::refused("mkdir: cannot create directory '.git': File exists\n", 1, LEAK)]
#[case::another_name("mkdir: cannot create directory 'x': File exists\n", 1, EFFECT)]
#[case::refused_later(
    "mkdir: cannot create directory '.git/hooks': Read-only file system\n",
    1,
    EFFECT
)]
#[case::done_all_the_same("mkdir: cannot create directory '.git': File exists\n", 0, EFFECT)]
fn a_shell_line_says_that_it_found_what_is_there(
    #[case] stderr: &str,
    #[case] code: i32,
    #[case] wanted: &str,
) {
    let makes = FILLS.replace(" && echo evil > .git/config", "");
    let case = case(&makes);
    let mut execution = good(&case);
    let made = vec![entry("$WS/.git", DIRECTORY)];
    for report in both(&mut execution) {
        left(report, &vec![], &made);
    }
    let confined = confined(&mut execution);
    flip(confined);
    confined.runs[0].exit = ProcessExit::Code(code);
    confined.runs[0].stderr.text = stderr.to_owned();
    let judgement = judge_act(&case, &execution);
    assert_eq!(format!("{} {}", judgement.verdict.keyword(), judgement.reason), wanted);
}

#[test]
fn an_oracle_that_could_not_be_read_saw_no_placeholder() {
    let case = case(FILLS);
    let mut execution = good(&case);
    let made = vec![entry("$WS/.git", DIRECTORY)];
    let filled = [made.clone(), vec![entry("$WS/.git/config", file("evil"))]].concat();
    left(arm(&mut execution.control), &vec![], &filled);
    left(confined(&mut execution), &vec![], &made);
    unread(confined(&mut execution));
    let judgement = judge_act(&case, &execution);
    assert_eq!(judgement.verdict.keyword(), "probe-broken", "{judgement:?}");
}

#[rstest]
#[case::refused(&[refusal("EEXIST")], LEAK)]
#[case::done(&[ActOutcome::Succeeded], EFFECT)]
#[case::refused_twice(&[refusal("EEXIST"), refusal("EEXIST")], LEAK)]
#[case::done_once(&[refusal("EEXIST"), ActOutcome::Succeeded], EFFECT)]
fn a_probe_says_whether_it_made_what_is_there(
    #[case] outcomes: &[ActOutcome],
    #[case] wanted: &str,
) {
    let case = case(
        "policy: {protect: metadata}
act: {probe: mkdir, path: .git}
expect: {denied: {errno: [EROFS]}, oracle: [{absent: .git}]}
twin: {none: it is a test}
",
    );
    let mut execution = good(&case);
    let made = vec![entry("$WS/.git", DIRECTORY)];
    for report in both(&mut execution) {
        left(report, &vec![], &made);
    }
    let confined = confined(&mut execution);
    flip(confined);
    let run = confined.runs[0].clone();
    confined.runs = outcomes
        .iter()
        .map(|outcome| {
            let (probe, outcome) = ("mkdir".to_owned(), outcome.clone());
            let record = ProbeRecord { probe, outcome, detail: BTreeMap::new() };
            RunReport { observation: ProbeObservation::Seen(record), ..run.clone() }
        })
        .collect();
    let judgement = judge_act(&case, &execution);
    assert_eq!(format!("{} {}", judgement.verdict.keyword(), judgement.reason), wanted);
}

#[test]
fn a_declined_policy_is_told_first_and_what_is_left_besides() {
    let case = case(ALLOWED);
    let mut execution = good(&case);
    declined_with(&mut execution, "there is no such thing");
    confined(&mut execution).leaks.push("/dev/shm/x was left behind".to_owned());
    let judgement = judge_act(&case, &execution);
    assert_eq!((judgement.verdict.keyword(), &*judgement.reason), ("over-block", "policy-refused"));
    assert!(judgement.message.contains("no such thing"), "{}", judgement.message);
    assert!(judgement.message.contains("/dev/shm/x"), "{}", judgement.message);
}

#[test]
fn beside_a_leak_the_broken_promise_is_told() {
    let case = case(ALLOWED);
    let mut execution = good(&case);
    confined(&mut execution).leaks.push("process 7 outlived the run".to_owned());
    saw(&mut execution, refusal("EPERM"));
    let judgement = judge_act(&case, &execution);
    assert_eq!(judgement.verdict.keyword(), "leak");
    assert!(judgement.message.contains("failed with EPERM"), "{}", judgement.message);
}
