//! Rows that passed on another try: kept in the record, counted, and told by every format.

use boxproof_reports::diff::{self, TransitionKind};
use boxproof_reports::gate::{AcceptedChange, GateDecision, GateInputs, GatePolicy, decide};
use boxproof_reports::terminal::{self, TerminalOptions};
use boxproof_reports::{
    CaseRow, EarlierTry, ExitCode, ExitOptions, Level, Outcome, RecordWriter, Run, Verdict, badge,
    diff as compared, exit_code, html, junit, markdown, merge, sarif, summary_line, tap,
};
use rstest::rstest;
use serde_json::{Value, json};

use crate::sample::{backend, bad, header, row, run};

/// A row that passed, and whose first try was this one.
fn after(verdict: Verdict, reason: &str) -> CaseRow {
    let message = "start to exit: 2000.0 ms, too late for 500 ms".to_owned();
    let arms = bad("exec/quick", "box", verdict, reason).arms;
    let earlier = vec![EarlierTry { verdict, reason: reason.to_owned(), message, arms }];
    CaseRow { earlier, outcome: Outcome::Flaky, ..row("exec/quick", "box") }
}

#[test]
fn every_format_tells_both_tries() {
    let rows = [after(Verdict::Contract, "timing"), row("exec/other", "box")];
    let backends = [backend("box")];
    let matrix = [run(&header(&backends, &rows), &rows)];
    assert_eq!(matrix[0].rows, rows, "the record keeps them");
    let matrix = merge(&matrix).unwrap();
    let told = "start to exit: 2000.0 ms, too late for 500 ms";
    for page in [
        terminal::render(&matrix, TerminalOptions::default()),
        markdown::render(&matrix, markdown::GITHUB_BUDGET),
        html::render(&matrix),
    ] {
        assert!(page.contains(told) && page.contains("contract timing"), "{page}");
        assert!(page.contains("2 cases: 2 pass (1 flaky)"), "{page}");
        assert!(page.contains("1 passed on another try"), "{page}");
    }
    for page in [junit::render(&matrix), tap::render(&matrix), sarif::render(&matrix).unwrap()] {
        assert!(page.contains("contract timing") && page.contains(told), "{page}");
    }
    assert_eq!(exit_code(&rows, ExitOptions::default(), &backends), ExitCode::Expected);
}

#[rstest]
#[case::same_verdict(Verdict::Pass, Outcome::Flaky, false)]
#[case::as_it_is(Verdict::Contract, Outcome::Flaky, true)]
#[case::not_called_so(Verdict::Contract, Outcome::Expected, true)]
fn only_tries_that_differ_are_flaky(
    #[case] first: Verdict,
    #[case] outcome: Outcome,
    #[case] is_flaky: bool,
) {
    let row = CaseRow { outcome, ..after(first, "timing") };
    assert_eq!(row.is_flaky(), is_flaky);
    assert_eq!(summary_line([&row]).contains("1 flaky"), is_flaky);
    let header = header(&[backend("box")], std::slice::from_ref(&row));
    let mut writer = RecordWriter::new(Vec::new(), &header).unwrap();
    assert_eq!(writer.row(&row).is_err(), !is_flaky && outcome == Outcome::Flaky);
}

fn run_of(row: CaseRow) -> Run {
    run(&header(&[backend("box")], std::slice::from_ref(&row)), &[row])
}

#[rstest]
#[case::failed(Verdict::Contract, "flakyFailure")]
#[case::open(Verdict::UnderBlock, "flakyFailure")]
#[case::unlearnt(Verdict::Inconclusive, "flakyError")]
fn junit_has_an_element_for_an_earlier_try(#[case] first: Verdict, #[case] element: &str) {
    let runs = [run_of(after(first, "timing"))];
    let text = junit::render(&merge(&runs).unwrap());
    let document = roxmltree::Document::parse(&text).unwrap();
    let found: Vec<_> = document.descendants().filter(|n| n.has_tag_name(element)).collect();
    assert_eq!(found.len(), 1, "{text}");
    assert_eq!(found[0].attribute("type"), Some(format!("{first} timing").as_str()));
    let message = found[0].attribute("message").unwrap();
    assert_eq!(message, "start to exit: 2000.0 ms, too late for 500 ms");
    assert_eq!(found[0].parent().unwrap().attribute("name"), Some("exec/quick"));
    assert_eq!(document.root_element().attribute("failures"), Some("0"));
}

#[test]
fn sarif_and_badge_tell_that_it_is_flaky() {
    let runs = [run_of(after(Verdict::Contract, "timing"))];
    let matrix = merge(&runs).unwrap();
    let file: Value = serde_json::from_str(&sarif::render(&matrix).unwrap()).unwrap();
    let result = &file["runs"][0]["results"][0];
    assert_eq!(result["properties"]["tags"], json!(["flaky"]), "{result:#}");
    let badge: Value = serde_json::from_str(&badge::render(&matrix)).unwrap();
    assert_eq!(
        (&badge["message"], &badge["color"]),
        (&"1/1 must (1 flaky)".into(), &"yellow".into())
    );
}

