//! Properties of every terminal page, independent of its content.

use boxproof_reports::terminal::{FailureVerbosity, Style, TerminalOptions, render};
use boxproof_reports::{CaseRow, Run, Verdict, merge, summary_line};
use rstest::rstest;

use crate::sample::{backend, bad, examples, header, row, run};

fn page(runs: &[Run], style: Style, width: usize) -> String {
    render(
        &merge(runs).unwrap(),
        TerminalOptions { style, width, verbose: true, ..TerminalOptions::default() },
    )
}

/// One run of many backends, the last of which fails.
fn wide(count: usize) -> Run {
    let names: Vec<String> = (1..=count).map(|i| format!("sandbox{i}")).collect();
    let mut rows: Vec<CaseRow> = names.iter().map(|name| row("fs/write/outside", name)).collect();
    let last = &names[count - 1];
    rows[count - 1] = bad("fs/write/outside", last, Verdict::UnderBlock, "oracle");
    let backends: Vec<_> = names.iter().map(|name| backend(name)).collect();
    run(&header(&backends, &rows), &rows)
}

#[rstest]
#[case(60)]
#[case(80)]
#[case(132)]
fn no_line_is_wider_than_the_page(#[case] width: usize) {
    let mut all: Vec<Vec<Run>> = examples().into_values().collect();
    all.push(vec![wide(12)]);
    for runs in &all {
        let page = page(runs, Style::Plain, width);
        let (body, last) = page.trim_end().rsplit_once('\n').unwrap();
        assert_eq!(last, summary_line(merge(runs).unwrap().rows()));
        // Ids and commands stay whole, for they are to be copied.
        let copied = |line: &&str| {
            line.contains("again: ") || line.contains("://") || !line.trim().contains(' ')
        };
        let too_wide: Vec<&str> = body
            .lines()
            .filter(|line| line.chars().count() > width)
            .filter(|line| !copied(line))
            .collect();
        assert!(too_wide.is_empty(), "{too_wide:#?}");
    }
}

#[test]
fn columns_that_do_not_fit_follow_in_a_block_of_their_own() {
    let page = page(&[wide(12)], Style::Plain, 80);
    for column in 1..=12 {
        assert!(page.contains(&format!("[{column}] sandbox{column} 0.1.0")), "{page}");
    }
    let heads: Vec<&str> = page.lines().filter(|line| line.starts_with("cases ")).collect();
    let columns: Vec<&str> =
        heads.iter().flat_map(|head| head.split_whitespace().skip(1)).collect();
    let wanted: Vec<String> = (1..=12).map(|column| format!("[{column}]")).collect();
    assert_eq!(columns, wanted);
    assert!(heads.len() > 1);
    let cells: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("  fs/write/outside "))
        .flat_map(|line| line.split_whitespace().skip(1))
        .collect();
    assert_eq!((cells.len(), cells[0], cells[11]), (12, "pass", "UNDER"));
}

#[test]
fn only_colour_sets_the_styles_apart_and_nothing_else_escapes() {
    for runs in examples().values() {
        let plain = page(runs, Style::Plain, 80);
        assert!(!plain.chars().any(|c| c.is_control() && c != '\n'), "{plain:?}");
        let color = page(runs, Style::Color, 80);
        assert_ne!(color, plain);
        assert_eq!(without_colour(&color), plain);
    }
}

/// Removes `ESC [ … m`.
fn without_colour(page: &str) -> String {
    let mut parts = page.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    first + &parts.map(|part| part.split_once('m').unwrap().1).collect::<String>()
}

#[test]
fn failures_that_are_alike_are_a_line_where_brief_is_asked_for() {
    let failed = |id: &str, verdict, reason: &str| {
        let file = Some("fs/write.yaml".to_owned());
        CaseRow { file, ..bad(id, "box", verdict, reason) }
    };
    let rows = [
        failed("fs/write/one", Verdict::UnderBlock, "oracle"),
        failed("fs/write/three", Verdict::Leak, "left-behind"),
        failed("fs/write/four", Verdict::UnderBlock, "errno"),
        failed("fs/write/two", Verdict::UnderBlock, "oracle"),
        bad("net/tcp4", "box", Verdict::UnderBlock, "oracle"),
    ];
    let runs = [run(&header(&[backend("box")], &rows), &rows)];
    let options =
        TerminalOptions { failures: FailureVerbosity::Brief, ..TerminalOptions::default() };
    let page = render(&merge(&runs).unwrap(), options);
    let lines = "failures (5)
  box: fs/write: under-block (errno) (1): four
  box: fs/write: under-block (oracle) (2): one, two
  box: fs/write: leak (left-behind) (1): three
  box: net/tcp4: under-block (oracle)
";
    assert!(page.contains(lines), "{page}");
    assert!(!page.contains("case: "), "{page}");
}

#[test]
fn a_failure_tells_what_was_promised_and_where_its_case_is() {
    let requirements = vec!["R-protect-git-write".to_owned()];
    let rows = [CaseRow {
        requirements,
        ..bad("protect/git/write", "box", Verdict::UnderBlock, "oracle")
    }];
    let runs = [run(&header(&[backend("box")], &rows), &rows)];
    let page = render(
        &merge(&runs).unwrap(),
        TerminalOptions { width: 120, ..TerminalOptions::default() },
    );
    let promised = "promised: The metadata of a repository cannot be written. (https://example.invalid/policy)";
    assert!(page.contains(promised), "{page}");
    let link = "file: https://example.invalid/blob/v1/cases/corpus/protect/git.yaml";
    assert!(page.contains(link), "{page}");
}