#[rstest]
#[case::newly(
    row("exec/quick", "box"),
    after(Verdict::Contract, "timing"),
    Some(TransitionKind::NewlyFlaky)
)]
#[case::unasked(
    bad("exec/quick", "box", Verdict::Unsupported, "x"),
    after(Verdict::Contract, "timing"),
    Some(TransitionKind::NewlyFlaky)
)]
#[case::half(
    bad("exec/quick", "box", Verdict::Contract, "timing"),
    after(Verdict::Contract, "timing"),
    Some(TransitionKind::PartlyFixed)
)]
#[case::steady(
    after(Verdict::Contract, "timing"),
    row("exec/quick", "box"),
    Some(TransitionKind::Fixed)
)]
#[case::still(after(Verdict::Contract, "timing"), after(Verdict::Contract, "timing"), None)]
#[case::failing(
    after(Verdict::Contract, "timing"),
    bad("exec/quick", "box", Verdict::Contract, "timing"),
    Some(TransitionKind::NewlyBroken)
)]
fn diff_tells_what_became_of_it(
    #[case] before: CaseRow,
    #[case] after: CaseRow,
    #[case] kind: Option<TransitionKind>,
) {
    let (before, after) = ([run_of(before)], [run_of(after)]);
    let (before, after) = (merge(&before).unwrap(), merge(&after).unwrap());
    let found = compared(&before, &after);
    let kinds: Vec<TransitionKind> =
        found.transitions.iter().map(|transition| transition.kind).collect();
    assert_eq!(kinds, kind.into_iter().collect::<Vec<_>>());
    if matches!(kind, Some(TransitionKind::NewlyFlaky | TransitionKind::PartlyFixed)) {
        for page in [diff::terminal(&found, 100), diff::markdown(&found)] {
            assert!(page.contains("→ pass (flaky)") && page.contains("2000.0 ms"), "{page}");
        }
    }
    assert_eq!(
        found.is_worse(),
        matches!(kind, Some(TransitionKind::NewlyFlaky | TransitionKind::NewlyBroken))
    );
}

/// What a gate decides on a flaky row, under the policy that `change` makes.
fn gated(before: CaseRow, now: CaseRow, change: impl FnOnce(&mut GatePolicy)) -> GateDecision {
    let mut policy: GatePolicy =
        serde_json::from_value(json!({"baseline": {"record": "base.ndjson"}})).unwrap();
    change(&mut policy);
    let about =
        GateInputs { now: 1_785_666_000, today: "2026-08-02".to_owned(), ..GateInputs::default() };
    let (before, now) = ([run_of(before)], [run_of(now)]);
    decide(&policy, (&merge(&before).unwrap(), &merge(&now).unwrap()), &about)
}

const LINE: &str = "flaky: box: exec/quick (must): earlier try: contract timing: start to exit: \
                    2000.0 ms, too late for 500 ms";

#[rstest]
#[case::newly(row("exec/quick", "box"))]
#[case::still(after(Verdict::Contract, "timing"))]
#[case::half(bad("exec/quick", "box", Verdict::Contract, "timing"))]
fn a_gate_counts_flaky_rows(#[case] before: CaseRow) {
    let flaky = || after(Verdict::Contract, "timing");
    let red = [format!("{LINE} (1 are flaky, 0 may be)")];
    assert_eq!(gated(before.clone(), flaky(), |_| {}).red, red);
    let allowed = gated(before.clone(), flaky(), |policy| policy.flaky.allowed = 1);
    assert!(allowed.is_green() && allowed.told.contains(&LINE.to_owned()), "{allowed:?}");
    let elsewhere = gated(before, flaky(), |policy| policy.flaky.levels = vec![Level::Should]);
    assert!(elsewhere.is_green(), "{elsewhere:?}");
    assert!(elsewhere.told.contains(&format!("not counted: {LINE}")), "{elsewhere:?}");
}

#[rstest]
#[case::in_time("2026-08-02", true)]
#[case::expired("2026-08-01", false)]
fn an_accepted_flaky_row_is_not_counted(#[case] expires: &str, #[case] green: bool) {
    let accept = AcceptedChange {
        case: "exec/quick".to_owned(),
        change: "newly flaky".to_owned(),
        backend: None,
        reason: "a busy host".to_owned(),
        link: "https://example.invalid/7".to_owned(),
        expires: expires.to_owned(),
    };
    let flaky = after(Verdict::Contract, "timing");
    let decision = gated(row("exec/quick", "box"), flaky, |policy| {
        policy.accept = vec![accept];
        policy.check().unwrap();
    });
    assert_eq!(decision.is_green(), green, "{decision:?}");
    let lines = [decision.red, decision.told].concat();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].contains("newly flaky: box: exec/quick (must): pass → pass, flaky"),
        "{lines:?}"
    );
}
